package toolparser

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/tier"
)

var updateVectors = flag.Bool("update-vectors", false, "write the parsers' results to testdata/vectors as the wanted results")

// vectorFile has a format's test vectors. The inputs are this project's;
// testdata/vectors/README.md has the source of the reference's outputs.
type vectorFile struct {
	Format    string     `json:"format"`
	Reasoning string     `json:"reasoning"`
	Prompt    string     `json:"prompt,omitempty"`
	Reference *reference `json:"reference,omitempty"`
	// Unreferenced is the reason why no reference parser was run.
	Unreferenced string   `json:"unreferenced,omitempty"`
	Vectors      []vector `json:"vectors"`
}

// reference names the parser whose outputs are in the file.
type reference struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Parser  string `json:"parser"`
}

// vector is an answer of a model, this parser's output and the reference's output.
type vector struct {
	Name      string  `json:"name"`
	In        string  `json:"in"`
	Thinks    bool    `json:"thinks,omitempty"` // the vector also uses the reasoning parser
	Want      parsed  `json:"want"`
	Reference *parsed `json:"reference,omitempty"`
	// Differs is the reason why this parser's output differs from the reference's.
	Differs string `json:"differs,omitempty"`
}

type parsed struct {
	Text      string       `json:"text"`
	Reasoning string       `json:"reasoning"`
	Calls     []parsedCall `json:"calls"`
	// Error is the reference's error. The reference then has no output.
	Error string `json:"error,omitempty"`
}

type parsedCall struct {
	ID        string `json:"id,omitempty"` // the call's id that the model wrote, if any
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// sameAs compares outputs: arguments as JSON, and texts without the surrounding white space.
func (p *parsed) sameAs(other *parsed) bool {
	same := strings.TrimSpace(p.Text) == strings.TrimSpace(other.Text) && strings.TrimSpace(p.Reasoning) == strings.TrimSpace(other.Reasoning)
	return same && other.Error == "" && slices.EqualFunc(p.Calls, other.Calls, parsedCall.sameAs)
}

func (c parsedCall) sameAs(other parsedCall) bool {
	if c.Name != other.Name || c.ID != other.ID {
		return false
	}
	a, b := "{}", "{}"
	if c.Arguments != "" {
		a = c.Arguments
	}
	if other.Arguments != "" {
		b = other.Arguments
	}
	var ours, theirs any
	if json.Unmarshal([]byte(a), &ours) != nil || json.Unmarshal([]byte(b), &theirs) != nil {
		return a == b
	}
	return reflect.DeepEqual(ours, theirs)
}

// readVectors reads a vector file.
func readVectors(t *testing.T, path string) *vectorFile {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var f vectorFile
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &f
}

// write writes the file with the changes of -update.
func (f *vectorFile) write(t *testing.T, path string) {
	t.Helper()
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(f); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

func vectorPaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/vectors/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	return paths
}

func vectorTools(t *testing.T) []json.RawMessage {
	t.Helper()
	data, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var tools []json.RawMessage
	if err := json.Unmarshal(data, &tools); err != nil {
		t.Fatal(err)
	}
	return tools
}

// cutStep is the distance between two cuts. The race detector slows the parsers down and has
// the same findings at each cut, so fewer cuts suffice.
var cutStep = map[bool]int{false: 1, true: 29}[tier.Race]

// TestVectors parses each vector whole, and in two parts at every cut between its bytes.
func TestVectors(t *testing.T) {
	tools := vectorTools(t)
	for _, path := range vectorPaths(t) {
		f := readVectors(t, path)
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			for i := range f.Vectors {
				v := &f.Vectors[i]
				checkVector(t, func() *inference.ParserOptions {
					o := options(f.Format, "")
					o.Definitions, o.Prompt = tools, f.Prompt
					if v.Thinks {
						o.Reasoning = f.Reasoning
					}
					return o
				}, f, v)
			}
			if *updateVectors {
				f.write(t, path)
			}
		})
	}
}

func checkVector(t *testing.T, opts func() *inference.ParserOptions, f *vectorFile, v *vector) {
	t.Helper()
	whole, ids := parseWithIDs(t, opts(), v.In)
	got := parsed{Text: whole.Text, Reasoning: whole.Reasoning, Calls: []parsedCall{}}
	for i, c := range whole.Calls {
		got.Calls = append(got.Calls, parsedCall{ID: ids[i], Name: c.Name, Arguments: c.Arguments})
	}
	if *updateVectors {
		v.Want = got
	}
	if !reflect.DeepEqual(got, v.Want) {
		t.Errorf("%s: of %q\ngot  %+v\nwant %+v", v.Name, v.In, got, v.Want)
	}
	expect := func(parts ...string) {
		t.Helper()
		if split := parse(t, opts(), parts...); !split.equal(whole) {
			t.Errorf("%s: in parts %q\ngot   %+v\nwhole %+v", v.Name, parts, split, whole)
		}
	}
	expect(bytewise(v.In)...)
	for i := 0; i < len(v.In); i += cutStep {
		expect(v.In[:i], v.In[i:])
	}
	switch {
	case f.Reference == nil:
	case v.Reference == nil:
		t.Errorf("%s: has no output of %s", v.Name, f.Reference.Name)
	case !got.sameAs(v.Reference) && v.Differs == "":
		t.Errorf("%s: of %q\ngot %+v\n%s %+v: the field differs needs the reason", v.Name, v.In, got, f.Reference.Parser, *v.Reference)
	case got.sameAs(v.Reference) && v.Differs != "":
		t.Errorf("%s: differs has the reason %q, but the outputs are the same", v.Name, v.Differs)
	}
}

// parseWithIDs parses a text whole. It returns the ids that the model wrote for its calls,
// with "" for each random id.
func parseWithIDs(t *testing.T, o *inference.ParserOptions, text string) (whole answered, ids []string) {
	t.Helper()
	o.ID = func() string { return "random" }
	p, err := Dialects{}.Parser(o)
	if err != nil {
		t.Fatal(err)
	}
	var got collector
	take := func(pieces []inference.Piece) {
		got.add(t, pieces)
		for _, piece := range pieces {
			switch id := piece.Call.ID; {
			case id == "":
			case strings.Contains(id, "random"):
				ids = append(ids, "")
			default:
				ids = append(ids, id)
			}
		}
	}
	pieces, state := p.Parse([]byte(text))
	take(pieces)
	take(p.Finish())
	return got.answered(state), ids
}

// kinds returns the names of the vectors that every file needs.
func (f *vectorFile) kinds(path string) []string {
	if strings.HasPrefix(filepath.Base(path), "reasoning_") {
		return []string{"reasoning and text", "lines", "unicode", "empty", "cut in the tag", "cut in the reasoning", "closing tag again", "opening tag again", "neither tag"}
	}
	kinds := []string{"text", "one call", "no arguments", "types", "nested", "parallel", "unicode", "empty string", "text before", "text after", "cut in the marker", "cut in the value", "broken call", "several markers"}
	if f.Reasoning != "" {
		kinds = append(kinds, "reasoning and a call", "a call inside reasoning")
	}
	return kinds
}

// TestVectorsAreComplete checks that every format has 12 or more vectors, of every kind, and that there
// are at least 35 formats.
func TestVectorsAreComplete(t *testing.T) {
	have, thoughts := map[string]bool{}, map[string]bool{}
	for _, path := range vectorPaths(t) {
		f := readVectors(t, path)
		switch d, err := toolsNamed(f.Format); {
		case err != nil:
			t.Fatal(err)
		case strings.HasPrefix(filepath.Base(path), "reasoning_"):
			thoughts[f.Reasoning] = true
		default:
			have[d.names[0]] = true
		}
		if len(f.Vectors) < 12 {
			t.Errorf("%s has %d vectors: it needs 12", path, len(f.Vectors))
		}
		for _, kind := range f.kinds(path) {
			if !slices.ContainsFunc(f.Vectors, func(v vector) bool { return v.Name == kind && v.In != "" }) {
				t.Errorf("%s has no vector %q", path, kind)
			}
		}
		if (f.Reference == nil) == (f.Unreferenced == "") {
			t.Errorf("%s: it needs a reference, or the reason why it has none", path)
		}
	}
	for _, d := range toolDialects() {
		if !have[d.names[0]] {
			t.Errorf("%s has no vectors", d.names[0])
		}
	}
	for _, d := range reasoningDialects() {
		for _, name := range d.names {
			if alias := []string{"gpt_oss", "harmony"}; !thoughts[name] && !slices.Contains(alias, name) {
				t.Errorf("the reasoning parser %s has no vectors", name)
			}
		}
	}
	if len(have) < 35 {
		t.Errorf("%d formats have vectors", len(have))
	}
}
