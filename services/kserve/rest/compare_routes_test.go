package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestRoutesLikeTritonserver sends the same requests to a tritonserver's own HTTP
// port and to Trident. The requests cover all paths except inferences, and also
// invalid methods, paths and bodies. Trident's engine is that tritonserver or, under
// TRIDENT_TEST_LOCAL=1, in-process Triton. Trident's responses must also satisfy
// openapi/kserve.yaml. The table has the differences with their reasons, as
// docs/reference/kserve.md does.
func TestRoutesLikeTritonserver(t *testing.T) {
	kservetest.RunBesideOthers(t)
	repositories := []string{tritontest.Repository(t), tritontest.ExtensionRepository(t), tritontest.KServeRepository(t)}
	triton := tritontest.StartServer(t, tritonserver.Options{Repositories: repositories, Args: []string{"--model-control-mode=explicit", "--load-model=*"}})
	quick := slices.Concat(routeDescribing(), routeRefusing(), routeMemory(t), routeSettings())
	all := slices.Concat(quick, routeOdd(), routeControlling())
	t.Run("own port", func(t *testing.T) {
		compareRoutes(t, all, triton.HTTP(), kservetest.ServeREST(t, kservetest.Open(), tritontest.Connect(t, triton)))
	})
	t.Run("shared port", func(t *testing.T) {
		compareRoutes(t, quick, triton.HTTP(), kservetest.ServeShared(t, kservetest.Open(), tritontest.Connect(t, triton)))
	})
	t.Run("local", func(t *testing.T) {
		if os.Getenv("TRIDENT_TEST_LOCAL") == "" {
			t.Skip("starts in-process Triton: make test-local")
		}
		compareRoutes(t, all, triton.HTTP(), kservetest.ServeREST(t, kservetest.Open(), kservetest.LocalEngine(t, repositories)))
	})
}

// TestRestrictedLikeTritonserver restricts groups of both servers with
// --http-restricted-api.
func TestRestrictedLikeTritonserver(t *testing.T) {
	kservetest.RunBesideOthers(t)
	triton := tritontest.StartServer(t, tritonserver.Options{Args: []string{
		"--http-restricted-api=model-repository,logging:Admin-Key=a:b=c", "--http-restricted-api=metadata,statistics:other=1",
	}})
	var access auth.Config
	for _, s := range []string{"model-repository,logging:Admin-Key=a:b=c", "metadata,statistics:other=1"} {
		var r auth.KServeRestriction
		if err := r.UnmarshalText([]byte(s)); err != nil {
			t.Fatal(err)
		}
		access.HTTPRestricted = append(access.HTTPRestricted, r)
	}
	var trials []routeTrial
	for _, x := range []routeTrial{
		getting("/v2"), getting("/v2/models/echo"), getting("/v2/models/none"), getting("/v2/models/stats").settled(statisticsShape),
		getting("/v2/models/echo/versions/1/stats").settled(statisticsShape), getting("/v2/logging"), posting("/v2/logging", "{}"),
		posting("/v2/repository/index", "").settled(byName), posting("/v2/repository/models/echo/load", ""), posting("/v2/repository/r/models/echo/unload", ""),
		getting("/v2/repository/index"), posting("/v2", "{}"), route(http.MethodDelete, "/v2/logging", ""), getting("/v2/models/echo/ready"),
		getting("/v2/models/echo/config"), getting("/v2/trace/setting"), getting("/v2/health/ready"), getting("/v2/nothing"), route(http.MethodHead, "/v2", ""),
	} {
		trials = append(trials, x, x.with("admin-key", "a:b=c"), x.with("ADMIN-KEY", "a"), x.with("Other", "1"), x.with("other", ""))
	}
	compareRoutes(t, trials, triton.HTTP(), kservetest.ServeRESTBy(t, kservetest.Open(), server.Default(), access, tritontest.Connect(t, triton)))
}

// routeCall is one request.
type routeCall struct {
	method, path, body string
	header             http.Header
	// settle replaces values that vary between runs in the JSON of a response.
	settle func(any) any
	// until is set for a call that is repeated until its response satisfies the
	// condition.
	until func(routeAnswer) bool
}

// routeAnswer is a client's view of a response.
type routeAnswer struct {
	status int
	header http.Header // the response's headers that are compared
	body   []byte
	json   any // the decoded body; nil if it isn't JSON
}

func (a routeAnswer) String() string {
	return fmt.Sprintf("\n  %d %v %s", a.status, a.header, a.body)
}

// routeTrial is a sequence of calls.
type routeTrial struct {
	name  string
	calls []routeCall
	// differs is the reason for which Trident's responses differ from tritonserver's.
	differs string
}

func (x routeTrial) unlike(reason string) routeTrial { x.differs = reason; return x }

func route(method, path, body string) routeTrial {
	return routeTrial{name: fmt.Sprintf("%s %s %q", method, path, body), calls: []routeCall{{method: method, path: path, body: body}}}
}

func getting(path string) routeTrial { return route(http.MethodGet, path, "") }

func posting(path, body string) routeTrial { return route(http.MethodPost, path, body) }

func (x routeTrial) settled(settle func(any) any) routeTrial {
	x.calls = slices.Clone(x.calls)
	for i := range x.calls {
		x.calls[i].settle = settle
	}
	return x
}

func (x routeTrial) with(name, value string) routeTrial {
	x.calls = slices.Clone(x.calls)
	for i := range x.calls {
		header := x.calls[i].header.Clone()
		if header == nil {
			header = http.Header{}
		}
		header.Set(name, value)
		x.calls[i].header = header
	}
	x.name += " " + name + ": " + value
	return x
}

// inTurn returns a trial with the calls of several trials in sequence.
func inTurn(name string, all ...routeTrial) routeTrial {
	x := routeTrial{name: name}
	for _, one := range all {
		x.calls = append(x.calls, one.calls...)
	}
	return x
}

func compareRoutes(t *testing.T, trials []routeTrial, want, got string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}, Timeout: kservetest.TrialTime}
	t.Cleanup(client.CloseIdleConnections)
	doc := restDocument(t)
	names := map[string]bool{}
	for _, x := range trials {
		if names[x.name] {
			t.Errorf("two trials are called %q", x.name)
		}
		names[x.name] = true
		t.Run(x.name, func(t *testing.T) {
			var expected, answered []routeAnswer
			for _, c := range x.calls {
				expected = append(expected, c.ask(t, client, want))
			}
			for _, c := range x.calls {
				answer := c.ask(t, client, got)
				if x.differs == "" {
					doc.check(t, c, answer)
				}
				answered = append(answered, answer)
			}
			switch alike := reflect.DeepEqual(decoded(answered), decoded(expected)); {
			case !alike && x.differs == "":
				t.Errorf("got %s\nwant %s", answered, expected)
			case alike && x.differs != "":
				t.Errorf("no longer differs (%s): %s", x.differs, answered)
			}
		})
	}
	t.Logf("%d trials", len(names))
}

// decoded removes the bytes of bodies that are JSON.
func decoded(answers []routeAnswer) []routeAnswer {
	all := slices.Clone(answers)
	for i := range all {
		if all[i].json != nil {
			all[i].body = nil
		}
	}
	return all
}

func (c routeCall) ask(t *testing.T, client *http.Client, address string) routeAnswer {
	t.Helper()
	for ; ; kservetest.Pause(t.Context()) {
		answer := c.once(t, client, address)
		if c.until == nil || c.until(answer) || t.Context().Err() != nil {
			return answer
		}
	}
}

func (c routeCall) once(t *testing.T, client *http.Client, address string) routeAnswer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+address, strings.NewReader(c.body))
	if err != nil {
		t.Fatal(err)
	}
	req.URL.Opaque = "//" + address + c.path // unmodified, however unusual
	req.Close = c.method == http.MethodHead  // tritonserver sends a body for HEAD
	if c.header != nil {
		req.Header = c.header.Clone()
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	answer := routeAnswer{status: resp.StatusCode, header: http.Header{}, body: body}
	for _, name := range []string{"Content-Type", "Content-Encoding", "Accept-Encoding"} {
		if values := resp.Header.Values(name); len(values) > 0 {
			answer.header[name] = values
		}
	}
	if answer.status != http.StatusOK && (len(body) > 0 || c.method == http.MethodHead) {
		// tritonserver sends some JSON errors as text/plain.
		answer.header.Set("Content-Type", "application/json")
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&answer.json); err == nil && c.settle != nil {
		answer.json = c.settle(answer.json)
	}
	return answer
}

// contract is openapi/kserve.yaml with closed objects: a response must not have keys
// that the document lacks.
type contract struct {
	doc   *openapi3.T
	paths map[string]*regexp.Regexp
}

func restDocument(t *testing.T) contract {
	t.Helper()
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromData(openapi.KServe())
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	for _, schema := range doc.Components.Schemas {
		if s := schema.Value; len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			s.AdditionalProperties.Has = &closed
		}
	}
	c := contract{doc, map[string]*regexp.Regexp{}}
	variable := regexp.MustCompile(`\\\{[a-z]+\\\}`)
	for path := range doc.Paths.Map() {
		c.paths[path] = regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
	}
	return c
}

// operation returns the operation of a call, or nil if there is none.
func (c contract) operation(method, path string) *openapi3.Operation {
	if item := c.doc.Paths.Value(path); item != nil {
		return item.GetOperation(method)
	}
	for template, pattern := range c.paths {
		if item := c.doc.Paths.Value(template); pattern.MatchString(path) && item.Operations()[method] != nil {
			return item.GetOperation(method)
		}
	}
	return nil
}

// check compares a response with the document. The response to a call that isn't an
// operation must be an error.
func (c contract) check(t *testing.T, call routeCall, answer routeAnswer) {
	t.Helper()
	media := c.doc.Components.Responses["Error"].Value.Content["application/json"]
	path, _, _ := strings.Cut(call.path, "?")
	operation := c.operation(call.method, path)
	if answer.status == http.StatusOK {
		if operation == nil {
			t.Errorf("%s %s: no operation of the document", call.method, call.path)
			return
		}
		media = operation.Responses.Status(http.StatusOK).Value.Content["application/json"]
	}
	switch {
	case call.method == http.MethodHead:
	case media == nil:
		if len(answer.body) != 0 {
			t.Errorf("%s %s: a body: %s", call.method, call.path, answer)
		}
	default:
		var value any
		if err := json.Unmarshal(answer.body, &value); err != nil {
			t.Errorf("%s %s: %v in %s", call.method, call.path, err, answer.body)
		} else if err := media.Schema.Value.VisitJSON(value); err != nil {
			t.Errorf("%s %s: %v", call.method, call.path, err)
		}
	}
}
