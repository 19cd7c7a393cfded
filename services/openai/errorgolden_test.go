package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/wirecode"
)

var update = flag.Bool("update", false, "write the goldens again")

const goldenErrors = "testdata/errors.jsonl"

// goldenError is one error as a client receives it: a line of the golden file.
type goldenError struct {
	Name       string  `json:"name"`
	Status     int     `json:"status"`
	Type       string  `json:"type"`
	Code       *string `json:"code"`
	Param      *string `json:"param"`
	RetryAfter string  `json:"retry_after,omitempty"`
	Message    string  `json:"message"`
}

// TestErrors compares each error of the API with its golden: status, type, code, param,
// Retry-After and message, of non-streaming and streamed responses. `-update` rewrites
// the goldens.
func TestErrors(t *testing.T) {
	golden := map[string]goldenError{}
	raw, err := os.ReadFile(goldenErrors)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var e goldenError
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		golden[e.Name] = e
	}
	var fresh bytes.Buffer
	for _, tt := range errorCases() {
		t.Run(tt.name, func(t *testing.T) {
			got := goldenLine(t, tt.send(t))
			fresh.Write(got)
			want, known := golden[tt.name]
			if !*update && (!known || !bytes.Equal(got, goldenLine(t, want))) {
				t.Errorf("got  %swant %s", got, goldenLine(t, want))
			}
			delete(golden, tt.name)
		})
	}
	if *update {
		if err := os.WriteFile(goldenErrors, fresh.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	for name := range golden {
		t.Errorf("a golden without a case: %s", name)
	}
}

// TestErrorsStayTheSame checks that a client that repeats a bad request gets the same error each
// time. It sends each bad request 20 times.
func TestErrorsStayTheSame(t *testing.T) {
	const times = 20
	for _, tt := range errorCases() {
		t.Run(tt.name, func(t *testing.T) {
			handler := tt.handler(t)
			first := goldenLine(t, tt.sendTo(t, handler))
			for range times - 1 {
				if again := goldenLine(t, tt.sendTo(t, handler)); !bytes.Equal(again, first) {
					t.Fatalf("got  %sfirst %s", again, first)
				}
			}
		})
	}
}

func goldenLine(t *testing.T, e goldenError) []byte {
	t.Helper()
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		t.Fatal(err)
	}
	return line.Bytes()
}

// TestErrorsOfTable checks that each golden error is a row of wirecode.Table, which the reference
// documents, and that the goldens have each row that this frontend sends.
func TestErrorsOfTable(t *testing.T) {
	raw, err := os.ReadFile(goldenErrors)
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]bool{}
	for line := range bytes.Lines(raw) {
		var e goldenError
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.Status != http.StatusOK { // else the error came in a stream
			sent[fmt.Sprintf("%d %s %s", e.Status, e.Type, decode.Value(e.Code))] = true
		}
	}
	elsewhere := map[string]string{ // rows that others send, with the test that shows it
		"401 invalid_request_error invalid_api_key":             "TestDenials of services/server",
		"401 authentication_error invalid_auth":                 "TestRestrictedDenial of services/server",
		"403 invalid_request_error forbidden":                   "TestOperatorRoutes of services/auth",
		"403 invalid_request_error origin_not_allowed":          "TestBadRequests of the end-to-end tests",
		"421 invalid_request_error host_not_allowed":            "TestMisdirected of services/server",
		"429 rate_limit_error too_many_authentication_failures": "TestAuthenticationFailures of the program",
		"431 invalid_request_error too_many_headers":            "TestHeaderLines of the program",
		"400 invalid_request_error last_endpoint":               "TestDrainLast of services/triton/fleet",
		"404 invalid_request_error endpoint_not_found":          "TestDrainUnknown of services/triton/fleet",
		"404 invalid_request_error previous_response_not_found": "TestResponseErrors of services/openai/responses",
		"404 invalid_request_error response_not_found":          "TestStoredResponses of services/openai/responses",
		"404 invalid_request_error item_not_found":              "TestResponseErrors of services/openai/responses",
		"503 server_error store_unavailable":                    "TestStoreAway of services/openai/responses",
		"499 server_error ":                                     "no client receives it",
		"400 invalid_request_error ":                            "TestRefused of services/triton",
	}
	for _, row := range wirecode.Table() {
		status, kind := wirecode.OpenAI(row.Code, row.Reason)
		name := fmt.Sprintf("%d %s %s", status, kind, row.Reason)
		if shown := elsewhere[name] != ""; shown == sent[name] {
			t.Errorf("%s: in the goldens: %t, elsewhere: %t", name, sent[name], shown)
		}
		delete(sent, name)
	}
	for name := range sent {
		t.Errorf("%s is no row of wirecode.Table", name)
	}
}

// errorCase is a request whose error response is compared with the golden file.
type errorCase struct {
	name, method, path, body string
	// fails is the error with which the model ends, if it gets the request.
	fails error
	// breaks is the error that ends the body.
	breaks error
	// prepare changes the server before the request.
	prepare func(*testing.T, *errorServer)
	// header is an additional header, as name and value.
	header [2]string
	strict bool
}

// errorServer has what cases may change before their request.
type errorServer struct {
	engine    *inferencetest.Engine
	service   serving.Config
	separator string // separator between the names of a model and of its LoRA adapter
	// started is called with the running service.
	started func(*serving.Service)
}

// goldenNames are the names of fields that the golden errors have.
func goldenNames() *configfield.Names {
	return configfield.NamesOf(map[configfield.Field]string{
		"images.AllowURLs": "--allow-image-urls", "images.MaxCount": "--image-max-count", "inference.SettingChatTemplate": "--chat-template",
	})
}

// send sends the request and returns the error.
func (c *errorCase) send(t *testing.T) goldenError {
	t.Helper()
	return c.sendTo(t, c.handler(t))
}

func (c *errorCase) sendTo(t *testing.T, handler *Handler) goldenError {
	t.Helper()
	var body io.Reader = strings.NewReader(c.body)
	if c.breaks != nil {
		body = iotest.ErrReader(c.breaks)
	}
	r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, body)
	if c.header[0] != "" {
		r.Header.Set(c.header[0], c.header[1])
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	answer := w.Body.Bytes()
	if events, ok := bytes.CutPrefix(answer, []byte("data: ")); ok { // the error is the last event of the stream
		answer = events[bytes.LastIndex(events, []byte("{\"error\"")):]
	}
	var wrapped map[string]map[string]*string
	if err := json.Unmarshal(answer, &wrapped); err != nil || len(wrapped) != 1 || len(wrapped["error"]) != 4 {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	e := wrapped["error"]
	return goldenError{
		Name: c.name, Status: w.Code, Type: decode.Value(e["type"]), Code: e["code"], Param: e["param"],
		RetryAfter: w.Header().Get("Retry-After"), Message: decode.Value(e["message"]),
	}
}

func (c *errorCase) handler(t *testing.T) *Handler {
	t.Helper()
	s := &errorServer{engine: inferencetest.New(), service: serving.Config{Names: goldenNames()}}
	script := inferencetest.StreamText("x")
	if c.fails != nil {
		script = func(context.Context, *kserve.ModelInferRequest, func(*inference.Response) bool) error { return c.fails }
	}
	s.engine.AddModel("chat", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.context_length": "100"})
	s.engine.AddModel("caller", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.tool_call_parser": "hermes"})
	s.engine.AddModel("seeing", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.image_token": "<image>"})
	s.engine.AddModel("plain", script, nil)
	s.engine.AddModel("embedding", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	if c.prepare != nil {
		c.prepare(t, s)
	}
	service := inferencetest.ServiceWithSeparator(t, s.separator, s.service, s.engine)
	if s.started != nil {
		s.started(service)
	}
	return newHandler(Config{Strict: c.strict}, service, newValidator(t))
}
