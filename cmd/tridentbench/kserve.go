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

// openKServe prepares clients of a KServe v2 server by gRPC, each with a connection
// of its own, as clients on different machines have.
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

// kserveRequest is the message of each of a job's requests.
func kserveRequest(j *job) ([]byte, error) {
	if j.Bytes == 0 {
		return encodeRequest(j)
	}
	return proto.Marshal(echoRequest(j))
}

// echoRequest is for the model that gives tensors back.
func echoRequest(j *job) *kserve.ModelInferRequest {
	return &kserve.ModelInferRequest{
		ModelName:        j.Model,
		Inputs:           []*kserve.ModelInferRequest_InferInputTensor{{Name: "input", Datatype: "UINT8", Shape: []int64{int64(j.Bytes)}}},
		RawInputContents: [][]byte{tensor(j.Bytes)},
	}
}

// tensor is what is sent, of a size of at least a byte.
func tensor(size int) []byte {
	return bytes.Repeat([]byte("tensors "), size/8+1)[:size]
}

// streamSession is a client of decoupled models.
type streamSession struct{ bareSession }

func (s *streamSession) close() { _ = s.client.conn.Close() }

// echoSession is a client of the model that gives tensors back.
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

// checkEcho looks at how many bytes came back, and at which where that is asked for.
func checkEcho(rec *recorder, want, got int, content []byte) error {
	switch {
	case got != want:
		return fmt.Errorf("%d bytes came back as %d", want, got)
	case rec.sampling && !bytes.Equal(content, tensor(want)):
		return errors.New("other bytes came back than were sent")
	}
	return nil
}

func (s *echoSession) close() { _ = s.client.conn.Close() }

// fieldRawContents is raw_output_contents.
const fieldRawContents protowire.Number = 6

// echo is what is read of a ModelInferResponse: how many raw bytes it has, and which
// where that is asked for.
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
