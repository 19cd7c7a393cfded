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

// connectError shows the client's part of an error and keeps its cause for the log.
func connectError(rec *server.Record, err error) error {
	rec.Error = err
	var known *inference.Error
	var own *connect.Error
	if !errors.As(err, &known) && errors.As(err, &own) { // of Connect's, on the request
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

// statusOf is an error in gRPC.
func statusOf(err error) *status.Status {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*inference.Error](err); !known {
		if answer, ok := status.FromError(err); ok { // grpc-go's own
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

// retryInfo tells gRPC's clients when to come again; nil says nothing, as Triton's own
// errors do.
func retryInfo(e *inference.Error) *errdetails.RetryInfo {
	if e.RetryAfter <= 0 || e.Triton != inference.TritonNone {
		return nil
	}
	return &errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}
}
