package catalog_test

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// TestOverride checks that Catalog.Override changes the settings of loaded models, and that a model
// with unchanged settings keeps its Card.
func TestOverride(t *testing.T) {
	engine := inferencetest.New()
	library := &fakeLibrary{published: &inference.Published{Template: inference.TemplateSource{Source: "published"}, TemplateOrigin: "hub"}}
	models, log := consult(engine, library, []inference.Override{override("m", "aliases", "a"), override("", "tokenizer", "org/a")}, nil)
	engine.AddModel("other", inferencetest.StreamText("x"), nil)
	if err := models.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	card := func(name string) *catalog.Card {
		t.Helper()
		card, err := models.Lookup(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return card
	}
	before, other := card("m"), card("other")

	models.Override(t.Context(), []inference.Override{override("m", "aliases", "b"), override("", "tokenizer", "org/a")})
	after := card("m")
	if len(after.Aliases) != 1 || after.Aliases[0] != "b" || before.Aliases[0] != "a" {
		t.Errorf("the aliases were %v and are %v", before.Aliases, after.Aliases)
	}
	if !after.Loaded.Equal(before.Loaded) || after.Fingerprint != before.Fingerprint {
		t.Error("the model looks as if it had been loaded again")
	}
	if card("other") != other {
		t.Error("a model whose settings are the same has a new card")
	}

	for range 2 {
		models.Override(t.Context(), []inference.Override{override("m", "aliases", "b"), override("", "tokenizer", "org/a"), override("n", "hidden", "true"), override("n", "aliases", "c")})
		if err := models.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), `msg="the settings name a model that Triton doesn't have" model=n from="flag for n"`); n != 2 {
		t.Errorf("logged %d times: %s", n, log)
	}

	// A setting whose files must be fetched leaves the model unchanged until they are available.
	library.err, library.published = inference.ErrFetching, nil
	models.Override(t.Context(), []inference.Override{override("m", "tokenizer", "org/b")})
	if got := card("m"); got != after || got.Template == nil {
		t.Error("the model lost its card to one that is being fetched")
	}
	library.err, library.published = nil, &inference.Published{Template: inference.TemplateSource{Source: "fetched"}, TemplateOrigin: "hub"}
	if err := models.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := lines(card("m").Settings); !strings.Contains(got, "chat_template=Jinja, 7 characters (hub)") {
		t.Errorf("got\n%s", got)
	}
}
