// Package memory keeps this process below its memory limit. It finds the limit, sets Go's
// soft limit from it, and reports how close Go's memory is to the soft limit.
package memory

import (
	"math"
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/dustin/go-humanize"

	"github.com/trident-inference/trident/services/configfield"
)

// Config of the memory.
type Config struct {
	// Limit is the memory in bytes for this process and its child processes. 0 finds the
	// limit: that of the cgroup, or else the machine's memory.
	Limit int64
	// InProcess reports whether Triton runs in this process, where its models take memory of
	// the same limit.
	InProcess bool
}

// Least is the smallest limit in bytes. Below it Trident itself has no room.
const Least = 128 << 20

// Floor is the smallest soft limit of Go's memory in bytes, however much of the limit Triton
// and its child processes hold: tokenizers, requests and responses need it.
const Floor = 256 << 20

// Validate names the field that can't be used.
func (c Config) Validate() error {
	if c.Limit != 0 && c.Limit < Least {
		return configfield.Errorf("memory.Limit", "%s is too little for the server: give %s or more", text(c.Limit), text(Least))
	}
	return nil
}

// bodies is the part of Go's soft limit that the bodies of requests may take together: with
// what is made of them they take several times as much.
const bodies = 4

// Bodies returns how many bytes the bodies of requests may take together at most, where
// other memory takes nothing of the limit.
func (c Config) Bodies() int64 {
	limit, _ := c.limit()
	return goal(limit, 0) / bodies
}

// The sources of a limit.
const (
	fromFlag    = "--memory-limit"
	fromCgroup  = "cgroup"
	fromMachine = "machine"
	fromNothing = "none"
)

// limit returns the limit and its source. A limit that nobody knows is math.MaxInt64.
func (c Config) limit() (bytes int64, source string) {
	if c.Limit > 0 {
		return c.Limit, fromFlag
	}
	return find(memlimit.FromCgroup, memlimit.FromSystem)
}

// find returns the smaller of the cgroup's limit and the machine's memory: a cgroup may
// allow more than there is.
func find(cgroup, machine memlimit.Provider) (bytes int64, source string) {
	bytes, source = math.MaxInt64, fromNothing
	if n, err := machine(); err == nil && n < math.MaxInt64 {
		bytes, source = int64(n), fromMachine
	}
	if n, err := cgroup(); err == nil && n < uint64(bytes) {
		bytes, source = int64(n), fromCgroup
	}
	return bytes, source
}

// goal returns Go's soft limit: nine tenths of the limit without what other memory holds.
// The last tenth is for what the Go runtime doesn't count, and for growth between two
// collections.
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

// operators is the operator's own setting of Go's soft limit, which Trident leaves as it is.
const operators = "GOMEMLIMIT"

// operatorsLimit returns Go's soft limit by the environment; ok is false where the
// environment has none.
func operatorsLimit() (bytes int64, ok bool) {
	if os.Getenv(operators) == "" {
		return 0, false
	}
	return debug.SetMemoryLimit(-1), true // the runtime has read it
}

// text is a size for people.
func text(bytes int64) string {
	if bytes == math.MaxInt64 {
		return "none"
	}
	return humanize.IBytesN(uint64(max(bytes, 0)), 3)
}
