package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/tier"
)

// plainBinary is trident without the race detector, which uses several times the memory.
var plainBinary = shared(func(t *testing.T) (string, error) {
	t.Helper()
	path := filepath.Join(scratch(t), "plain", "trident")
	return path, command(root(t), "go", "build", "-o", path, "./cmd/trident")
})

// siege is a trident with a memory limit under hostile clients.
type siege struct {
	*kserveTrident

	limit int64              // memory limit of trident in bytes
	calls []*grpc.ClientConn // connections of the hostile clients, one for each client
}

// The API keys of a siege, and the maximum number of requests in flight of the client at its
// limits.
const (
	steadyKey    = "sk-steady"
	steadyAtOnce = 4
)

func hostileKey(client int) string { return "sk-hostile-" + strconv.Itoa(client) }

// attackTimeout is the maximum time that a hostile client waits for the end of a request before it sends
// the next one.
const attackTimeout = 10 * time.Second

// startSiege starts a trident with a memory limit in front of tensor models and text models. It has
// keys for this many hostile clients and for one client at its limits.
func startSiege(t *testing.T, limit int64, hostile int) *siege {
	t.Helper()
	var keys strings.Builder
	fmt.Fprintf(&keys, "- {name: steady, key: %s, limits: {in_flight: %d, queued: 4}}\n", steadyKey, steadyAtOnce)
	for i := range hostile {
		fmt.Fprintf(&keys, "- {name: hostile-%d, key: %s}\n", i, hostileKey(i))
	}
	file := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(file, []byte(keys.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	options := scripted(t, "chat")
	options.Repositories = append(options.Repositories, filepath.Join(root(t), "test", "models"))
	s := launchPlain(t, options, hostile, append(kservePorts(),
		"--memory-limit="+strconv.FormatInt(limit, 10), "--api-keys-file="+file,
		"--tokenizer=chat="+filepath.Join(root(t), "test", "models-contract", "vllm", "tokenizer"))...)
	s.limit = limit
	return s
}

func launchPlain(t *testing.T, options tritonserver.Options, clients int, flags ...string) *siege {
	t.Helper()
	binary := plainBinary(t)
	e := ownEngine(t, options)
	trident, err := launchBinary(t, binary, "", e.env, append(slices.Clone(e.flags), flags...)...)
	trident = owned(t, trident, err)
	k, err := trident.kserve(&http.Client{Transport: keyed{steadyKey}})
	if err != nil {
		t.Fatal(err)
	}
	s := &siege{kserveTrident: k}
	for range clients {
		calls, err := grpc.NewClient(k.native, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { calls.Close() })
		s.calls = append(s.calls, calls)
	}
	return s
}

// keyed sends requests with an API key.
type keyed struct{ key string }

// direct is the HTTP transport that keyed uses after it has added the key.
var direct = &http.Transport{}

// RoundTrip implements [http.RoundTripper].
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return direct.RoundTrip(r)
}

// memory returns a figure of the process in bytes, such as VmRSS or VmHWM (the peak). statusOf does
// so for any process.
func (s *siege) memory(t *testing.T, name string) int64 {
	t.Helper()
	return statusOf(t, s.cmd.Process.Pid, name)
}

func statusOf(t *testing.T, process int, name string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("no %s in %s", name, text)
	return 0
}

// hostile is a kind of request that hostile clients send.
type hostile struct {
	name string
	send func(ctx context.Context, s *siege, client int) (outcome string)
}

// hostiles returns requests near the limits of each surface: of many bytes, of many elements,
// compressed, of long texts, of tensors, and a slow one.
func hostiles(body int) []hostile {
	long := strings.Repeat("word ", body/5)
	chat := func(content string) []byte {
		return []byte(`{"model":"chat","max_tokens":1,"messages":[{"role":"user","content":"` + content + `"}]}`)
	}
	messages := strings.Repeat(`{"role":"user","content":"a"},`, 16000)
	inputs := strings.Repeat(`"a",`, min(body/4, 250_000))
	tensor := func(data string, n int) []byte {
		return fmt.Appendf(nil, `{"inputs":[{"name":"TEXT","datatype":"BYTES","shape":[1],"data":["a"]},{"name":"DATA","datatype":"FP32","shape":[%d,4],"data":[%s]}]}`, n/4, data)
	}
	numbers := body / 2 / 4 * 4
	typed := bytes.Repeat([]byte{0x12, 0}, 1<<20) // typed encodes empty messages
	const (
		chats, openaiJSON = "/v1/chat/completions", "application/json"
		infer             = "/v2/models/echo/infer"
	)
	return []hostile{
		post("chat with a long text", chats, openaiJSON, "", chat(long)),
		post("chat with many messages", chats, openaiJSON, "", []byte(`{"model":"chat","max_tokens":1,"messages":[`+strings.TrimSuffix(messages, ",")+`]}`)),
		post("many inputs of embeddings", "/v1/embeddings", openaiJSON, "", []byte(`{"model":"chat","input":[`+strings.TrimSuffix(inputs, ",")+`]}`)),
		post("long text to tokenize", "/v1/tokenize", openaiJSON, "", []byte(`{"model":"chat","prompt":"`+long+`"}`)),
		post("text at the limit to tokenize", "/v1/tokenize", openaiJSON, "", []byte(`{"model":"chat","prompt":"`+long[:min(len(long), 500<<10)]+`"}`)),
		post("tensors in JSON", infer, openaiJSON, "", tensor(strings.TrimSuffix(strings.Repeat("1,", numbers), ","), numbers)),
		post("tensors in JSON, compressed", infer, openaiJSON, "gzip", compressed(tensor(random(numbers/2), numbers/2))),
		post("typed chat, compressed", "/trident.v1.ChatService/Chat", "application/proto", "gzip", compressed(append([]byte("\x0a\x04chat"), typed...))),
		post("typed chat in JSON", "/trident.v1.ChatService/Chat", openaiJSON, "", []byte(`{"model":"chat","messages":[{"role":"user","text":"`+long+`"}]}`)),
		{"tensors by gRPC", func(ctx context.Context, s *siege, client int) string {
			ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+hostileKey(client))
			_, err := kserve.NewGRPCInferenceServiceClient(s.calls[client]).ModelInfer(ctx, rawTensor(body), grpc.MaxCallRecvMsgSize(1<<30))
			return status.Code(err).String()
		}},
		{"a slow body", func(ctx context.Context, s *siege, client int) string {
			return send(ctx, s, client, chats, openaiJSON, "", io.MultiReader(bytes.NewReader(chat(long)[:body/2]), &trickle{ctx: ctx}), int64(body))
		}},
	}
}

// random returns n numbers as a string that compresses to about half its size.
func random(n int) string {
	from := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, 0, 4*n)
	for range n {
		text = append(strconv.AppendInt(text, from.Int64N(1000), 10), ',')
	}
	return string(text[:len(text)-1])
}

// rawTensor returns a request of the model echo with a tensor of the given number of bytes.
func rawTensor(size int) *kserve.ModelInferRequest {
	size = size / 16 * 16
	return &kserve.ModelInferRequest{
		ModelName: "echo",
		Inputs: []*kserve.ModelInferRequest_InferInputTensor{
			{Name: "TEXT", Datatype: "BYTES", Shape: []int64{1}}, {Name: "DATA", Datatype: "FP32", Shape: []int64{int64(size) / 16, 4}},
		},
		RawInputContents: [][]byte{{1, 0, 0, 0, 'a'}, make([]byte, size)},
	}
}

func compressed(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a Buffer never fails
	_ = w.Close()
	return b.Bytes()
}

func post(name, path, contentType, encoding string, body []byte) hostile {
	return hostile{name, func(ctx context.Context, s *siege, client int) string {
		return send(ctx, s, client, path, contentType, encoding, bytes.NewReader(body), int64(len(body)))
	}}
}

// pooledClient is an HTTP client with enough connections for all requests.
var pooledClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}

func send(ctx context.Context, s *siege, client int, path, contentType, encoding string, body io.Reader, length int64) string {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, body)
	if err != nil {
		return err.Error()
	}
	r.ContentLength = length
	r.Header.Set("Authorization", "Bearer "+hostileKey(client))
	r.Header.Set("Content-Type", contentType)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	answer, err := pooledClient.Do(r)
	if err != nil {
		return "cut off"
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body) // a server under attack may cut the response
	return strconv.Itoa(answer.StatusCode)
}

// trickle sends a byte every 100 ms.
type trickle struct{ ctx context.Context } //nolint:containedctx // it ends the reads

func (r *trickle) Read(p []byte) (int, error) {
	select {
	case <-time.After(100 * time.Millisecond): // the slow pace is the point of the test
		p[0] = 'a'
		return 1, nil
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
}

// attack runs the given number of clients until ctx ends. Each client sends hostile requests, atOnce of
// them in parallel. attack returns the number of each outcome by kind.
func (s *siege) attack(ctx context.Context, clients, atOnce int, kinds []hostile) map[string]int {
	outcomes := map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for client := range clients {
		for lane := range atOnce {
			all.Go(func() {
				for i := client + lane*7; ctx.Err() == nil; i++ {
					kind := kinds[i%len(kinds)]
					request, cancel := context.WithTimeout(ctx, attackTimeout)
					outcome := kind.send(request, s, client)
					cancel()
					mu.Lock()
					outcomes[kind.name+": "+outcome]++
					mu.Unlock()
				}
			})
		}
	}
	all.Wait()
	return outcomes
}

// steady is the number of requests by outcome of the client at its limits.
type steady struct {
	Answered int
	Slowest  float64
	Failed   map[string]int
}

// part returns the fraction of the client's requests that succeeded.
func (s steady) part() float64 {
	all := s.Answered
	for _, n := range s.Failed {
		all += n
	}
	return float64(s.Answered) / float64(max(1, all))
}

// startSteady runs OpenAI's SDK as the client at its limits.
func (s *siege) startSteady(t *testing.T, duration time.Duration) *sdkRun {
	t.Helper()
	return startSDK(t, exec.Command(installed(t, "python"), filepath.Join("python", "steady.py"),
		s.url, steadyKey, strconv.FormatFloat(duration.Seconds(), 'f', -1, 64), strconv.Itoa(steadyAtOnce)))
}

func (r *sdkRun) steady(t *testing.T) steady {
	t.Helper()
	r.awaitSuccess(t)
	var got steady
	if err := json.Unmarshal([]byte(r.log.String()), &got); err != nil {
		t.Fatalf("%v: %s", err, r.log)
	}
	return got
}

// TestMemory checks that trident stays below its memory limit under an attack by clients of all
// APIs. A client within the limits of its key is still served.
func TestMemory(t *testing.T) {
	needsServer(t) // in-process Triton would add to the memory
	duration, clients, limit, body := tier.Size(3*time.Second, time.Minute), tier.Size(6, 30), tier.Size[int64](1<<30, 2<<30), tier.Size(8<<20, 60<<20)
	s := startSiege(t, limit, clients)
	run := s.startSteady(t, duration)
	ctx, cancel := context.WithTimeout(t.Context(), duration)
	defer cancel()
	outcomes := s.attack(ctx, clients, 4, hostiles(body))
	got := run.steady(t)
	peak := s.memory(t, "VmHWM")
	t.Logf("peak %d MiB of %d; the client at its limits: %+v", peak>>20, limit>>20, got)
	for _, kind := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%s %d", kind, outcomes[kind])
	}
	t.Logf("shed %v", s.figure(t, "trident_requests_shed_total"))
	select {
	case <-s.exited:
		t.Fatalf("trident has ended: %s", s.log)
	default:
	}
	if peak > limit {
		t.Errorf("trident used %d MiB, more than its limit of %d", peak>>20, limit>>20)
	}
	if part := got.part(); part < 0.99 || got.Answered < int(duration.Seconds()) {
		t.Errorf("the client at its limits got %.1f%% of %d requests through: %v", 100*part, got.Answered, got.Failed)
	}
}

// figure returns the value of one of trident's metrics.
func (s *siege) figure(t *testing.T, name string) float64 {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := keyed{steadyKey}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(readAll(t, answer).body)) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				t.Fatal(err)
			}
			return number
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// TestMemoryReturns sends a thousand hostile requests. Trident must return their memory to the
// system within a minute.
func TestMemoryReturns(t *testing.T) {
	tier.OnlySlow(t)
	needsServer(t)
	const slack = 64 << 20
	s := startSiege(t, 2<<30, 1)
	kinds := slices.DeleteFunc(hostiles(12<<20), func(h hostile) bool { return h.name == "a slow body" })
	s.startSteady(t, time.Second).steady(t)
	baseline := s.memory(t, "VmRSS")
	var all sync.WaitGroup
	for lane := range 8 {
		all.Go(func() {
			for i := range 1000 / 8 {
				kinds[(i+lane)%len(kinds)].send(t.Context(), s, 0)
			}
		})
	}
	all.Wait()
	after := s.memory(t, "VmRSS")
	began := time.Now()
	if !poll(time.Minute, func() bool { return s.memory(t, "VmRSS") <= baseline+slack }) {
		t.Errorf("%d MiB a minute after the requests, %d before them", s.memory(t, "VmRSS")>>20, baseline>>20)
	}
	t.Logf("%d MiB before, %d MiB after the last request, %d MiB %s later", baseline>>20, after>>20, s.memory(t, "VmRSS")>>20, time.Since(began).Round(time.Millisecond))
}

// TestLocalMemory checks trident's memory limit with in-process Triton: it excludes the memory of
// Triton and of the models' processes, and it grows when a model is unloaded. The model holds more memory
// than the other figures vary by.
func TestLocalMemory(t *testing.T) {
	t.Parallel()
	const limit, model, most = 8 << 30, 256 << 20, 512 << 20
	talk := startLocal(t, talkModels, fmt.Sprintf("TALK_HOLD_MIB=%d", model>>20), "--model-control-mode=explicit", "--load-model=*", "--memory-limit=8GiB")
	talk.awaitReady(t)
	s := &siege{kserveTrident: &kserveTrident{trident: talk}, limit: limit}
	// The models may change several times during the start, and Triton's memory is measured at each change.
	check := func(least, most int64) {
		t.Helper()
		var held, soft int64
		if !poll(lateLimit, func() bool {
			held, soft = int64(s.figure(t, "trident_memory_triton_bytes")), int64(s.figure(t, "trident_memory_go_limit_bytes"))
			return held >= least && held <= most && soft == limit/10*9-held
		}) {
			t.Errorf("Triton's memory is %d bytes, want %d to %d, and Go's soft limit %d", held, least, most, soft)
		}
	}
	check(model, most)
	s.post(t, "/v1/models/talk/unload", nil).want(t, http.StatusOK)
	check(1, model-1)
}
