package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// openKServe prepares gRPC clients of a KServe v2 server. Each has a separate
// connection, like clients on different machines.
func openKServe(ctx context.Context, j *job) ([]session, error) {
	request, err := kserveRequest(j)
	if err != nil {
		return nil, err
	}
	var sessions []session
	for range j.Streams {
		conn, err := dial(j.Address)
		if err != nil {
			return sessions, err
		}
		client := &bareClient{conn}
		if j.Bytes > 0 {
			sessions = append(sessions, &echoSession{client: client, request: request, bytes: j.Bytes})
		} else {
			sessions = append(sessions, &streamSession{bareSession{client: client, request: request, tokens: j.Tokens}})
		}
		if err := connected(ctx, conn); err != nil {
			return sessions, err
		}
	}
	return sessions, nil
}

// kserveRequest returns the message of each of a job's requests.
func kserveRequest(j *job) ([]byte, error) {
	if j.Bytes == 0 {
		return encodeRequest(j)
	}
	return proto.Marshal(echoRequest(j))
}

// echoRequest returns a request for the model that returns its input tensor.
func echoRequest(j *job) *kserve.ModelInferRequest {
	return &kserve.ModelInferRequest{
		ModelName:        j.Model,
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{{Name: "input", Datatype: "UINT8", Shape: []int64{int64(j.Bytes)}}},
		RawInputContents: [][]byte{tensor(j.Bytes)},
	}
}

// tensor returns the tensor to send, of at least one byte.
func tensor(size int) []byte {
	return bytes.Repeat([]byte("tensors "), size/8+1)[:size]
}

// streamSession is a KServe client that streams the responses of decoupled models.
type streamSession struct{ bareSession }

func (s *streamSession) close() { _ = s.client.conn.Close() }

// echoSession is a client of the model that returns its input tensor.
type echoSession struct {
	client  *bareClient
	request []byte
	bytes   int
	reply   echo
}

func (s *echoSession) run(ctx context.Context, rec *recorder) error {
	s.reply.sampling = rec.sampling
	rec.begin()
	if err := s.client.conn.Invoke(ctx, kserve.GRPCInferenceService_ModelInfer_FullMethodName, s.request, &s.reply, grpc.MaxCallSendMsgSize(len(s.request))); err != nil {
		return err
	}
	rec.arrived(1)
	return checkEcho(rec, s.bytes, s.reply.bytes, s.reply.content)
}

// checkEcho compares the number of returned bytes, and the bytes themselves if
// sampling.
func checkEcho(rec *recorder, want, got int, content []byte) error {
	switch {
	case got != want:
		return fmt.Errorf("the response has %d bytes instead of %d", got, want)
	case rec.sampling && !bytes.Equal(content, tensor(want)):
		return errors.New("the response's bytes differ from those of the request")
	}
	return nil
}

func (s *echoSession) close() { _ = s.client.conn.Close() }

// fieldRawContents is raw_output_contents.
const fieldRawContents protowire.Number = 6

// echo is the part of a ModelInferResponse that the client reads: the number of raw
// bytes, and the bytes themselves if sampling.
type echo struct {
	sampling bool
	bytes    int
	content  []byte
}

func (e *echo) decode(message []byte) error {
	e.bytes, e.content = 0, nil
	return fields(message, func(number protowire.Number, value []byte) error {
		if number == fieldRawContents {
			e.bytes += len(value)
			if e.sampling {
				e.content = append(e.content, value...)
			}
		}
		return nil
	})
}
