package kserve

import (
	"errors"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// connectError returns the client's part of an error, and records the whole error for
// the log.
func connectError(rec *server.Record, err error) error {
	rec.Error = err
	var known *inference.Error
	var own *connect.Error
	if !errors.As(err, &known) && errors.As(err, &own) { // Connect's own error about the request
		if code, ok := wirecode.ClientFault(own.Code()); ok {
			rec.Error = &inference.Error{Code: code, Message: own.Message(), Err: own}
		}
		return own
	}
	e := inference.AsError(err)
	answer := connect.NewError(connect.Code(wirecode.KServe(e)), errors.New(wirecode.KServeText(e)))
	if retry := retryInfo(e); retry != nil {
		if detail, err := connect.NewErrorDetail(retry); err == nil { // a message of Google's always encodes
			answer.AddDetail(detail)
		}
	}
	return answer
}

// statusOf returns the gRPC status of an error.
func statusOf(err error) *status.Status {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*inference.Error](err); !known {
		if answer, ok := status.FromError(err); ok { // grpc-go created this status
			return answer
		}
	}
	e := inference.AsError(err)
	answer := status.New(wirecode.KServe(e), wirecode.KServeText(e))
	if retry := retryInfo(e); retry != nil {
		if told, err := answer.WithDetails(retry); err == nil {
			return told
		}
	}
	return answer
}

// retryInfo returns when gRPC clients should retry. It returns nil if that isn't
// known, as for Triton's own errors.
func retryInfo(e *inference.Error) *errdetails.RetryInfo {
	if e.RetryAfter <= 0 || e.Triton != inference.TritonNone {
		return nil
	}
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}
}
