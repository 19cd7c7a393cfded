package inference

import (
	"context"
	"fmt"
	"slices"
)

// Client is the owner of a request, identified by its API key. It doesn't change once it is in a
// context.
type Client struct {
	// Name is used in logs and metrics. It is never the key.
	Name string
	// Models are the models that the client may use, by any of their names. Nil allows all.
	Models []string
	// Limits apply to all requests of the client together.
	Limits Limits
}

// Limits bound the requests of a server, a model or a client. 0 means no limit.
type Limits struct {
	// InFlight is the number of requests served at once. Queued is the number that may wait;
	// [NoQueue] disables the queue.
	InFlight, Queued int
	// Rate is the average number of requests that may start per second. Burst is the number that
	// may start at once. 0 means the number of requests that Rate allows in one second.
	Rate  float64
	Burst int
	// TokensPerMinute is the number of tokens of prompts and answers per minute. Only clients have it.
	TokensPerMinute int
}

// NoQueue is the value of [Limits.Queued] that disables the queue.
const NoQueue = -1

// May reports whether the client may use a model. A nil client may use all models.
func (c *Client) May(model string) bool {
	return c == nil || c.Models == nil || slices.Contains(c.Models, model)
}

// MayUse returns nil if the client of a request may use a model. For other models the error
// doesn't reveal whether they exist. Frontends call it when they know the model, before they
// check the rest of a request. The service checks again.
func MayUse(ctx context.Context, model string) error {
	if ClientOf(ctx).May(model) {
		return nil
	}
	return &Error{
		Code: CodeNotFound, Reason: ReasonModelNotFound, Param: "model", Triton: TritonNotFound,
		Message: fmt.Sprintf("the model `%s` does not exist or this API key may not use it", model),
	}
}

// MayAll returns nil if the client isn't limited to some models. Limited clients can neither read
// nor change server-wide state.
func MayAll(ctx context.Context) error {
	if c := ClientOf(ctx); c == nil || c.Models == nil {
		return nil
	}
	return &Error{Code: CodeForbidden, Reason: ReasonForbidden, Message: "this API key is limited to its own models: it can't read or change anything that concerns the whole server"}
}

type clientKey struct{}

// WithClient returns a context whose requests belong to the client.
func WithClient(ctx context.Context, client *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

type renewalKey struct{}

// WithRenewal stores a function that returns the client of further requests of a long call. The
// function may be called concurrently. A nil client means an anonymous caller; an error is the
// reason to refuse the requests.
func WithRenewal(ctx context.Context, renew func() (*Client, error)) context.Context {
	return context.WithValue(ctx, renewalKey{}, renew)
}

// Renew returns the context of a further request of a call. Since the start of the call, its key
// may have expired or been revoked, or may have received other models and limits.
func Renew(ctx context.Context) (context.Context, error) {
	renew, ok := ctx.Value(renewalKey{}).(func() (*Client, error))
	if !ok {
		return ctx, nil
	}
	client, err := renew()
	if err != nil || client == ClientOf(ctx) {
		return ctx, err
	}
	return WithClient(ctx, client), nil
}

// ClientOf returns the client of a request, or nil if the context has none.
func ClientOf(ctx context.Context) *Client {
	client, _ := ctx.Value(clientKey{}).(*Client)
	return client
}

// ClientName returns the name of a request's client, or "" if the context has none.
func ClientName(ctx context.Context) string {
	if client := ClientOf(ctx); client != nil {
		return client.Name
	}
	return ""
}
