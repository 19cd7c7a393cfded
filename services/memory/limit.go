// Package memory keeps this process below its memory limit. It finds the limit, sets Go's
// soft limit from it, and reports how close Go's memory is to the soft limit. Limits of
// the memory of single requests belong to packages budget and admission.
package memory

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"

	"github.com/trident-inference/trident/services/configfield"
)

// Config is the configuration of the memory limit.
type Config struct {
	// Limit is the memory limit in bytes for this process and its child processes. 0 detects the
	// limit: that of the cgroup, or else the machine's memory.
	Limit int64
	// InProcess reports whether Triton runs in-process. Its models then use memory of the same limit.
	InProcess bool
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Least is the smallest limit in bytes. Trident itself needs that much.
const Least = 128 << 20

// Floor is the smallest soft limit of Go's memory in bytes, for any memory use of Triton and its
// child processes. Tokenizers, requests and responses need that much.
const Floor = 256 << 20

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	if c.Limit != 0 && c.Limit < Least {
		return configfield.Errorf("memory.Limit", "%s is too small for the server: give %s or more", text(c.Limit), text(Least))
	}
	return nil
}

// bodies is the divisor of Go's soft limit that yields the limit of all request bodies. Bodies and
// the data decoded from them take several times the bodies' size.
const bodies = 4

// Bodies returns the limit of the bodies of all requests in bytes, if other memory takes nothing of
// the limit.
func (c Config) Bodies() int64 {
	limit, _ := c.limit()
	return goal(limit, 0) / bodies
}

// The sources of a limit, besides [Config.Limit].
const (
	fromCgroup  = "cgroup"
	fromMachine = "machine"
	noSource    = "none"
)

// limit returns the limit and its source. An unknown limit is math.MaxInt64.
func (c Config) limit() (bytes int64, source string) {
	if c.Limit > 0 {
		return c.Limit, c.Names.Of("memory.Limit")
	}
	return find(memlimit.FromCgroup, memlimit.FromSystem)
}

// find returns the smaller of the cgroup's limit and the machine's memory: a cgroup may
// allow more than there is.
func find(cgroup, machine memlimit.Provider) (bytes int64, source string) {
	bytes, source = math.MaxInt64, noSource
	if n, err := machine(); err == nil && n < math.MaxInt64 {
		bytes, source = int64(n), fromMachine
	}
	if n, err := cgroup(); err == nil && n < uint64(bytes) {
		bytes, source = int64(n), fromCgroup
	}
	return bytes, source
}

// goal returns Go's soft limit: nine tenths of the limit, minus other memory. The last tenth is for
// memory that the Go runtime doesn't count, and for growth between two collections.
func goal(limit, others int64) int64 {
	if limit == math.MaxInt64 {
		return limit
	}
	soft := limit/10*9 - others
	if others > 0 {
		soft = max(soft, Floor)
	}
	return soft
}

// operators is the environment variable of Go's soft limit. If the operator sets it, Trident
// doesn't change the limit.
const operators = "GOMEMLIMIT"

// operatorsLimit returns Go's soft limit from the environment. It returns false if the environment
// doesn't set it.
func operatorsLimit() (bytes int64, ok bool) {
	if os.Getenv(operators) == "" {
		return 0, false
	}
	return debug.SetMemoryLimit(-1), true // the runtime has already applied the variable
}

// text formats a size for display.
func text(bytes int64) string {
	if bytes == math.MaxInt64 {
		return "none"
	}
	return humanize.IBytesN(uint64(max(bytes, 0)), 3)
}
