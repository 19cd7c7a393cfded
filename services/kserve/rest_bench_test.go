package kserve_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// BenchmarkInferJSON asks how long a request with a million FP32 values in JSON takes
// at tritonserver's own HTTP port, and through Trident with that tritonserver behind
// it and, under TRIDENT_TEST_LOCAL=1, with Triton in this process: with an answer that
// is short, and with one that has the values again. Compare the rows of one run.
func BenchmarkInferJSON(b *testing.B) {
	repositories := []string{tritontest.ExtensionRepository(b)}
	triton := tritontest.StartServer(b, tritonserver.Options{Repositories: repositories})
	servers := []struct{ name, url string }{{"tritonserver", "http://" + triton.HTTP()}, {"remote", serveREST(b, tritontest.Connect(b, triton))}}
	if os.Getenv("TRIDENT_TEST_LOCAL") != "" {
		servers = append(servers, struct{ name, url string }{"local", serveREST(b, localEngine(b, repositories))})
	}
	text, _ := millionFloats()
	client := http.Client{Transport: &http.Transport{DisableCompression: true}}
	b.Cleanup(client.CloseIdleConnections)
	for _, output := range []string{"PARAMETERS", "FP32"} {
		body := []byte(strings.TrimSuffix(inputs(tensorJSON("FP32", "FP32", "[1000000]", string(text))), "}") + `, "outputs": [{"name": "` + output + `"}]}`)
		for _, s := range servers {
			b.Run(output+"/"+s.name, func(b *testing.B) {
				for b.Loop() {
					postBody(b, &client, s.url+"/v2/models/types/infer", body)
				}
			})
		}
	}
}

func postBody(b *testing.B, client *http.Client, url string, body []byte) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	answer, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	if n, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != http.StatusOK || n < 10 {
		b.Fatalf("%s with %d bytes, %v", answer.Status, n, err)
	}
}
