package tridentrpc

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// serverService implements ServerService.
type serverService struct{ *Service }

// defaultInterval is the default interval between two messages.
const defaultInterval = time.Second

// Watch sends the server's status at an interval.
func (s serverService) Watch(ctx context.Context, msg *tridentv1.ServerServiceWatchRequest, stream *connect.ServerStream[tridentv1.ServerServiceWatchResponse]) error {
	interval := defaultInterval
	if msg.GetInterval() != nil {
		interval = msg.GetInterval().AsDuration()
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if err := send(stream, &tridentv1.ServerServiceWatchResponse{Status: s.status(ctx)}); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s.stopped(ctx)
		case <-s.core.Admission().Draining():
			return s.stopped(ctx)
		}
	}
}

func (s serverService) status(ctx context.Context) *tridentv1.ServerStatus {
	total, models := s.core.Meters().Load(ctx)
	status := &tridentv1.ServerStatus{
		Time: timestamppb.Now(), Version: s.version, Started: timestamppb.New(s.started),
		Ready: true, MaxInFlight: uint32(s.core.Admission().MaxInFlight()), Total: load(&total),
	}
	if err := s.core.Ready(ctx); err != nil {
		status.Ready, status.Reason = false, inference.AsError(err).Message
	}
	for i := range models {
		status.Models = append(status.Models, &tridentv1.ModelLoad{Model: models[i].Model, Load: load(&models[i].Load)})
	}
	return status
}

func load(l *metering.Load) *tridentv1.Load {
	return &tridentv1.Load{
		InFlight: uint32(l.InFlight), Queued: uint32(l.Queued), TokensPerSecond: l.TokensPerSecond,
		TimeToFirstToken: quantiles(l.FirstToken), InterToken: quantiles(l.InterToken),
		Requests: l.Requests, Failures: l.Failures, PromptTokens: l.PromptTokens, CompletionTokens: l.CompletionTokens,
	}
}

func quantiles(q metering.Quantiles) *tridentv1.Quantiles {
	return &tridentv1.Quantiles{P50: q.P50.Seconds(), P90: q.P90.Seconds(), P99: q.P99.Seconds(), Count: q.Count}
}
