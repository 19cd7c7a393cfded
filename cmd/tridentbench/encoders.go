package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/encoders"
)

// encodersCommand compares Trident's embeddings with a loop of ONNX Runtime on the same texts, and
// with other servers. All columns of a round follow each other, so that they share the machine's
// state.
type encodersCommand struct {
	Trident     string        `default:"bin/trident" help:"Path of the trident binary to measure."`
	Rounds      int           `default:"5" help:"Number of rounds. The figures are medians."`
	Texts       int           `default:"2048" help:"Number of texts of a column with many clients. One client gets an eighth."`
	Clients     []int         `default:"256,16,1" help:"Numbers of clients, each of which sends one text at a time."`
	Threads     int           `default:"0" help:"Number of threads of ONNX Runtime, in Triton and in the loop; 0 means the number of cores."`
	Tokens      int           `default:"16384" help:"Maximum padded tokens of a batch of the loop. Trident's default is the same."`
	Peer        []encoderPeer `sep:"none" placeholder:"NAME[=URL]" help:"Another server to measure too; repeatable. NAME=URL is a running one with OpenAI's embeddings, such as tei=http://127.0.0.1:8080/v1/embeddings. infinity and infinity-onnx start infinity with torch or with ONNX Runtime."`
	Environment string        `default:".venv-infinity" placeholder:"DIR" help:"Virtual environment of infinity, which tools/setup-infinity.sh installs."`
	JSON        string        `name:"json" placeholder:"FILE" help:"File to write all measurements to, as JSON."`
	Report      string        `placeholder:"FILE" help:"Markdown file to write the tables to, between its marker comments."`
}

const (
	encoderModel = "embedding"
	colDirect    = "loop"
	colTokenizer = "Trident's tokenizer"
	// The lengths of texts in tokens, which are log-uniform.
	leastTokens, mostTokens = 16, 512
	// ownTokens is the length of the texts that measure Trident's own CPU time.
	ownTokens = 100
)

// encoderRun is one measurement: a column with a number of clients in a round.
type encoderRun struct {
	Round   int     `json:"round"`
	Column  string  `json:"column"`
	Clients int     `json:"clients"`
	Format  string  `json:"format,omitempty"` // encoding_format of a server's vectors
	Kind    string  `json:"kind"`             // "mixed" lengths, or "own" for texts of 100 tokens
	Texts   int     `json:"texts"`
	Seconds float64 `json:"seconds"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	CPU     float64 `json:"cpu_us_per_text,omitempty"` // of the trident process, or of the tokenizer
	Padding float64 `json:"padding,omitempty"`         // share of the batches' tokens
}

// rate returns the texts per second.
func (r *encoderRun) rate() float64 { return float64(r.Texts) / r.Seconds }

// encoderBench has the processes of a run.
type encoderBench struct {
	*encodersCommand

	fleet     *fleet
	trident   *column
	loop      *child
	tokenizer *tokenizer.Tokenizer
	client    *http.Client
	runs      []encoderRun
	began     time.Time
}

// Run prints a table of medians.
func (c *encodersCommand) Run(ctx context.Context) (err error) {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	most := slices.Max(c.Clients)
	b := &encoderBench{
		encodersCommand: c, fleet: &fleet{folder: filepath.Join(".cache", "bench-encoders")},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: most}}, began: time.Now(),
	}
	c.Threads = cmp.Or(c.Threads, runtime.NumCPU())
	defer func() { err = errors.Join(err, b.fleet.stop()) }() //nolint:contextcheck // it runs after the context has ended
	if err := b.start(ctx); err != nil {
		return err
	}
	for round := range c.Rounds + 1 {
		began := time.Now()
		if err := b.round(ctx, round); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round, c.Rounds, time.Since(began).Round(time.Second))
	}
	// Round 0 warms up.
	b.runs = slices.DeleteFunc(b.runs, func(r encoderRun) bool { return r.Round == 0 })
	return b.write(ctx)
}

// start starts tritonserver, Trident and the loop, which use the same weights.
func (b *encoderBench) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+2*len(b.Peer))*readyTimeout)
	defer cancel()
	models, err := encoders.Named(encoderModel)
	if err != nil {
		return err
	}
	model := models[0]
	model.Threads, model.Parameters = b.Threads, map[string]string{"trident.context_length": strconv.Itoa(mostTokens)}
	weights, err := model.Folder(ctx)
	if err != nil {
		return err
	}
	repository := filepath.Join(b.fleet.folder, "models")
	if err := errors.Join(os.RemoveAll(repository), encoders.Repository(ctx, repository, model)); err != nil {
		return err
	}
	if b.tokenizer, _, err = tokenizer.Load(os.DirFS(weights)); err != nil {
		return err
	}
	if b.fleet.triton, err = tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{repository}}); err != nil {
		return err
	}
	if b.trident, err = b.fleet.trident(ctx, nil, b.Trident, colRemote, "--triton-endpoint="+b.fleet.triton.GRPC()); err != nil {
		return err
	}
	if b.loop, err = b.fleet.child("loop", ".venv/bin/python", "-B", "test/encoders/direct.py", "models/embedding/1", weights,
		strconv.Itoa(b.Threads), strconv.Itoa(mostTokens), strconv.Itoa(b.Tokens)); err != nil {
		return err
	}
	for i := range b.Peer {
		if err := b.startPeer(ctx, &b.Peer[i], weights); err != nil {
			return err
		}
	}
	return nil
}

// textsOf returns texts of common words with these numbers of tokens, special tokens included.
func textsOf(seed uint64, lengths []int) []string {
	all := strings.Fields(burst.Model{}.Words())
	random := rand.New(rand.NewPCG(seed, 28)) //nolint:gosec // all columns must get the same texts
	texts := make([]string, len(lengths))
	for i, length := range lengths {
		chosen := make([]string, length-2)
		for j := range chosen {
			chosen[j] = all[random.IntN(len(all))]
		}
		texts[i] = strings.Join(chosen, " ")
	}
	return texts
}

// logUniform returns lengths between the bounds.
func logUniform(seed uint64, count int) []int {
	random := rand.New(rand.NewPCG(seed, 29)) //nolint:gosec // all columns must get the same texts
	lengths := make([]int, count)
	for i := range lengths {
		lengths[i] = int(math.Round(leastTokens * math.Pow(mostTokens/leastTokens, random.Float64())))
	}
	return lengths
}

// round measures all columns once.
func (b *encoderBench) round(ctx context.Context, round int) error {
	seed := uint64(round)
	for _, clients := range b.Clients {
		count := b.Texts
		if clients == 1 {
			count /= 8
		}
		texts := textsOf(seed, logUniform(seed, count))
		columns := []func() error{
			func() error { return b.runLoop(ctx, round, clients, texts) },
			func() error {
				return b.runTrident(ctx, encoderRun{Round: round, Clients: clients, Kind: "mixed", Format: "base64"}, texts)
			},
		}
		for _, p := range b.Peer {
			columns = append(columns, func() error {
				_, err := b.send(ctx, encoderRun{Round: round, Clients: clients, Kind: "mixed", Column: p.column(), Format: "base64"}, p.url, texts)
				return err
			})
		}
		for i := range columns { // the order changes with the round
			if err := columns[(i+round)%len(columns)](); err != nil {
				return err
			}
		}
	}
	own := textsOf(seed, slices.Repeat([]int{ownTokens}, b.Texts))
	for _, format := range []string{"base64", "float"} {
		if err := b.runTrident(ctx, encoderRun{Round: round, Clients: slices.Max(b.Clients), Kind: "own", Format: format}, own); err != nil {
			return err
		}
	}
	return b.runTokenizer(ctx, round, own)
}

// runLoop measures the loop. Its window is the number of clients, so that it sorts as many texts as wait for a server.
func (b *encoderBench) runLoop(ctx context.Context, round, clients int, texts []string) error {
	if err := json.NewEncoder(b.loop.in).Encode(map[string]any{"texts": texts, "window": clients}); err != nil {
		return b.loop.failed(err)
	}
	line, err := b.loop.line(ctx)
	if err != nil {
		return err
	}
	var got struct {
		Seconds   float64   `json:"seconds"`
		Tokens    float64   `json:"tokens"`
		Padded    float64   `json:"padded"`
		Latencies []float64 `json:"latencies"`
	}
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		return b.loop.failed(err)
	}
	r := encoderRun{Round: round, Column: colDirect, Clients: clients, Kind: "mixed", Texts: len(texts), Seconds: got.Seconds, Padding: 1 - got.Tokens/got.Padded}
	r.latencies(got.Latencies)
	b.runs = append(b.runs, r)
	return nil
}

// latencies records the percentiles of times in seconds.
func (r *encoderRun) latencies(seconds []float64) {
	r.P50, r.P99 = 1000*quantile(seconds, 0.5), 1000*quantile(seconds, 0.99)
}

// runTrident measures Trident with its CPU time and the padding of its batches.
func (b *encoderBench) runTrident(ctx context.Context, r encoderRun, texts []string) error {
	pid := b.trident.roles[0].pid
	before, err := cpuTime(pid)
	if err != nil {
		return err
	}
	input, padding, err := b.batchTokens(ctx)
	if err != nil {
		return err
	}
	r.Column = colRemote
	at, err := b.send(ctx, r, "http://"+b.trident.address+"/v1/embeddings", texts)
	if err != nil {
		return err
	}
	after, err := cpuTime(pid)
	if err != nil {
		return err
	}
	newInput, newPadding, err := b.batchTokens(ctx)
	if err != nil {
		return err
	}
	done := &b.runs[at]
	done.CPU = float64((after - before).Microseconds()) / float64(len(texts))
	if total := newInput + newPadding - input - padding; total > 0 {
		done.Padding = (newPadding - padding) / total
	}
	return nil
}

// batchTokens returns the numbers of tokens that Trident has sent, of inputs and of padding.
func (b *encoderBench) batchTokens(ctx context.Context) (input, padding float64, err error) {
	text, err := get(ctx, "http://"+b.trident.address+"/metrics")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "} ")
		if !strings.HasPrefix(name, "trident_encoder_tokens_total{") {
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("metric %q: %w", line, err)
		}
		if strings.Contains(name, `"padding"`) {
			padding = n
		} else {
			input = n
		}
	}
	return input, padding, nil
}

// send sends each text as a request, by as many clients as the run has. It checks the vectors' sizes,
// and returns the index of the run that it has recorded.
func (b *encoderBench) send(ctx context.Context, r encoderRun, url string, texts []string) (int, error) {
	jobs := make(chan string)
	results := make([][]float64, r.Clients)
	failed := make([]error, r.Clients)
	began := time.Now()
	var all sync.WaitGroup
	for i := range r.Clients {
		all.Go(func() {
			for text := range jobs {
				start := time.Now()
				if err := b.embed(ctx, url, r.Format, text); err != nil {
					failed[i] = err
				}
				results[i] = append(results[i], time.Since(start).Seconds())
			}
		})
	}
	for _, text := range texts {
		jobs <- text
	}
	close(jobs)
	all.Wait()
	r.Texts, r.Seconds = len(texts), time.Since(began).Seconds()
	r.latencies(slices.Concat(results...))
	b.runs = append(b.runs, r)
	return len(b.runs) - 1, errors.Join(failed...)
}

// dimensions is the number of dimensions of the model's vectors.
const dimensions = 384

// embed sends one text.
func (b *encoderBench) embed(ctx context.Context, url, format, text string) error {
	body, err := json.Marshal(map[string]string{"model": encoderModel, "input": text, "encoding_format": format})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	answer, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read only
	all, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %.300s", url, answer.Status, all)
	}
	// The vector is found without decoding its numbers, which would take the CPU time that the model needs.
	const name = `"embedding":`
	_, vector, ok := bytes.Cut(all, []byte(name))
	size := bytes.Count(vector[:max(bytes.IndexByte(vector, ']'), 0)], []byte(",")) + 1
	if format == "base64" {
		size = (bytes.IndexByte(bytes.TrimLeft(vector, ` "`), '"') / 4 * 3) / 4
	}
	if !ok || size != dimensions {
		return fmt.Errorf("%s: a vector of %d dimensions: %.300s", url, size, all)
	}
	return nil
}

// runTokenizer measures the CPU time that Trident's tokenizer takes for each text, on one thread.
func (b *encoderBench) runTokenizer(ctx context.Context, round int, texts []string) error {
	began := time.Now()
	for _, text := range texts {
		if _, err := b.tokenizer.Encode(ctx, text, true, nil); err != nil {
			return err
		}
	}
	took := time.Since(began)
	b.runs = append(b.runs, encoderRun{
		Round: round, Column: colTokenizer, Clients: 1, Kind: "own", Texts: len(texts), Seconds: took.Seconds(),
		CPU: float64(took.Nanoseconds()) / 1000 / float64(len(texts)),
	})
	return nil
}
