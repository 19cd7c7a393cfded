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

// loras are the adapters of one model, and which of them the engine has. A model that
// is loaded anew gets new ones. They may be used concurrently.
type loras struct {
	model, version string
	form           inference.LoRAForm
	library        inference.Library // nil for none
	listed         []string          // nil where it isn't known which there are
	given          map[string]string // ids or paths by names, where the operator gave some

	// sending has an element while a request takes weights to the engine: one at a time
	// has them in memory.
	sending chan struct{}

	mu     sync.Mutex
	states map[string]*loraState // of listed ones
}

// loraState is what is known of one adapter in the engine.
type loraState struct {
	there bool // or on the way
	known bool // to be there: there was an answer
	times int  // that its weights were taken there
	never bool // they aren't at hand
}

// list reads the names of adapters, and what may stand behind them after "=": their
// numbers, or their paths. An entry that can't be read spoils no other.
func (l *loras) list(value string) error {
	var errs []error
	l.listed, l.given = []string{}, map[string]string{}
	for _, entry := range nameList(value) {
		name, given, found := strings.Cut(entry, "=")
		switch {
		case l.form != inference.LoRAByID && l.form != inference.LoRAByPath:
			name = entry
		case found && l.form == inference.LoRAByID && !isNumber(given):
			errs = append(errs, fmt.Errorf("%q is no number of an adapter", given))
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

// Loan is one request's use of an adapter.
type Loan struct {
	inference.LoRA

	loras    *loras
	state    *loraState // nil where no weights are known of
	times    int        // that they had been taken to the engine when the request was made
	turn     bool       // it is this request that takes them
	answered bool       // the engine has
}

// UseLoRA returns an adapter of the model for a request. The caller must call Settle on the
// loan. A request that is made again after [Loan.Missed] relies on no weights that another
// request is about to bring: it may be faster.
func (c *Card) UseLoRA(ctx context.Context, name string, again bool) (*Loan, error) {
	return c.loras.use(ctx, name, again)
}

// use gives an adapter for a request: with its weights if the engine hasn't got them,
// as far as is known. Who uses it calls Settle in the end. A request that is made
// again relies on nothing that is on the way: it may be faster than that.
func (l *loras) use(ctx context.Context, name string, again bool) (*Loan, error) {
	u := &Loan{LoRA: inference.LoRA{Name: name, ID: loraID(l.model, l.version, name)}, loras: l}
	switch l.form {
	case inference.LoRAByID:
		if given := l.given[name]; given != "" {
			u.ID, _ = strconv.ParseUint(given, 10, 64) // it is a number: see list
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

// loraID is a number that is none of those which people give: those are small.
func loraID(model, version, name string) uint64 {
	sum := sha256.Sum256([]byte(model + "\x00" + version + "\x00" + name))
	return binary.LittleEndian.Uint64(sum[:])>>2 | 1<<62
}

// locate finds the path. A name that nobody listed is none, or clients could try out
// the engine's files by it.
func (u *Loan) locate() error {
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

// load reads the weights if the engine lacks them, when no other request takes any
// there.
func (u *Loan) load(ctx context.Context, again bool) error {
	if u.needless(again) {
		return nil
	}
	select {
	case u.loras.sending <- struct{}{}:
		u.turn = true
	case <-ctx.Done():
		return ctx.Err()
	}
	if u.needless(again) { // another one has taken them there
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
		u.times, u.state.known = u.state.times, false
	}
	return nil
}

// needless tells whether there is nothing to send.
func (u *Loan) needless(again bool) bool {
	l := u.loras
	l.mu.Lock()
	defer l.mu.Unlock()
	if u.state = l.states[u.Name]; u.state == nil {
		u.state = &loraState{}
		l.states[u.Name] = u.state
	}
	u.times = u.state.times
	return u.state.never || u.state.there && (u.state.known || !again)
}

// Sends reports whether this request takes the weights to the engine.
func (u *Loan) Sends() bool { return u.turn }

// Sent notes that the engine has taken over the request: the weights, which may be
// large, are let go, and requests that follow do without them.
func (u *Loan) Sent(infer *kserve.ModelInferRequest) {
	if !u.turn {
		return
	}
	infer.RawInputContents = nil
	u.note(true)
	u.release()
}

// Arrived notes the first response: the engine has the adapter.
func (u *Loan) Arrived() {
	if !u.answered && u.state != nil {
		u.loras.mu.Lock()
		defer u.loras.mu.Unlock()
		u.state.known = u.state.known || u.state.there && u.state.times == u.times
	}
	u.answered = true
}

// note says whether the engine has the adapter, unless others have taken it there
// since.
func (u *Loan) note(there bool) {
	u.loras.mu.Lock()
	defer u.loras.mu.Unlock()
	if u.state.times == u.times {
		u.state.there, u.state.known = there, false
	}
}

func (u *Loan) release() {
	if u.turn {
		u.turn, u.Weights = false, nil
		<-u.loras.sending
	}
}

// Settle ends the use. An engine that hasn't answered may not have the adapter.
func (u *Loan) Settle() {
	u.release()
	if u.state != nil && !u.answered {
		u.note(false)
	}
}

// Missed reports whether an engine that lacks the adapter can be given it: there are
// weights, and nothing has been said yet.
func (u *Loan) Missed() bool { return u.weighs() && !u.answered }

// weighs tells whether weights of the adapter are at hand.
func (u *Loan) weighs() bool {
	u.loras.mu.Lock()
	defer u.loras.mu.Unlock()
	return u.state != nil && !u.state.never
}

// Explain keeps the adapter's path from clients. An engine that still lacks an adapter
// which there are weights of can't keep it.
func (u *Loan) Explain(err error) error {
	known, ok := errors.AsType[*inference.Error](err)
	switch {
	case !ok:
		return err
	case u.Path != "" && strings.Contains(known.Message+known.Text, u.Path):
		return u.unusable(err)
	case errors.Is(err, inference.ErrNoLoRA) && u.weighs():
		return &inference.Error{
			Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: time.Second, Err: err,
			Message: fmt.Sprintf("the engine of the model `%s` has no room for the LoRA adapter `%s` now", u.loras.model, u.Name),
		}
	}
	return err
}

// unusable is for what the operator has to look at.
func (u *Loan) unusable(err error) error {
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
