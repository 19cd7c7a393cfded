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

// fault is a kind of failure that the test injects.
type fault struct {
	name string
	// hold is the time between the injection and the repair of the fault.
	hold time.Duration
	// bound is the time in which a request must get its error, from the fault or from the request's
	// start. It is 0 if no request may fail.
	bound time.Duration
	// recovery is the time after the repair from which no request may fail.
	recovery time.Duration
	// kinds are the kinds of requests that the fault may affect; nil for all kinds.
	kinds []string
	// since is the maximum time between the start of the fault and its detection.
	since time.Duration
	// own reports whether the fault concerns only Trident's machine, wherever Triton runs.
	own bool
	// breaks reports whether Trident itself ends without closing its responses.
	breaks        bool
	apply, repair func(ctx context.Context, f *fleet) error
}

// Bounds on the time for which a fault affects requests. The inactivity timeout has a coarse clock,
// and a busy machine adds delays.
const (
	atOnce          = 8 * time.Second
	inactivityBound = inactivity + inactivity/2 + atOnce
	shortRecovery   = 3 * time.Second
	// lostLimit is the time in which a connection that silently drops everything must be detected
	// as dead.
	lostLimit = 30 * time.Second
)

func faults() []fault {
	return []fault{
		{
			name: "tritonserver killed, away for 3 s", hold: 3 * time.Second, bound: atOnce, recovery: shortRecovery,
			apply:  func(_ context.Context, f *fleet) error { f.triton.Kill(); return nil },
			repair: func(ctx context.Context, f *fleet) error { return f.triton.Restart(ctx) },
		},
		{
			name: "tritonserver frozen for 12 s", hold: 12 * time.Second, bound: inactivityBound, recovery: shortRecovery,
			apply:  func(_ context.Context, f *fleet) error { f.triton.Pause(); return nil },
			repair: func(_ context.Context, f *fleet) error { f.triton.Resume(); return nil },
		},
		{
			name: "tritonserver stopped and started again", bound: inactivityBound, recovery: shortRecovery,
			apply: func(ctx context.Context, f *fleet) error { return f.triton.Restart(ctx) },
		},
		{
			name: "Python model's process killed, model loaded again after 8 s", hold: 8 * time.Second, bound: inactivityBound, recovery: shortRecovery,
			kinds: []string{kindPython},
			apply: func(_ context.Context, f *fleet) error { return f.signalStub(syscall.SIGKILL) }, repair: loadAnew,
		},
		{
			name: "network cut for 5 s", hold: 5 * time.Second, bound: atOnce, recovery: shortRecovery,
			apply:  func(_ context.Context, f *fleet) error { f.network.set(linkRefuses); f.network.cut(); return nil },
			repair: func(_ context.Context, f *fleet) error { f.network.set(linkPasses); return nil },
		},
		{
			name: "network stalled for 12 s", hold: 12 * time.Second, bound: inactivityBound, recovery: shortRecovery,
			apply:  func(_ context.Context, f *fleet) error { f.network.set(linkStalls); return nil },
			repair: func(_ context.Context, f *fleet) error { f.network.set(linkPasses); return nil },
		},
		{
			name: "network dropping bytes for 8 s, then connections reset", hold: 8 * time.Second, bound: inactivityBound, recovery: shortRecovery,
			apply:  func(_ context.Context, f *fleet) error { f.network.set(linkDrops); return nil },
			repair: func(_ context.Context, f *fleet) error { f.network.cut(); f.network.set(linkPasses); return nil },
		},
		{
			name: "connections lost without being closed", bound: inactivityBound, recovery: lostLimit,
			apply: func(_ context.Context, f *fleet) error { f.network.lose(); return nil },
		},
		{
			name: "disk of the log full for 8 s", hold: 8 * time.Second, own: true,
			apply:  func(_ context.Context, f *fleet) error { return f.trident.fillDisk() },
			repair: func(_ context.Context, f *fleet) error { return f.trident.limit(unix.RLIMIT_FSIZE, unix.RLIM_INFINITY) },
		},
		{
			name: "no file descriptors left for 8 s", hold: 8 * time.Second, own: true,
			apply:  func(_ context.Context, f *fleet) error { return f.trident.useUpDescriptors() },
			repair: func(_ context.Context, f *fleet) error { return f.trident.limit(unix.RLIMIT_NOFILE, manyDescriptors) },
		},
		{
			name: "no file descriptors left for 8 s, and the network cut", hold: 8 * time.Second, bound: atOnce, recovery: shortRecovery,
			apply: func(_ context.Context, f *fleet) error {
				err := f.trident.useUpDescriptors()
				f.network.cut()
				return err
			},
			repair: func(_ context.Context, f *fleet) error { return f.trident.limit(unix.RLIMIT_NOFILE, manyDescriptors) },
		},
		{
			name: "settings changed, made invalid and restored", hold: 4 * time.Second, own: true,
			apply: changeSettings, repair: restoreSettings,
		},
	}
}

// localFaults returns the faults of a Trident with in-process Triton. It has no network to lose,
// and restarts a broken model by itself.
func localFaults() []fault {
	list := []fault{
		{
			name: "Python model's process killed", hold: detectionLimit, bound: inactivityBound, recovery: shortRecovery, kinds: []string{kindPython},
			apply:  func(_ context.Context, f *fleet) error { return f.signalStub(syscall.SIGKILL) },
			repair: func(ctx context.Context, f *fleet) error { return f.trident.awaitReady(ctx) },
		},
		{
			name: "Python model's process frozen", hold: inactivityBound, bound: inactivityBound, recovery: shortRecovery, kinds: []string{kindPython},
			apply:  func(_ context.Context, f *fleet) error { return f.signalStub(syscall.SIGSTOP) },
			repair: func(ctx context.Context, f *fleet) error { return f.trident.awaitReady(ctx) },
		},
		{
			name:  "all clients disconnect at once",
			apply: func(_ context.Context, f *fleet) error { f.dismiss(); return nil },
		},
	}
	for _, f := range faults() {
		if f.own {
			list = append(list, f)
		}
	}
	return list
}

// detectionLimit is the time in which Trident must detect the end of a model's process.
const detectionLimit = time.Second

const manyDescriptors = 1 << 14

// limit sets a resource limit of the running Trident.
func (t *trident) limit(resource int, value uint64) error {
	var old unix.Rlimit
	if err := unix.Prlimit(t.pid(), resource, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(t.pid(), resource, &unix.Rlimit{Cur: min(value, old.Max), Max: old.Max}, nil)
}

// fillDisk makes all further writes to the log fail, as a full disk does.
func (t *trident) fillDisk() error {
	log, err := os.Stat(t.logPath)
	if err != nil {
		return err
	}
	return t.limit(unix.RLIMIT_FSIZE, uint64(log.Size()))
}

// useUpDescriptors limits Trident to the file descriptors that it has open.
func (t *trident) useUpDescriptors() error {
	open, err := t.descriptors()
	if err != nil {
		return err
	}
	return t.limit(unix.RLIMIT_NOFILE, uint64(open))
}

// signalStub sends a signal to the process in which the Python model runs.
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

// loadAnew restores a model whose process died: it unloads and loads the model through Trident.
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
