package inference

import (
	"context"
	"crypto/sha256"
)

// Routing describes a generation or an embedding for an engine that chooses between servers, and
// has the choice. Only the goroutine of the request may use it.
type Routing struct {
	// Adapter is the name of the LoRA adapter, or empty.
	Adapter string
	// Prompt is the rendered prompt, and Images has the digests of the images in it.
	Prompt string
	Images [][]byte
	// PromptTokens is the number of the prompt's tokens, or 0 if only the engine knows it.
	PromptTokens int
	// AnswerTokens is the expected number of tokens of the answer, or 0 if it isn't known.
	AnswerTokens int

	// Server is the server of the request's present attempt, or empty before the first one. The
	// engine sets it. [Placer.Place] chooses this server again if it can.
	Server string
	// Placed is the engine's own state from [Placer.Place] until Stream.
	Placed any
}

// routingKey is the context key of [WithRouting].
type routingKey struct{}

// WithRouting returns a context of a request for [Engine.Stream] and [Placer.Place] of an engine
// over several servers.
func WithRouting(ctx context.Context, r *Routing) context.Context {
	return context.WithValue(ctx, routingKey{}, r)
}

// RoutingOf returns the routing of a request, or nil.
func RoutingOf(ctx context.Context) *Routing {
	r, _ := ctx.Value(routingKey{}).(*Routing)
	return r
}

// Placer is an [Engine] over several servers, which can choose the server of a request before the
// request is encoded.
type Placer interface {
	// Place chooses the server of the next Stream for a model under a context with a [Routing],
	// and sets [Routing.Server]. The caller must call release after Stream, or if Stream isn't
	// called.
	Place(ctx context.Context, model string) (release func(), err error)
}

// Digests returns the SHA-256 digest of each image. The first call computes them.
func (i *Images) Digests() [][]byte {
	i.digest.Do(func() {
		for _, image := range i.List {
			sum := sha256.Sum256([]byte(image.Base64))
			i.digests = append(i.digests, sum[:])
		}
	})
	return i.digests
}
