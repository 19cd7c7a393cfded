package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// fault is one way in which Trident's world breaks.
type fault struct {
	name string
	// hold is how long it lasts.
	hold time.Duration
	// bound is in which time a request must learn that it failed, from the fault or
	// from its own begin; 0 where none may fail.
	bound time.Duration
	// recovery is when after the repair no request may fail any more.
	recovery time.Duration
	// kinds of requests that it may concern; nil for all.
	kinds []string
	// since is how long before it was noticed it may have begun.
	since time.Duration
	// own says that it is a fault of Trident's machine alone, wherever Triton runs.
	own bool
	// breaks says that Trident itself ends without a word.
	breaks       bool
	strike, mend func(ctx context.Context, f *fleet) error
}

// Bounds. The clock of a silence is coarse, a busy machine late.
const (
	atOnce  = 8 * time.Second
	silence = inactivity + inactivity/2 + atOnce
	soon    = 3 * time.Second
	// lostLimit is when a connection must have been found to be dead on which nothing
	// comes back, though nobody says so.
	lostLimit = 30 * time.Second
)

func faults() []fault {
	return []fault{
		{
			name: "tritonserver killed, away for 3 s", hold: 3 * time.Second, bound: atOnce, recovery: soon,
			strike: func(_ context.Context, f *fleet) error { f.triton.Kill(); return nil },
			mend:   func(ctx context.Context, f *fleet) error { return f.triton.Restart(ctx) },
		},
		{
			name: "tritonserver frozen for 12 s", hold: 12 * time.Second, bound: silence, recovery: soon,
			strike: func(_ context.Context, f *fleet) error { f.triton.Pause(); return nil },
			mend:   func(_ context.Context, f *fleet) error { f.triton.Resume(); return nil },
		},
		{
			name: "tritonserver restarted in order", bound: silence, recovery: soon,
			strike: func(ctx context.Context, f *fleet) error { return f.triton.Restart(ctx) },
		},
		{
			name: "Python model's process killed, loaded anew after 8 s", hold: 8 * time.Second, bound: silence, recovery: soon,
			kinds:  []string{kindPython},
			strike: func(_ context.Context, f *fleet) error { return f.signalStub(syscall.SIGKILL) }, mend: loadAnew,
		},
		{
			name: "network cut for 5 s", hold: 5 * time.Second, bound: atOnce, recovery: soon,
			strike: func(_ context.Context, f *fleet) error { f.network.set(refuses); f.network.cut(); return nil },
			mend:   func(_ context.Context, f *fleet) error { f.network.set(passes); return nil },
		},
		{
			name: "network stalled for 12 s", hold: 12 * time.Second, bound: silence, recovery: soon,
			strike: func(_ context.Context, f *fleet) error { f.network.set(stalls); return nil },
			mend:   func(_ context.Context, f *fleet) error { f.network.set(passes); return nil },
		},
		{
			name: "network dropping bytes for 8 s, then connections reset", hold: 8 * time.Second, bound: silence, recovery: soon,
			strike: func(_ context.Context, f *fleet) error { f.network.set(drops); return nil },
			mend:   func(_ context.Context, f *fleet) error { f.network.cut(); f.network.set(passes); return nil },
		},
		{
			name: "connections lost, which nobody closes", bound: silence, recovery: lostLimit,
			strike: func(_ context.Context, f *fleet) error { f.network.lose(); return nil },
		},
		{
			name: "disk of the log full for 8 s", hold: 8 * time.Second, own: true,
			strike: func(_ context.Context, f *fleet) error { return f.trident.fillDisk() },
			mend:   func(_ context.Context, f *fleet) error { return f.trident.limit(unix.RLIMIT_FSIZE, unix.RLIM_INFINITY) },
		},
		{
			name: "no file descriptors left for 8 s", hold: 8 * time.Second, own: true,
			strike: func(_ context.Context, f *fleet) error { return f.trident.useUpDescriptors() },
			mend:   func(_ context.Context, f *fleet) error { return f.trident.limit(unix.RLIMIT_NOFILE, manyDescriptors) },
		},
		{
			name: "no file descriptors left for 8 s, and the network cut", hold: 8 * time.Second, bound: atOnce, recovery: soon,
			strike: func(_ context.Context, f *fleet) error {
				err := f.trident.useUpDescriptors()
				f.network.cut()
				return err
			},
			mend: func(_ context.Context, f *fleet) error { return f.trident.limit(unix.RLIMIT_NOFILE, manyDescriptors) },
		},
		{
			name: "settings changed, spoilt and changed back", hold: 4 * time.Second, own: true,
			strike: changeSettings, mend: restoreSettings,
		},
	}
}

// localFaults are those of a Trident with Triton in its process, that has no network to
// lose, and brings a broken model back by itself.
func localFaults() []fault {
	list := []fault{
		{
			name: "Python model's process killed", hold: noticed, bound: silence, recovery: soon, kinds: []string{kindPython},
			strike: func(_ context.Context, f *fleet) error { return f.signalStub(syscall.SIGKILL) },
			mend:   func(ctx context.Context, f *fleet) error { return f.trident.awaitReady(ctx) },
		},
		{
			name: "Python model's process frozen", hold: silence, bound: silence, recovery: soon, kinds: []string{kindPython},
			strike: func(_ context.Context, f *fleet) error { return f.signalStub(syscall.SIGSTOP) },
			mend:   func(ctx context.Context, f *fleet) error { return f.trident.awaitReady(ctx) },
		},
		{
			name:   "all clients leave at once",
			strike: func(_ context.Context, f *fleet) error { f.dismiss(); return nil },
		},
	}
	for _, f := range faults() {
		if f.own {
			list = append(list, f)
		}
	}
	return list
}

// noticed is when Trident must know that a process of a model's has ended.
const noticed = time.Second

const manyDescriptors = 1 << 14

// limit sets a resource limit of the running Trident.
func (t *trident) limit(resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(t.pid(), resource, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(t.pid(), resource, &unix.Rlimit{Cur: min(value, old.Max), Max: old.Max}, nil)
}

// fillDisk lets every further write to the log fail, as a full disk does.
func (t *trident) fillDisk() error {
	log, err := os.Stat(t.logPath)
	if err != nil {
		return err
	}
	return t.limit(unix.RLIMIT_FSIZE, uint64(log.Size()))
}

// useUpDescriptors leaves Trident those that it has.
func (t *trident) useUpDescriptors() error {
	open, err := t.descriptors()
	if err != nil {
		return err
	}
	return t.limit(unix.RLIMIT_NOFILE, uint64(open))
}

// signalStub is for the process in which the Python model runs.
func (f *fleet) signalStub(signal syscall.Signal) error {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return err
	}
	for _, folder := range folders {
		command, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err != nil || !strings.Contains(string(command), "triton_python_backend_stub") || !strings.Contains(string(command), f.folder) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			return err
		}
		return syscall.Kill(pid, signal)
	}
	return errors.New("the Python model has no process")
}

// loadAnew does by Trident what brings back a model whose process died.
func loadAnew(ctx context.Context, f *fleet) error {
	c, err := newClients(f.trident.url, f.trident.native)
	if err != nil {
		return err
	}
	defer c.close() //nolint:errcheck // it has served
	if _, err := c.infer.RepositoryModelUnload(ctx, &kserve.RepositoryModelUnloadRequest{ModelName: "stream"}); err != nil {
		return fmt.Errorf("unload the Python model: %w", err)
	}
	if _, err := c.infer.RepositoryModelLoad(ctx, &kserve.RepositoryModelLoadRequest{ModelName: "stream"}); err != nil {
		return fmt.Errorf("load the Python model: %w", err)
	}
	return nil
}
