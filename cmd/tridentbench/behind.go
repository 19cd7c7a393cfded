package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
)

// serveRPC serves ModelInfer with grpc-go's server, configured as in Trident.
func serveRPC(ctx context.Context, infer func(ctx context.Context, request mem.BufferSlice) (mem.BufferSlice, error)) (*grpc.Server, net.Addr, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	s := grpc.NewServer(append(kserve.TransportOptions(insecure.NewCredentials(), kserve.Config{}), grpc.ForceServerCodecV2(passCodec{}))...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: api.GRPCInferenceService_ServiceDesc.ServiceName, HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "ModelInfer",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var request mem.BufferSlice
				if err := decode(&request); err != nil {
					return nil, err
				}
				return infer(ctx, request)
			},
		}},
	}, s)
	go func() { _ = s.Serve(listener) }() // the driver notices a failure
	return s, listener.Addr(), nil
}

// passCodec passes messages on unchanged.
type passCodec struct{}

func (passCodec) Name() string { return "proto" }

func (passCodec) Marshal(v any) (mem.BufferSlice, error) {
	b, ok := v.(mem.BufferSlice)
	if !ok {
		return nil, fmt.Errorf("can't encode a value of type %T as a gRPC message", v)
	}
	return b, nil
}

func (passCodec) Unmarshal(data mem.BufferSlice, v any) error {
	to, ok := v.(*mem.BufferSlice)
	if !ok {
		return fmt.Errorf("can't decode a gRPC message into a value of type %T", v)
	}
	data.Ref()
	*to = data
	return nil
}

// serveBehind serves the engine behind grpc-go until the input ends. It has nothing
// else: no admission, metrics, logs or limits, and responses only have the tensor.
// serveBehind prints its address with [announce].
func serveBehind(ctx context.Context, engine inference.Forwarder, in io.Reader, out io.Writer) error {
	s, address, err := serveRPC(ctx, func(ctx context.Context, request mem.BufferSlice) (mem.BufferSlice, error) {
		m, err := inference.NewInferRequest(request)
		if err != nil {
			return nil, err
		}
		defer m.Free()
		return tensorOf(engine.Forward(ctx, m))
	})
	if err != nil {
		return err
	}
	defer s.Stop()
	if err := announce(out, address); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// tensorOf returns a ModelInferResponse that only has the raw contents of the first
// output.
func tensorOf(responses iter.Seq2[*inference.Response, error]) (answer mem.BufferSlice, err error) {
	for resp, failure := range responses {
		switch {
		case failure != nil:
			err = failure
		case resp.Err != nil:
			err = resp.Err
		case len(resp.Outputs) > 0 && answer == nil:
			answer = rawOf(resp)
		}
	}
	if err != nil {
		answer.Free()
		return nil, err
	}
	return answer, nil
}

func rawOf(resp *inference.Response) mem.BufferSlice {
	raw := resp.Outputs[0].Raw
	head := protowire.AppendTag(nil, fieldRawContents, protowire.BytesType)
	var tensor mem.Buffer
	if resp.Owner != nil {
		tensor = resp.Owner.Take(0)
	}
	if tensor == nil {
		tensor = mem.Copy(raw, mem.DefaultBufferPool())
	}
	return mem.BufferSlice{mem.SliceBuffer(protowire.AppendVarint(head, uint64(len(raw)))), tensor}
}
