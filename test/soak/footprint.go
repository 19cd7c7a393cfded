package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// footprint is the goroutines, the descriptors and the memory that a Trident process uses.
type footprint struct {
	goroutines, descriptors int
	heap, resident          int // sizes in bytes; resident excludes the memory that Go's heap is about to release
}

const mebibyte = 1 << 20

func (f footprint) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, heap %.1f MiB, resident %.1f MiB",
		f.goroutines, f.descriptors, float64(f.heap)/mebibyte, float64(f.resident)/mebibyte)
}

// Growth that is no leak: some goroutines and descriptors of connections that are just ending, and
// memory that the collector hasn't released yet.
const (
	maxGrowth     = 10
	maxHeapGrowth = 16 * mebibyte
)

// grown lists the resources of which f has more than before. died is the number of Python model
// processes that died in in-process Triton. For each of them Triton 2.51 leaks resources, including
// a descriptor of its shared memory.
func (f footprint) grown(before footprint, died int) []string {
	var list []string
	for _, part := range []struct {
		name             string
		had, has, atMost int
	}{
		{"goroutines", before.goroutines, f.goroutines, before.goroutines + maxGrowth},
		{"descriptors", before.descriptors, f.descriptors, before.descriptors + maxGrowth + died},
		{"bytes of heap", before.heap, f.heap, before.heap + maxHeapGrowth},
		{"bytes resident", before.resident, f.resident, before.resident + before.resident/2},
	} {
		if part.has > part.atMost {
			list = append(list, fmt.Sprintf("leak: %[2]s grew from %[1]d to %[3]d", part.had, part.name, part.has))
		}
	}
	return list
}

func goroutineTotal() *regexp.Regexp { return regexp.MustCompile(`goroutine profile: total (\d+)`) }
func heapAlloc() *regexp.Regexp      { return regexp.MustCompile(`# HeapAlloc = (\d+)`) }
func heapIdle() *regexp.Regexp       { return regexp.MustCompile(`# HeapIdle = (\d+)`) }
func heapReleased() *regexp.Regexp   { return regexp.MustCompile(`# HeapReleased = (\d+)`) }
func residentSize() *regexp.Regexp   { return regexp.MustCompile(`VmRSS:\s+(\d+) kB`) }

// footprint measures an idle Trident after a garbage collection.
func (t *trident) footprint(ctx context.Context) (footprint, error) {
	var f footprint
	var idle, released int // bytes of Go's heap; the difference is garbage that the kernel gets back gradually
	heap, err := t.profile(ctx, "heap?gc=1&debug=1")
	if err != nil {
		return f, err
	}
	goroutines, err := t.profile(ctx, "goroutine?debug=1")
	if err != nil {
		return f, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.pid()))
	if err != nil {
		return f, err
	}
	if f.descriptors, err = t.descriptors(); err != nil {
		return f, err
	}
	for _, value := range []struct {
		to      *int
		pattern *regexp.Regexp
		text    string
		unit    int
	}{
		{&f.goroutines, goroutineTotal(), goroutines, 1},
		{&f.heap, heapAlloc(), heap, 1},
		{&idle, heapIdle(), heap, 1},
		{&released, heapReleased(), heap, 1},
		{&f.resident, residentSize(), string(status), 1 << 10},
	} {
		found := value.pattern.FindStringSubmatch(value.text)
		if found == nil {
			return f, fmt.Errorf("no match for %s in %.200s", value.pattern, value.text)
		}
		n, err := strconv.Atoi(found[1])
		if err != nil {
			return f, err
		}
		*value.to = n * value.unit
	}
	f.resident -= idle - released
	return f, nil
}

func (t *trident) descriptors() (int, error) {
	open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", t.pid()))
	return len(open), err
}

func (t *trident) profile(ctx context.Context, name string) (string, error) {
	return get(ctx, strings.TrimSuffix(t.profiles, "/")+"/"+name)
}
