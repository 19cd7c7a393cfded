package e2e

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/server/servertest"
)

// certified is a CA and the files of a server certificate that it signed.
type certified struct {
	*servertest.Authority

	dir, ca, cert, key string
}

func certify(t *testing.T) *certified {
	t.Helper()
	c := &certified{Authority: servertest.NewAuthority(t), dir: t.TempDir()}
	c.ca = servertest.Write(t, c.dir, "ca.pem", c.PEM())
	c.cert, c.key = c.write(t, "trident")
	return c
}

// write creates a certificate and returns its files.
func (c *certified) write(t *testing.T, name string) (cert, key string) {
	t.Helper()
	pair := c.Issue(t, name)
	return servertest.Write(t, c.dir, name+".pem", pair.Certificate), servertest.Write(t, c.dir, name+"-key.pem", pair.Key)
}

// client returns an HTTP client, which uses HTTP/2 if the server supports it.
func (c *certified) client(t *testing.T, pairs ...servertest.Pair) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: c.Client(t, pairs...), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: kserveLimit}
}

// start launches a trident of the test's own with TLS.
func (c *certified) start(t *testing.T, models engine, flags ...string) *trident {
	t.Helper()
	s := models.start(t, append([]string{"--tls-cert=" + c.cert, "--tls-key=" + c.key}, flags...)...)
	s.url = strings.Replace(s.url, "http://", "https://", 1)
	return s
}

// TestTLSChat checks a streamed chat over HTTP/2 while the certificate is renewed. The stream
// continues, curl gets the new certificate, and clients without TLS get an error.
func TestTLSChat(t *testing.T) {
	t.Parallel()
	files := certify(t)
	s := files.start(t, demoModels(t))
	by := files.client(t)
	by.Transport = contractTransport{by.Transport}
	if err := s.awaitReadyBy(by); err != nil {
		t.Fatal(err)
	}
	events := s.open(t, by, s.request(t, http.MethodPost, "/v1/chat/completions", ask("Count from one to a hundred in words.", "max_tokens", 40, "ignore_eos", true, "stream", true)))
	if events.response.ProtoMajor != 2 {
		t.Errorf("the response has protocol %s", events.response.Proto)
	}
	var all []chunk
	for c := range events.chunks(t) {
		if all = append(all, c); len(all) == 3 {
			files.write(t, "trident")
			fresh := files.client(t)
			exchange(t, fresh, s.request(t, http.MethodGet, "/v1/models", nil)).want(t, http.StatusOK)
		}
	}
	checkChunks(t, all, 1)
	if n := strings.Count(s.log.String(), `"msg":"loaded the TLS certificate"`); n != 2 {
		t.Errorf("certificates were loaded %d times, want 2:\n%s", n, s.log)
	}
	answer, err := http.Post(strings.Replace(s.url, "https:", "http:", 1)+"/v1/chat/completions", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if a := readAll(t, answer); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "HTTPS") {
		t.Errorf("without TLS: %d %s", a.status, a.body)
	}
	if curl, err := exec.LookPath("curl"); err == nil {
		out, err := exec.CommandContext(t.Context(), curl, "-sS", "--cacert", files.ca, s.url+"/v1/models").CombinedOutput()
		if err != nil || !strings.Contains(string(out), `"id":"chat"`) {
			t.Errorf("curl: %v: %s", err, out)
		}
	}
}

// TestTLSClients runs the real clients against both ports with TLS: Node without a client
// certificate, and Python and Go, which must have one.
func TestTLSClients(t *testing.T) {
	t.Parallel()
	t.Run("any client", func(t *testing.T) {
		dir := nodePrograms(t)
		files := certify(t)
		s := files.start(t, disposableEngine(t, kserveModels(t, "models")))
		if err := s.awaitReadyBy(files.client(t)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), kserveLimit)
		defer cancel()
		node := exec.CommandContext(ctx, installed(t, "node"), filepath.Join(dir, "connect.mjs"), s.url)
		node.Env = environment("NODE_EXTRA_CA_CERTS=" + files.ca)
		if out, err := node.CombinedOutput(); err != nil || string(out) != connectParts(false) {
			t.Errorf("%v; it printed:\n%s\nTrident's log ends with:\n%s", err, out, s.log.end())
		}
	})
	t.Run("clients with certificates", func(t *testing.T) {
		files := certify(t)
		models := disposableEngine(t, kserveModels(t, "models", "models-ext"))
		s := files.start(t, models, append(kservePorts(), "--allow-shared-memory", "--tls-client-ca="+files.ca)...)
		known := files.client(t, files.Issue(t, "client"))
		k, err := s.kserve(known)
		if err != nil {
			t.Fatal(err)
		}
		cert, key := files.write(t, "python")
		for name, address := range k.ports() {
			t.Run(name, func(t *testing.T) {
				models.renew(t, s, known)
				s.runClient(t, pythonParts, installed(t, "python"), "kserve_client.py", address, files.ca, key, cert)
			})
		}
		if out, err := exec.CommandContext(t.Context(), installed(t, "python"), "kserve_client.py", k.native, files.ca).CombinedOutput(); err == nil || strings.HasPrefix(string(out), "describe\n") {
			t.Errorf("a client without a certificate is served: %s", out)
		}
		if _, err := files.client(t).Get(s.url + "/health/live"); err == nil {
			t.Error("a client without a certificate is served")
		}
		conversation, err := kserveconnect.NewGRPCInferenceServiceClient(known, s.url).ModelStreamInfer(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"1", "2"} { // the second is sent once the first is answered
			if err := conversation.Send(&kserve.ModelInferRequest{
				ModelName: "stream", Id: id, RawInputContents: [][]byte{{1, 0, 0, 0}},
				Inputs: []*kserve.ModelInferRequest_InferInputTensor{{Name: "COUNT", Datatype: "INT32", Shape: []int64{1}}},
			}); err != nil {
				t.Fatal(err)
			}
			m, err := conversation.Receive()
			if err != nil || m.GetInferResponse().GetId() != id || m.GetErrorMessage() != "" {
				t.Errorf("got %v, %v", m, err)
			}
		}
		if err := conversation.CloseRequest(); err != nil {
			t.Error(err)
		}
		if _, err := conversation.Receive(); !strings.Contains(err.Error(), io.EOF.Error()) {
			t.Errorf("the stream ended with %v", err)
		}
	})
}
