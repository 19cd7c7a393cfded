package catalog_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// countingTemplate is a template that knows two efforts. It counts its renderings.
type countingTemplate struct{ rendered atomic.Int32 }

func (c *countingTemplate) Render(ctx context.Context, req *inference.Request) (string, error) {
	c.rendered.Add(1)
	if req.ReasoningEffort == "low" || req.ReasoningEffort == "high" {
		return "", inference.Unsupported("reasoning_effort", "not supported")
	}
	return "x", ctx.Err()
}

// TestEffortsAreRenderedOnce checks that concurrent requests for the efforts of a model render its template once for
// each effort, and that an interrupted rendering isn't kept.
func TestEffortsAreRenderedOnce(t *testing.T) {
	template := &countingTemplate{}
	card := &catalog.Card{Template: template}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if got := card.Efforts(canceled); got != nil {
		t.Errorf("interrupted: %q", got)
	}
	template.rendered.Store(0)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if got := card.Efforts(t.Context()); !slices.Equal(got, []string{inference.EffortNone, inference.EffortDefault}) {
				t.Errorf("%q", got)
			}
		})
	}
	group.Wait()
	if n := template.rendered.Load(); n != 4 {
		t.Errorf("%d renderings", n)
	}
}

// TestScoring checks that the best way to ask a model for log probabilities is the backend's until the engine
// refuses it, and that a later report of a better way changes nothing.
func TestScoring(t *testing.T) {
	engine := inferencetest.New()
	models, _ := consult(engine, &fakeLibrary{}, nil, nil)
	engine.AddModel("without", inferencetest.StreamText("x"), nil)
	engine.Configure("without", func(config *kserve.ModelConfig) {
		config.Input = slices.DeleteFunc(config.GetInput(), func(in *kserve.ModelInput) bool { return in.GetName() == "return_logprobs" })
	})
	without := lookUp(t, models, "without")
	if got := without.Scoring(); got != inference.ScoringNone {
		t.Errorf("without log probabilities: %d", got)
	}
	if got := (&catalog.Card{}).Scoring(); got != inference.ScoringNone {
		t.Errorf("without a backend: %d", got)
	}
	card := lookUp(t, models, "m")
	for _, step := range []struct {
		limit []inference.Scoring
		want  inference.Scoring
	}{
		{nil, inference.ScoringIDs},
		{[]inference.Scoring{inference.ScoringIDs}, inference.ScoringIDs},
		{[]inference.Scoring{inference.ScoringAllowed}, inference.ScoringAllowed},
		{[]inference.Scoring{inference.ScoringIDs}, inference.ScoringAllowed},
		{[]inference.Scoring{inference.ScoringTop, inference.ScoringAllowed}, inference.ScoringTop},
		{[]inference.Scoring{inference.ScoringNone}, inference.ScoringNone},
		{[]inference.Scoring{inference.ScoringTop}, inference.ScoringNone},
	} {
		for _, limit := range step.limit {
			card.LimitScoring(limit)
		}
		if got := card.Scoring(); got != step.want {
			t.Errorf("after the limits %d: %d, want %d", step.limit, got, step.want)
		}
	}
}

// lookUp refreshes the catalog and returns the card of a model.
func lookUp(t *testing.T, models *catalog.Catalog, name string) *catalog.Card {
	t.Helper()
	if err := models.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	card, err := models.Lookup(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return card
}

// TestCheckParts checks which content parts a model refuses, and that the error names the first of them.
func TestCheckParts(t *testing.T) {
	part := func(kind inference.PartKind) inference.Part { return inference.Part{Kind: kind} }
	image, own := part(inference.PartImage), inference.Part{Kind: inference.PartImage, Param: "input[0].content[1]"}
	seeing := &catalog.Card{Images: inference.ImageInput{Most: 1}}
	for _, test := range []struct {
		name           string
		card           *catalog.Card
		parts          []inference.Part
		param, message string
	}{
		{"text", &catalog.Card{}, []inference.Part{part(inference.PartText), part(inference.PartRefusal)}, "", ""},
		{"an image", seeing, []inference.Part{part(inference.PartText), image}, "", ""},
		{"too many images", seeing, []inference.Part{image, image}, "messages[1].content[1]", "the model `m` takes at most 1 images in a request"},
		{"too many images of another API", seeing, []inference.Part{image, own}, "input[0].content[1]", "the model `m` takes at most 1 images in a request"},
		{"an image for a model of text", &catalog.Card{}, []inference.Part{image}, "messages[1].content[0]", "this model takes no image_url content"},
		{"audio", seeing, []inference.Part{image, part(inference.PartAudio)}, "messages[1].content[1]", "this model takes no input_audio content"},
		{"a file", seeing, []inference.Part{part(inference.PartFile), image}, "messages[1].content[0]", "this model takes no file content"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.card.CheckParts(&inference.Request{Model: "m", Messages: []inference.Message{{Text: "a"}, {Parts: test.parts}}})
			if test.param == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := inference.AsError(err); e.Code != inference.CodeInvalid || e.Reason != inference.ReasonUnsupported || e.Param != test.param || e.Message != test.message {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestNumericSettings checks the numbers that a model's configuration sets, and that a number out of range
// is logged and leaves the default.
func TestNumericSettings(t *testing.T) {
	for _, test := range []struct {
		name, value                   string
		maxLogprobs, tokens, perBlock int
		log                           string // part of the log, or empty if nothing is logged
	}{
		{inference.SettingMaxLogprobs, "5", 5, 0, 0, ""},
		{inference.SettingMaxLogprobs, "-1", inference.MaxLogprobs, 0, 0, ""},
		{inference.SettingMaxLogprobs, "100000", inference.MaxLogprobs, 0, 0, ""},
		{inference.SettingMaxLogprobs, "-2", inference.DefaultMaxLogprobs, 0, 0, "-2\\\" is not a number of log probabilities"},
		{inference.SettingDefaultMaxTokens, "7", inference.DefaultMaxLogprobs, 7, 0, ""},
		{inference.SettingDefaultMaxTokens, "0", inference.DefaultMaxLogprobs, 0, 0, "0\\\" is not a number of tokens"},
		{inference.SettingTokensPerBlock, "32", inference.DefaultMaxLogprobs, 0, 32, ""},
		{inference.SettingTokensPerBlock, "many", inference.DefaultMaxLogprobs, 0, 0, "many\\\" is not a number of tokens"},
	} {
		t.Run(test.name+" "+test.value, func(t *testing.T) {
			models, log := consult(inferencetest.New(), &fakeLibrary{}, nil, map[string]string{"trident.context_length": "100", "trident." + test.name: test.value})
			card := lookUp(t, models, "m")
			if card.MaxLogprobs != test.maxLogprobs || card.DefaultMaxTokens != test.tokens || card.TokensPerBlock != test.perBlock {
				t.Errorf("got %d log probabilities, %d tokens, %d tokens per block", card.MaxLogprobs, card.DefaultMaxTokens, card.TokensPerBlock)
			}
			want := test.name + "=" + test.value + " (config.pbtxt: trident." + test.name + ")\n"
			if test.log != "" {
				want = ""
			}
			if got := lines(card.Settings); !strings.Contains(got, want) || want == "" && strings.Contains(got, test.name) {
				t.Errorf("the settings are %q", got)
			}
			if got := log.String(); !strings.Contains(got, test.log) || test.log == "" && got != "" {
				t.Errorf("logged %q", got)
			}
		})
	}
}

// BenchmarkEfforts measures what each request with a setting of reasoning does.
func BenchmarkEfforts(b *testing.B) {
	card := &catalog.Card{Template: &countingTemplate{}}
	for b.Loop() {
		if len(card.Efforts(b.Context())) != 2 {
			b.Fatal("no efforts")
		}
	}
}
