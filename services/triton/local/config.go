// Package local has the engine that runs models by libtritonserver in process. It
// opens the library at run time, so a binary with this engine also runs on
// machines without the library. Builds without cgo, or for another system than
// Linux, don't have the engine, and New returns an error. Code that a remote
// tritonserver needs too belongs to package triton.
package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/triton/extension"
)

// ControlMode selects how models are chosen for loading.
type ControlMode string

// Control modes of Triton's own frontend.
const (
	// ControlNone loads all models at start and refuses to load or unload later.
	ControlNone ControlMode = "none"
	// ControlExplicit loads the named models at start and other models on request.
	ControlExplicit ControlMode = "explicit"
)

// AllModels in [Config.LoadModels] means every model of the repositories.
const AllModels = "*"

// Config has the models' locations, the options of Triton and the time limits.
type Config struct {
	// Repositories are the model repositories: folders, or other locations that
	// Triton supports.
	Repositories []string
	// Library is the path of libtritonserver or of its folder. If it is empty, the
	// engine searches the usual places.
	Library string
	// BackendDirectory has a folder for each of Triton's backends. If it is empty,
	// the directory that belongs to the library applies.
	BackendDirectory string
	// ControlMode selects how models are chosen for loading.
	ControlMode ControlMode
	// LoadModels are the models to load at start under [ControlExplicit]. A
	// list of [AllModels] alone means all models.
	LoadModels []string
	// ExitOnError makes [Engine.AwaitModels] fail if a model can't be loaded at
	// start.
	ExitOnError bool
	// KeepAlive is the idle time after which a stream yields an idle response.
	// The clock is coarse: the response may come up to a quarter of KeepAlive
	// later.
	KeepAlive time.Duration
	// FirstResponse is the time that a request waits for its first response. After
	// that time it fails and is cancelled. The clock is as coarse as for KeepAlive.
	FirstResponse time.Duration
	// Inactivity is the time that a stream waits for each later response. After that
	// time it fails, and its request is cancelled. The clock is as coarse as for
	// KeepAlive.
	Inactivity time.Duration
	// LoadTimeout is the time limit for loading a model. After that time the
	// model's Python processes are killed, so that the load fails. A load at start
	// is then tried again.
	LoadTimeout time.Duration
	// ExitTimeout limits the wait for requests that models don't end and, for an
	// unload, the wait for the model's end. After that time the model's Python
	// processes are killed. Triton uses whole seconds (--exit-timeout-secs).
	ExitTimeout time.Duration
	// QueueBytes is the maximum size of a stream's responses that wait for a
	// consumer slower than the model. If a stream exceeds it, the stream fails
	// and its request is cancelled, because Triton can't pause a model.
	QueueBytes int
	// TotalQueueBytes is the maximum size of the waiting responses of all streams together. If it
	// is exceeded, the streams with the most waiting bytes fail, as a stream beyond QueueBytes
	// does. Streams with fast consumers continue.
	TotalQueueBytes int
	// Options are tritonserver's options.
	Options Options
	// Trace has the trace settings at start (--trace-config).
	Trace extension.TraceConfig
	// LogInfo enables Triton's informational messages. Like errors and warnings,
	// they go to standard error.
	LogInfo bool
	// Names has the operators' names of the fields. If it is nil, the fields have their own names.
	Names *configfield.Names
}

// killTime is the time that Triton, or the kernel, has to detect that processes were
// killed.
const killTime = 3 * time.Second

// Default returns the default configuration. The repositories have no default
// and are empty.
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
		// This is four streams at their own limit. A host that runs models can
		// spare that memory, and it is 1 MiB for each of 1024 requests in
		// flight.
		TotalQueueBytes: 1 << 30,
		Options:         DefaultOptions(),
		Trace:           extension.DefaultTraceConfig(),
	}
}

// Validate returns an error for the first invalid field, which names the
// field's flag if it has one.
func (c Config) Validate() error {
	if len(c.Repositories) == 0 {
		return configfield.Errorf("local.Repositories", "must name at least one model repository")
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
		return configfield.Errorf("local.ExitTimeout", "must be at least 1 second, not %s", c.ExitTimeout)
	}
	if c.QueueBytes <= 0 {
		return fmt.Errorf("local.QueueBytes must be more than 0, but it is %d", c.QueueBytes)
	}
	if c.TotalQueueBytes < c.QueueBytes {
		return fmt.Errorf("local.TotalQueueBytes must be at least local.QueueBytes (%d), but it is %d", c.QueueBytes, c.TotalQueueBytes)
	}
	return c.Options.Validate()
}

// StopLimit returns the maximum duration of [Engine.Stop]. It is the sum for the
// requests, the models and the server.
func (c Config) StopLimit() time.Duration { return 3*c.ExitTimeout + 3*killTime }

func (c Config) validateModels() error {
	switch c.ControlMode {
	case ControlNone:
		if len(c.LoadModels) > 0 {
			return configfield.Errorf("local.LoadModels", "needs %s=%s; with %s, all models are loaded", configfield.Field("local.ControlMode"), ControlExplicit, ControlNone)
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
			return configfield.Errorf("local.LoadModels", "must be either %s alone or the names of models", AllModels)
		}
	}
	return nil
}
