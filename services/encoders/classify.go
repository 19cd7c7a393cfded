package encoders

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	api "github.com/trident-inference/trident/gen/go/encoders"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// textInputs returns inputs of texts.
func textInputs(texts []string) []inference.EncodeInput {
	inputs := make([]inference.EncodeInput, len(texts))
	for i := range texts {
		inputs[i].Text = texts[i]
	}
	return inputs
}

// classify classifies texts.
func (h *Handler) classify(ctx context.Context, o *options, texts []string) (*inference.EncodeAnswer, error) {
	req, err := h.request(ctx, o, inference.TaskClassify)
	if err != nil {
		return nil, err
	}
	req.Inputs = textInputs(texts)
	return h.encode(ctx, req)
}

// Classify classifies texts in the form of vLLM.
func (h *Handler) Classify(w http.ResponseWriter, r *http.Request) {
	var o options
	var texts []string
	err := with(members{"input": oneOrMoreIn(&texts, nil)}, o.vllm(), o.activations()).read(r, "input")
	var answer *inference.EncodeAnswer
	if err == nil {
		answer, err = h.classify(r.Context(), &o, texts)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	response := api.ClassifyResponse{
		ID: newID("classify"), Object: api.ClassifyResponseObjectList, Created: now(), Model: o.model,
		Usage: usage(&answer.Usage), Data: make([]api.Classification, len(texts)),
	}
	for i := range answer.Results {
		result := &answer.Results[i]
		response.Data[i] = api.Classification{Index: i, Label: answer.Labels[result.Likeliest()], Probs: result.Classes, NumClasses: len(result.Classes)}
	}
	writeJSON(w, r, response)
}

// predictions returns the classes of an input, the likeliest first.
func predictions(labels []string, classes []float64) []api.Prediction {
	list := make([]api.Prediction, len(classes))
	for i := range classes {
		list[i] = api.Prediction{Label: labels[i], Score: classes[i]}
	}
	slices.SortStableFunc(list, func(a, b api.Prediction) int { return cmp.Compare(b.Score, a.Score) })
	return list
}

// InfinityClassify classifies texts in the form of infinity.
func (h *Handler) InfinityClassify(w http.ResponseWriter, r *http.Request) {
	var o options
	var texts []string
	err := with(members{"input": textsIn(&texts)}, o.common(), o.raw()).read(r, "input")
	var answer *inference.EncodeAnswer
	if err == nil {
		o.dropDefaultModel()
		answer, err = h.classify(r.Context(), &o, texts)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	response := api.InfinityClassifyResponse{
		ID: newID("infinity"), Object: api.InfinityClassifyResponseObjectClassify, Created: now(), Model: o.model,
		Usage: infinityUsage(&answer.Usage), Data: make([]api.TEIPredictions, len(texts)),
	}
	for i := range answer.Results {
		response.Data[i] = predictions(answer.Labels, answer.Results[i].Classes)
	}
	writeJSON(w, r, response)
}

// moderation is the input of a request for categories.
type moderation struct {
	options

	texts []string
	one   bool // the input is one text, or its parts
}

// input reads a text, a list of texts, or a list of the parts of one text.
func (m *moderation) input(r *strictjson.Reader) error {
	if r.Peek() != '[' {
		return oneOrMoreIn(&m.texts, &m.one)(r)
	}
	var parts []string
	err := list(r, "a string, a list of strings or a list of parts", func(i int) error {
		if r.Peek() != '{' {
			if parts != nil {
				return r.Mismatch("a part")
			}
			s, err := text(r)
			m.texts = append(m.texts, s)
			return err
		}
		if m.texts != nil {
			return r.Mismatch("a string")
		}
		part, err := m.part(r, "input"+strictjson.Index(i))
		parts = append(parts, part)
		return err
	})
	if parts != nil {
		m.texts, m.one = []string{strings.Join(parts, "\n")}, true
	}
	return err
}

// part reads a part at a path.
func (m *moderation) part(r *strictjson.Reader, path string) (string, error) {
	var kind, content string
	err := m.object(r, members{
		"type": wordIn(&kind, "text", "image_url"), "text": textIn(&content),
		"image_url": func(r *strictjson.Reader) error {
			_, err := r.Value(false)
			return err
		},
	}, path, "type")
	switch {
	case err != nil:
		return "", err
	case kind == "image_url":
		return "", &strictjson.Error{Path: "type", Message: "must be text: classifiers here take no images", Named: true, Unsupported: true}
	case content == "":
		return "", strictjson.Missing("text")
	}
	return content, nil
}

// flagFrom is the probability from which a text belongs to a category.
const flagFrom = 0.5

// CreateModeration returns the categories of texts in the form of OpenAI's API.
func (h *Handler) CreateModeration(w http.ResponseWriter, r *http.Request) {
	var m moderation
	err := with(members{"input": m.input}, m.common()).read(r, "input")
	var answer *inference.EncodeAnswer
	if err == nil {
		answer, err = h.classify(r.Context(), &m.options, m.texts)
	}
	if err == nil {
		err = checkCategories(m.model, answer.Labels)
	}
	if err != nil {
		writeError(w, r, err)
		return
	}
	response := api.ModerationResponse{ID: newID("modr"), Model: m.model, Results: make([]api.Moderation, len(m.texts))}
	for i := range answer.Results {
		response.Results[i] = categories(answer.Labels, answer.Results[i].Classes)
	}
	writeJSON(w, r, response)
}

// categories returns the categories of a text. Labels of harmless texts are categories too, which flag nothing.
func categories(labels []string, classes []float64) api.Moderation {
	result := api.Moderation{Categories: map[string]bool{}, CategoryScores: map[string]float64{}, CategoryAppliedInputTypes: map[string][]api.ModerationCategoryAppliedInputTypes{}}
	for i, label := range labels {
		applies := classes[i] >= flagFrom
		result.Categories[label], result.CategoryScores[label] = applies, classes[i]
		result.CategoryAppliedInputTypes[label] = []api.ModerationCategoryAppliedInputTypes{api.ModerationCategoryAppliedInputTypesText}
		result.Flagged = result.Flagged || applies && !harmless(label)
	}
	return result
}

// harmlessLabels are the names that classifiers of harmful texts have for other texts, as harmless compares them.
var harmlessLabels = []string{ //nolint:gochecknoglobals // a constant list
	"acceptable", "benign", "clean", "harmless", "legitimate", "neutral", "no", "none", "nonhate", "nonoffensive", "nontoxic", "normal", "nothate", "nothatespeech",
	"notoffensive", "notoxic", "nottoxic", "ok", "okay", "other", "safe", "sfw", "unharmful",
}

// harmless reports whether a label stands for harmless texts. Case, spaces, hyphens and underscores don't matter.
func harmless(label string) bool {
	return slices.Contains(harmlessLabels, strings.NewReplacer(" ", "", "-", "", "_", "").Replace(strings.ToLower(label)))
}

// numbered matches the labels of a model whose configuration names none.
var numbered = regexp.MustCompile(`^LABEL_\d+$`)

// checkCategories returns an error for labels without names of their own.
func checkCategories(model string, labels []string) error {
	if slices.ContainsFunc(labels, numbered.MatchString) {
		return inference.Unsupported("model", "the model `%s` has no names of its classes, which moderations need to find the harmful ones: set its parameter %s", model, inference.ParamPrefix+inference.SettingLabels)
	}
	return nil
}
