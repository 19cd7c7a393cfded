package main

import (
	"fmt"
	"math"

	"github.com/dustin/go-humanize"

	"github.com/trident-inference/trident/services/memory"
)

// memoryFlags limit the memory.
type memoryFlags struct {
	MemoryLimit byteSize `placeholder:"SIZE" help:"Memory limit of Trident and its child processes, in bytes or with a unit such as 2GiB. It sets Go's soft memory limit and the point at which requests are refused. Default: the memory limit of the cgroup, or else the machine's memory."`
}

func (f *memoryFlags) config(inProcess bool) memory.Config {
	return memory.Config{Limit: int64(f.MemoryLimit), InProcess: inProcess}
}

// byteSize is a positive number of bytes, or 0 if unset.
type byteSize int64

// MarshalText returns the number of bytes, or an empty text if unset.
func (s byteSize) MarshalText() ([]byte, error) { //nolint:unparam // the interface requires an error
	if s == 0 {
		return nil, nil
	}
	return fmt.Appendf(nil, "%d", int64(s)), nil
}

// UnmarshalText reads a number of bytes with an optional unit.
func (s *byteSize) UnmarshalText(text []byte) error {
	n, err := humanize.ParseBytes(string(text))
	if err != nil || n == 0 || n > math.MaxInt64 {
		return fmt.Errorf("%q isn't a size: write a number of bytes, or a number with a unit such as 2GiB", text)
	}
	*s = byteSize(n)
	return nil
}
