package rest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestInferLikeTritonserver sends the same requests to a tritonserver's own HTTP port
// and to Trident. It compares statuses, bodies and headers of infer, generate and
// generate_stream byte by byte, on the shared port, too. Otherwise it is like
// TestLikeTritonserver.
func TestInferLikeTritonserver(t *testing.T) {
	kservetest.RunBesideOthers(t)
	triton := kservetest.CommonTriton(t)
	want := "http://" + triton.HTTP()
	t.Run("remote", func(t *testing.T) {
		engine := tritontest.Connect(t, triton)
		compareREST(t, append(restTrials(), restShared(t, engine, engine)...), want, serveREST(t, engine), false)
	})
	t.Run("shared port", func(t *testing.T) {
		compareREST(t, restTrials(), want, "http://"+kservetest.ServeShared(t, kservetest.Open(), tritontest.Connect(t, triton)), false)
	})
	t.Run("local", func(t *testing.T) {
		if os.Getenv("TRIDENT_TEST_LOCAL") == "" {
			t.Skip("starts in-process Triton: make test-local")
		}
		engine := kservetest.LocalEngine(t, kservetest.CommonRepositories(t))
		trials := append(restTrials(), restShared(t, tritontest.Connect(t, triton), engine)...)
		compareREST(t, trials, want, serveREST(t, engine), true)
	})
}

// serveREST serves REST on a separate port until the test ends, and returns the URL.
func serveREST(tb testing.TB, engines ...inference.Engine) string {
	tb.Helper()
	return "http://" + kservetest.ServeREST(tb, kservetest.Open(), engines...)
}

// restTrial is one request.
type restTrial struct {
	name   string
	path   string // path of the request after /v2/models/
	body   string
	header map[string]string
	then   []restTrial // requests that are sent after this one
	// differs is the reason for which Trident's response differs from tritonserver's;
	// got is then the response.
	differs, got string
	// remote is set if the response differs only with a remote Triton.
	remote bool
}

func (x restTrial) unlike(reason, got string) restTrial { x.differs, x.got = reason, got; return x }

// onlyRemote marks a difference that exists because a remote Triton's streams have no
// codes.
func (x restTrial) onlyRemote() restTrial { x.remote = true; return x }

func (x restTrial) with(name, value string) restTrial {
	x.header = maps.Clone(x.header)
	if x.header == nil {
		x.header = map[string]string{}
	}
	x.header[name] = value
	return x
}

// ask returns the parts of a response that clients use.
func (x restTrial) ask(t *testing.T, base string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kservetest.TrialTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/v2/models/"+x.path, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range x.header {
		req.Header.Set(name, value)
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	const binaryHeader = "Inference-Header-Content-Length"
	contentType := answer.Header.Get("Content-Type")
	if contentType == "text/plain" { // tritonserver's early errors have this type but a JSON body
		contentType = "application/json"
	}
	text := fmt.Sprintf("%d %s %s\n%s", answer.StatusCode, contentType, answer.Header.Get(binaryHeader), body)
	if len(x.then) > 0 {
		text += "\n" + x.then[0].ask(t, base)
	}
	return text
}

// restTrials returns all trials except those of shared memory.
func restTrials() []restTrial {
	return slices.Concat(
		restPlain(), restDatatypes(), restJSON(), restWrong(), restBinary(), restRaw(), restParameters(), restOutputs(), restSequences(),
		restGenerates(), restStreams(),
	)
}

func compareREST(t *testing.T, trials []restTrial, want, got string, local bool) {
	t.Helper()
	names := map[string]bool{}
	for _, x := range trials {
		if names[x.name] {
			t.Errorf("two trials are called %q", x.name)
		}
		names[x.name] = true
		t.Run(x.name, func(t *testing.T) {
			expected, answered := x.ask(t, want), x.ask(t, got)
			switch {
			case x.differs == "" || x.remote && local:
				if answered != expected {
					t.Errorf("got  %q\nwant %q", answered, expected)
				}
			case answered == expected:
				t.Errorf("no longer differs (%s): %q", x.differs, answered)
			case answered != x.got:
				t.Errorf("got  %q\nwant %q\ntritonserver's is %q", answered, x.got, expected)
			}
		})
	}
	t.Logf("%d trials", len(names))
}

// tensorJSON returns an input in JSON.
func tensorJSON(name, datatype, shape, data string) string {
	return fmt.Sprintf(`{"name": %q, "datatype": %q, "shape": %s, "data": %s}`, name, datatype, shape, data)
}

func inputs(all ...string) string { return `{"inputs": [` + strings.Join(all, ", ") + `]}` }

func restInfer(name, model, body string) restTrial {
	return restTrial{name: name, path: model + "/infer", body: body}
}

// typesOf returns a request to the model types, whose inputs have the names of their
// types.
func typesOf(name, datatype, shape, data string) restTrial {
	input := strings.Replace(datatype, "BYTES", "STRING", 1)
	return restInfer(name, "types", inputs(tensorJSON(input, datatype, shape, data)))
}

const echoJSON = `{"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": ["x"]}`

func restPlain() []restTrial {
	fail := func(how string) restTrial {
		return restInfer("model fails: "+how, "echo", inputs(echoJSON, tensorJSON("FAIL", "BYTES", "[1]", `["`+how+`"]`)))
	}
	version := restInfer("version", "echo", inputs(echoJSON))
	version.path = "echo/versions/1/infer"
	all := []restTrial{
		version,
		restInfer("text", "echo", inputs(tensorJSON("TEXT", "BYTES", "[1]", `["hällo \" \\ \/ \b\f\n\r\t \u00e4 \ud83d\ude00 \u0001 / é"]`))),
		restInfer("id", "echo", `{"id": "the id ä", "inputs": [`+echoJSON+`]}`),
		restInfer("empty id", "echo", `{"id": "", "inputs": [`+echoJSON+`]}`),
		restInfer("members in another order", "echo", `{"outputs": [{"name": "TEXT"}], "inputs": [{"data": ["x"], "shape": [1], "datatype": "BYTES", "name": "TEXT"}], "id": "1"}`),
		restInfer("unknown members", "echo", `{"x": {"y": [1, {"z": null}]}, "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": ["x"], "x": 1}]}`),
		restInfer("twins", "echo", `{"id": "1", "id": "2", "inputs": [`+echoJSON+`], "inputs": []}`),
		restInfer("escaped names", "echo", `{"\u0069nputs": [{"n\u0061me": "TEXT", "datatype": "BYTES", "shape": [1], "data": ["x"]}]}`),
		restInfer("two inputs", "echo", inputs(echoJSON, tensorJSON("DATA", "FP32", "[1, 4]", "[1, 2, 3, 4]"))),
		restInfer("blank everywhere", "echo", " \n\t{ \"inputs\" :\r [ "+echoJSON+" ] } \n"),
		restInfer("batch", "rows", inputs(tensorJSON("FP32", "FP32", "[2, 3]", "[[1, 2, 3], [4, 5, 6]]"))),
		restInfer("with a form's content type", "echo", inputs(echoJSON)).with("Content-Type", "application/x-www-form-urlencoded"),
		restInfer("not UTF-8", "echo", inputs(tensorJSON("TEXT", "BYTES", "[1]", "[\"\xff\xfe\"]"))),
		restInfer("byte order mark", "echo", "\ufeff"+inputs(echoJSON)),
		restInfer("many texts", "echo", inputs(tensorJSON("TEXT", "BYTES", "[500]", `[`+strings.Repeat(`"abc\n", `, 499)+`""]`))),
		restInfer("a text of 100 KB", "echo", inputs(tensorJSON("TEXT", "BYTES", "[1]", `["`+strings.Repeat(`é\"xyz`, 20000)+`"]`))),
	}
	for _, code := range []string{"UNKNOWN", "INTERNAL", "NOT_FOUND", "INVALID_ARG", "UNAVAILABLE", "UNSUPPORTED", "ALREADY_EXISTS", "CANCELLED"} {
		all = append(all, fail(code+": this failed"))
	}
	return all
}

func restDatatypes() []restTrial {
	all := []restTrial{
		typesOf("BOOL", "BOOL", "[4]", "[true, false, true, true]"),
		typesOf("UINT8", "UINT8", "[2]", "[255, 0]"), typesOf("UINT16", "UINT16", "[2]", "[65535, 0]"), typesOf("UINT32", "UINT32", "[2]", "[4294967295, 0]"),
		typesOf("UINT64", "UINT64", "[3]", "[18446744073709551615, 9007199254740993, 0]"),
		typesOf("INT8", "INT8", "[2]", "[-128, 127]"), typesOf("INT16", "INT16", "[2]", "[-32768, 32767]"), typesOf("INT32", "INT32", "[3]", "[-2147483648, 2147483647, -0]"),
		typesOf("INT64", "INT64", "[3]", "[-9223372036854775808, 9223372036854775807, 9007199254740993]"),
		typesOf("FP32", "FP32", "[12]", "[0.1, 1, -2.5e10, 1e-7, 1e39, -0, -0.0, 1E5, 1e-45, 16777217, 1e20, 123456.789]"),
		typesOf("FP64", "FP64", "[15]", "[0.1, 1e300, 1e21, 1e20, 123456789.125, -0.0, 5, 1e-5, 1e-6, 1e-7, 1.5e-10, 2.2250738585072014e-308, 5e-324, 1.7976931348623157e308, 9007199254740993]"),
		typesOf("NaN and infinities", "FP32", "[5]", "[NaN, Inf, -Inf, Infinity, -Infinity]"),
		typesOf("integers as FP64", "FP64", "[2]", "[-9223372036854775808, -9223372036854775809]"),
		typesOf("BYTES", "BYTES", "[3]", `["a", "", "\u0000\uffff"]`),
		typesOf("FP16 as JSON", "FP16", "[2]", "[1, 2]"), typesOf("BF16", "BF16", "[2]", "[1, 2]"),
		typesOf("flat for three dimensions", "FP32", "[4]", "[[1], [[2, [3]]], 4]"),
		typesOf("nested empty lists", "FP32", "[2]", "[[], [1, []], 2]"),
		typesOf("no elements", "FP32", "[0]", "[]"), typesOf("no elements, but data", "FP32", "[0]", "[1, 2]"), typesOf("no elements and no list", "FP32", "[0]", "7"),
		restInfer("cube", "types", inputs(tensorJSON("CUBE", "INT32", "[2, 2, 2]", "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]"))),
		restInfer("cube, flat", "types", inputs(tensorJSON("CUBE", "INT32", "[2, 2, 2]", "[1, 2, 3, 4, 5, 6, 7, 8]"))),
	}
	rounded := func(name, data, answer string) restTrial {
		return typesOf(name, "FP64", "[2]", data).unlike("numbers are the nearest ones, and their digits the closest of the shortest",
			"200 application/json \n"+`{"model_name":"types","model_version":"1","outputs":[{"name":"FP64","datatype":"FP64","shape":[2],"data":`+answer+
				`},{"name":"PARAMETERS","datatype":"BYTES","shape":[1],"data":["{}"]}]}`)
	}
	all = append(all,
		rounded("rounding of what comes", "[123456789012345678901234567890, 1]", "[1.2345678901234568e29,1.0]"),
		rounded("digits of what goes", "[3.4028234663852886e38, 18446744073709551616]", "[3.4028234663852886e38,18446744073709552000.0]"),
	)
	wraps := "integers beyond the datatype are refused: tritonserver keeps their low bits"
	beyond := func(datatype, number string) restTrial {
		return typesOf("beyond "+datatype, datatype, "[1]", "["+number+"]").
			unlike(wraps, "400 application/json \n"+`{"error":"Unable to parse 'data': `+number+` is beyond the range of `+datatype+`"}`)
	}
	return append(all, beyond("UINT8", "256"), beyond("UINT32", "4294967296"), beyond("INT8", "-129"), beyond("INT16", "32768"), beyond("INT32", "2147483648"))
}

func restJSON() []restTrial {
	var all []restTrial
	for _, body := range []string{
		"{", "}", "[", "]", "{}", "[]", "1", "null", `"text"`, "{]", "[}", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{"a" 1}`, `{1:2}`, `{a:1}`,
		`{"a":}`, `{"a":nul}`, `{"a":nulx}`, `{"a":tru}`, `{"a":falsy}`, `{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[,1]}`, `{"a":01}`, `{"a":-}`, `{"a":+1}`, `{"a":.5}`,
		`{"a":1.}`, `{"a":1.x}`, `{"a":1e}`, `{"a":1e+}`, `{"a":1e999}`, `{"a":-1e999}`, `{"a":Nan}`, `{"a":Info}`, `{"a":Infinitx}`, `{"a":-NaN}`,
		`{"a":"}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, `{"a":"\ud800"}`, `{"a":"\ud800\u0041"}`, `{"a":"\udc00"}`, `{"a":"\ud800\ud800"}`, `{"a":"` + "\n" + `"}`, `{"a":"` + "\x00" + `"}`,
		`{} {}`, `{}x`, `{}1`, " ", "\n\n", `{"a":'b'}`, `{"a":1}}`, `// c`, `{"a":/**/1}`,
	} {
		all = append(all, restInfer(fmt.Sprintf("syntax of %q", body), "echo", body))
	}
	return append(all, restTrial{name: "empty body", path: "echo/infer"})
}

func restWrong() []restTrial {
	input := func(name, text string) restTrial { return restInfer(name, "echo", inputs(text)) }
	with := func(name, parameters string) restTrial {
		return input(name, `{"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": ["x"], "parameters": `+parameters+`}`)
	}
	version := restInfer("unknown version", "echo", inputs(echoJSON))
	version.path = "echo/versions/7/infer"
	badToo := restInfer("unknown version and no JSON", "echo", "{")
	badToo.path = "echo/versions/7/infer"
	huge := restInfer("version beyond numbers", "echo", inputs(echoJSON))
	huge.path = "echo/versions/99999999999999999999/infer"
	deep := strings.Repeat("[", 120) + `"x"` + strings.Repeat("]", 120)
	return []restTrial{
		version, badToo, huge,
		restInfer("unknown model", "none", inputs(echoJSON)), restInfer("unknown model and no JSON", "none", "{"), restInfer("decoupled model", "script", inputs(tensorJSON("SCRIPT", "BYTES", "[1]", `["o"]`))),
		restInfer("decoupled model and no JSON", "script", "{"),
		restInfer("inputs are no list", "echo", `{"inputs": {}}`), restInfer("inputs are empty", "echo", `{"inputs": []}`), restInfer("input is no object", "echo", `{"inputs": [1]}`),
		restInfer("outputs are no list", "echo", `{"inputs": [`+echoJSON+`], "outputs": {}}`), restInfer("id is a number", "echo", `{"id": 1, "inputs": [`+echoJSON+`]}`),
		restInfer("outputs are empty", "echo", `{"inputs": [`+echoJSON+`], "outputs": []}`),
		input("no name", `{"datatype": "BYTES", "shape": [1], "data": ["x"]}`), input("name is a number", `{"name": 1, "datatype": "BYTES", "shape": [1], "data": ["x"]}`),
		input("no datatype", `{"name": "TEXT", "shape": [1], "data": ["x"]}`), input("no shape", `{"name": "TEXT", "datatype": "BYTES", "data": ["x"]}`),
		input("shape is a number", `{"name": "TEXT", "datatype": "BYTES", "shape": 1, "data": ["x"]}`), input("shape of texts", `{"name": "TEXT", "datatype": "BYTES", "shape": ["1"], "data": ["x"]}`),
		input("negative shape", `{"name": "TEXT", "datatype": "BYTES", "shape": [-1], "data": ["x"]}`), input("shape of fractions", `{"name": "TEXT", "datatype": "BYTES", "shape": [1.0], "data": ["x"]}`),
		input("no data", `{"name": "TEXT", "datatype": "BYTES", "shape": [1]}`), input("data is a text", `{"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": "x"}`),
		input("data is null", `{"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": null}`), input("numbers for texts", `{"name": "TEXT", "datatype": "BYTES", "shape": [1], "data": [1]}`),
		input("empty shape", `{"name": "TEXT", "datatype": "BYTES", "shape": [], "data": ["x"]}`), input("fewer texts", tensorJSON("TEXT", "BYTES", "[2]", `["x"]`)), input("more texts", tensorJSON("TEXT", "BYTES", "[1]", `["x", "y"]`)),
		input("no texts", tensorJSON("TEXT", "BYTES", "[1]", `[]`)), input("unknown datatype", tensorJSON("TEXT", "COMPLEX", "[1]", `["x"]`)), input("lower case datatype", tensorJSON("TEXT", "bytes", "[1]", `["x"]`)),
		input("wrong datatype", tensorJSON("TEXT", "INT32", "[1]", `[1]`)), input("unknown input", tensorJSON("NONE", "BYTES", "[1]", `["x"]`)),
		restInfer("input twice", "echo", inputs(echoJSON, echoJSON)),
		with("parameters are no object", `1`), with("data and binary size", `{"binary_data_size": 5}`), with("data and shared memory", `{"shared_memory_region": "r"}`),
		with("data, binary size and shared memory", `{"binary_data_size": 5, "shared_memory_region": "r"}`), with("offset without a region", `{"shared_memory_offset": 5}`), with("offset is a text", `{"shared_memory_offset": "5"}`),
		with("odd parameters", `{"odd": [1]}`),
		typesOf("text for a number", "INT32", "[1]", `["1"]`), typesOf("fraction for a whole number", "INT32", "[1]", `[1.0]`), typesOf("exponent for a whole number", "INT64", "[1]", `[1e2]`),
		typesOf("too large for INT64", "INT64", "[1]", `[9223372036854775808]`), typesOf("too large for UINT64", "UINT64", "[1]", `[18446744073709551616]`), typesOf("negative for UINT32", "UINT32", "[1]", `[-1]`),
		typesOf("number for a truth value", "BOOL", "[1]", `[1]`), typesOf("truth value for a float", "FP32", "[1]", `[true]`), typesOf("null for a float", "FP32", "[1]", `[null]`),
		typesOf("object for a float", "FP32", "[1]", `[{"a": 1}]`), typesOf("too few", "FP32", "[3]", `[1, 2]`), typesOf("too many", "FP32", "[1]", `[1, 2]`), typesOf("too many and wrong", "FP32", "[1]", `[1, "x"]`),
		typesOf("empty data", "FP32", "[1]", `[]`), restInfer("wrong fixed dimension", "types", inputs(tensorJSON("PAIR", "INT32", "[3]", "[1, 2, 3]"))),
		restInfer("batch too large", "rows", inputs(tensorJSON("FP32", "FP32", "[9, 1]", "[1,2,3,4,5,6,7,8,9]"))), restInfer("batch missing", "rows", inputs(tensorJSON("FP32", "FP32", "[4]", "[1,2,3,4]"))),
		restInfer("input missing", "echo", inputs(tensorJSON("DATA", "FP32", "[1, 4]", "[1, 2, 3, 4]"))),
		restInfer("lists in lists", "types", inputs(tensorJSON("STRING", "BYTES", "[1]", deep))).
			unlike("bounded depth, as later Tritons have it", "400 application/json \n"+`{"error":"JSON nesting depth exceeds maximum allowed limit (100)"}`),
		restInfer("output is no object", "echo", `{"inputs": [`+echoJSON+`], "outputs": [1]}`), restInfer("output without a name", "echo", `{"inputs": [`+echoJSON+`], "outputs": [{}]}`),
		restInfer("unknown output", "echo", `{"inputs": [`+echoJSON+`], "outputs": [{"name": "NONE"}]}`), restInfer("output twice", "echo", `{"inputs": [`+echoJSON+`], "outputs": [{"name": "TEXT"}, {"name": "TEXT"}]}`),
		restInfer("output's name is a number", "echo", `{"inputs": [`+echoJSON+`], "outputs": [{"name": 1}]}`),
	}
}

// binaryBody returns a request whose body is JSON followed by tensors.
func binaryBody(name, model, text string, tensors ...[]byte) restTrial {
	return restInfer(name, model, text+string(bytes.Join(tensors, nil))).with("Inference-Header-Content-Length", fmt.Sprint(len(text)))
}

func binaryInput(name, datatype, shape string, size int) string {
	return fmt.Sprintf(`{"name": %q, "datatype": %q, "shape": %s, "parameters": {"binary_data_size": %d}}`, name, datatype, shape, size)
}

func restBinary() []restTrial {
	large := make([]byte, 3<<20)
	for i := range large {
		large[i] = byte(i * 7)
	}
	halves := []byte{0, 60, 0, 64}
	four := kservetest.Floats(1, 2, 3, 4)
	one := inputs(binaryInput("FP32", "FP32", "[4]", 16))
	text := inputs(binaryInput("TEXT", "BYTES", "[2]", 11))
	out := func(s string) string { return strings.TrimSuffix(one, "}") + `, "outputs": [` + s + `]}` }
	all := []restTrial{
		binaryBody("binary", "types", one, four), binaryBody("binary text", "echo", text, kservetest.Bytes("hi", "\xff")),
		binaryBody("binary there and back", "types", out(`{"name": "FP32", "parameters": {"binary_data": true}}`), four),
		binaryBody("binary there, JSON back", "types", out(`{"name": "FP32", "parameters": {"binary_data": false}}`), four),
		binaryBody("binary_data is a number", "types", out(`{"name": "FP32", "parameters": {"binary_data": 1}}`), four),
		binaryBody("binary by default", "types", strings.TrimSuffix(one, "}")+`, "parameters": {"binary_data_output": true}}`, four),
		binaryBody("binary by default, JSON asked for", "types", strings.TrimSuffix(one, "}")+`, "parameters": {"binary_data_output": true}, "outputs": [{"name": "FP32"}]}`, four),
		binaryBody("binary_data_output is a text", "types", strings.TrimSuffix(one, "}")+`, "parameters": {"binary_data_output": "true"}}`, four),
		binaryBody("FP16", "types", strings.TrimSuffix(inputs(binaryInput("FP16", "FP16", "[2]", 4)), "}")+`, "outputs": [{"name": "FP16", "parameters": {"binary_data": true}}]}`, halves),
		binaryBody("FP16 back as JSON", "types", inputs(binaryInput("FP16", "FP16", "[2]", 4)), halves),
		binaryBody("two binary", "echo", inputs(binaryInput("TEXT", "BYTES", "[1]", 6), binaryInput("DATA", "FP32", "[1, 4]", 16)), kservetest.Bytes("hi"), four),
		binaryBody("two binary back", "echo", strings.TrimSuffix(inputs(binaryInput("TEXT", "BYTES", "[1]", 6), binaryInput("DATA", "FP32", "[1, 4]", 16)), "}")+`, "parameters": {"binary_data_output": true}}`, kservetest.Bytes("hi"), four),
		binaryBody("binary and JSON", "echo", inputs(binaryInput("DATA", "FP32", "[1, 4]", 16), echoJSON), four),
		binaryBody("one binary back and one JSON", "echo", strings.TrimSuffix(inputs(binaryInput("DATA", "FP32", "[1, 4]", 16), echoJSON), "}")+`, "outputs": [{"name": "TEXT"}, {"name": "DATA", "parameters": {"binary_data": true}}]}`, four),
		binaryBody("large", "types", strings.TrimSuffix(inputs(binaryInput("UINT8", "UINT8", fmt.Sprintf("[%d]", len(large)), len(large))), "}")+`, "parameters": {"binary_data_output": true}}`, large),
		binaryBody("no bytes", "types", inputs(binaryInput("FP32", "FP32", "[0]", 0))),
		binaryBody("no bytes back", "types", strings.TrimSuffix(inputs(binaryInput("FP32", "FP32", "[0]", 0)), "}")+`, "parameters": {"binary_data_output": true}}`),
		binaryBody("too short", "types", one, four[:12]), binaryBody("too long", "types", one, four, four), binaryBody("size too small", "types", inputs(binaryInput("FP32", "FP32", "[4]", 12)), four[:12]),
		binaryBody("size too large", "types", inputs(binaryInput("FP32", "FP32", "[4]", 20)), four, four[:4]), binaryBody("lying size", "types", inputs(binaryInput("FP32", "FP32", "[4]", 2<<30)), four),
		binaryBody("text that lies of its length", "echo", text, []byte{255, 255, 255, 255, 1, 2, 3, 4, 5, 6, 7}), binaryBody("unknown datatype, binary", "types", inputs(binaryInput("FP32", "FP99", "[4]", 16)), four),
		binaryBody("binary of nothing for elements", "types", inputs(binaryInput("FP32", "FP32", "[4]", 0))),
		restInfer("binary size without the header", "types", one+string(four)), restInfer("binary size and nothing behind", "types", one),
		restInfer("binary size is a text", "types", inputs(`{"name": "FP32", "datatype": "FP32", "shape": [4], "parameters": {"binary_data_size": "16"}}`)),
		restInfer("binary size is negative", "types", inputs(`{"name": "FP32", "datatype": "FP32", "shape": [4], "parameters": {"binary_data_size": -1}}`)),
		binaryBody("header too short", "types", one, four).with("Inference-Header-Content-Length", fmt.Sprint(len(one)-1)),
		binaryBody("header too long", "types", one, four).with("Inference-Header-Content-Length", fmt.Sprint(len(one)+1)),
		binaryBody("header beyond the body", "types", one, four).with("Inference-Header-Content-Length", "9999"),
		binaryBody("header negative", "types", one, four).with("Inference-Header-Content-Length", "-1"),
		binaryBody("header with letters", "types", one, four).with("Inference-Header-Content-Length", fmt.Sprintf(" %dx", len(one))),
	}
	return all
}

func restRaw() []restTrial {
	raw := func(name, model, body string) restTrial {
		return restInfer(name, model, body).with("Inference-Header-Content-Length", "0")
	}
	return []restTrial{
		raw("raw", "sequence", "\x01\x00\x00\x00"), raw("raw for many inputs", "types", "x"), raw("raw that is too short", "sequence", "\x01\x00"), raw("raw and empty", "sequence", ""),
		raw("raw for an unknown model", "none", "x"), raw("raw for a decoupled model", "script", "x"), raw("raw and the header is a word", "types", "x").with("Inference-Header-Content-Length", "x"),
		raw("raw with one input", "wide", string(kservetest.Floats(1, 2, 3, 4))), raw("raw with one input, ragged", "wide", string(kservetest.Floats(1, 2, 3, 4))+"x"), raw("raw text", "line", "some text"), raw("raw text of nothing", "line", ""),
		raw("raw with two free dimensions", "field", string(kservetest.Floats(1, 2, 3, 4))), raw("raw texts", "lines", "x"),
	}
}

func restParameters() []restTrial {
	var all []restTrial
	for _, parameters := range []string{
		`{"a": "ä"}`, `{"a": -7, "b": 2.5, "c": true, "d": 1e3}`, `{"a": 18446744073709551615}`, `{"a": 9223372036854775807}`, `{"a": null}`, `{"a": [1]}`, `{"a": {}}`, `{}`, `[]`, `1`,
		`{"a": 1, "a": 2}`, `{"priority": 1}`, `{"priority": -1}`, `{"priority": "1"}`, `{"priority": 18446744073709551615}`, `{"timeout": 10000000}`, `{"timeout": "1"}`, `{"timeout": 1.5}`,
		`{"triton_other": true}`, `{"triton_enable_empty_final_response": true}`, `{"sequence_id": true}`, `{"sequence_id": -1}`, `{"sequence_start": "true"}`, `{"sequence_end": 1}`, `{"sequence_start": true, "sequence_end": true, "sequence_id": 3}`,
		`{"binary_data_output": false}`, `{"": 1}`,
	} {
		body := `{"inputs": [` + tensorJSON("STRING", "BYTES", "[1]", `["x"]`) + `], "outputs": [{"name": "PARAMETERS"}], "parameters": ` + parameters + `}`
		all = append(all, restInfer("parameters "+parameters, "types", body))
	}
	return all
}

func restOutputs() []restTrial {
	asked := func(name, datatype, data, parameters string) restTrial {
		body := `{"inputs": [` + tensorJSON(datatype, datatype, "[4]", data) + `], "outputs": [{"name": "` + datatype + `", "parameters": ` + parameters + `}]}`
		return restInfer("output "+name, "types", body)
	}
	batch := `{"inputs": [` + tensorJSON("FP32", "FP32", "[2, 2]", "[4, 3, 1, 2]") + `], "outputs": [{"name": "FP32", "parameters": {"classification": 1}}]}`
	const four = "[4, 3, 2, 1]"
	return []restTrial{
		asked("of 2 classes", "FP32", four, `{"classification": 2}`), asked("of 9 classes", "FP32", four, `{"classification": 9}`), asked("of classes of INT64", "INT64", four, `{"classification": 1}`),
		asked("of classes of BOOL", "BOOL", "[true, true, false, false]", `{"classification": 1}`), asked("of 0 classes", "FP32", four, `{"classification": 0}`), asked("of classes as text", "FP32", four, `{"classification": "2"}`),
		asked("of classes, negative", "FP32", four, `{"classification": -2}`), asked("of classes in binary", "FP32", four, `{"classification": 2, "binary_data": true}`), restInfer("output of classes of a batch", "rows", batch),
		asked("parameters are a number", "FP32", four, `1`), asked("with odd parameters", "FP32", four, `{"odd": []}`), asked("shared and classes", "FP32", four, `{"shared_memory_region": "r", "classification": 1}`),
		asked("shared and binary", "FP32", four, `{"shared_memory_region": "r", "binary_data": true}`), asked("shared and binary is a number", "FP32", four, `{"shared_memory_region": "r", "binary_data": 1}`),
		asked("shared in no region", "FP32", four, `{"shared_memory_region": "none", "binary_data": false, "shared_memory_byte_size": 16}`), asked("shared and region is a number", "FP32", four, `{"shared_memory_region": 1}`),
	}
}

func restSequences() []restTrial {
	step := func(name, value, id string, start, end bool) restTrial {
		return restInfer("sequence "+name, "sequence", fmt.Sprintf(`{"parameters": {"sequence_id": %s, "sequence_start": %t, "sequence_end": %t}, "inputs": [%s]}`, id, start, end, tensorJSON("VALUE", "INT32", "[1, 1]", "["+value+"]")))
	}
	first := func(x restTrial, then ...restTrial) restTrial {
		for i := len(then) - 1; i > 0; i-- {
			then[i-1].then = then[i:]
		}
		x.then = then
		return x
	}
	return []restTrial{
		first(step("1", "1", "7", true, false), step("2", "2", "7", false, false), step("3", "3", "7", false, true)), step("that wasn't begun", "3", "7", false, false),
		first(step("of text 1", "5", `"seven"`, true, false), step("of text 2", "6", `"seven"`, false, true)), step("0", "1", "0", true, true),
		first(step("of 2^64-1, 1", "1", "18446744073709551615", true, false), step("of 2^64-1, 2", "1", "18446744073709551615", false, true)),
	}
}

// restShared returns trials of shared memory, each with its own region.
func restShared(t *testing.T, memories ...inference.SharedMemory) []restTrial {
	t.Helper()
	key := kservetest.SharedObject(t)
	for _, memory := range slices.Compact(memories) {
		req := &api.SystemSharedMemoryRegisterRequest{Name: "rest", Key: key, ByteSize: uint64(os.Getpagesize())}
		if _, err := memory.SystemSharedMemoryRegister(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			for { // a busy tritonserver sends a response before it releases the region
				_, err := memory.SystemSharedMemoryUnregister(context.Background(), &api.SystemSharedMemoryUnregisterRequest{Name: "rest"})
				if err == nil {
					return
				}
				if !strings.Contains(err.Error(), "in use") {
					t.Error(err)
					return
				}
			}
		})
	}
	in := func(parameters string) string {
		return `{"name": "FP32", "datatype": "FP32", "shape": [4], "parameters": {` + parameters + `}}`
	}
	use := func(name, input, output string) restTrial {
		return restInfer("shared memory "+name, "types", `{"inputs": [`+input+`], "outputs": [{"name": "FP32", "parameters": {`+output+`}}]}`)
	}
	const region = `"shared_memory_region": "rest", "shared_memory_byte_size": 16`
	plain := tensorJSON("FP32", "FP32", "[4]", "[1, 2, 3, 4]")
	return []restTrial{
		use("for the input", in(region), ""), use("for the output", plain, region+`, "shared_memory_offset": 64`), use("for both", in(region), region+`, "shared_memory_offset": 128`),
		use("without a size", in(`"shared_memory_region": "rest"`), ""), use("that is too small", in(`"shared_memory_region": "rest", "shared_memory_byte_size": 8`), ""),
		use("of no region", in(`"shared_memory_region": "none", "shared_memory_byte_size": 16`), ""), use("beyond its end", in(region+`, "shared_memory_offset": 5000`), ""),
		use("with a text for a size", in(`"shared_memory_region": "rest", "shared_memory_byte_size": "16"`), ""), use("with a negative offset", in(region+`, "shared_memory_offset": -1`), ""),
		use("too small for the output", plain, `"shared_memory_region": "rest", "shared_memory_byte_size": 4`), use("with a number for a region", in(`"shared_memory_region": 1`), ""),
	}
}

func restGenerates() []restTrial {
	generate := func(name, model, body string) restTrial {
		return restTrial{name: "generate " + name, path: model + "/generate", body: body}
	}
	notOne := "500 application/json \n" + `{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}`
	notFound := generate("of an unknown version", "types", `{"STRING": "x"}`)
	notFound.path = "types/versions/7/generate"
	return []restTrial{
		notFound,
		generate("text", "types", `{"STRING": "hällo \"\\ \u00e4\n"}`), generate("texts", "types", `{"STRING": ["a", "", "c"]}`),
		generate("all types", "types", `{"BOOL": [true, false], "UINT8": 255, "UINT16": [65535, 0], "UINT32": 4294967295,
			"UINT64": 18446744073709551615, "INT8": -128, "INT16": -32768, "INT32": [-2147483648, 1], "INT64": [-9223372036854775808, 9007199254740993],
			"FP32": [0.1, 1, -2.5e10, 1e-7, 1.5, NaN], "FP64": [0.1, 1e300, 1e21, 123456789.125, -0.0, 5]}`),
		generate("parameters", "types", `{"STRING": "x", "a": 1, "b": true, "c": "text", "d": 2.5, "e": 9007199254740993, "parameters": {"f": -7}}`),
		generate("id", "types", `{"id": "42", "STRING": "x"}`), generate("tensors in parameters", "types", `{"parameters": {"STRING": "x", "INT32": [1, 2]}}`),
		generate("twins", "types", `{"STRING": "x", "p": 1, "p": 2}`), generate("fixed shape", "types", `{"PAIR": [1, 2]}`), generate("free and fixed", "types", `{"GRID": [1, 2, 3, 4]}`),
		generate("two free", "types", `{"CUBE": [1, 2, 3, 4]}`), generate("batch", "rows", `{"TEXT": "one row", "FP32": [1, 2, 3]}`), generate("batch and fixed", "rows", `{"GRID": [1, 2, 3, 4]}`),
		generate("empty list", "types", `{"FP32": []}`), generate("empty list of a fixed shape", "types", `{"PAIR": []}`),
		generate("empty body", "types", ``), generate("no object", "types", `[1]`), generate("id is no text", "types", `{"id": 42}`), generate("parameters are no object", "types", `{"parameters": 1}`),
		generate("parameter is null", "types", `{"STRING": "x", "p": null}`), generate("parameter is a list", "types", `{"STRING": "x", "p": [1]}`), generate("nested parameter is an object", "types", `{"STRING": "x", "parameters": {"p": {}}}`),
		generate("shape can't be", "types", `{"PAIR": [1, 2, 3]}`), generate("shape is too long", "types", `{"PAIR": [1, 2, 3, 4]}`), generate("number for a text", "types", `{"STRING": 1}`),
		generate("text for a number", "types", `{"INT32": "1"}`), generate("float for an integer", "types", `{"INT32": 1.0}`), generate("negative for an unsigned", "types", `{"UINT32": -1}`),
		generate("number for a truth value", "types", `{"BOOL": 1}`), generate("text for a float", "types", `{"FP32": "1"}`), generate("null for a tensor", "types", `{"FP32": null}`), generate("FP16", "types", `{"FP16": 1}`),
		generate("nested list too long", "types", `{"INT32": [[1, 2], 3]}`), generate("nested list as long", "types", `{"INT32": [[1], [2]]}`), generate("nested list too short", "types", `{"INT32": [[], 3]}`),
		generate("nested in parameters too long", "types", `{"parameters": {"INT32": [[1, 2], 3]}}`), generate("tensor given twice", "types", `{"INT32": 1, "parameters": {"INT32": 1}}`), generate("syntax", "types", `{"a": }`),
		generate("unknown model", "none", `{"a": 1}`), generate("unknown model and no JSON", "none", `{`), generate("input missing", "echo", `{"a": 1}`), generate("model fails", "echo", `{"TEXT": "x", "FAIL": "INVALID_ARG: no"}`),
		generate("reserved parameters", "types", `{"STRING": "x", "triton_x": 1}`).
			unlike("tritonserver hands generate's parameters to the model unread", "400 application/json \n"+
				`{"error":"parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response"}`),
		generate("decoupled", "script", `{"SCRIPT": "o"}`), generate("decoupled, final with it", "script", `{"SCRIPT": "oF"}`), generate("decoupled with an id", "script", `{"SCRIPT": "o", "id": "1"}`),
		generate("decoupled without outputs", "script", `{"SCRIPT": "z"}`), generate("two responses", "script", `{"SCRIPT": "oo"}`).unlike("an error isn't a status of 200", notOne),
		generate("no response", "script", `{"SCRIPT": ""}`).unlike("an error isn't a status of 200", notOne),
		generate("decoupled fails", "script", `{"SCRIPT": "e"}`).unlike("a remote Triton's streams have no codes", "500 application/json \n"+`{"error":"response 0 is an error"}`).onlyRemote(),
		generate("decoupled and refused", "script", `{"x": 1}`),
	}
}

func restStreams() []restTrial {
	stream := func(name, model, body string) restTrial {
		return restTrial{name: "stream " + name, path: model + "/generate_stream", body: body}
	}
	var all []restTrial
	for _, letters := range []string{"", "o", "ooo", "oF", "ooF", "z", "zF", "zzo", "oeo", "oeF", "o1o1o", "oooooooooooooooooooo"} {
		all = append(all, stream(fmt.Sprintf("of %q", letters), "script", `{"SCRIPT": "`+letters+`", "id": "s"}`))
	}
	for _, letters := range []string{"e", "eF", "eee", "eo"} {
		events := ""
		for i, letter := range strings.TrimSuffix(letters, "F") {
			if letter == 'e' {
				events += fmt.Sprintf("data: {\"error\":\"response %d is an error\"}\n\n", i)
			} else {
				events += fmt.Sprintf("data: {\"INDEX\":%d,\"model_name\":\"script\",\"model_version\":\"1\"}\n\n", i)
			}
		}
		all = append(all, stream(fmt.Sprintf("of %q", letters), "script", `{"SCRIPT": "`+letters+`"}`).
			unlike("a remote Triton's streams have no codes", "500 text/event-stream; charset=utf-8 \n"+events).onlyRemote())
	}
	return append(all,
		stream("of a model that isn't decoupled", "types", `{"STRING": "x", "p": 1}`), stream("refused", "script", `{"x": 1}`), stream("of no JSON", "script", `{`), stream("of an unknown model", "none", `{}`),
		stream("of two tensors", "types", `{"INT32": [1, 2], "FP32": 0.5, "id": "x"}`), stream("of an empty body", "script", ``),
		stream("of FP16", "types", `{"FP16": 1}`),
	)
}
