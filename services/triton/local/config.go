// Package local is the engine that runs models by libtritonserver in this
// process. The library is opened at run time, so that a binary with this engine
// runs without it too; builds without cgo, or for another system than Linux, have
// no such engine and say so.
package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/triton/extension"
)

// ControlMode says who chooses the models that are loaded.
type ControlMode string

// The control modes of Triton's own frontend.
const (
	// ControlNone loads all models at start and refuses to load or unload later.
	ControlNone ControlMode = "none"
	// ControlExplicit loads the named models at start and others on request.
	ControlExplicit ControlMode = "explicit"
)

// AllModels stands for every model of the repositories in [Config.LoadModels].
const AllModels = "*"

// Config says what to run and how long to wait for it.
type Config struct {
	// Repositories are the model repositories: folders, or what else Triton takes.
	Repositories []string
	// Library is libtritonserver's path or its folder; empty to look for it in the
	// usual places.
	Library string
	// BackendDirectory holds a folder for each of Triton's backends; empty for the
	// one that belongs to the library.
	BackendDirectory string
	// ControlMode says who chooses the models that are loaded.
	ControlMode ControlMode
	// LoadModels are loaded at start under [ControlExplicit]; [AllModels] alone
	// means all.
	LoadModels []string
	// ExitOnError makes a model that can't be loaded at start a failure of
	// [Engine.AwaitModels].
	ExitOnError bool
	// KeepAlive is the silence after which a stream yields an idle response. The
	// clock is coarse: it may take a quarter longer.
	KeepAlive time.Duration
	// FirstResponse is how long a request waits for its first response before it fails
	// and is cancelled. As coarse as KeepAlive.
	FirstResponse time.Duration
	// Inactivity is the silence after a response after which a stream fails, and its
	// request is cancelled. As coarse as KeepAlive.
	Inactivity time.Duration
	// LoadTimeout bounds the load of a model: then its Python processes are killed,
	// so that the load fails, and is tried again if it was one of the start.
	LoadTimeout time.Duration
	// ExitTimeout bounds the wait for requests that the models don't end and, when a
	// model is unloaded, for its end; then its Python processes are killed. Whole
	// seconds (--exit-timeout-secs).
	ExitTimeout time.Duration
	// QueueBytes is how much of a stream's responses may wait for a consumer that
	// is slower than the model. Beyond it the stream fails and the request is
	// cancelled, as Triton knows no way to hold a model up.
	QueueBytes int
	// TotalQueueBytes bounds what waits in all streams together. Beyond it those
	// fail that have most waiting, as above; streams whose consumers keep up go on.
	TotalQueueBytes int
	// Options are tritonserver's own.
	Options Options
	// Trace is what to trace from the start (--trace-config).
	Trace extension.TraceConfig
	// LogInfo lets Triton write its informational messages, to standard error as
	// its errors and warnings.
	LogInfo bool
}

// killTime is what Triton, or the kernel, gets to notice that processes were killed.
const killTime = 3 * time.Second

// Default is the configuration but for the repositories, which have no default.
func Default() Config {
	return Config{
		ControlMode:   ControlNone,
		ExitOnError:   true,
		KeepAlive:     15 * time.Second,
		FirstResponse: 20 * time.Minute,
		Inactivity:    2 * time.Minute,
		LoadTimeout:   30 * time.Minute,
		ExitTimeout:   5 * time.Second,
		QueueBytes:    256 << 20,
		// Four streams at their own bound: what a host has to spare that runs
		// models, and 1 MiB for each of 1024 requests in flight.
		TotalQueueBytes: 1 << 30,
		Options:         DefaultOptions(),
		Trace:           extension.DefaultTraceConfig(),
	}
}

// Validate names the first flag, or field without one, that can't work.
func (c Config) Validate() error {
	if len(c.Repositories) == 0 {
		return configfield.Errorf("local.Repositories", "must name a model repository")
	}
	if slices.Contains(c.Repositories, "") {
		return configfield.Errorf("local.Repositories", "must not be empty")
	}
	if err := c.validateModels(); err != nil {
		return err
	}
	positive := []struct {
		field configfield.Field
		value time.Duration
	}{
		{"local.KeepAlive", c.KeepAlive},
		{"local.FirstResponse", c.FirstResponse},
		{"local.Inactivity", c.Inactivity},
		{"local.LoadTimeout", c.LoadTimeout},
	}
	for _, p := range positive {
		if p.value <= 0 {
			return configfield.Errorf(p.field, "must be longer than 0, not %s", p.value)
		}
	}
	if c.ExitTimeout < time.Second {
		return configfield.Errorf("local.ExitTimeout", "must be at least 1, not %g", c.ExitTimeout.Seconds())
	}
	if c.QueueBytes <= 0 || c.TotalQueueBytes < c.QueueBytes {
		return fmt.Errorf("QueueBytes must be more than 0, not %d, and TotalQueueBytes not less than it, as is %d", c.QueueBytes, c.TotalQueueBytes)
	}
	return c.Options.Validate()
}

// StopLimit is how long [Engine.Stop] may take: for the requests, the models and
// the server, one after the other.
func (c Config) StopLimit() time.Duration { return 3*c.ExitTimeout + 3*killTime }

func (c Config) validateModels() error {
	switch c.ControlMode {
	case ControlNone:
		if len(c.LoadModels) > 0 {
			return configfield.Errorf("local.LoadModels", "needs %s=%s; with %s all models are loaded", configfield.Field("local.ControlMode"), ControlExplicit, ControlNone)
		}
	case ControlExplicit:
	default:
		return configfield.Errorf("local.ControlMode", "must be %s or %s, not %q", ControlNone, ControlExplicit, c.ControlMode)
	}
	for _, model := range c.LoadModels {
		switch {
		case model == "":
			return configfield.Errorf("local.LoadModels", "must not be empty")
		case model == AllModels && len(c.LoadModels) > 1:
			return configfield.Errorf("local.LoadModels", "must be %s alone, or names of models", AllModels)
		}
	}
	return nil
}
