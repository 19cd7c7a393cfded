package main

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/memory"
)

func TestMemoryFlags(t *testing.T) {
	for given, want := range map[string]int64{
		"": 0, "--memory-limit=2GiB": 2 << 30, "--memory-limit=2Gi": 2 << 30, "--memory-limit=2GB": 2e9, "--memory-limit=3000000000": 3e9,
		"--memory-limit=1.5 GiB": 3 << 29,
	} {
		got, err := parse(strings.Fields(strings.ReplaceAll(given, " ", ""))...)
		if err != nil || got.Memory != (memory.Config{Limit: want, Names: got.Memory.Names}) {
			t.Errorf("%q: %+v, %v", given, got.Memory, err)
		}
	}
	t.Setenv("TRIDENT_MEMORY_LIMIT", "4GiB")
	got, err := parse("--model-repository=/models")
	if err != nil || got.Memory != (memory.Config{Limit: 4 << 30, InProcess: true, Names: got.Memory.Names}) {
		t.Errorf("by the environment, with Triton in the process: %+v, %v", got.Memory, err)
	}
	for flag, message := range map[string]string{
		"--memory-limit=100MiB": "--memory-limit: 100 MiB is too small for the server: give 128 MiB or more",
		"--memory-limit=0":      `"0" isn't a size: write a number of bytes, or a number with a unit such as 2GiB`,
		"--memory-limit=-1":     `"-1" isn't a size`,
		"--memory-limit=2 gigs": `"2 gigs" isn't a size`,
		"--memory-limit=9EiB":   `"9EiB" isn't a size`,
	} {
		if _, err := parse(flag); err == nil || !strings.Contains(err.Error(), message) || !strings.Contains(err.Error(), "--memory-limit") {
			t.Errorf("%q: %v", flag, err)
		}
	}
}
