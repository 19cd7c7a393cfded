package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/tier"
)

// BenchmarkInferJSON measures a request with a million FP32 values in JSON. It compares
// tritonserver's own HTTP port with Trident over that tritonserver and, under
// TRIDENT_TEST_LOCAL=1, over in-process Triton. One response is short, the other has the
// values again. Compare the rows of one run.
func BenchmarkInferJSON(b *testing.B) {
	repositories := []string{tritontest.ExtensionRepository(b)}
	triton := tritontest.StartServer(b, tritonserver.Options{Repositories: repositories})
	servers := []struct{ name, url string }{{"tritonserver", "http://" + triton.HTTP()}, {"remote", serveREST(b, tritontest.Connect(b, triton))}}
	if os.Getenv("TRIDENT_TEST_LOCAL") != "" {
		servers = append(servers, struct{ name, url string }{"local", serveREST(b, kservetest.LocalEngine(b, repositories))})
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	for _, output := range []string{"PARAMETERS", "FP32"} {
		body := floatsBody(b, output, tier.BenchSize(1000, million))
		for _, s := range servers {
			b.Run(output+"/"+s.name, func(b *testing.B) {
				for b.Loop() {
					postBody(b, &client, s.url+"/v2/models/types/infer", body)
				}
			})
		}
	}
}

// Limits of [TestInferJSONTime]: Trident may take at most mostTimes the time of
// tritonserver's own port for a million FP32 values in JSON. The fastest of fewRounds
// rounds counts on each side, since other load on the machine only makes rounds slower.
// If that isn't enough there are further rounds, up to mostRounds.
const (
	mostTimes  = 2
	fewRounds  = 4
	mostRounds = 24
)

// TestInferJSONTime compares the times, with that tritonserver behind Trident and, under
// TRIDENT_TEST_LOCAL=1, with in-process Triton.
func TestInferJSONTime(t *testing.T) {
	if tier.Race {
		t.Skip("compares times")
	}
	repositories := []string{tritontest.ExtensionRepository(t)}
	triton := tritontest.StartServer(t, tritonserver.Options{Repositories: repositories})
	ports := map[string]string{"remote": serveREST(t, tritontest.Connect(t, triton))}
	if os.Getenv("TRIDENT_TEST_LOCAL") != "" {
		ports["local"] = serveREST(t, kservetest.LocalEngine(t, repositories))
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(client.CloseIdleConnections)
	for name, url := range ports {
		for _, output := range []string{"PARAMETERS", "FP32"} {
			t.Run(name+"/"+output, func(t *testing.T) {
				compareTimes(t, &client, "http://"+triton.HTTP(), url, floatsBody(t, output, million))
			})
		}
	}
}

func compareTimes(t *testing.T, client *http.Client, want, got string, body []byte) {
	t.Helper()
	least := map[string]time.Duration{want: time.Hour, got: time.Hour}
	round := 0
	for round < fewRounds || round < mostRounds && least[got] > mostTimes*least[want] {
		round++
		for _, base := range []string{want, got} {
			began := time.Now()
			postBody(t, client, base+"/v2/models/types/infer", body)
			least[base] = min(least[base], time.Since(began))
		}
	}
	ratio := least[got].Seconds() / least[want].Seconds()
	t.Logf("tritonserver %v, Trident %v, which is %.2f times that, in %d rounds", least[want].Round(time.Millisecond), least[got].Round(time.Millisecond), ratio, round)
	if ratio > mostTimes {
		t.Errorf("Trident takes %.2f times as long as tritonserver", ratio)
	}
}

// million is the number of values of large tensors.
const million = 1_000_000

// floatsBody returns a request with n FP32 values as a client writes them: most with the
// digits of a double. The request asks for one output.
func floatsBody(tb testing.TB, output string, n int) []byte {
	tb.Helper()
	random := rand.New(rand.NewPCG(1, 2)) // the fixed seed yields the same values in each run
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(float32(random.NormFloat64()))
	}
	text, err := json.Marshal(values)
	if err != nil {
		tb.Fatal(err)
	}
	return []byte(strings.TrimSuffix(inputs(tensorJSON("FP32", "FP32", fmt.Sprintf("[%d]", n), string(text))), "}") + `, "outputs": [{"name": "` + output + `"}]}`)
}

func postBody(tb testing.TB, client *http.Client, url string, body []byte) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	answer, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK || n < 10 {
		tb.Fatalf("%s with %d bytes, %v", answer.Status, n, err)
	}
}
