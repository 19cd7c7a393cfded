// Package tritontest has the suite of tests that every engine must pass, the
// suite's models, and an in-memory tritonserver. Starting a real tritonserver
// belongs to package tritonserver.
package tritontest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/triton/extension"
	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// Repository returns the directory of the suite's models in the source tree.
func Repository(tb testing.TB) string {
	tb.Helper()
	root, err := tritonserver.SourceRoot()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(root, "test", "models")
}

// ExtensionRepository returns the directory of the models for the tests of
// Triton's extensions.
func ExtensionRepository(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(filepath.Dir(Repository(tb)), "models-ext")
}

// KServeRepository returns the directory of the models for the tests of KServe's
// stream rules.
func KServeRepository(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(filepath.Dir(Repository(tb)), "models-kserve")
}

// Fake is an in-memory server that responds as tritonserver 2.51 does,
// with the suite's models written in Go. It reads their configurations from
// [Repository]. It refuses the requests that tritonserver refuses, with
// tritonserver's messages.
type Fake struct {
	kserve.UnimplementedGRPCInferenceServiceServer
	configs atomic.Pointer[map[string]*kserve.ModelConfig]
	address string
	gate    gate
	shared  *streamModel // records of the model stream that several fakes share; nil for its own

	mu     sync.Mutex
	counts map[string]uint64 // number of served requests by model
	stream *streamModel
	set    settings
	server *grpc.Server
	served chan struct{} // closed when the server has ended
}

// settings has the trace and log settings of a running fake tritonserver, which requests can
// change.
type settings struct {
	traces *extension.Traces
	logs   *extension.Logs
}

func (f *Fake) settings() settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.set
}

// NewFake starts a fake on a free loopback port. The fake ends with the test.
func NewFake(tb testing.TB) *Fake {
	tb.Helper()
	return startFake(tb, &Fake{})
}

// NewFakes starts several fakes as [NewFake] does, which share the records of the model stream: a
// request for a record may go to any of them.
func NewFakes(tb testing.TB, count int) Fakes {
	tb.Helper()
	records := &streamModel{records: make(map[string]record)}
	fakes := make(Fakes, count)
	for i := range fakes {
		fakes[i] = startFake(tb, &Fake{shared: records})
	}
	return fakes
}

// NewFakeHosts starts fakes as [NewFakes] does, on loopback addresses of their own and the same
// port.
func NewFakeHosts(tb testing.TB, count int) Fakes {
	tb.Helper()
	records, port := &streamModel{records: make(map[string]record)}, "0"
	fakes := make(Fakes, count)
	for i := range fakes {
		fakes[i] = startFake(tb, &Fake{shared: records, address: net.JoinHostPort(fmt.Sprint("127.0.0.", i+1), port)})
		_, port, _ = net.SplitHostPort(fakes[i].Address()) // the listener's address has a port
	}
	return fakes
}

// Fakes are several fakes, which a [Server] of the suite controls together.
type Fakes []*Fake

// Addresses returns the addresses of all fakes.
func (f Fakes) Addresses() []string {
	list := make([]string, len(f))
	for i := range f {
		list[i] = f[i].Address()
	}
	return list
}

// Kill ends all servers at once.
func (f Fakes) Kill() { f.each((*Fake).Kill) }

// Pause stops all responses of all servers.
func (f Fakes) Pause() { f.each((*Fake).Pause) }

// Resume continues the responses after Pause.
func (f Fakes) Resume() { f.each((*Fake).Resume) }

// Restart starts all servers again.
func (f Fakes) Restart(ctx context.Context) error {
	var errs []error
	f.each(func(one *Fake) { errs = append(errs, one.Restart(ctx)) })
	return errors.Join(errs...)
}

func (f Fakes) each(do func(*Fake)) {
	for _, one := range f {
		do(one)
	}
}

func startFake(tb testing.TB, f *Fake) *Fake {
	tb.Helper()
	configs := readConfigs(tb)
	f.configs.Store(&configs)
	f.address, f.gate = cmp.Or(f.address, "127.0.0.1:0"), newGate()
	if err := f.Restart(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		f.Resume()
		f.Kill()
	})
	return f
}

func readConfigs(tb testing.TB) map[string]*kserve.ModelConfig {
	tb.Helper()
	configs := make(map[string]*kserve.ModelConfig)
	for _, name := range []string{"echo", "stream"} {
		text, err := os.ReadFile(filepath.Join(Repository(tb), name, "config.pbtxt"))
		if err != nil {
			tb.Fatal(err)
		}
		config := &kserve.ModelConfig{Name: name}
		if err := (prototext.UnmarshalOptions{}).Unmarshal(text, config); err != nil {
			tb.Fatalf("config of %s: %v", name, err)
		}
		config.Name = name
		configs[name] = config
	}
	return configs
}

// models returns the configurations of the models by name.
func (f *Fake) models() map[string]*kserve.ModelConfig { return *f.configs.Load() }

// SetModel changes the configuration of a model, or removes the model if config is nil, as a
// repository that is changed does.
func (f *Fake) SetModel(name string, config *kserve.ModelConfig) {
	changed := maps.Clone(f.models())
	if changed[name] = config; config == nil {
		delete(changed, name)
	}
	f.configs.Store(&changed)
}

// Model returns a copy of the configuration of a model.
func (f *Fake) Model(name string) *kserve.ModelConfig {
	config, _ := proto.Clone(f.models()[name]).(*kserve.ModelConfig)
	return config
}

// Served returns the number of requests of a model that the fake has served since its start.
func (f *Fake) Served(model string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.counts[model])
}

// Address returns the host:port of the gRPC service, which stays the same after
// restarts.
func (f *Fake) Address() string { return f.address }

// Restart starts the server again, with models in their initial state.
func (f *Fake) Restart(ctx context.Context) error {
	f.Kill()
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", f.address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	const noLimit = 1<<31 - 1
	server := grpc.NewServer(grpc.MaxRecvMsgSize(noLimit), grpc.WaitForHandlers(true))
	kserve.RegisterGRPCInferenceServiceServer(server, f)
	served := make(chan struct{})

	f.mu.Lock()
	defer f.mu.Unlock()
	f.address = listener.Addr().String()
	f.server, f.served = server, served
	f.set.traces = extension.NewTraces(extension.TraceConfig{File: traceFile, Rate: 1000, Count: -1}, slog.New(slog.DiscardHandler))
	f.set.logs = extension.NewLogs(extension.LogValues{Info: true, Warning: true, Error: true, Format: extension.LogFormatDefault},
		func(extension.LogValues) error { return nil })
	if f.counts, f.stream = make(map[string]uint64), f.shared; f.stream == nil {
		f.stream = &streamModel{records: make(map[string]record)}
	}
	go func() {
		defer close(served)
		_ = server.Serve(listener) // Kill ends it
	}()
	return nil
}

// Kill ends the server at once and breaks its connections.
func (f *Fake) Kill() {
	f.mu.Lock()
	server, served := f.server, f.served
	f.server = nil
	f.mu.Unlock()
	if server != nil {
		server.Stop()
		<-served
	}
}

// Pause stops all responses of the server. Its connections stay open.
func (f *Fake) Pause() { f.gate.close() }

// Resume continues the responses after Pause.
func (f *Fake) Resume() { f.gate.open() }

// gate blocks responses while it is closed.
type gate struct {
	mu   *sync.Mutex
	pass chan struct{} // closed while the gate is open
}

func newGate() gate {
	g := gate{mu: new(sync.Mutex), pass: make(chan struct{})}
	close(g.pass)
	return g
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pass = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.pass:
	default:
		close(g.pass)
	}
}

func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	pass := g.pass
	g.mu.Unlock()
	select {
	case <-pass:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
