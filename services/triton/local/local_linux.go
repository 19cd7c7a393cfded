//go:build cgo

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
)

var (
	_ inference.Engine             = (*Engine)(nil)
	_ inference.Forwarder          = (*Engine)(nil)
	_ inference.Describer          = (*Engine)(nil)
	_ inference.StatisticsReporter = (*Engine)(nil)
	_ inference.Repository         = (*Engine)(nil)
	_ inference.SharedMemory       = (*Engine)(nil)
	_ inference.Settings           = (*Engine)(nil)
	_ inference.Metrics            = (*Engine)(nil)
	_ inference.Notifier           = (*Engine)(nil)
)

// BuiltIn reports whether this binary has the engine.
const BuiltIn = true

// Engine is an in-process Triton. It can be started again after a stop, always
// with the same library. The models' Python processes inherit LD_LIBRARY_PATH and
// PATH. Start changes both variables for its own process.
type Engine struct {
	config Config
	log    *slog.Logger

	mu   sync.Mutex
	core *core // nil before Start and after Stop

	leftBehind atomic.Pointer[leftBehind] // what the engine's latest start may leave behind; nil before the first start
	changed    triton.Changes
}

// core is the state of a running in-process Triton.
type core struct {
	config       Config
	log          *slog.Logger
	installation *installation
	prefix       string // prefix of the names of the models' shared memory
	lease        *os.File
	server       *C.ts_server
	queue        *queue
	health       *health
	changed      triton.Changes
	idleTimers   *triton.IdleTimers
	regions      *extension.Registry
	tracer       *tracer
	logs         *extension.Logs
	users        sync.WaitGroup // streams, calls, and goroutines that watch the models

	cancel    context.CancelCauseFunc   // cancels the loading at start
	lastLoad  atomic.Pointer[time.Time] // time of the end of the latest load; nil before the first load
	loaded    chan struct{}             // closed when the loading at start has ended
	loadError error                     // set before loaded is closed
}

// New checks the configuration. The engine accepts requests after Start.
func New(config Config, log *slog.Logger) (*Engine, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Engine{config: config, log: log, changed: make(triton.Changes, 1)}, nil
}

// Changed implements [inference.Notifier].
func (e *Engine) Changed() <-chan struct{} { return e.changed }

// Start opens the library, creates the server and starts to load the models. It
// doesn't wait for the models. The context limits only the search for the
// library.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.core != nil {
		return errors.New("in-process Triton has been started already: call Stop before another Start")
	}
	c, err := open(ctx, e.config, e.log, &e.leftBehind, e.changed)
	if err != nil {
		return fmt.Errorf("in-process engine: %w", err)
	}
	e.core = c
	return nil
}

// open creates a server and starts to load the models. It stores in left what a sudden
// end of the process would leave behind.
func open(ctx context.Context, config Config, log *slog.Logger, left *atomic.Pointer[leftBehind], changed triton.Changes) (*core, error) {
	found, err := find(ctx, config)
	if err != nil {
		return nil, err
	}
	c := &core{
		config:       config,
		log:          log,
		installation: found,
		tracer:       newTracer(config.Trace, log),
		loaded:       make(chan struct{}),
		changed:      changed,
	}
	sweepDead(log)
	c.prefix, c.lease = newPrefix(config.Options)
	left.Store(&leftBehind{prefix: c.prefix, installation: found})
	c.regions = extension.NewRegistry(cudaRuntime{}, c.prefix)
	warnSharedMemory(sharedMemory, minSharedMemory, log)
	if err := c.makeServer(); err != nil {
		found.remove()
		sweep(c.prefix)
		_ = c.lease.Close() // Close accepts a nil file
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	c.health = newHealth(ctx, c)
	c.idleTimers = triton.NewIdleTimers(config.KeepAlive, config.FirstResponse, config.Inactivity)
	loading, cancel := context.WithCancelCause(ctx)
	c.cancel = cancel
	c.users.Go(func() { c.loadModels(loading) })
	return c, nil
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
	restore, err := c.expectNoGPU()
	if err == nil {
		err = failure(C.tr_server_new(c.options(&texts), &c.server))
	}
	if err = errors.Join(err, restore()); err != nil {
		c.queue.close()
		return fmt.Errorf("start Triton: %w", logged(err))
	}
	return nil
}

// loadModels loads the models at start and joins the errors.
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
			} else if err := c.health.loadModel(name, nil); err != nil {
				failed[i] = fmt.Errorf("model %s: %w", name, logged(err))
				c.health.tookTooLong(name, err)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	c.loadError = errors.Join(failed...)
}

// startModels returns the names of the models to load at start.
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

// AwaitModels waits until the models at start have been loaded. It returns the
// joined errors of those that failed, with Triton's own messages, for the log.
// An ended context is an error only while models are being loaded.
// If [Config.ExitOnError] is unset, these errors are no reason to stop.
func (e *Engine) AwaitModels(ctx context.Context) error {
	c, err := e.enter()
	if err != nil {
		return err
	}
	c.users.Done() // the wait below uses no object of Triton
	select {
	case <-c.loaded:
	case <-ctx.Done():
		select {
		case <-c.loaded:
		default:
			return ctx.Err()
		}
	}
	return c.loadError
}

// Ready returns nil if the loading at start has ended, no model is broken, and
// Triton reports that all models are ready. The error names a model that isn't
// ready.
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
	if err := c.health.faults().Err(); err != nil {
		return err
	}
	answer, err := e.ServerReady(ctx, &kserve.ServerReadyRequest{})
	if err != nil {
		return err
	}
	if !answer.GetReady() {
		return c.unready()
	}
	return nil
}

// unready returns an error for the first model that isn't ready. An unloaded
// model is ignored.
func (c *core) unready() error {
	for _, m := range triton.FromIndex(c.triton(false).GetModels()) {
		switch {
		case m.State == inference.ModelReady, m.State == inference.ModelNeverLoaded, m.Reason == "unloaded":
		case m.Reason != "":
			return triton.NotReady(m.Name, firstLine(errors.New(m.Reason)))
		default:
			return triton.NotReady(m.Name, "it is "+strings.ToLower(string(m.State)))
		}
	}
	return errLoading
}

// enter returns the running server. The caller must call Done of its users.
func (e *Engine) enter() (*core, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.core == nil {
		return nil, errStopped
	}
	e.core.users.Add(1)
	return e.core, nil
}

// Stop cancels the requests in flight and deletes the server with its models. The
// streams end with [inference.CodeUnavailable]. Stop takes at most
// [Config.StopLimit]. It kills processes of models that don't end. In that case
// Triton's memory isn't freed, no other engine can be started in the same process,
// and the log reports that. An error means that a process is left.
func (e *Engine) Stop(ctx context.Context) error {
	e.mu.Lock()
	c := e.core
	e.core = nil
	e.mu.Unlock()
	if c == nil {
		return nil
	}
	return c.close(context.WithoutCancel(ctx))
}

// close doesn't free the queue of a server that can't be deleted, because
// callbacks may still use it.
func (c *core) close(ctx context.Context) error {
	c.cancel(errStopped)
	c.health.stop()
	c.queue.cancelAll(errStopped)
	defer c.installation.remove()
	defer c.tracer.close()
	defer c.lease.Close() //nolint:errcheck // Close accepts a nil file
	err := c.end(ctx)
	killed := sweep(c.prefix)
	var left error
	if err == nil {
		c.queue.close()
		left = c.regions.Close()
	} else {
		C.tr_abandon()
		c.log.Warn("Triton didn't shut down in time", "error", err, "processes_killed", killed)
	}
	ended := func() bool { return len(stubsOf(c.prefix)) == 0 }
	if !c.await(ctx, killTime, ended) {
		return fmt.Errorf("stop Triton: processes of its models are still running: %v", stubsOf(c.prefix))
	}
	return left
}

// end releases the models and deletes the server. It doesn't wait for objects
// that Triton never releases.
func (c *core) end(ctx context.Context) error {
	if err := c.awaitUsers(ctx); err != nil {
		return err
	}
	began := time.Now()
	defer func() { c.log.Debug("Triton has ended", "after", time.Since(began)) }()
	c.unloadAll(ctx)
	wait := C.uint(math.Ceil(c.config.ExitTimeout.Seconds()))
	if c.queue.requests() > 0 || c.health.leaked.Load() {
		wait = 1
	}
	deleted := make(chan error, 1)
	go func() { deleted <- logged(failure(C.tr_server_delete(c.server, wait))) }()
	late := time.NewTimer(c.config.ExitTimeout + killTime)
	defer late.Stop()
	select {
	case err := <-deleted:
		return err
	case <-late.C:
		return errors.New("Triton's server wasn't deleted in time")
	}
}

// unloadAll unloads the models. A deletion of the server does that too, but
// checks for the models' end only once a second.
func (c *core) unloadAll(ctx context.Context) {
	for _, row := range c.triton(true).GetModels() {
		_ = c.unload(row.GetName(), false) // the deletion handles models that fail to unload
	}
	keeps := c.health.lost.Load() || c.health.leaked.Load() // Triton never releases some objects, so their end isn't awaited
	unloaded := func() bool {
		return !slices.ContainsFunc(c.triton(false).GetModels(), func(row *kserve.RepositoryIndexResponse_ModelIndex) bool {
			return row.GetState() == unloading && (!keeps || len(c.stubsOfModel(row.GetName())) > 0)
		})
	}
	c.await(ctx, c.config.ExitTimeout, unloaded)
}

// lostTime is how long Stop waits for requests that may never end.
const lostTime = 500 * time.Millisecond

// awaitUsers waits for the calls, the streams and the requests that models still
// have. It kills the Python processes if that doesn't end in time.
func (c *core) awaitUsers(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.users.Wait()
	}()
	idle := func() bool {
		select {
		case <-ended:
			return c.queue.requests() == 0
		default:
			return false
		}
	}
	limit := c.config.ExitTimeout
	if c.health.lost.Load() || c.health.leaked.Load() {
		limit = min(limit, lostTime)
	}
	if c.await(ctx, limit, idle) {
		return nil
	}
	if c.health.lost.Load() {
		select {
		case <-ended:
			return nil
		default:
		}
	}
	killed := sweep(c.prefix)
	if killed > 0 && c.await(ctx, killTime, idle) {
		c.health.leaked.Store(true) // Triton probably counts a model of the killed processes as live forever
		return nil
	}
	return fmt.Errorf("%d requests, or the load of a model, didn't end in time", c.queue.requests())
}

// cTexts are C strings that are freed together.
type cTexts []unsafe.Pointer

func (t *cTexts) add(s string) *C.char {
	c := C.CString(s)
	*t = append(*t, unsafe.Pointer(c))
	return c
}

// alloc returns zeroed memory of any size. C.malloc never returns nil: cgo ends the process.
func (t *cTexts) alloc(size int) unsafe.Pointer {
	memory := C.malloc(C.size_t(size + 1))
	clear(unsafe.Slice((*byte)(memory), size+1))
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
