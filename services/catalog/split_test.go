package catalog_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// split parses a split.
func split(t *testing.T, text string) catalog.Split {
	t.Helper()
	var s catalog.Split
	if err := s.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSplitText checks the texts of splits, and the errors of invalid ones.
func TestSplitText(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"chat:a=95,b=5", ""},
		{"llama3:8b:a=1", ""},
		{"chat:org/a=0,b=1000000", ""},
		{"chat", "must be ALIAS:MODEL=WEIGHT,MODEL=WEIGHT, such as chat:chat-v1=95,chat-v2=5"},
		{"a=95,b=5", "must be ALIAS:MODEL=WEIGHT"},
		{":a=95", "must be ALIAS:MODEL=WEIGHT"},
		{"chat:a=95,b", `"b" must be MODEL=WEIGHT with a whole weight from 0 to 1000000`},
		{"chat:a=95,", `"" must be MODEL=WEIGHT`},
		{"chat:=95", `"=95" must be MODEL=WEIGHT`},
		{"chat:a=-1,b=5", `"a=-1" must be MODEL=WEIGHT`},
		{"chat:a=0.5,b=0.5", `"a=0.5" must be MODEL=WEIGHT with a whole weight`},
		{"chat:a=1000001", "a whole weight from 0 to 1000000"},
		{"chat:a=0,b=0", "has only weights of 0: give a model a higher weight"},
		{"chat:a=1,a=2", "has the model a twice"},
	} {
		var s catalog.Split
		err := s.UnmarshalText([]byte(test.text))
		if test.want == "" {
			if text, again := s.MarshalText(); err != nil || again != nil || string(text) != test.text {
				t.Errorf("%s: got %s, %v", test.text, text, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.text, err, test.want)
		}
	}
	for want, texts := range map[string][]string{
		"catalog.Splits: the alias chat is given twice":                {"chat:a=1", "chat:b=1"},
		"catalog.Splits: the alias chat is also one of its models: ch": {"chat:chat=95,b=5"},
	} {
		var list []catalog.Split
		for _, text := range texts {
			list = append(list, split(t, text))
		}
		if err := (catalog.Config{Splits: list}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", texts, err, want)
		}
	}
}

// splitService serves the models a, b and c.
func splitService(t *testing.T, splits ...string) (*serving.Service, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	for _, name := range []string{"a", "b", "c"} {
		engine.AddModel(name, inferencetest.StreamText("from "+name), map[string]string{"trident.aliases": "old"})
	}
	service := inferencetest.Service(t, serving.Config{}, engine)
	if err := service.Catalog().Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	setSplits(t, service, splits...)
	return service, engine
}

func setSplits(t *testing.T, service *serving.Service, splits ...string) {
	t.Helper()
	var list []catalog.Split
	for _, text := range splits {
		list = append(list, split(t, text))
	}
	if err := service.Catalog().Split(list); err != nil {
		t.Fatal(err)
	}
}

// servedBy sends requests to an alias and returns the number that each model has answered.
func servedBy(t *testing.T, service *serving.Service, alias string, requests int) string {
	t.Helper()
	counts := map[string]int{}
	for range requests {
		answer := inferencetest.Collect(t.Context(), service, inferencetest.PlainRequest(alias))
		if err := answer.Failure(); err != nil {
			t.Fatal(err)
		}
		counts[answer.Texts[0]]++
	}
	return fmt.Sprint(counts)
}

// TestSplit checks the shares of the models of an alias, while the weights and the models' states
// change, and that the metrics have the real models.
func TestSplit(t *testing.T) {
	service, engine := splitService(t, "chat:a=95,b=5", "old:c=1")
	if got := servedBy(t, service, "chat", 100); got != "map[from a:95 from b:5]" {
		t.Errorf("95 to 5: %s", got)
	}
	if got := servedBy(t, service, "old", 3); got != "map[from c:3]" {
		t.Errorf("an alias that models claim too: %s", got)
	}
	_, models := service.Meters().Load(t.Context())
	counts := map[string]uint64{}
	for i := range models {
		counts[models[i].Model] = models[i].Requests
	}
	if fmt.Sprint(counts) != "map[a:95 b:5 c:3]" {
		t.Errorf("the meters have %v", counts)
	}
	setSplits(t, service, "chat:a=1,b=1")
	if got := servedBy(t, service, "chat", 10); got != "map[from a:5 from b:5]" {
		t.Errorf("1 to 1: %s", got)
	}
	engine.SetState("a", inference.ModelUnavailable, "unloaded")
	if err := service.Catalog().Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := servedBy(t, service, "chat", 10); got != "map[from b:10]" {
		t.Errorf("a model isn't ready: %s", got)
	}
	setSplits(t, service, "chat:a=1,b=0")
	if err := inferencetest.Collect(t.Context(), service, inferencetest.PlainRequest("chat")).Failure(); inference.AsError(err).Code != inference.CodeNotFound {
		t.Errorf("the only model with a weight isn't ready: %v", err)
	}
	setSplits(t, service, "chat:a=0,b=1,nowhere=9")
	if got := servedBy(t, service, "chat", 10); got != "map[from b:10]" {
		t.Errorf("a model that doesn't exist: %s", got)
	}
	setSplits(t, service)
	if err := inferencetest.Collect(t.Context(), service, inferencetest.PlainRequest("chat")).Failure(); inference.AsError(err).Code != inference.CodeNotFound {
		t.Errorf("the split is gone: %v", err)
	}
}

// TestSplitRenewed checks that a request that waits keeps its model, unless the model isn't ready any
// longer.
func TestSplitRenewed(t *testing.T) {
	service, engine := splitService(t, "chat:a=1,b=1")
	models := service.Catalog()
	first, second := models.Resolve("chat"), models.Resolve("chat")
	if first.Card.Name != "a" || second.Card.Name != "b" {
		t.Fatalf("%s and %s", first.Card.Name, second.Card.Name)
	}
	for i := range 3 {
		setSplits(t, service, "chat:a=1,b=1") // a new snapshot
		second.Renew()
		first.Renew()
		if first.Card.Name != "a" || second.Card.Name != "b" {
			t.Errorf("renewed %d times: %s and %s", i+1, first.Card.Name, second.Card.Name)
		}
	}
	engine.SetState("b", inference.ModelUnavailable, "unloaded")
	if err := models.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		setSplits(t, service, "chat:a=1,b=1") // a new snapshot
		first.Renew()
		second.Renew()
		if first.Card.Name != "a" || second.Card.Name != "a" {
			t.Errorf("renewed: %s and %s", first.Card.Name, second.Card.Name)
		}
	}
}

// TestSplitNames checks that lists have the alias once, that descriptions of it are always those of
// the main model, and which names a client may use.
func TestSplitNames(t *testing.T) {
	service, engine := splitService(t, "chat:a=5,b=95", "c:a=1")
	models := service.Catalog()
	list := func(client *inference.Client) (names []string) {
		for _, n := range models.Models(inference.WithClient(t.Context(), client)) {
			names = append(names, n.Name+" is "+n.Card.Name)
		}
		return names
	}
	if got := fmt.Sprint(list(nil)); got != "[a is a b is b c is c chat is b old is a]" {
		t.Errorf("all names: %s", got)
	}
	some := &inference.Client{Name: "some", Models: []string{"chat"}}
	if got := fmt.Sprint(list(some)); got != "[chat is b]" {
		t.Errorf("the names of a client of the alias: %s", got)
	}
	for range 3 {
		if named, err := models.Model(t.Context(), "chat"); err != nil || named.Card.Name != "b" {
			t.Errorf("the description of the alias is that of %v, %v", named.Card, err)
		}
	}
	ctx := inference.WithClient(context.Background(), some)
	for model, want := range map[string]string{"chat": "", "a": "may not use it", "b": "may not use it"} {
		err := inferencetest.Collect(ctx, service, inferencetest.PlainRequest(model)).Failure()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", model, err, want)
		}
	}
	if got := servedBy(t, service, "c", 5); got != "map[from c:5]" {
		t.Errorf("the own name of a model: %s", got)
	}
	own := models.ResolveOwn("chat")
	if own.Card != nil {
		t.Errorf("a name of KServe is that of %s", own.Card.Name)
	}
	engine.SetState("b", inference.ModelUnavailable, "unloaded")
	if err := models.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(list(some)); got != "[chat is a]" {
		t.Errorf("the main model isn't ready: %s", got)
	}
}
