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
	"github.com/trident-inference/trident/test/backends/burst"
)

// clients call one Trident in every way.
type clients struct {
	url  string
	http *http.Client
	// narrow has connections that hold next to nothing for who doesn't read.
	narrow *http.Client
	chat   tridentv1connect.ChatServiceClient
	grpc   *grpc.ClientConn
	infer  kserve.GRPCInferenceServiceClient
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
		chat: tridentv1connect.NewChatServiceClient(client, url), infer: kserve.NewGRPCInferenceServiceClient(conn),
	}, nil
}

// narrowClient lets a slow reader be felt at once.
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

// count checks the pieces of an answer of a model that counts: each must go on from
// the one before, and all must be of this prompt.
type count struct {
	want  string // what hasn't come yet
	begun bool
}

func newCount(prompt string, tokens int) *count { return &count{want: burst.Counted(prompt, tokens)} }

func (c *count) piece(text string) error {
	rest, ok := strings.CutPrefix(c.want, text)
	if !ok {
		return &ending{how: wrong, err: fmt.Errorf("%.80q came where %.80q was to come", text, c.want)}
	}
	c.want, c.begun = rest, c.begun || text != ""
	return nil
}

// cut is a failure of the connection.
func (c *count) cut(err error) error {
	if _, told := errors.AsType[*ending](err); told || !c.begun {
		return err
	}
	return &ending{how: cutOff, code: inTheMiddle, err: err}
}

func (c *count) end() error {
	if c.want != "" {
		return &ending{how: wrong, err: fmt.Errorf("it ended before %.80q", c.want)}
	}
	return nil
}

// chunk is what the load reads of a stream's event, an answer or an error.
type chunk struct {
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

// post sends a chat. The caller closes the body of an answer without error.
func (c *clients) post(ctx context.Context, client *http.Client, model, prompt string, tokens int, stream bool) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{
		"model": model, "max_tokens": tokens, "stream": stream, "messages": []any{map[string]any{"role": "user", "content": prompt}},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/chat/completions", bytes.NewReader(body))
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
		return nil, &ending{how: wrong, err: fmt.Errorf("status %d with %.200q", resp.StatusCode, text)}
	}
	return nil, answer.failure()
}

// whole asks for an answer in one piece.
func (c *clients) whole(ctx context.Context, model, prompt string, tokens int) error {
	resp, err := c.post(ctx, c.http, model, prompt, tokens, false)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read
	var answer chunk
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err
	}
	if len(answer.Choices) != 1 {
		return &ending{how: wrong, err: fmt.Errorf("%d choices", len(answer.Choices))}
	}
	all := newCount(prompt, tokens)
	if err := all.piece(answer.Choices[0].Message.Content); err != nil {
		return err
	}
	return all.end()
}

// errLeaves is what a client returns to its stream to leave it.
var errLeaves = &ending{how: left}

// events reads a stream of events to its end; each is called after each piece.
func (c *clients) events(ctx context.Context, model, prompt string, tokens int, each func(piece int) error) error {
	client := c.http
	if model == flood {
		client = c.narrow
	}
	resp, err := c.post(ctx, client, model, prompt, tokens, true)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it has been read, or is to be left
	all, finished := newCount(prompt, tokens), false
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
				return &ending{how: wrong, err: errors.New("it is done without a finish reason")}
			}
			return all.end()
		}
		var event chunk
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			return &ending{how: wrong, err: fmt.Errorf("%.200q: %w", data, err)}
		}
		if err := event.failure(); err != nil {
			return err
		}
		for _, choice := range event.Choices {
			finished = finished || choice.FinishReason == "length"
			if err := all.piece(choice.Delta.Content); err != nil {
				return err
			}
		}
		if err := each(lineNumber); err != nil {
			return err
		}
	}
}

// typed reads a stream of the typed service.
func (c *clients) typed(ctx context.Context, model, prompt string, tokens int) error {
	limit := uint32(tokens)
	stream, err := c.chat.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: &tridentv1.ChatRequest{
		Model: model, MaxTokens: &limit, Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: prompt}},
	}})
	if err != nil {
		return ofConnect(err)
	}
	defer stream.Close() //nolint:errcheck // it has been read
	all := newCount(prompt, tokens)
	for stream.Receive() {
		if err := all.piece(stream.Msg().GetDelta().GetText()); err != nil {
			return err
		}
	}
	if err := stream.Err(); err != nil {
		return all.cut(ofConnect(err))
	}
	return all.end()
}

// ofConnect tells what Trident said from what happened to the connection.
func ofConnect(err error) error {
	if said, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(said) {
		return &ending{how: refused, code: said.Code().String(), err: err}
	}
	return err
}

// native reads a stream of KServe v2 by gRPC; each looks at a response.
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

// ofGRPC tells what Trident said from what grpc-go says of the connection.
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

// counted asks the model that counts in tensors.
func (c *clients) counted(ctx context.Context, model, prompt string, tokens int) error {
	all := newCount(prompt, tokens)
	sampling := fmt.Sprintf(`{"max_tokens":%d}`, tokens)
	err := c.native(ctx, &kserve.ModelInferRequest{
		ModelName: model, Id: prompt, Inputs: []*kserve.ModelInferRequest_InferInputTensor{
			{Name: "text_input", Datatype: "BYTES", Shape: []int64{1}},
			{Name: "stream", Datatype: "BOOL", Shape: []int64{1}},
			{Name: "sampling_parameters", Datatype: "BYTES", Shape: []int64{1}},
		},
		RawInputContents: [][]byte{element(prompt), {1}, element(sampling)},
	}, func(r *kserve.ModelInferResponse) error {
		if r.GetId() != prompt {
			return &ending{how: wrong, err: fmt.Errorf("a response of the request %q came to %q", r.GetId(), prompt)}
		}
		raw := output(r, "text_output")
		if len(raw) < sizeOfLength {
			return &ending{how: wrong, err: fmt.Errorf("a response without a text: %v", r)}
		}
		return all.piece(string(raw[sizeOfLength:]))
	})
	if err != nil {
		return all.cut(err)
	}
	return all.end()
}

const sizeOfLength = 4

// element is a text as the one element of a BYTES tensor.
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

// numbered asks the Python model for responses that are numbered, and whose data
// has a size of the request's own.
func (c *clients) numbered(ctx context.Context, prompt string, responses int, delay time.Duration, size int) error {
	number := func(n int) []byte { return binary.LittleEndian.AppendUint32(nil, uint32(n)) }
	input := func(name string) *kserve.ModelInferRequest_InferInputTensor {
		return &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: []int64{1}}
	}
	next := 0
	err := c.native(ctx, &kserve.ModelInferRequest{
		ModelName: "stream", Id: prompt,
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{input("COUNT"), input("DELAY"), input("SIZE")},
		RawInputContents: [][]byte{number(responses), number(int(delay.Milliseconds())), number(size)},
	}, func(r *kserve.ModelInferResponse) error {
		want := bytes.Repeat([]byte{byte(next)}, size)
		if !bytes.Equal(output(r, "INDEX"), number(next)) || !bytes.Equal(output(r, "DATA"), want) || r.GetId() != prompt {
			return &ending{how: wrong, err: fmt.Errorf("response %d is %.300v", next, r)}
		}
		next++
		return nil
	})
	if err != nil {
		return err
	}
	if next != responses {
		return &ending{how: wrong, err: fmt.Errorf("it ended after %d responses of %d", next, responses)}
	}
	return nil
}
