package inference

import (
	"context"
	"fmt"
	"slices"
)

// Client is whom a request is from, as its key tells. It doesn't change once it is
// in a context.
type Client struct {
	// Name in logs and metrics; never the key.
	Name string
	// Models that it may use, by the names that clients give; nil for all.
	Models []string
	// Limits of its requests together.
	Limits Limits
}

// Limits bound the requests of a server, a model or a client. 0 is no bound.
type Limits struct {
	// InFlight requests are served at once; Queued more wait for their turn, with
	// [NoQueue] none.
	InFlight, Queued int
	// Rate of requests that begin, each second on average; Burst of them may begin
	// at once, those of a second if it is 0.
	Rate  float64
	Burst int
}

// NoQueue is what [Limits.Queued] is where no request waits.
const NoQueue = -1

// May tells whether the client may use a model. Without a client, all may be used.
func (c *Client) May(model string) bool {
	return c == nil || c.Models == nil || slices.Contains(c.Models, model)
}

// MayUse is nil for a model that the client of a request may use. Of others it isn't told
// whether they are there. Frontends ask it once they know the model, before they check the
// rest of a request; the service asks it again.
func MayUse(ctx context.Context, model string) error {
	if ClientOf(ctx).May(model) {
		return nil
	}
	return &Error{
		Code: CodeNotFound, Reason: ReasonModelNotFound, Param: "model", Triton: TritonNotFound,
		Message: fmt.Sprintf("the model `%s` does not exist or this key may not use it", model),
	}
}

// MayAll is nil for a client that isn't limited to some models. The others see and
// change nothing that is of the whole server.
func MayAll(ctx context.Context) error {
	if c := ClientOf(ctx); c == nil || c.Models == nil {
		return nil
	}
	return &Error{Code: CodeForbidden, Reason: ReasonForbidden, Message: "this key is for its models only, not for what is the whole server's"}
}

type clientKey struct{}

// WithClient says whom the requests under a context are from.
func WithClient(ctx context.Context, client *Client) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

type renewalKey struct{}

// WithRenewal says how to find whom the further requests of a long call are from. The
// function may be called concurrently; nil is nobody in particular, and its error why
// they aren't let in.
func WithRenewal(ctx context.Context, renew func() (*Client, error)) context.Context {
	return context.WithValue(ctx, renewalKey{}, renew)
}

// Renew gives the context of a further request of a call. Its key may have expired since
// the call began, may have been taken away, or have got other models and limits.
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

// ClientOf gives whom a request is from; nil where nobody has said it.
func ClientOf(ctx context.Context) *Client {
	client, _ := ctx.Value(clientKey{}).(*Client)
	return client
}
