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
	err := s.core.Infer(ctx, req.InferRequest, func(resp *inference.Response) (err error) {
		answer.encoded, err = encodedInfer(req.InferRequest, resp)
		return err
	})
	if err != nil {
		answer.encoded.Free()
		return nil, err
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
