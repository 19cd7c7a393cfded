package rest_test

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/server"
)

// asked sends a request over a new connection.
func (c routeCall) asked(t *testing.T, address string) routeAnswer {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}, Timeout: kservetest.TrialTime}
	return c.once(t, client, address)
}

// message returns the message of an error.
func (a routeAnswer) message() string {
	object, _ := a.json.(map[string]any)
	text, _ := object["error"].(string)
	return text
}

// TestDocumentedRoutes compares the routes with openapi/kserve.yaml. Each operation
// is served and restricted by the group in its tag, and no other method is served.
func TestDocumentedRoutes(t *testing.T) {
	doc := restDocument(t).doc
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{"": kservetest.ServeREST(t, kservetest.Open(), inferencetest.New())}
	for _, tag := range doc.Tags {
		access := auth.Config{HTTPRestricted: []auth.KServeRestriction{{Groups: []auth.KServeGroup{auth.KServeGroup(tag.Name)}, Key: "key", Value: "1"}}}
		addresses[tag.Name] = kservetest.ServeRESTBy(t, kservetest.Open(), server.Default(), access, inferencetest.New())
	}
	fill := strings.NewReplacer("{model}", "m", "{version}", "1", "{repository}", "r", "{region}", "g")
	operations := 0
	for path, item := range doc.Paths.Map() {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch} {
			call := routeCall{method: method, path: fill.Replace(path)}
			operation := item.GetOperation(method)
			for group, address := range addresses {
				answer := call.asked(t, address)
				got := answer.status
				switch {
				case operation == nil && got != http.StatusMethodNotAllowed && got != http.StatusForbidden,
					operation != nil && (got == http.StatusMethodNotAllowed || answer.message() == "Not Found"),
					operation != nil && (got == http.StatusForbidden) != (group == operation.Tags[0]):
					t.Errorf("%s %s, restricted %q: %s", method, path, group, answer)
				}
			}
			if operation != nil {
				operations++
			}
		}
	}
	if operations != 42 {
		t.Errorf("%d operations", operations)
	}
}

// TestDocument checks that the REST port and the shared port serve the OpenAPI document of the REST
// API at /v2/openapi.json.
func TestDocument(t *testing.T) {
	want := restDocument(t).doc
	for name, address := range map[string]string{"own": kservetest.ServeREST(t, kservetest.Open(), inferencetest.New()), "shared": kservetest.ServeShared(t, kservetest.Open(), inferencetest.New())} {
		answer := routeCall{method: http.MethodGet, path: "/v2/openapi.json"}.asked(t, address)
		object, _ := answer.json.(map[string]any)
		paths, _ := object["paths"].(map[string]any)
		if answer.status != http.StatusOK || object["openapi"] != "3.0.3" || len(paths) != want.Paths.Len() {
			t.Errorf("%s port: %d, %v, %d paths", name, answer.status, object["openapi"], len(paths))
		}
	}
}

// TestRESTGuards checks that routes that load models, register memory or change settings return
// status 501 without the operator's permission in kserve.Config.
func TestRESTGuards(t *testing.T) {
	engine := inferencetest.New()
	engine.Control(func(string) error { return nil })
	closed, far := kservetest.Open(), kservetest.Open()
	closed.Enabled, closed.AllowModelUpload = false, false
	far.AllowModelUpload, far.AllowSharedMemory = false, false
	const frontends, upload, memory = "kserve.Enabled", "kserve.AllowModelUpload", "kserve.AllowSharedMemory"
	for _, test := range []struct {
		name       string
		config     kserve.Config
		path, body string
		status     int
		want       string
	}{
		{"load, closed", closed, "/v2/repository/models/m/load", "", 501, frontends},
		{"unload, closed", closed, "/v2/repository/models/m/unload", "", 501, frontends},
		{"index, closed", closed, "/v2/repository/index", "", 200, ""},
		{"memory, closed", closed, "/v2/systemsharedmemory/region/r/register", `{"key":"/x","byte_size":1}`, 501, frontends},
		{"forgetting memory, closed", closed, "/v2/cudasharedmemory/unregister", "", 501, frontends},
		{"traces, closed", closed, "/v2/trace/setting", "{}", 501, frontends},
		{"log, closed", closed, "/v2/logging", "{}", 501, frontends},
		{"load", far, "/v2/repository/models/m/load", "{}", 200, ""},
		{"configuration", far, "/v2/repository/models/m/load", `{"parameters":{"config":"{}"}}`, 501, upload},
		{"code", far, "/v2/repository/models/m/load", `{"parameters":{"file:1/model.py":"eA=="}}`, 501, upload},
		{"no base64", far, "/v2/repository/models/m/load", `{"parameters":{"file:1/model.py":"?"}}`, 400, "is not base64"},
		{"folder", far, "/v2/repository/models/..%2Fm/load", "", 500, "failed to load '../m', failed to poll from model repository"},
		{"memory for others", far, "/v2/systemsharedmemory/region/r/register", `{"key":"/x","byte_size":1}`, 501, memory},
		{"too many members", far, "/v2/repository/models/m/load", `{` + strings.Repeat(`"a":1,`, 4096) + manyMembers(5000) + `"b":1}`, 400, "more than 4096 members"},
		{"deep", far, "/v2/repository/index", strings.Repeat("[", 1<<20), 400, "nesting depth exceeds"},
	} {
		t.Run(test.name, func(t *testing.T) {
			address := kservetest.ServeShared(t, test.config, engine)
			answer := routeCall{method: http.MethodPost, path: test.path, body: test.body}.asked(t, address)
			if answer.status != test.status || !strings.Contains(answer.message(), test.want) || (test.want == "") != (answer.message() == "") {
				t.Errorf("got %s", answer)
			}
		})
	}
}

// manyMembers returns n members with different names.
func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"` + strconv.Itoa(i) + `":1,`)
	}
	return b.String()
}

// TestCompressedBodies checks that the REST API reads compressed request bodies up to the limit,
// which applies to the decompressed size.
func TestCompressedBodies(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("m", inferencetest.StreamText("x"), nil)
	service, core := kservetest.NewService(t, kservetest.Open(), engine)
	limited := server.Default()
	limited.MaxBody = 1000
	surface, err := rest.New(service, core, limited)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := server.NewMux(nil, core.Admission(), rest.NewRoutes(surface))
	if err != nil {
		t.Fatal(err)
	}
	address := serveHandler(t, handler)
	long := `{"ready":true,"pad":"` + strings.Repeat("a", 2000) + `"}`
	for _, test := range []struct {
		name, encoding, body string
		status               int
		want                 string // part of the error; empty for no error
	}{
		{"gzip", "gzip", kservetest.Compress(t, "gzip", `{"ready":true}`), 200, ""},
		{"deflate", "deflate", kservetest.Compress(t, "deflate", `{"ready":true}`), 200, ""},
		{"one called the other", "gzip", kservetest.Compress(t, "deflate", `{"ready":true}`), 200, ""},
		{"identity", "identity", `{"ready":true}`, 200, ""},
		{"read at all", "gzip", kservetest.Compress(t, "gzip", `{"ready":1}`), 500, "attempt to access JSON non-boolean as boolean"},
		{"unknown", "br", `{}`, 501, "Unsupported compression type"},
		{"none", "gzip", `{}`, 400, "it does not match its Content-Encoding"},
		{"no gzip", "gzip", strings.Repeat("{}", 50), 400, "it does not match its Content-Encoding"},
		{"broken", "gzip", kservetest.Compress(t, "gzip", long)[:30], 400, "the request body is incomplete"},
		{"damaged", "gzip", damaged(kservetest.Compress(t, "gzip", `{"ready":true}`)), 400, "it does not match its Content-Encoding"},
		{"large", "gzip", kservetest.Compress(t, "gzip", long), 400, "exceeds the maximum allowed input size of 1000 bytes. Use --http-max-input-size"},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := routeCall{method: http.MethodPost, path: "/v2/repository/index", body: test.body, header: http.Header{"Content-Encoding": {test.encoding}}}.asked(t, address)
			if answer.status != test.status || !strings.Contains(answer.message(), test.want) || (test.want == "") != (answer.message() == "") {
				t.Errorf("got %s", answer)
			}
			if accepted := answer.header.Get("Accept-Encoding"); (accepted == "gzip, deflate") != (test.encoding == "br") {
				t.Errorf("Accept-Encoding: %q", accepted)
			}
		})
	}
}

// damaged returns a body with an invalid checksum.
func damaged(s string) string {
	b := []byte(s)
	b[len(b)-8] ^= 1
	return string(b)
}

func serveHandler(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// TestCompressedAnswers checks that Compressed selects the same encoding for an Accept-Encoding
// header as tritonserver, and doesn't compress errors.
func TestCompressedAnswers(t *testing.T) {
	text := strings.Repeat("a tensor ", 1000)
	address := serveHandler(t, rest.Compressed(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusBadRequest)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = io.WriteString(w, text[:10])
		_, _ = io.WriteString(w, text[10:])
	}))
	for accept, want := range map[string]string{
		"": "", "gzip": "gzip", "deflate": "deflate", "br": "", "*": "", "gzip, deflate": "gzip", "deflate;q=0.5, gzip;q=0.8": "gzip", "deflate, gzip;q=0.8": "deflate",
		"identity, gzip;q=0.9": "", "gzip;q=0": "", "gzip;q=x, deflate": "deflate", " ,gzip": "gzip", "identity;q=0.2,deflate;q=0.3": "deflate", "GZIP": "",
	} {
		for range 2 { // the second time reuses the writer
			answer := routeCall{method: http.MethodGet, path: "/good", header: http.Header{"Accept-Encoding": {accept}}}.asked(t, address)
			if got := answer.header.Get("Content-Encoding"); answer.status != http.StatusOK || got != want || kservetest.Decompress(t, want, answer.body) != text {
				t.Errorf("%q: %d, %q, %d bytes", accept, answer.status, got, len(answer.body))
			}
		}
	}
	answer := routeCall{method: http.MethodGet, path: "/bad", header: http.Header{"Accept-Encoding": {"gzip"}}}.asked(t, address)
	if answer.header.Get("Content-Encoding") != "" || string(answer.body) != text {
		t.Errorf("an error: %v, %d bytes", answer.header, len(answer.body))
	}
}

// TestMessageJSON checks the JSON form of each kind of protobuf field in REST responses, and of
// integers that a double can't represent.
func TestMessageJSON(t *testing.T) {
	for _, test := range []struct {
		name     string
		message  proto.Message
		complete bool
		want     string
	}{
		{"sparse", &api.RepositoryIndexResponse_ModelIndex{Name: "<m> & \u00e4\n"}, false, `{"name":"<m> & \u00e4\n"}`},
		{"complete", &api.RepositoryIndexResponse_ModelIndex{Name: "m"}, true, `{"name":"m","version":"","state":"","reason":""}`},
		{
			"64 bits", &api.SystemSharedMemoryStatusResponse_RegionStatus{Name: "r", Offset: math.MaxUint64, ByteSize: 1<<53 + 1}, false,
			`{"name":"r","offset":18446744073709551615,"byte_size":9007199254740993}`,
		},
		{"lists", &api.ModelMetadataResponse_TensorMetadata{Shape: []int64{-1, math.MinInt64}}, true, `{"name":"","datatype":"","shape":[-1,-9223372036854775808]}`},
		{"oneof", &api.InferParameter{ParameterChoice: &api.InferParameter_BoolParam{}}, false, `{"bool_param":false}`},
		{"no oneof", &api.InferParameter{}, true, `{}`},
		{"double", &api.InferParameter{ParameterChoice: &api.InferParameter_DoubleParam{DoubleParam: 0.1}}, true, `{"double_param":0.1}`},
		{"no number", &api.InferParameter{ParameterChoice: &api.InferParameter_DoubleParam{DoubleParam: math.Inf(-1)}}, true, `{"double_param":"-Infinity"}`},
		{"bytes", &api.ModelRepositoryParameter{ParameterChoice: &api.ModelRepositoryParameter_BytesParam{BytesParam: []byte{0, 255}}}, true, `{"bytes_param":"AP8="}`},
		{"float", &api.InferTensorContents{Fp32Contents: []float32{0.1, 1e10}}, false, `{"fp32_contents":[0.1,1e+10]}`},
		{"enum", &api.ModelInput{DataType: api.DataType_TYPE_FP32}, false, `{"data_type":"TYPE_FP32"}`},
		{"unknown enum", &api.ModelInput{DataType: 99}, false, `{"data_type":99}`},
		{
			"map", &api.ModelConfig{Parameters: map[string]*api.ModelParameter{"b": {StringValue: "2"}, "a": {}}}, false,
			`{"parameters":{"a":{},"b":{"string_value":"2"}}}`,
		},
		{
			"map of numbers", &api.ModelDynamicBatching{PriorityQueuePolicy: map[uint64]*api.ModelQueuePolicy{7: {DefaultTimeoutMicroseconds: 5}}}, false,
			`{"priority_queue_policy":{"7":{"default_timeout_microseconds":5}}}`,
		},
	} {
		got := rest.MessageJSON(test.message, test.complete)
		var value any
		if err := json.Unmarshal(got, &value); err != nil || string(got) != strings.NewReplacer(`\u00e4`, "ä").Replace(test.want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", test.name, err, got, test.want)
		}
	}
}
