package kserve

import (
	"context"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/services/inference"
)

// infer answers ModelInfer. Who gets the reply frees it.
func (s *Service) infer(ctx context.Context, req *request) (*reply, error) {
	defer req.Free()
	answer := &reply{}
	for resp, err := range s.core.Infer(ctx, req.InferRequest) {
		if err != nil {
			answer.encoded.Free()
			return nil, err
		}
		if answer.encoded, err = encodedInfer(req.InferRequest, resp); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

func encodedInfer(req *inference.InferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	if resp.Encoded != nil {
		resp.Encoded.Ref()
		return resp.Encoded, nil
	}
	return encodeInfer(req.Head(), resp)
}
