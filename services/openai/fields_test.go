package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// The ways in which Trident treats a request field, as in the columns of docs/reference/openai.md.
const (
	honoured = "honoured"
	metadata = "metadata"
	ignored  = "ignored"
	refused  = "refused"
)

// fieldTables parses the tables of docs/reference/openai.md. It returns the treatment by
// operation, field and kind of model.
func fieldTables(t *testing.T) map[string]map[string]map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/reference/openai.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]map[string]map[string]string{}
	var operation string
	var kinds []string
	for line := range strings.Lines(string(doc)) {
		if heading, ok := strings.CutPrefix(line, "#"); ok {
			operation, kinds = strings.TrimLeft(strings.TrimSpace(heading), "# "), nil
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case cells[0] == "field":
			kinds = cells[1 : len(cells)-1]
			tables[operation] = map[string]map[string]string{}
		case kinds != nil && strings.HasPrefix(cells[0], "`"):
			row := map[string]string{}
			for i, kind := range kinds {
				row[kind] = cells[i+1]
			}
			tables[operation][strings.Trim(cells[0], "`")] = row
		}
	}
	return tables
}

// TestFieldTablesAreComplete checks that the tables of request fields list exactly the fields in
// the OpenAPI document.
func TestFieldTablesAreComplete(t *testing.T) {
	tables := fieldTables(t)
	for operation, fields := range requestFields(t) {
		listed := slices.Sorted(maps.Keys(tables[operation]))
		if !slices.Equal(fields, listed) {
			t.Errorf("%s\nhas        %v\ndocumented %v", operation, fields, listed)
		}
		for field, row := range tables[operation] {
			for kind, word := range row {
				if !slices.Contains([]string{honoured, metadata, ignored, refused}, word) {
					t.Errorf("%s: %s: %s is %q", operation, field, kind, word)
				}
			}
		}
	}
}

// TestInnerFieldsExist tests that the table of nested fields lists only fields of
// the document.
func TestInnerFieldsExist(t *testing.T) {
	rows := fieldTables(t)["Inside the fields of a chat"]
	if len(rows) == 0 {
		t.Error("no rows")
	}
	for path := range rows {
		at := shapeOf(openaitest.Schema(t, "CreateChatCompletionRequest"))
		for key := range strings.SplitSeq(strings.ReplaceAll(path, "[]", ".[]"), ".") {
			if key == "[]" {
				at = at.items
				continue
			}
			below, there := at.keys[key]
			if !there {
				t.Errorf("%s: there is no %s", path, key)
				break
			}
			at = below
		}
	}
}

// requestFields returns the fields of the operations that models serve.
func requestFields(t *testing.T) map[string][]string {
	t.Helper()
	doc := openaitest.Document(t)
	fields := map[string][]string{}
	for _, path := range []string{chatPath, completionPath, decisionPath, "/v1/embeddings"} {
		schema := doc.Paths.Value(path).Post.RequestBody.Value.Content["application/json"].Schema.Value
		fields["POST "+path] = slices.Sorted(maps.Keys(schema.Properties))
	}
	return fields
}

// probe shows the effect of one field.
type probe struct {
	// fields of the request, including the probed one. A refused field must be
	// refused among these fields.
	fields string
	// with are the fields that the request has with and without the probed one.
	with string
	// The model's inputs contain sent, and the response contains got, only with the
	// probed field.
	sent, got string
	// listed is the field in the header of ignored fields.
	listed string
	// param of the refusal, if it isn't the field.
	param string
}

// TestFields sends the probes of each row of the tables of docs/reference/openai.md through
// the handler, for each kind of model with a column.
func TestFields(t *testing.T) {
	for operation, rows := range fieldTables(t) {
		if fieldProbes()[operation] == nil {
			continue
		}
		for kind, add := range fieldKinds {
			engine := inferencetest.New()
			add(t, engine)
			server, strict := fieldServer(t, Config{}, engine), fieldServer(t, Config{Strict: true}, engine)
			probes := probesOf(kind, operation)
			for field, row := range rows {
				if row[kind] == "" { // the table lacks that column
					continue
				}
				t.Run(operation+" "+kind+" "+field, func(t *testing.T) {
					if len(probes[field]) == 0 {
						t.Fatalf("no probe shows that it is %s", row[kind])
					}
					for _, p := range probes[field] {
						f := fieldTest{server: server, strict: strict, engine: engine, path: chatPath, field: field, probe: p}
						if path, ok := strings.CutPrefix(operation, "POST "); ok {
							f.path = path
						}
						f.run(t, row[kind])
					}
				})
			}
			for field := range probes {
				if rows[field] == nil {
					t.Errorf("%s: a probe of %s, which isn't documented", operation, field)
				}
			}
		}
	}
}

func fieldServer(t *testing.T, cfg Config, engine *inferencetest.Engine) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(newHandler(cfg, inferencetest.Service(t, serving.Config{}, engine), newValidator(t)))
	t.Cleanup(server.Close)
	return server
}

// fieldTest sends the requests of one probe, which tests one request field.
type fieldTest struct {
	probe

	server      *httptest.Server
	strict      *httptest.Server // serves the same engine and refuses ignored fields
	engine      *inferencetest.Engine
	path, field string
}

func (f *fieldTest) run(t *testing.T, treatment string) {
	t.Helper()
	without := f.send(t, false, f.with)
	with := f.send(t, false, f.with, f.fields)
	if without.status != http.StatusOK {
		t.Fatalf("without the field: %d %s", without.status, without.body)
	}
	switch treatment {
	case honoured:
		f.checkHonoured(t, with, without)
	case metadata:
		if with.status != http.StatusOK || with.sent != without.sent {
			t.Errorf("%d; sent %s, without it %s", with.status, with.sent, without.sent)
		}
	case ignored:
		if with.status != http.StatusOK || with.sent != without.sent || f.listed == "" || with.ignored != f.listed || without.ignored != "" {
			t.Errorf("%d; sent %s, without it %s; lists %q", with.status, with.sent, without.sent, with.ignored)
		}
		if strict := f.send(t, true, f.with, f.fields); strict.status != http.StatusBadRequest || strict.sent != "" || !strings.Contains(strict.body, `"param":"`+f.listed+`","code":"unsupported_parameter"`) {
			t.Errorf("strict: %d %s", strict.status, strict.body)
		}
	case refused:
		f.checkRefused(t, with)
	}
	f.checkNeutral(t)
}

func (f *fieldTest) checkHonoured(t *testing.T, with, without fieldAnswer) {
	t.Helper()
	switch {
	case with.status != http.StatusOK:
		t.Errorf("%d %s", with.status, with.body)
	case f.sent == "" && f.got == "":
		t.Error("the probe names no effect of the field")
	case !strings.Contains(with.sent, f.sent) || f.sent != "" && strings.Contains(without.sent, f.sent):
		t.Errorf("sent %s, without it %s; only the first must hold %s", with.sent, without.sent, f.sent)
	case !strings.Contains(with.body, f.got) || f.got != "" && strings.Contains(without.body, f.got):
		t.Errorf("got %s, without it %s; only the first must hold %s", with.body, without.body, f.got)
	}
}

func (f *fieldTest) checkRefused(t *testing.T, with fieldAnswer) {
	t.Helper()
	param := f.param
	if param == "" {
		param = f.field
	}
	var answer struct{ Error wire.Error }
	if err := json.Unmarshal([]byte(with.body), &answer); err != nil || with.status != http.StatusBadRequest {
		t.Fatalf("%d %s", with.status, with.body)
	}
	if e := answer.Error; decode.Value(e.Param) != param || decode.Value(e.Code) != inference.ReasonUnsupported.String() || with.sent != "" {
		t.Errorf("%s; sent %s", with.body, with.sent)
	}
}

// checkNeutral sends null, which every optional field must accept.
func (f *fieldTest) checkNeutral(t *testing.T) {
	t.Helper()
	if strings.Contains(f.field, ".") || slices.Contains([]string{"model", "messages", "prompt", "input", "questions"}, f.field) {
		return
	}
	if a := f.send(t, false, f.with, fmt.Sprintf("%q: null", f.field)); a.status != http.StatusOK {
		t.Errorf("null: %d %s", a.status, a.body)
	}
}

// fieldAnswer has the response to a request, and the inputs that the engine received.
type fieldAnswer struct {
	status     int
	body, sent string
	ignored    string // header that lists ignored fields
}

// send sends a request with the given fields. If a field occurs twice, the later value applies.
func (f *fieldTest) send(t *testing.T, strict bool, fields ...string) fieldAnswer {
	t.Helper()
	body := map[string]json.RawMessage{}
	for _, list := range append([]string{baseFields[f.path]}, fields...) {
		if err := json.Unmarshal([]byte("{"+list+"}"), &body); err != nil {
			t.Fatalf("%s: %v", list, err)
		}
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	before := len(f.engine.Requests())
	target := f.server
	if strict {
		target = f.strict
	}
	resp, answer := openaitest.Do(t, http.MethodPost, target.URL+f.path, string(text))
	var sent strings.Builder
	for _, req := range f.engine.Requests()[before:] {
		sent.WriteString(inputsOf(req))
	}
	return fieldAnswer{status: resp.StatusCode, body: answer, sent: sent.String(), ignored: resp.Header.Get(server.IgnoredHeader)}
}

var baseFields = map[string]string{
	chatPath:         `"model":"chat","messages":[{"role":"user","content":"hi"}]`,
	completionPath:   `"model":"chat","prompt":"hi"`,
	decisionPath:     `"model":"decision","input":"hi","questions":[{"type":"predicate","instructions":"Is it polite?"}]`,
	"/v1/embeddings": `"model":"embedding","input":"hi"`,
}

// inputsOf returns a request's inputs and parameters as a string.
func inputsOf(req *kserve.ModelInferRequest) string {
	var b strings.Builder
	for i, in := range req.GetInputs() {
		fmt.Fprintf(&b, "%s=%s ", in.GetName(), elements(in, req.GetRawInputContents()[i]))
	}
	for name, p := range req.GetParameters() {
		fmt.Fprintf(&b, "%s=%d ", name, p.GetUint64Param())
	}
	return b.String()
}
