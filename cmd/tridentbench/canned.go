package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/test/backends/burst"
)

// cannedRequest is the part of a request that the bench's own servers read.
type cannedRequest struct {
	Model  string `json:"model"`
	Tokens int    `json:"max_tokens"`

	perWrite float64
	pace     time.Duration
}

func readCannedRequest(r *http.Request) (cannedRequest, error) {
	var a cannedRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err != nil {
		return a, err
	}
	a.perWrite = 1
	if text := r.Header.Get(perWriteHeader); text != "" {
		if a.perWrite, err = strconv.ParseFloat(text, 64); err != nil {
			return a, err
		}
	}
	if text := r.Header.Get(paceHeader); text != "" {
		a.pace, err = time.ParseDuration(text)
	}
	return a, err
}

// heldBack reports whether token i, counted from 0, is held back for the write of a
// later token. A write then has perWrite tokens on average.
func heldBack(i int, perWrite float64) bool {
	return int(float64(i+1)/perWrite) == int(float64(i)/perWrite)
}

// canned is the upper bound for streaming: Trident's own HTTP server, listener and
// event writer, with a handler that takes its Deltas from a slice.
type canned struct{ texts [][]byte }

func newCanned() *canned {
	c := new(canned)
	for word := range strings.FieldsSeq(burst.Model{}.Words()) {
		c.texts = append(c.texts, []byte(" "+word))
	}
	return c
}

func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a, err := readCannedRequest(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	events := openai.ChatEvents{
		ID: "chatcmpl-" + rand.Text(), Model: &catalog.Resolution{Named: catalog.Named{Name: a.Model}}, Choices: 1, Record: server.RecordOf(r.Context()),
	}
	if err := events.Write(w, c.deltas(r.Context(), a)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// deltas returns the Deltas that the core would produce for a model's answer.
func (c *canned) deltas(ctx context.Context, a cannedRequest) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		var beat <-chan time.Time
		if a.pace > 0 {
			ticker := time.NewTicker(a.pace)
			defer ticker.Stop()
			beat = ticker.C
		}
		for i := range a.Tokens {
			if beat != nil && i > 0 {
				select {
				case <-beat:
				case <-ctx.Done():
					yield(inference.Delta{}, ctx.Err())
					return
				}
			}
			delta := inference.Delta{Text: c.texts[i%len(c.texts)], More: heldBack(i, a.perWrite)}
			if i == a.Tokens-1 {
				delta.Finish, delta.More = inference.FinishLength, true
			}
			if !yield(delta, nil) {
				return
			}
		}
		yield(inference.Delta{Usage: &inference.Usage{CompletionTokens: a.Tokens}}, nil)
	}
}

// noWork is the pending work of the canned server: none.
type noWork struct{}

func (noWork) Drain(context.Context) {}

func (noWork) Arrive(context.Context) *admission.Arrival { return nil }

// serveCanned serves until the input ends. It prints its addresses with [announce]:
// first HTTP, then gRPC.
func serveCanned(ctx context.Context, in io.Reader, out io.Writer, log *slog.Logger) error {
	cfg := server.Default()
	cfg.Host, cfg.Port, cfg.ShutdownTimeout = "127.0.0.1", 0, time.Second
	listener := server.NewListener(cfg)
	if err := listener.Start(ctx); err != nil {
		return err
	}
	ctx, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	s, err := server.New(server.Common{Config: cfg, Core: noWork{}, Abort: abort, Log: log}, listener, []server.Route{{Pattern: "/", Handler: newCanned(), Record: auth.Unmatched(auth.OpenAI)}})
	if err != nil {
		return errors.Join(err, listener.Stop(ctx))
	}
	if err := s.Start(ctx); err != nil {
		return errors.Join(err, listener.Stop(ctx))
	}
	native, address, err := serveRPC(ctx, new(cannedRPC).infer)
	if err == nil {
		if err = errors.Join(announce(out, listener.Addr()), announce(out, address)); err == nil {
			_, _ = io.Copy(io.Discard, in)
		}
		native.Stop()
	}
	return errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
}

// cannedRPC is the upper bound for KServe's unary calls: grpc-go's server,
// configured as in Trident, with prepared responses.
type cannedRPC struct {
	answers sync.Map // mem.BufferSlice, keyed by the length of the request
}

// infer returns the one tensor of a request.
func (c *cannedRPC) infer(_ context.Context, request mem.BufferSlice) (mem.BufferSlice, error) {
	defer request.Free()
	if answer, ok := c.answers.Load(request.Len()); ok {
		return answer.(mem.BufferSlice), nil //nolint:forcetypeassert // it is stored below
	}
	decoded := &api.ModelInferRequest{}
	if err := proto.Unmarshal(request.Materialize(), decoded); err != nil {
		return nil, err
	}
	b, err := proto.Marshal(&api.ModelInferResponse{RawOutputContents: decoded.GetRawInputContents()})
	if err != nil {
		return nil, err
	}
	answer := mem.BufferSlice{mem.SliceBuffer(b)}
	c.answers.Store(request.Len(), answer)
	return answer, nil
}

// announce prints the address of one of the bench's own servers for the bench.
func announce(out io.Writer, address net.Addr) error {
	_, err := fmt.Fprintf(out, "%s\n", address)
	return err
}

// relay is a minimal proxy between the driver and tritonserver: the bare client,
// which passes each token on as an event without encoding it.
type relay struct{ client *bareClient }

// relayHead and the following constants are Trident's own events, so that the
// driver parses the same data. The words need no escape.
const (
	relayHead = `data: {"id":"chatcmpl-AAAAAAAAAAAAAAAAAAAAAAAAAA","object":"chat.completion.chunk","created":1700000000,"model":"burst","choices":[{"index":0,"delta":{`
	relayText = relayHead + `"content":"`
	relayNext = `"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	relayEnd  = relayHead + `},"logprobs":null,"finish_reason":"length"}]}` + "\n\ndata: [DONE]\n\n"
)

func (r relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	a, err := readCannedRequest(req)
	var request []byte
	if err == nil {
		request, err = encodeRequest(&job{Model: a.Model, Tokens: a.Tokens})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if err := r.pass(req.Context(), w, a, request); err != nil {
		_, _ = fmt.Fprintf(w, "data: {\"error\":%q}\n\n", err) // the driver reports it as a failure
	}
}

func (r relay) pass(ctx context.Context, w http.ResponseWriter, a cannedRequest, request []byte) error {
	control := http.NewResponseController(w)
	var waiting []byte
	i := 0
	err := r.client.stream(ctx, request, func(text []byte) error {
		waiting = append(waiting, relayText...)
		waiting = append(append(waiting, text...), relayNext...)
		i++
		if heldBack(i-1, a.perWrite) {
			return nil
		}
		_, err := w.Write(waiting)
		waiting = waiting[:0]
		return errors.Join(err, control.Flush())
	})
	if err != nil {
		return err
	}
	_, err = w.Write(append(waiting, relayEnd...))
	return errors.Join(err, control.Flush())
}

// serveRelay serves until the input ends. It prints its address with [announce].
func serveRelay(ctx context.Context, endpoint string, in io.Reader, out io.Writer) error {
	client, err := newBareClient(endpoint)
	if err != nil {
		return err
	}
	defer client.conn.Close() //nolint:errcheck // the process ends
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: relay{client}, ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	if err := announce(out, listener.Addr()); err == nil {
		_, _ = io.Copy(io.Discard, in)
	}
	err = s.Close()
	if failure := <-served; !errors.Is(failure, http.ErrServerClosed) {
		err = errors.Join(err, failure)
	}
	return err
}
