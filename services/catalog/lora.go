package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// loras are the adapters of one model, with their state in the engine. A model that is reloaded gets
// new loras. The methods of loras may be called concurrently.
type loras struct {
	model, version string
	form           inference.LoRAForm
	library        inference.Library // nil if there is no library
	listed         []string          // nil if the adapters aren't known
	given          map[string]string // ids or paths that the operator has set, keyed by the adapter's name

	// sending has an element while a request sends weights to the engine: only one request at a
	// time may have weights in memory.
	sending chan struct{}

	mu     sync.Mutex
	states map[loraKey]*loraState // state of each listed adapter
}

// loraKey identifies an adapter in one of the servers of an engine. The server is empty for an
// engine that has only one.
type loraKey struct{ server, name string }

// loraState is the state of one adapter in the engine.
type loraState struct {
	loaded    bool // the engine has the adapter, or a request with its weights is on the way
	confirmed bool // loaded is confirmed by an answer
	times     int  // number of times that the weights were sent
	never     bool // the weights aren't available
}

// list reads the names of adapters. Each may be followed by "=" and the adapter's number or path.
// An entry that can't be read doesn't affect the others.
func (l *loras) list(value string) error {
	var errs []error
	l.listed, l.given = []string{}, map[string]string{}
	for _, entry := range nameList(value) {
		name, given, found := strings.Cut(entry, "=")
		switch {
		case l.form != inference.LoRAByID && l.form != inference.LoRAByPath:
			name = entry
		case found && l.form == inference.LoRAByID && !isNumber(given):
			errs = append(errs, fmt.Errorf("%q is not the number of an adapter: write NAME=NUMBER", given))
			continue
		case found:
			l.given[name] = given
		}
		if !slices.Contains(l.listed, name) {
			l.listed = append(l.listed, name)
		}
	}
	return errors.Join(errs...)
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 64)
	return err == nil
}

// LoRAUse is one request's use of an adapter.
type LoRAUse struct {
	inference.LoRA

	loras    *loras
	routing  *inference.Routing // has the server of the request; nil if the engine has only one
	server   string             // the server that state is about
	state    *loraState         // nil if the adapter has no known weights
	times    int                // the state's times when the request was created
	turn     bool               // this request sends the weights
	answered bool               // the engine has sent its first response
}

// UseLoRA returns an adapter of the model for a request. The caller must call Settle on the loan. The
// argument again is set when a request is repeated after [LoRAUse.Missed]. A repeated request doesn't
// rely on weights that another request is still sending, because the repeated request may overtake the
// other request. The routing has the server that the request goes to. It is nil if the engine has only
// one.
func (c *Card) UseLoRA(ctx context.Context, name string, routing *inference.Routing, again bool) (*LoRAUse, error) {
	return c.loras.use(ctx, name, routing, again)
}

// use returns an adapter for a request, with its weights if the engine isn't known to have them. The
// caller must call Settle. A repeated request doesn't rely on weights that another request is still
// sending, because the repeated request may overtake the other request.
func (l *loras) use(ctx context.Context, name string, routing *inference.Routing, again bool) (*LoRAUse, error) {
	u := &LoRAUse{LoRA: inference.LoRA{Name: name, ID: loraID(l.model, l.version, name)}, loras: l, routing: routing}
	if routing != nil {
		u.server = routing.Server
	}
	switch l.form {
	case inference.LoRAByID:
		if given := l.given[name]; given != "" {
			u.ID, _ = strconv.ParseUint(given, 10, 64) // can't fail: list has checked the number
		}
		if l.library != nil && slices.Contains(l.listed, name) {
			err := u.load(ctx, again)
			return u, err
		}
	case inference.LoRAByPath:
		err := u.locate()
		return u, err
	case inference.LoRANone, inference.LoRAByName:
	}
	return u, nil
}

// loraID returns a number of at least 2^62. It can't collide with numbers set by operators, which
// are small.
func loraID(model, version, name string) uint64 {
	sum := sha256.Sum256([]byte(model + "\x00" + version + "\x00" + name))
	return binary.LittleEndian.Uint64(sum[:])>>2 | 1<<62
}

// locate finds the adapter's path. Only listed names are accepted. Otherwise clients could probe
// the engine's files.
func (u *LoRAUse) locate() error {
	l := u.loras
	if u.Path = l.given[u.Name]; u.Path != "" {
		return nil
	}
	if l.library != nil {
		var err error
		if u.Path, err = l.library.LoRAPath(l.model, l.version, u.Name); err != nil {
			return u.unusable(err)
		}
	}
	if u.Path == "" {
		return errNoLoRA(l.model, u.Name)
	}
	return nil
}

// load reads the weights if the engine lacks them. It waits while another request sends weights.
func (u *LoRAUse) load(ctx context.Context, again bool) error {
	if u.needsNoWeights(again) {
		return nil
	}
	select {
	case u.loras.sending <- struct{}{}:
		u.turn = true
	case <-ctx.Done():
		return ctx.Err()
	}
	if u.needsNoWeights(again) { // another request has sent the weights
		u.release()
		return nil
	}
	var err error
	if u.Weights, err = u.loras.library.LoRAWeights(u.loras.model, u.loras.version, u.Name); err != nil {
		u.release()
		return u.unusable(err)
	}
	u.loras.mu.Lock()
	defer u.loras.mu.Unlock()
	if u.Weights == nil {
		u.state.never = true
		u.release()
	} else {
		u.state.times++
		u.times, u.state.confirmed = u.state.times, false
	}
	return nil
}

// needsNoWeights reports whether the request needs no weights.
func (u *LoRAUse) needsNoWeights(again bool) bool {
	l := u.loras
	l.mu.Lock()
	defer l.mu.Unlock()
	u.findState()
	return u.state.never || u.state.loaded && (u.state.confirmed || !again)
}

// findState sets the state of the adapter in the request's server. The caller must hold the mutex.
func (u *LoRAUse) findState() {
	key := loraKey{u.server, u.Name}
	if u.state = u.loras.states[key]; u.state == nil {
		u.state = &loraState{}
		u.loras.states[key] = u.state
	}
	u.times = u.state.times
}

// follow makes the request's later results apply to the server that the engine has moved it to. It
// reports whether the request has moved. The previous server may lack the adapter.
func (u *LoRAUse) follow() (moved bool) {
	if u.state == nil || u.routing == nil || u.routing.Server == u.server {
		return false
	}
	u.recordLoaded(false)
	u.server = u.routing.Server
	u.loras.mu.Lock()
	defer u.loras.mu.Unlock()
	u.findState()
	return true
}

// Routing returns the routing of the request, or nil if the engine has only one server.
func (u *LoRAUse) Routing() *inference.Routing { return u.routing }

// Sends reports whether this request sends the weights to the engine.
func (u *LoRAUse) Sends() bool { return u.turn }

// Sent records that the engine has received the request. It releases the weights, which may be
// large, and later requests are sent without weights.
func (u *LoRAUse) Sent(infer *kserve.ModelInferRequest) {
	if !u.turn {
		return
	}
	infer.RawInputContents = nil
	u.follow()
	u.recordLoaded(true)
	u.release()
}

// Arrived records the first response, which confirms that the engine has the adapter.
func (u *LoRAUse) Arrived() {
	if !u.answered && u.state != nil {
		moved := u.follow()
		u.loras.mu.Lock()
		defer u.loras.mu.Unlock()
		u.state.loaded = u.state.loaded || moved
		u.state.confirmed = u.state.confirmed || u.state.loaded && u.state.times == u.times
	}
	u.answered = true
}

// recordLoaded records whether the engine has the adapter, unless another request has sent the weights
// since.
func (u *LoRAUse) recordLoaded(there bool) {
	u.loras.mu.Lock()
	defer u.loras.mu.Unlock()
	if u.state.times == u.times {
		u.state.loaded, u.state.confirmed = there, false
	}
}

func (u *LoRAUse) release() {
	if u.turn {
		u.turn, u.Weights = false, nil
		<-u.loras.sending
	}
}

// Settle ends the use of the adapter. If the engine hasn't sent a first response, it may lack the
// adapter.
func (u *LoRAUse) Settle() {
	u.release()
	if u.state != nil && !u.answered {
		u.follow()
		u.recordLoaded(false)
	}
}

// Missed reports whether a request can be repeated with weights after the engine lacked the
// adapter. Weights must be available, and the engine must not have sent a response yet.
func (u *LoRAUse) Missed() bool { return u.hasWeights() && !u.answered }

// hasWeights reports whether weights of the adapter are available.
func (u *LoRAUse) hasWeights() bool {
	u.loras.mu.Lock()
	defer u.loras.mu.Unlock()
	return u.state != nil && !u.state.never
}

// Explain hides the adapter's path from clients. If the engine still lacks an adapter whose weights
// are available, the error states that the engine has no room for the adapter.
func (u *LoRAUse) Explain(err error) error {
	known, ok := errors.AsType[*inference.Error](err)
	switch {
	case !ok:
		return err
	case u.Path != "" && strings.Contains(known.Message+known.Text, u.Path):
		return u.unusable(err)
	case errors.Is(err, inference.ErrNoLoRA) && u.hasWeights():
		return &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: time.Second, Err: err,
			Message: fmt.Sprintf("the engine of the model `%s` has no room for the LoRA adapter `%s` now: try again later", u.loras.model, u.Name),
		}
	}
	return err
}

// unusable returns an error for a fault that the operator has to fix.
func (u *LoRAUse) unusable(err error) error {
	return &inference.Error{
		Code: inference.CodeInternal, Param: "model", Err: err,
		Message: fmt.Sprintf("the LoRA adapter `%s` of the model `%s` can't be used: the server's log has the details", u.Name, u.loras.model),
	}
}

func errNoLoRA(model, name string) error {
	return &inference.Error{
		Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Param: "model",
		Message: fmt.Sprintf("the model `%s` has no LoRA adapter `%s`", model, name),
	}
}
