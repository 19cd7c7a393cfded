//go:build cgo

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/extension"
)

var (
	_ inference.Engine       = (*Engine)(nil)
	_ inference.Describer    = (*Engine)(nil)
	_ inference.Statistician = (*Engine)(nil)
	_ inference.Repository   = (*Engine)(nil)
	_ inference.SharedMemory = (*Engine)(nil)
	_ inference.Settings     = (*Engine)(nil)
	_ inference.Metrics      = (*Engine)(nil)
)

// BuiltIn says whether this binary has the engine.
const BuiltIn = true

// Engine is Triton in this process. It can be started again after a stop, always
// with the same library. The models' Python processes inherit LD_LIBRARY_PATH and
// PATH, which Start changes for them in this process.
type Engine struct {
	config Config
	log    *slog.Logger

	mu   sync.Mutex
	core *core // nil before Start and after Stop
}

// core is a server that runs.
type core struct {
	config       Config
	log          *slog.Logger
	installation *installation
	prefix       string // of the names of shared memory
	server       *C.ts_server
	queue        *queue
	regions      *extension.Registry
	tracer       *tracer
	logs         *extension.Logs
	users        sync.WaitGroup // streams and calls

	cancel    context.CancelCauseFunc // of the models' loading
	loaded    chan struct{}           // closed when the models of the start are there
	loadError error                   // set before that
}

// New checks the configuration. The engine takes requests after Start.
func New(config Config, log *slog.Logger) (*Engine, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Engine{config: config, log: log}, nil
}

// Start opens the library, makes the server and begins to load the models, for
// which it doesn't wait. The context bounds the search for the library.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.core != nil {
		return errors.New("the engine has been started already")
	}
	c, err := open(ctx, e.config, e.log)
	if err != nil {
		return fmt.Errorf("in-process engine: %w", err)
	}
	e.core = c
	return nil
}

// open makes a server without models and begins to load them.
func open(ctx context.Context, config Config, log *slog.Logger) (*core, error) {
	found, err := find(ctx, config)
	if err != nil {
		return nil, err
	}
	c := &core{
		config:       config,
		log:          log,
		installation: found,
		prefix:       config.Options.prefixOf(uniquePrefix()),
		tracer:       newTracer(config.Trace, log),
		loaded:       make(chan struct{}),
	}
	c.regions = extension.NewRegistry(cudaRuntime{}, c.prefix)
	warnSharedMemory(sharedMemory, minSharedMemory, log)
	if err := c.makeServer(); err != nil {
		found.remove()
		return nil, err
	}
	loading, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c.cancel = cancel
	go c.loadModels(loading)
	return c, nil
}

// uniquePrefix is for names that are one server's alone, also where several
// containers, each with a process 1, share their memory.
func uniquePrefix() string {
	return fmt.Sprintf("trident_%d_%s_", os.Getpid(), strings.ToLower(rand.Text()[:8]))
}

func (c *core) makeServer() error {
	err := errors.Join(c.installation.setEnvironment(), load(c.installation))
	if err == nil {
		err = c.startLogs()
	}
	if err != nil {
		return err
	}
	if c.queue, err = newQueue(int64(c.config.TotalQueueBytes), c.tracer.end); err != nil {
		return err
	}
	var texts cTexts
	defer texts.free()
	if err := failure(C.tr_server_new(c.options(&texts), &c.server)); err != nil {
		c.queue.close()
		return fmt.Errorf("start Triton: %w", logged(err))
	}
	return nil
}

// loadModels loads the models of the start and joins what fails.
func (c *core) loadModels(ctx context.Context) {
	defer close(c.loaded)
	names, err := c.startModels()
	if err != nil {
		c.loadError = err
		return
	}
	failed := make([]error, len(names))
	var group errgroup.Group
	group.SetLimit(c.config.Options.ModelLoadThreads)
	for i, name := range names {
		group.Go(func() error {
			if ctx.Err() != nil {
				failed[i] = context.Cause(ctx)
			} else if err := c.load(name, nil); err != nil {
				failed[i] = fmt.Errorf("model %s: %w", name, logged(err))
			}
			return nil
		})
	}
	_ = group.Wait() // its functions give no error
	c.loadError = errors.Join(failed...)
}

// startModels are the names of the models to load at start.
func (c *core) startModels() ([]string, error) {
	all := c.config.ControlMode == ControlNone || len(c.config.LoadModels) == 1 && c.config.LoadModels[0] == AllModels
	if !all {
		return c.config.LoadModels, nil
	}
	index, err := c.index(false)
	if err != nil {
		return nil, fmt.Errorf("list the model repository: %w", logged(err))
	}
	var names []string
	seen := map[string]bool{}
	for _, row := range index.GetModels() {
		if name := row.GetName(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, nil
}

// AwaitModels waits for the models that are loaded at start, and joins the
// errors of those that failed, with Triton's own texts: for the log. With
// [Config.ExitOnError] unset they are no reason to stop.
func (e *Engine) AwaitModels(ctx context.Context) error {
	c, err := e.enter()
	if err != nil {
		return err
	}
	c.users.Done() // nothing of Triton's is touched
	select {
	case <-c.loaded:
		return c.loadError
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ready is nil when the models of the start have been loaded, or have failed,
// and Triton says that all is ready.
func (e *Engine) Ready(ctx context.Context) error {
	c, err := e.enter()
	if err != nil {
		return err
	}
	defer c.users.Done()
	select {
	case <-c.loaded:
	default:
		return errLoading
	}
	answer, err := e.ServerReady(ctx, &kserve.ServerReadyRequest{})
	if err != nil {
		return err
	}
	if !answer.GetReady() {
		return &inference.Error{
			Code:    inference.CodeUnavailable,
			Reason:  inference.ReasonModelNotReady,
			Message: "a model of the inference server isn't ready",
		}
	}
	return nil
}

// enter gives the running server to a caller that calls Done of its users.
func (e *Engine) enter() (*core, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.core == nil {
		return nil, errStopped
	}
	e.core.users.Add(1)
	return e.core, nil
}

// Stop cancels the requests in flight, whose streams end with
// [inference.CodeUnavailable], and deletes the server with its models. It takes
// no longer than [Config.StopTimeout]. Models that don't end are an
// error: their Python processes are killed, what Triton holds in this process
// stays until its end, and no engine can be started in it again.
func (e *Engine) Stop(context.Context) error {
	e.mu.Lock()
	c := e.core
	e.core = nil
	e.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.close()
}

// close leaves the queue to the callbacks of a server that can't be deleted.
func (c *core) close() error {
	c.cancel(errStopped)
	c.queue.cancelAll(errStopped)
	defer c.installation.remove()
	defer c.tracer.close()
	if err := c.awaitUsers(); err != nil {
		C.tr_abandon()
		return err
	}
	err := logged(failure(C.tr_server_delete(c.server)))
	killed := sweep(c.prefix)
	if err == nil {
		c.queue.close()
		return c.regions.Close()
	}
	C.tr_abandon()
	if killed > 0 {
		return fmt.Errorf("stop Triton: %w; %d processes of its models were killed", err, killed)
	}
	// Triton 2.51 counts a ready model whose reload failed as live for ever.
	c.log.Warn("Triton didn't end by itself, though no model is at work", "error", err)
	return nil
}

// stopPoll is how often a stop looks whether Triton has let go of the requests.
const stopPoll = 2 * time.Millisecond

// awaitUsers waits for the calls, the streams and the requests that models still
// hold. What hangs in a Python process is given up with the process.
func (c *core) awaitUsers() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.users.Wait()
		<-c.loaded
	}()
	if c.idle(ended, c.config.ExitTimeout) {
		return nil
	}
	killed := sweep(c.prefix)
	if c.idle(ended, c.config.ExitTimeout) {
		return nil
	}
	return fmt.Errorf("%d requests or a model's loading didn't end in %s; %d processes killed", c.queue.requests(), 2*c.config.ExitTimeout, killed)
}

// idle waits until nobody uses the server.
func (c *core) idle(ended <-chan struct{}, limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		return false
	}
	poll := time.NewTicker(stopPoll)
	defer poll.Stop()
	for c.queue.requests() > 0 {
		select {
		case <-poll.C:
		case <-late.C:
			return false
		}
	}
	return true
}

// cTexts are C strings that are freed together.
type cTexts []unsafe.Pointer

func (t *cTexts) add(s string) *C.char {
	c := C.CString(s)
	*t = append(*t, unsafe.Pointer(c))
	return c
}

// alloc gives zeroed memory, of any size.
func (t *cTexts) alloc(size int) unsafe.Pointer {
	memory := C.calloc(C.size_t(size+1), 1)
	*t = append(*t, memory)
	return memory
}

func (t *cTexts) list(all []string) **C.char {
	memory := t.alloc(len(all) * int(unsafe.Sizeof((*C.char)(nil))))
	for i, s := range all {
		unsafe.Slice((**C.char)(memory), len(all))[i] = t.add(s)
	}
	return (**C.char)(memory)
}

func (t *cTexts) free() {
	for _, p := range *t {
		C.free(p)
	}
}
