package rest_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// routeDescribing returns trials that describe the server and its models.
func routeDescribing() []routeTrial {
	all := []routeTrial{
		getting("/v2"), getting("/v2/health/live"), getting("/v2/health/ready"), getting("/v2/models/stats").settled(statisticsShape),
		getting("/v2/models/stats/ready"), getting("/v2/models/stats/stats"), getting("/v2/models/stats/versions/1"), getting("/v2?a=b"), getting("/v2/models/types?a=%zz"),
	}
	for _, model := range []string{"types", "rows", "echo", "stream", "sequence", "script", "none"} {
		for _, version := range []string{"", "/versions/1", "/versions/2", "/versions/0", "/versions/x", "/versions/-1", "/versions/1x", "/versions/", "/versions/99999999999999999999"} {
			if version != "" && model != "types" && (model != "none" || version != "/versions/1") {
				continue
			}
			for _, what := range []string{"", "/ready", "/config", "/stats"} {
				x := getting("/v2/models/" + model + version + what)
				if what == "/stats" {
					x = x.settled(statisticsShape)
				}
				all = append(all, x)
			}
		}
	}
	return all
}

// statisticsShape removes counts and times from statistics; the form of numbers
// stays.
func statisticsShape(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			switch name {
			case "batch_stats", "response_stats": // the number of entries varies
				v[name] = fmt.Sprintf("%T", value)
			case "version", "name":
			default:
				v[name] = statisticsShape(value)
			}
		}
		return v
	case []any:
		for i := range v {
			v[i] = statisticsShape(v[i])
		}
		slices.SortStableFunc(v, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
		return v
	}
	return fmt.Sprintf("%T", v)
}

// byName sorts a list of objects by name.
func byName(v any) any {
	if list, ok := v.([]any); ok {
		slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
	}
	return v
}

func nameOf(v any) string {
	object, _ := v.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// routeRefusing returns trials of paths and methods that aren't served.
func routeRefusing() []routeTrial {
	var all []routeTrial
	for _, path := range []string{
		"/v2/", "/v2/health", "/v2/health/", "/v2/health/other", "/v2/models", "/v2/models/", "/v2/models/types/", "/v2/models/types/other",
		"/v2/models/types/versions", "/v2/models/types/versions/1/other", "/v2/models/types/versions/1/trace/setting", "/v2/models/types/trace",
		"/v2/models/stats/", "/v2/logging/", "/v2/trace", "/v2/trace/setting/", "/v2/repository", "/v2/repository/index/", "/v2/repository/models/echo",
		"/v2/repository/models/echo/other", "/v2/repository/a/b/index", "/v2/systemsharedmemory", "/v2/systemsharedmemory/other",
		"/v2/systemsharedmemory/region/r", "/v2/systemsharedmemory/region/r/other", "/v2/cudasharedmemory", "/v2/cudasharedmemory/region/r/",
		"/v2/model/types", "/v2/MODELS/types",
	} {
		all = append(all, getting(path), posting(path, "{}"))
	}
	for _, path := range []string{
		"/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/stats", "/v2/models/types", "/v2/models/types/ready", "/v2/models/types/config",
		"/v2/models/types/stats", "/v2/models/types/versions/1", "/v2/models/none/ready", "/v2/systemsharedmemory/status", "/v2/systemsharedmemory/region/r/status",
		"/v2/cudasharedmemory/status", "/v2/cudasharedmemory/region/r/status",
	} {
		all = append(all, posting(path, "{}"), route(http.MethodDelete, path, ""))
	}
	for _, path := range []string{
		"/v2/models/types/infer", "/v2/models/types/generate", "/v2/models/types/generate_stream", "/v2/models/types/versions/1/infer",
		"/v2/repository/index", "/v2/repository/r/index", "/v2/repository/models/echo/load", "/v2/repository/models/echo/unload", "/v2/repository/r/models/echo/load",
		"/v2/systemsharedmemory/register", "/v2/systemsharedmemory/region/r/register", "/v2/systemsharedmemory/unregister", "/v2/systemsharedmemory/region/r/unregister",
		"/v2/cudasharedmemory/register", "/v2/cudasharedmemory/region/r/register", "/v2/cudasharedmemory/unregister", "/v2/cudasharedmemory/region/r/unregister",
	} {
		all = append(all, getting(path), route(http.MethodPut, path, "{}"))
	}
	for _, path := range []string{"/v2/logging", "/v2/trace/setting", "/v2/models/echo/trace/setting"} {
		all = append(all, route(http.MethodDelete, path, ""), route(http.MethodPut, path, "{}"), route(http.MethodHead, path, ""))
	}
	return append(all, route(http.MethodHead, "/v2", ""), route(http.MethodHead, "/v2/health/live", ""), route(http.MethodHead, "/v2/nothing", ""), route(http.MethodOptions, "/v2", ""), route(http.MethodPatch, "/v2/models/types", "{}"))
}

// routeOdd returns trials of paths that may belong to another frontend on the
// shared port, and of unusual paths.
func routeOdd() []routeTrial {
	all := []routeTrial{
		getting("/"), getting("/v1/models"), getting("/v2x"), getting("/v2/models/a.b/ready"), getting("/v2/models/a%2Fb/ready"),
		getting("/v2/models/%74ypes").unlike("names are decoded, as clients encode them"),
		getting("/v2/models/a%20b").unlike("names are decoded, as clients encode them"),
		getting("/%762").unlike("paths are decoded"),
	}
	for _, path := range []string{"//v2", "/v2//health/live", "/v2/../v2", "/v2/./models/types", "/v2/models//ready"} {
		all = append(all, getting(path).unlike("paths that aren't clean lead to the clean ones"))
	}
	return all
}

// routeControlling returns trials that load and unload models, and restore the
// previous state.
func routeControlling() []routeTrial {
	load := func(name, body string) routeTrial { return posting("/v2/repository/models/"+name+"/load", body) }
	unload := func(name, body string) routeTrial { return posting("/v2/repository/models/"+name+"/unload", body) }
	index := posting("/v2/repository/index", "").settled(byName)
	gone := index
	gone.calls = slices.Clone(index.calls)
	gone.calls[0].until = func(answer routeAnswer) bool {
		list, _ := answer.json.([]any)
		return slices.ContainsFunc(list, func(v any) bool {
			row, _ := v.(map[string]any)
			return row["name"] == "echo" && row["state"] == "UNAVAILABLE"
		})
	}
	echo := getting("/v2/models/echo")
	config := func(s string) string { return fmt.Sprintf(`{"parameters":{"config":%q}}`, s) }
	all := []routeTrial{
		index, posting("/v2/repository/index", `{"ready":true}`).settled(byName), posting("/v2/repository/index", `{"ready":false,"odd":[1]}`).settled(byName),
		posting("/v2/repository/index", `{"ready":"yes"}`), posting("/v2/repository/index", `{"ready":1}`), posting("/v2/repository/index", `{"ready":null}`),
		posting("/v2/repository/index", `[]`).settled(byName), posting("/v2/repository/index", `3`).settled(byName),
		posting("/v2/repository/index", `{"Ready":true}`).settled(byName), posting("/v2/repository/index", ` `), posting("/v2/repository/index", `{`),
		posting("/v2/repository/r/index", ``).settled(byName),
		posting("/v2/repository/index", `{"ready":true}`).settled(byName).with("Content-Type", "application/x-www-form-urlencoded"),
		posting("/v2/repository/index", `{"ready":true}`).settled(byName).with("Content-Type", "text/plain"),
		inTurn("unload and load", unload("echo", ""), gone, echo, getting("/v2/models/echo/ready"), getting("/v2/models/echo/stats"), load("echo", ""), echo, getting("/v2/models/echo/ready")),
		inTurn("unload and load with bodies", unload("echo", `{"parameters":{"unload_dependents":true}}`), gone, load("echo", `{}`), echo),
		inTurn("load with a configuration", load("echo", config(kservetest.EchoConfig)), getting("/v2/models/echo/config"), unload("echo", "{}"), gone, load("echo", `{"parameters":{}}`), getting("/v2/models/echo/config")),
		load("echo", `{"parameters":[]}`), load("echo", `{"parameters":3}`), load("echo", `{"parameters":null}`), load("echo", `{"parameters":{"config":3}}`),
		load("echo", `{"parameters":{"odd":"x"}}`), load("echo", `{"parameters":{"file:1/model.py":7}}`), load("echo", `{"parameters":{"file:1/model.py":"eA=="}}`),
		load("echo", config("{")), load("echo", `{"parameters":`), load("echo", `[]`), load("echo", `"x"`),
		load("none", ""), load("none", "{}"), unload("none", ""), unload("none", `{"parameters":{"unload_dependents":false}}`),
		posting("/v2/repository/r/models/echo/load", ""), posting("/v2/repository/r/models/echo/unload", "{"),
	}
	for _, body := range []string{`{`, `{"parameters":{"unload_dependents":"yes"}}`} {
		all = append(all, unload("none", body).unlike("tritonserver forgets what was wrong with the body, and unloads"))
	}
	return all
}

// routeMemory returns trials that register shared memory.
func routeMemory(t *testing.T) []routeTrial {
	t.Helper()
	key, size := kservetest.SharedObject(t), os.Getpagesize()
	const system, cuda = "/v2/systemsharedmemory", "/v2/cudasharedmemory"
	register := func(region, body string) routeTrial { return posting(system+"/region/"+region+"/register", body) }
	status, one := getting(system+"/status"), getting(system+"/region/r/status")
	good := fmt.Sprintf(`{"key":%q,"offset":0,"byte_size":%d}`, key, size)
	all := []routeTrial{
		inTurn("shared memory", status, register("r", good), status, one, getting(system+"/region/q/status"), register("r", good),
			posting(system+"/region/r/unregister", ""), status, one, register("r", fmt.Sprintf(`{"key":%q,"byte_size":64}`, key)),
			status, posting(system+"/unregister", "{}"), status),
		posting(system+"/register", good), posting(system+"/region/none/unregister", ""), posting(system+"/unregister", ""),
		register("far", fmt.Sprintf(`{"key":%q,"offset":%d,"byte_size":%d}`, key, size, size)), register("none", `{"key":"/trident-test-none","byte_size":1}`),
	}
	for _, body := range []string{
		``, `{`, `[]`, `{}`, `{"key":1}`, `{"key":"/x"}`, `{"byte_size":1}`, `{"key":"/x","byte_size":"1"}`, `{"key":"/x","byte_size":-1}`, `{"key":"/x","byte_size":1.5}`,
		`{"key":"/x","offset":"0","byte_size":1}`, `{"key":"/x","offset":-1,"byte_size":1}`, `{"key":null,"byte_size":1}`, `{"key":"/x","byte_size":18446744073709551616}`,
	} {
		all = append(all, register("r", body))
	}
	all = append(all, getting(cuda+"/status"), getting(cuda+"/region/r/status"), posting(cuda+"/unregister", ""), posting(cuda+"/region/r/unregister", ""), posting(cuda+"/register", ""))
	for _, body := range []string{
		``, `{}`, `{"raw_handle":3}`, `{"raw_handle":{}}`, `{"raw_handle":{"b64":3}}`, `{"raw_handle":{"b64":"eA=="}}`, `{"raw_handle":{"b64":"eA=="},"byte_size":1}`,
		`{"raw_handle":{"b64":"eA=="},"byte_size":"1","device_id":0}`, `{"raw_handle":{"b64":"eA=="},"byte_size":1,"device_id":0}`,
	} {
		all = append(all, posting(cuda+"/region/r/register", body))
	}
	return all
}

const wordsOfGRPC = "tritonserver's HTTP and gRPC have other words here, and codes; these are those of gRPC"

// routeSettings returns trials that read, change and restore settings.
func routeSettings() []routeTrial {
	const trace, traceEcho, logs = "/v2/trace/setting", "/v2/models/echo/trace/setting", "/v2/logging"
	all := []routeTrial{
		getting(trace), getting(traceEcho), getting("/v2/models/none/trace/setting"), posting("/v2/models/none/trace/setting", `{}`), getting(logs),
		inTurn("a model's trace settings", posting(traceEcho, `{"trace_rate":"7","trace_count":"3","log_frequency":"2"}`), getting(traceEcho), getting(trace), posting(traceEcho, `{"trace_rate":null,"trace_count":null,"log_frequency":null}`), getting(traceEcho)),
		inTurn("the trace settings", posting(trace, `{"trace_rate":"9"}`), getting(traceEcho), posting(trace, `{"trace_rate":null}`)),
		inTurn("trace levels", posting(traceEcho, `{"trace_level":["OFF"]}`), posting(traceEcho, `{"trace_level":null}`)),
		inTurn("the log's level", posting(logs, `{"log_verbose_level":1}`), posting(logs, `{"log_verbose_level":0}`)),
		inTurn("the log's words", posting(logs, `{"log_info":false,"log_warning":false}`), posting(logs, `{"log_info":true,"log_warning":true,"log_error":true}`)),
		inTurn("the log's format", posting(logs, `{"log_format":"ISO8601"}`), posting(logs, `{"log_format":"default"}`)),
	}
	for _, body := range []string{
		``, `{`, `[]`, `{}`, `{"odd":"x"}`, `{"trace_file":"x"}`, `{"trace_file":null}`, `{"trace_rate":7}`, `{"trace_rate":"x"}`, `{"trace_rate":["7"]}`, `{"trace_count":"-2"}`, `{"trace_count":"x"}`,
		`{"trace_rate":"99999999999999999999"}`, `{"trace_count":"99999999999"}`, `{"log_frequency":"x"}`, `{"log_frequency":true}`, `{"trace_level":"OFF"}`, `{"trace_level":[1]}`,
		`{"trace_level":["OFF","TENSORS"]}`, `{"trace_mode":"opentelemetry"}`,
	} {
		x := posting(trace, body)
		if strings.Contains(body, `"-2"`) {
			x = x.unlike(wordsOfGRPC)
		}
		all = append(all, x)
	}
	for _, body := range []string{
		``, `{`, `[]`, `{}`, `{"odd":"x"}`, `{"log_file":"x"}`, `{"log_file":null}`, `{"log_info":1}`, `{"log_info":"true"}`, `{"log_warning":null}`, `{"log_error":[]}`, `{"log_verbose_level":-1}`,
		`{"log_verbose_level":"1"}`, `{"log_verbose_level":1.5}`, `{"log_format":"x"}`, `{"log_format":3}`,
	} {
		x := posting(logs, body)
		if strings.Contains(body, `"log_format":"x"`) {
			x = x.unlike(wordsOfGRPC)
		}
		all = append(all, x)
	}
	return all
}
