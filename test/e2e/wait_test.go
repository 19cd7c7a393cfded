package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// sleepModel is a Python model without streaming. It responds after the number of seconds in its
// input, one request at a time.
const sleepModel = `import time
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            text = pb_utils.get_input_tensor_by_name(request, "text_input").as_numpy()
            time.sleep(float(text.flat[0].decode()))
            responses.append(pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("text_output", text)]))
        return responses
`

// sleeperRepository returns a repository with the model.
func sleeperRepository(t *testing.T) string {
	t.Helper()
	const settings = "backend: \"python\"\ninput [ { name: \"text_input\" data_type: TYPE_STRING dims: [ 1 ] } ]\n" +
		"output [ { name: \"text_output\" data_type: TYPE_STRING dims: [ 1 ] } ]\ninstance_group [ { kind: KIND_CPU } ]\n"
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sleeper", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config.pbtxt": settings, filepath.Join("1", "model.py"): sleepModel} {
		if err := os.WriteFile(filepath.Join(dir, "sleeper", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sleeping returns an engine of the test's own that has only the given model.
func sleeping(t *testing.T) engine {
	t.Helper()
	return ownEngine(t, tritonserver.Options{Repositories: []string{sleeperRepository(t)}})
}

func sleepOpenAI(seconds string) object { return object{"model": "sleeper", "prompt": seconds} }

func sleepKServe(seconds string) object {
	return object{"inputs": []object{{"name": "text_input", "datatype": "BYTES", "shape": []int{1}, "data": []string{seconds}}}}
}

const sleeperInfer = "/v2/models/sleeper/infer"

// postAsync sends a POST in the background.
func (s *trident) postAsync(t *testing.T, path string, body object) <-chan answer {
	t.Helper()
	answers := make(chan answer, 1)
	go func() { answers <- s.post(t, path, body) }()
	return answers
}

// TestLongAnswers checks that the idle timeout of streams doesn't end a non-streaming response, nor
// one that waits in Triton's queue.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	const inactivity = 400 * time.Millisecond
	s := sleeping(t).startReady(t, "--inactivity-timeout="+inactivity.String(), "--sse-header-timeout=100ms")
	began := time.Now()
	whole := []<-chan answer{s.postAsync(t, "/v1/completions", sleepOpenAI("1.5")), s.postAsync(t, "/v1/completions", sleepOpenAI("1.5"))}
	stream := s.postAsync(t, "/v1/completions", merge(sleepOpenAI("1.5"), "stream", true))
	raw := s.postAsync(t, sleeperInfer, sleepKServe("1.5"))
	for _, answers := range whole {
		c := decode[struct{ Choices []struct{ Text string } }](t, (<-answers).want(t, http.StatusOK))
		if len(c.Choices) != 1 || c.Choices[0].Text != "1.5" {
			t.Errorf("the answer is %+v", c)
		}
	}
	events := string((<-stream).want(t, http.StatusOK).body)
	if strings.Count(events, ": keep-alive\n") < 3 || !strings.Contains(events, `"text":"1.5"`) || !strings.HasSuffix(events, "data: [DONE]\n\n") {
		t.Errorf("the stream is %s", events)
	}
	c := decode[struct{ Outputs []struct{ Data []string } }](t, (<-raw).want(t, http.StatusOK))
	if len(c.Outputs) != 1 || len(c.Outputs[0].Data) != 1 || c.Outputs[0].Data[0] != "1.5" {
		t.Errorf("the tensors are %+v", c)
	}
	if took := time.Since(began); took < 4*1500*time.Millisecond {
		t.Errorf("four requests, one at a time, took %s", took)
	}
}

// TestFirstResponseTimeout checks that a request ends with an error if the model sends no first
// response within the limit.
func TestFirstResponseTimeout(t *testing.T) {
	t.Parallel()
	s := sleeping(t).startReady(t, "--first-response-timeout=500ms")
	a := s.post(t, "/v1/completions", sleepOpenAI("2")).want(t, http.StatusServiceUnavailable)
	if e := a.failure(t); text(e.Code) != "engine_inactive" || text(e.Message) != "the model sent nothing for 500ms" {
		t.Errorf("code %s: %s", text(e.Code), text(e.Message))
	}
	got := decode[struct{ Error string }](t, s.post(t, sleeperInfer, sleepKServe("2")).want(t, http.StatusServiceUnavailable))
	if got.Error != "the model sent nothing for 500ms" {
		t.Errorf("by KServe: %s", got.Error)
	}
}

// TestFrozenTriton checks that a frozen server is detected while a non-streaming response is
// pending, long before the response's own limit.
func TestFrozenTriton(t *testing.T) {
	needsServer(t)
	const (
		inactivity = time.Second
		signOfLife = 5 * time.Second
	)
	t.Parallel()
	models := sleeping(t)
	s := models.startReady(t, "--inactivity-timeout="+inactivity.String())
	s.post(t, "/v1/completions", sleepOpenAI("0")).want(t, http.StatusOK)
	answers := map[string]<-chan answer{
		"OpenAI": s.postAsync(t, "/v1/completions", sleepOpenAI("15")),
		"stream": s.postAsync(t, "/v1/completions", merge(sleepOpenAI("15"), "stream", true)),
		"KServe": s.postAsync(t, sleeperInfer, sleepKServe("15")),
	}
	if !poll(startLimit, func() bool { return inFlight(t, s) == len(answers) }) {
		t.Fatal("the requests aren't under way")
	}
	models.server.Pause()
	defer models.server.Resume()
	frozen := time.Now()
	const message = "the inference server doesn't answer health checks"
	for name, answers := range answers {
		a := (<-answers).want(t, http.StatusServiceUnavailable)
		if took := time.Since(frozen); took < inactivity || took > inactivity+signOfLife+failLimit {
			t.Errorf("%s: the error arrived after %s", name, took)
		}
		if name == "KServe" {
			if got := decode[struct{ Error string }](t, a).Error; got != message {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		if e := a.failure(t); text(e.Code) != "engine_unavailable" || text(e.Message) != message {
			t.Errorf("%s: code %s: %s", name, text(e.Code), text(e.Message))
		}
	}
}

// inFlight returns the number of requests in flight.
func inFlight(t *testing.T, s *trident) int {
	t.Helper()
	page := s.get(t, "/metrics").want(t, http.StatusOK)
	sum := 0
	for line := range strings.Lines(string(page.body)) {
		if _, value, ok := strings.Cut(line, "} "); ok && strings.HasPrefix(line, "trident_requests_in_flight{") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
