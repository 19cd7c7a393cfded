package main

import (
	"github.com/trident-inference/trident/services/memory"
)

// memoryFlags limit the memory.
type memoryFlags struct {
	MemoryLimit byteSize `placeholder:"SIZE" help:"Memory limit of Trident and its child processes, in bytes or with a unit such as 2GiB. It sets Go's soft memory limit and the point at which requests are refused. Default: the memory limit of the cgroup, or else the machine's memory."`
}

func (f *memoryFlags) config(inProcess bool) memory.Config {
	return memory.Config{Limit: int64(f.MemoryLimit), InProcess: inProcess}
}
