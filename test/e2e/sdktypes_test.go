package e2e

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// recording contains what clients received through its proxies: responses, events and errors, each
// with its type in OpenAI's SDKs.
type recording struct {
	mu   sync.Mutex
	seen []typedObject
}

// typedObject is a JSON object and the name of its type in the SDKs.
type typedObject struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// proxy starts a proxy in front of a server and returns the proxy's address. The proxy checks the
// responses of OpenAI's API against the OpenAPI document, and records them.
func (rec *recording) proxy(t *testing.T, target string) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(response *http.Response) error {
			checkContract(response.Request, response, rec.add)
			return nil
		},
		Transport: &http.Transport{},
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo), // clients disconnect
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		proxy.ServeHTTP(w, r.WithContext(withTestName(r.Context(), t)))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// sdkTypes maps operations to the SDKs' type names of their complete responses and of their events.
var sdkTypes = map[string][2]string{
	"createChatCompletion": {"ChatCompletion", "ChatCompletionChunk"},
	"createCompletion":     {"Completion", "Completion"},
	"createEmbedding":      {"CreateEmbeddingResponse"},
	"createDecision":       {"Decision"},
	"retrieveModel":        {"Model"},

	"createResponse":           {"Response", "ResponseStreamEvent"},
	"retrieveResponse":         {"Response"},
	"listResponseInputItems":   {"ResponseItemList"},
	"countResponseInputTokens": {"InputTokenCountResponse"},
}

// add records an object. An object whose type is unknown to the SDKs must be an error object or a
// list of models.
func (rec *recording) add(operation *openapi3.Operation, kind answerKind, raw []byte) {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	switch {
	case kind == errorObject:
		var wrapped struct{ Error json.RawMessage }
		_ = json.Unmarshal(raw, &wrapped) // checked already
		rec.seen = append(rec.seen, typedObject{"ErrorObject", wrapped.Error})
	case operation.OperationID == "deleteResponse": // the SDKs ignore this response
	case operation.OperationID == "listModels":
		var list struct{ Data []json.RawMessage }
		_ = json.Unmarshal(raw, &list)
		for _, m := range list.Data {
			rec.seen = append(rec.seen, typedObject{"Model", m})
		}
	default:
		name := sdkTypes[operation.OperationID][kind]
		rec.seen = append(rec.seen, typedObject{name, asSDKsSee(name, kind, raw)})
	}
}

// asSDKsSee changes the fields that the SDKs change before they return them, or have no type for.
// Base64 vectors are decoded. A chunk of a completion has the type of a complete one, but its
// finish reason and usage are null, as in OpenAI's API. Some fields of responses have no type.
func asSDKsSee(name string, kind answerKind, raw []byte) json.RawMessage {
	var object map[string]any
	_ = json.Unmarshal(raw, &object)
	switch {
	case name == "CreateEmbeddingResponse":
		for _, entry := range object["data"].([]any) {
			entry := entry.(map[string]any)
			if text, ok := entry["embedding"].(string); ok {
				entry["embedding"] = decodeVector(text)
			}
		}
	case name == "Completion" && kind == streamEvent:
		if object["usage"] == nil {
			delete(object, "usage")
		}
		for _, choice := range object["choices"].([]any) {
			if choice := choice.(map[string]any); choice["finish_reason"] == nil {
				choice["finish_reason"] = "stop"
			}
		}
	case name == "Response":
		withoutTypes(object)
	case object["response"] != nil:
		withoutTypes(object["response"].(map[string]any))
	case object["item"] != nil:
		withoutStatus(object["item"])
	case object["type"] == "response.function_call_arguments.done":
		delete(object, "name") // the Node SDK has no type for it
	default:
		return raw
	}
	changed, err := json.Marshal(object)
	if err != nil { // the object came from JSON
		return raw
	}
	return changed
}

// withoutStatus removes the status of a call of a custom tool: the SDKs have no type for it outside of
// lists.
func withoutStatus(item any) {
	if item := item.(map[string]any); item["type"] == "custom_tool_call" {
		delete(item, "status")
	}
}

// withoutTypes removes fields of a response that OpenAI's API sends and the SDKs have no type for.
func withoutTypes(response map[string]any) {
	for _, item := range response["output"].([]any) {
		withoutStatus(item)
	}
	delete(response, "store")
	for _, field := range []string{"prompt_cache_key", "safety_identifier", "usage", "user"} {
		if response[field] == nil {
			delete(response, field)
		}
	}
}

func decodeVector(text string) []float32 {
	raw, _ := base64.StdEncoding.DecodeString(text)
	vector := make([]float32, len(raw)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return vector
}

// check validates all recorded objects against the SDKs' types in strict mode. No field may be
// missing, have another type, or be unknown to them, except the fields that the two programs list.
func (rec *recording) check(t *testing.T) {
	t.Helper()
	rec.mu.Lock()
	defer rec.mu.Unlock()
	kinds := map[string]int{}
	for _, object := range rec.seen {
		kinds[object.Type]++
	}
	t.Logf("recorded %v", kinds)
	for _, names := range sdkTypes {
		if kinds[names[0]] == 0 {
			t.Errorf("no %s was recorded", names[0])
		}
	}
	if kinds[""] > 0 || kinds["ErrorObject"] == 0 {
		t.Errorf("%d objects of unknown types", kinds[""])
	}
	t.Run("Python", rec.checkPython)
	t.Run("TypeScript", rec.checkTypeScript)
}

// checkPython validates with pydantic in strict mode.
func (rec *recording) checkPython(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recorded.jsonl")
	var lines strings.Builder
	for _, object := range rec.seen {
		line, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "%s\n", line)
	}
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(installed(t, "python"), filepath.Join("python", "sdktypes.py"), file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
}

// checkTypeScript compiles each object as a literal of its type. TypeScript allows no unknown key
// in literals.
func (rec *recording) checkTypeScript(t *testing.T) {
	modules, err := filepath.Abs(filepath.Join(nodePrograms(t), "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	header, err := os.ReadFile(filepath.Join("node", "sdktypes.ts"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var source strings.Builder
	source.Write(header)
	for i, object := range rec.seen {
		fmt.Fprintf(&source, "export const r%d: Types['%s'] = %s;\n", i, object.Type, object.Object)
	}
	for name, text := range map[string]string{"recorded.ts": source.String(), "package.json": `{"type": "module"}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	tsc := exec.Command(installed(t, "node"), filepath.Join(modules, "typescript", "bin", "tsc"),
		"--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--module", "nodenext", "--target", "es2024", "recorded.ts")
	tsc.Dir = dir
	if out, err := tsc.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.4000s", err, out)
	}
}
