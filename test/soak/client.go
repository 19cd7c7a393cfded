package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

// clients contains the clients of one Trident for all APIs.
type clients struct {
	url  string
	http *http.Client
	// narrow has connections with minimal buffers, for slow readers.
	narrow *http.Client
	chat   tridentv1connect.ChatServiceClient
	grpc   *grpc.ClientConn
	infer  kserve.GRPCInferenceServiceClient
	trail  *trail
}

func newClients(url, native string) (*clients, error) {
	conn, err := grpc.NewClient(native, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: dialTimeout}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 1 << 16, DisableCompression: true}}
	return &clients{
		url: url, http: client, narrow: narrowClient(dialer), grpc: conn,
		chat: tridentv1connect.NewChatServiceClient(client, url), infer: kserve.NewGRPCInferenceServiceClient(conn), trail: newTrail(),
	}, nil
}

// narrowClient returns a client whose small buffers make the server wait for a slow reader at once.
func narrowClient(dialer *net.Dialer) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = errors.Join(err, tcp.SetReadBuffer(narrowBuffer))
		}
		return conn, err
	}}}
}

const narrowBuffer = 4 << 10

func (c *clients) close() error {
	c.http.CloseIdleConnections()
	return c.grpc.Close()
}

// chunk has the fields of an event, a response or an error that the load reads.
type chunk struct {
	ID      string `json:"id"`
	Choices []struct {
		Delta        piece  `json:"delta"`
		Message      piece  `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Error *struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	} `json:"error"`
}

type piece struct {
	Content string `json:"content"`
}

func (c *chunk) failure() error {
	if c.Error == nil {
		return nil
	}
	return &ending{how: refused, code: c.Error.Code, err: errors.New(c.Error.Message)}
}

// post sends a chat. The caller closes the body of a response without error.
func (c *clients) post(ctx context.Context, client *http.Client, model string, r *request, tokens int, stream bool) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "max_tokens": tokens, "stream": stream, "messages": []any{map[string]any{"role": "user", "content": r.name}},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(r.traced(ctx, c.trail), http.MethodPost, c.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var answer chunk
	if err := json.Unmarshal(text, &answer); err != nil || answer.failure() == nil {
		return nil, wrongly("status %d with an invalid body: %.200q", resp.StatusCode, text)
	}
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		return nil, wrongly("status 503 without Retry-After: %.200q", text)
	}
	return nil, answer.failure()
}

// whole sends a non-streaming request.
func (c *clients) whole(ctx context.Context, model string, r *request, tokens int) error {
	resp, err := c.post(ctx, c.http, model, r, tokens, false)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	var answer chunk
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if len(answer.Choices) != 1 {
		return wrongly("the response has %d choices, not 1", len(answer.Choices))
	}
	all := newCount(r, tokens)
	if err := all.piece(answer.ID, answer.Choices[0].Message.Content); err != nil {
		return err
	}
	return all.end()
}

// errLeaves is returned by a client's function to cancel its stream.
var errLeaves = &ending{how: left}

// events reads a stream of events to its end. It calls each after each piece.
func (c *clients) events(ctx context.Context, model string, r *request, tokens int, each func(piece int) error) error {
	client := c.http
	if model == flood {
		client = c.narrow
	}
	resp, err := c.post(ctx, client, model, r, tokens, true)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read, or is to be left
	all, finished := newCount(r, tokens), false
	lines := bufio.NewReader(resp.Body)
	for lineNumber := 0; ; lineNumber++ {
		line, err := lines.ReadString('\n')
		if err != nil {
			return all.cut(fmt.Errorf("the stream ended after %d lines: %w", lineNumber, err))
		}
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			if !finished {
				return wrongly("the stream ended with [DONE] but without a finish reason")
			}
			return all.end()
		}
		var event chunk
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return wrongly("%.200q: %w", data, err)
		}
		if err := event.failure(); err != nil {
			return err
		}
		for _, choice := range event.Choices {
			finished = finished || choice.FinishReason == "length"
			if err := all.piece(event.ID, choice.Delta.Content); err != nil {
				return err
			}
		}
		if err := each(lineNumber); err != nil {
			return err
		}
	}
}

// typed reads a stream of the typed service.
func (c *clients) typed(ctx context.Context, model string, r *request, tokens int) error {
	limit := uint32(tokens)
	stream, err := c.chat.ChatStream(r.traced(ctx, c.trail), &tridentv1.ChatStreamRequest{Chat: &tridentv1.ChatRequest{
		Model: model, MaxTokens: &limit, Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: r.name}},
	}})
	if err != nil {
		return ofConnect(err)
	}
	defer stream.Close() //nolint:errcheck // it has been read
	all := newCount(r, tokens)
	for stream.Receive() {
		if err := all.piece(stream.Msg().GetId(), stream.Msg().GetDelta().GetText()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return all.cut(ofConnect(err))
	}
	return all.end()
}

// ofConnect distinguishes Trident's errors from failures of the connection.
func ofConnect(err error) error {
	if wireErr, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(wireErr) {
		return &ending{how: refused, code: wireErr.Code().String(), err: err}
	}
	return err
}

// native reads a stream of KServe v2 over gRPC. It calls each with each response.
func (c *clients) native(ctx context.Context, req *kserve.ModelInferRequest, each func(*kserve.ModelInferResponse) error) error {
	stream, err := c.infer.ModelStreamInfer(ctx)
	if err != nil {
		return ofGRPC(err)
	}
	if err := stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
		return ofGRPC(err)
	}
	if err := stream.CloseSend(); err != nil {
		return ofGRPC(err)
	}
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return ofGRPC(err)
		}
		if text := message.GetErrorMessage(); text != "" {
			return &ending{how: refused, code: "error_message", err: errors.New(text)}
		}
		if err := each(message.GetInferResponse()); err != nil {
			return err
		}
	}
}

// ofGRPC distinguishes Trident's errors from grpc-go's errors of the connection.
func ofGRPC(err error) error {
	said := status.Convert(err)
	for _, text := range []string{"error reading from server", "connection error", "transport", "connection refused", "connection is closing"} {
		if strings.Contains(said.Message(), text) {
			return err
		}
	}
	if said.Code() == codes.Canceled || said.Code() == codes.DeadlineExceeded {
		return err
	}
	return &ending{how: refused, code: said.Code().String(), err: err}
}

// counted calls the counting model by its tensors. The response's id is the request's.
func (c *clients) counted(ctx context.Context, model string, r *request, tokens int) error {
	all := newCount(r, tokens)
	if err := all.piece(r.name, ""); err != nil {
		return err
	}
	sampling := fmt.Sprintf(`{"max_tokens":%d}`, tokens)
	err := c.native(ctx, &kserve.ModelInferRequest{
		ModelName: model, Id: r.name, Inputs: []*kserve.ModelInferRequest_InferInputTensor{
			{Name: "text_input", Datatype: "BYTES", Shape: []int64{1}},
			{Name: "stream", Datatype: "BOOL", Shape: []int64{1}},
			{Name: "sampling_parameters", Datatype: "BYTES", Shape: []int64{1}},
		},
		RawInputContents: [][]byte{element(r.name), {1}, element(sampling)},
	}, func(answer *kserve.ModelInferResponse) error {
		raw := output(answer, "text_output")
		if len(raw) < sizeOfLength || answer.GetId() == "" {
			return wrongly("a response has no text or no id: %v", answer)
		}
		return all.piece(answer.GetId(), string(raw[sizeOfLength:]))
	})
	if err != nil {
		return all.cut(err)
	}
	return all.end()
}

const sizeOfLength = 4

// element encodes a string as the only element of a BYTES tensor.
func element(text string) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(text))), text...)
}

func output(r *kserve.ModelInferResponse, name string) []byte {
	for i, out := range r.GetOutputs() {
		if out.GetName() == name && i < len(r.GetRawOutputContents()) {
			return r.GetRawOutputContents()[i]
		}
	}
	return nil
}

// numbered calls the Python model, which sends numbered responses with data of a size that is the
// request's own.
func (c *clients) numbered(ctx context.Context, r *request, responses int, delay time.Duration) error {
	size := 1 + r.worker
	number := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	input := func(name string) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1}}
	}
	next := 0
	err := c.native(ctx, &kserve.ModelInferRequest{
		ModelName: "stream", Id: r.name,
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{input("COUNT"), input("DELAY"), input("SIZE")},
		RawInputContents: [][]byte{number(responses), number(int(delay.Milliseconds())), number(size)},
	}, func(answer *kserve.ModelInferResponse) error {
		want := bytes.Repeat([]byte{byte(next)}, size)
		if !bytes.Equal(output(answer, "INDEX"), number(next)) || !bytes.Equal(output(answer, "DATA"), want) || answer.GetId() != r.name {
			return wrongly("response %d to %s is unexpected: %.300v", next, r, answer)
		}
		next++
		return nil
	})
	if err != nil {
		return err
	}
	if next != responses {
		return wrongly("the stream ended after %d responses of %d", next, responses)
	}
	return nil
}
