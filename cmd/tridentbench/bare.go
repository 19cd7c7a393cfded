package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// bareClient is a minimal tritonserver client in Go. It opens one grpc-go
// stream per request and only parses responses as far as counting requires. It
// is the lower bound for the cost of other clients.
type bareClient struct{ conn *grpc.ClientConn }

func newBareClient(endpoint string) (*bareClient, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return nil, err
	}
	return &bareClient{conn}, nil
}

func dial(endpoint string) (*grpc.ClientConn, error) {
	return grpc.NewClient(endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(leanCodec{}), grpc.MaxCallRecvMsgSize(math.MaxInt32)),
	)
}

// connected waits until a connection is open.
func connected(ctx context.Context, conn *grpc.ClientConn) error {
	conn.Connect()
	for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
		if !conn.WaitForStateChange(ctx, state) {
			return fmt.Errorf("connect to %s: %w", conn.Target(), ctx.Err())
		}
	}
	return nil
}

// encodeRequest returns the message of a job for [bareClient.stream].
func encodeRequest(j *job) ([]byte, error) {
	req, err := inferRequest(j)
	if err != nil {
		return nil, err
	}
	if !j.TextAlone { // the end of its gRPC stream also ends a request
		req.Parameters = map[string]*kserve.InferParameter{
			"triton_enable_empty_final_response": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: true}},
		}
	}
	return proto.Marshal(req)
}

// stream calls the function each for every response with text. It returns at
// the end of the request.
func (c *bareClient) stream(ctx context.Context, request []byte, each func(text []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rpc, err := c.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, kserve.GRPCInferenceService_ModelStreamInfer_FullMethodName)
	if err != nil {
		return err
	}
	if err := rpc.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var r reply
	for {
		if err := rpc.RecvMsg(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if r.failure != "" {
			return errors.New(r.failure)
		}
		if len(r.text) > 0 {
			if err := each(r.text); err != nil {
				return err
			}
		}
	}
}

func (c *bareClient) open(ctx context.Context, j *job) ([]session, error) {
	if j.Address != "" {
		return openKServe(ctx, j)
	}
	request, err := encodeRequest(j)
	if err != nil {
		return nil, err
	}
	if err := connected(ctx, c.conn); err != nil {
		return nil, err
	}
	sessions := make([]session, j.Streams)
	for i := range sessions {
		sessions[i] = &bareSession{client: c, request: request, tokens: j.Tokens}
	}
	return sessions, nil
}

type bareSession struct {
	client  *bareClient
	request []byte
	tokens  int
}

func (s *bareSession) run(ctx context.Context, rec *recorder) error {
	before := rec.tokens
	rec.begin()
	err := s.client.stream(ctx, s.request, func(text []byte) error {
		rec.arrived(1)
		if rec.sampling {
			rec.text = append(rec.text, text...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return complete(rec.tokens-before, s.tokens)
}

func (*bareSession) close() {}

// leanCodec sends encoded requests and decodes each response into a [reply].
type leanCodec struct{}

func (leanCodec) Name() string { return "proto" }

func (leanCodec) Marshal(v any) (mem.BufferSlice, error) {
	request, ok := v.([]byte)
	if !ok {
		return nil, fmt.Errorf("can't encode a value of type %T as a gRPC message", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(request)}, nil
}

func (leanCodec) Unmarshal(data mem.BufferSlice, v any) error {
	r, ok := v.(interface{ decode(message []byte) error })
	if !ok {
		return fmt.Errorf("can't decode a gRPC message into a value of type %T", v)
	}
	buffer := data.MaterializeToBuffer(mem.DefaultBufferPool())
	defer buffer.Free()
	return r.decode(buffer.ReadOnlyData())
}

// reply is the part of a ModelStreamInferResponse that the bare client reads.
type reply struct {
	failure string
	text    []byte // text of the response; the bytes are valid until the next response
}

func (r *reply) decode(message []byte) error {
	r.failure, r.text = "", r.text[:0]
	return fields(message, func(number protowire.Number, response []byte) error {
		if number == 1 { // field 1 is error_message
			r.failure = string(response)
			return nil
		}
		return r.response(response)
	})
}

// response finds the text among the raw contents, which have the order of the
// outputs.
func (r *reply) response(response []byte) error {
	outputs, raws, at := 0, 0, -1
	return fields(response, func(number protowire.Number, value []byte) error {
		if number == 5 { // field 5 is outputs
			if bytes.Contains(value, []byte(textOutput)) {
				at = outputs
			}
			outputs++
		}
		if number == 6 { // field 6 is raw_output_contents
			if raws == at {
				r.text = append(r.text, textOf(value)...)
			}
			raws++
		}
		return nil
	})
}

// fields calls each for the message's length-delimited fields.
func fields(message []byte, each func(protowire.Number, []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return protowire.ParseError(n)
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := each(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
