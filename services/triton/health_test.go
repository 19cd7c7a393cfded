package triton

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/logbuffer"
	"github.com/trident-inference/trident/test/pause"
)

const (
	deadEngineText   = "Error generating stream: EngineCore encountered an issue. See stack trace (above) for the root cause."
	healthCheckText  = "Failed to process the request(s) for model instance 'chat_0_0', message: PythonBackendException: explicit model load / unload is not allowed if polling is enabled\n\nAt:\n  /models/model.py(1): execute\n"
	testModel        = "chat"
	streamsUnderTest = 50
)

// killableServer is a tritonserver with one model, whose engine a test can kill. The server
// still reports the model as ready.
type killableServer struct {
	kserve.UnimplementedGRPCInferenceServiceServer

	explicit bool   // the server allows Trident to load models
	text     string // error of each request after the engine has ended

	mu           sync.Mutex
	dead         chan struct{} // closed when the engine ends
	state        inference.ModelState
	unresponsive bool
	frozen       bool // health checks of the server get no response
	calls        []string
}

func (m *killableServer) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.dead)
}

// restart makes the killed server ready again, as a supervisor does.
func (m *killableServer) restart() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead, m.state = make(chan struct{}), inference.ModelReady
}

func (m *killableServer) set(state inference.ModelState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
}

func (m *killableServer) control(call string, change func()) error {
	m.mu.Lock()
	m.calls = append(m.calls, call)
	m.mu.Unlock()
	if !m.explicit {
		return status.Error(codes.Unavailable, notExplicit)
	}
	change()
	return nil
}

func (m *killableServer) RepositoryModelUnload(context.Context, *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	return &kserve.RepositoryModelUnloadResponse{}, m.control("unload", func() { m.set(inference.ModelUnavailable) })
}

func (m *killableServer) RepositoryModelLoad(context.Context, *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	return &kserve.RepositoryModelLoadResponse{}, m.control("load", m.restart)
}

func (m *killableServer) RepositoryIndex(context.Context, *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &kserve.RepositoryIndexResponse{Models: []*indexRow{{Name: testModel, Version: "1", State: string(m.state)}}}, nil
}

func (*killableServer) ModelConfig(context.Context, *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	return &kserve.ModelConfigResponse{Config: &kserve.ModelConfig{Name: testModel}}, nil
}

func (m *killableServer) ServerLive(ctx context.Context, _ *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	m.mu.Lock()
	frozen := m.frozen
	m.mu.Unlock()
	if frozen {
		<-ctx.Done()
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return &kserve.ServerLiveResponse{Live: true}, nil
}

func (*killableServer) ServerReady(context.Context, *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return &kserve.ServerReadyResponse{Ready: true}, nil
}

func (*killableServer) ModelReady(context.Context, *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	return &kserve.ModelReadyResponse{Ready: true}, nil
}

// ModelStreamInfer responds to a request with the id "short" at once. Other requests get
// one response and then wait for the end of the engine.
func (m *killableServer) ModelStreamInfer(stream grpc.BidiStreamingServer[kserve.ModelInferRequest, kserve.ModelStreamInferResponse]) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	m.mu.Lock()
	dead, silent := m.dead, m.unresponsive
	m.mu.Unlock()
	send := func(final bool) error {
		return stream.Send(&kserve.ModelStreamInferResponse{InferResponse: &kserve.ModelInferResponse{
			Parameters: map[string]*kserve.InferParameter{"triton_final_response": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: final}}},
		}})
	}
	select {
	case <-dead:
		return stream.Send(&kserve.ModelStreamInferResponse{ErrorMessage: m.text})
	default:
	}
	switch {
	case silent:
		<-stream.Context().Done()
		return stream.Context().Err()
	case req.GetId() == "short":
		return send(true)
	}
	if err := send(false); err != nil {
		return err
	}
	select {
	case <-dead:
		return stream.Send(&kserve.ModelStreamInferResponse{ErrorMessage: m.text})
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
}

// serveKillable starts a server and an engine that uses it.
func serveKillable(t *testing.T, m *killableServer, change func(*Config)) (*Engine, *logbuffer.Buffer) {
	t.Helper()
	m.restart()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	kserve.RegisterGRPCInferenceServiceServer(server, m)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	config := Default()
	config.Endpoint = listener.Addr().String()
	if change != nil {
		change(&config)
	}
	log := &logbuffer.Buffer{}
	engine, err := New(config, slog.New(slog.NewTextHandler(log, nil)))
	if err == nil {
		err = engine.Start(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Stop(context.WithoutCancel(t.Context())) })
	return engine, log
}

// ask makes a request and returns its error. It calls begun at the first response.
func ask(ctx context.Context, e *Engine, id string, begun func()) error {
	for _, err := range e.Stream(ctx, &kserve.ModelInferRequest{ModelName: testModel, Id: id}) {
		if err != nil {
			return err
		}
		if begun != nil {
			begun()
			begun = nil
		}
	}
	return nil
}

// killUnderStreams kills the engine while streams are in flight, and checks that each
// one fails.
func killUnderStreams(t *testing.T, m *killableServer, engine *Engine) {
	t.Helper()
	var begun sync.WaitGroup
	ends := make(chan error, streamsUnderTest)
	for range streamsUnderTest {
		begun.Add(1)
		go func() { ends <- ask(t.Context(), engine, "long", begun.Done) }()
	}
	begun.Wait()
	m.kill()
	for range streamsUnderTest {
		err := <-ends
		failed := inference.AsError(err)
		if failed.Code != inference.CodeUnavailable || failed.RetryAfter <= 0 {
			t.Errorf("a stream ended by %v (%s)", err, failed.Code)
		}
	}
}

// until fails the test if a condition isn't met within 20 seconds.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	if !pause.Until(20*time.Second, met) {
		t.Fatalf("%s: not in 20 s", what)
	}
}

// TestDeadEngineIsLoadedAgain checks that Engine unloads and loads a model whose vLLM engine is
// dead, if tritonserver allows loading. The model then serves again.
func TestDeadEngineIsLoadedAgain(t *testing.T) {
	m := &killableServer{explicit: true, text: deadEngineText}
	engine, _ := serveKillable(t, m, nil)
	killUnderStreams(t, m, engine)
	until(t, "the model is back", func() bool { return ask(t.Context(), engine, "short", nil) == nil })
	if err := engine.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if got := strings.Join(m.calls, " "); got != "unload load" {
		t.Errorf("the server was asked for: %s", got)
	}
}

// TestLateEndOfAStream checks that Engine doesn't load a model a second time when a stream from
// before the reload ends late, with the error that its engine is dead.
func TestLateEndOfAStream(t *testing.T) {
	m := &killableServer{explicit: true, text: deadEngineText}
	engine, _ := serveKillable(t, m, nil)
	late := &stream{cancel: func(error) {}}
	model, err := engine.health.enter(testModel, late)
	if err != nil {
		t.Fatal(err)
	}
	killUnderStreams(t, m, engine)
	until(t, "the model is back", func() bool { return ask(t.Context(), engine, "short", nil) == nil })
	dead := &inference.Error{Code: inference.CodeInternal, Err: errors.New(deadEngineText)}
	if VerdictOn(dead) != DeadEngine {
		t.Fatal("the error doesn't mean that the engine is dead")
	}
	engine.health.leave(model, late, dead)
	if faults := engine.health.faults(); len(faults) != 0 {
		t.Errorf("broken models: %v", faults)
	}
	engine.health.end()
	m.mu.Lock()
	defer m.mu.Unlock()
	if got := strings.Join(m.calls, " "); got != "unload load" {
		t.Errorf("the server was asked for: %s", got)
	}
}

// TestDeadEngineIsShown checks that all methods of Engine report a model with a dead engine as not
// ready, if tritonserver doesn't allow loading. The reason has the remedy for an operator. The
// report ends when the model has been started again.
func TestDeadEngineIsShown(t *testing.T) {
	for name, text := range map[string]string{"by its words": deadEngineText, "by the health check": healthCheckText} {
		t.Run(name, func(t *testing.T) {
			m := &killableServer{text: text}
			engine, _ := serveKillable(t, m, nil)
			killUnderStreams(t, m, engine)
			until(t, "it is known that nothing can be loaded", func() bool { return strings.Contains(engine.health.faults()[testModel], byHand) })
			failed := inference.AsError(ask(t.Context(), engine, "short", nil))
			if failed.Code != inference.CodeUnavailable || failed.Reason != inference.ReasonModelNotReady || failed.RetryAfter <= 0 || !strings.Contains(failed.Message, byHand) {
				t.Errorf("a request gets %#v", failed)
			}
			if ready := inference.AsError(engine.Ready(t.Context())); ready.Reason != inference.ReasonModelNotReady || !strings.Contains(ready.Message, deadText) {
				t.Errorf("readiness: %v", ready)
			}
			models, err := engine.Models(t.Context())
			if err != nil || len(models) != 1 || models[0].State != inference.ModelUnavailable || !models[0].Recovering || !strings.Contains(models[0].Reason, byHand) {
				t.Errorf("models %+v, %v", models, err)
			}
			if answer, err := engine.ModelReady(t.Context(), &kserve.ModelReadyRequest{Name: testModel}); err != nil || answer.GetReady() {
				t.Errorf("ready %v, %v", answer, err)
			}
			if index, err := engine.RepositoryIndex(t.Context(), &kserve.RepositoryIndexRequest{Ready: true}); err != nil || len(index.GetModels()) != 0 {
				t.Errorf("ready models %v, %v", index, err)
			}
			m.set(inference.ModelLoading)
			time.AfterFunc(2*healthPoll, m.restart)
			until(t, "the model is sound", func() bool { return engine.Ready(t.Context()) == nil })
			if err := ask(t.Context(), engine, "short", nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestUnresponsiveModel checks that Engine reloads a model after MaxUnanswered requests in a row
// without a response, and that the model then responds.
func TestUnresponsiveModel(t *testing.T) {
	m := &killableServer{explicit: true}
	engine, _ := serveKillable(t, m, func(c *Config) {
		c.FirstResponse, c.Inactivity = 200*time.Millisecond, 200*time.Millisecond
	})
	m.unresponsive = true
	for range MaxUnanswered {
		if err := ask(t.Context(), engine, "long", nil); inference.AsError(err).Reason != inference.ReasonInactive {
			t.Fatalf("a request without an answer ends by %v", err)
		}
	}
	m.mu.Lock()
	m.unresponsive = false
	m.mu.Unlock()
	until(t, "the model was loaded again", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return strings.Join(m.calls, " ") == "unload load"
	})
	until(t, "it answers", func() bool { return ask(t.Context(), engine, "short", nil) == nil })
}

// TestFrozenServer checks that models of a server that fails health checks aren't marked as
// broken, and that they answer when the server continues.
func TestFrozenServer(t *testing.T) {
	m := &killableServer{explicit: true}
	engine, log := serveKillable(t, m, func(c *Config) {
		c.FirstResponse, c.Inactivity = 200*time.Millisecond, 200*time.Millisecond
	})
	m.unresponsive, m.frozen = true, true
	for range MaxUnanswered {
		if err := ask(t.Context(), engine, "long", nil); inference.AsError(err).Code != inference.CodeUnavailable && inference.AsError(err).Reason != inference.ReasonInactive {
			t.Fatalf("a request without an answer ends by %v", err)
		}
	}
	until(t, "the server was asked", func() bool {
		engine.health.mu.Lock()
		defer engine.health.mu.Unlock()
		return engine.health.away
	})
	var asked sync.WaitGroup
	for range MaxUnanswered { // these requests start before the server continues, and get no response
		asked.Go(func() { _ = ask(t.Context(), engine, "long", nil) })
	}
	until(t, "they are under way", func() bool {
		engine.health.mu.Lock()
		defer engine.health.mu.Unlock()
		return len(engine.health.models[testModel].streams) == MaxUnanswered
	})
	m.mu.Lock()
	m.frozen = false
	m.mu.Unlock()
	asked.Wait()
	until(t, "the server answers", func() bool {
		engine.health.mu.Lock()
		defer engine.health.mu.Unlock()
		return !engine.health.away
	})
	m.mu.Lock()
	m.unresponsive = false
	m.mu.Unlock()
	if err := ask(t.Context(), engine, "short", nil); err != nil {
		t.Errorf("the server goes on, but its model: %v", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.calls) > 0 {
		t.Errorf("the model was brought back by %v", m.calls)
	}
	if strings.Contains(log.String(), "model failed") {
		t.Errorf("the log says %s", log)
	}
}

// TestTrial checks that Engine lets a trial request through to a broken model after trialPause. If
// it succeeds, the model is ready again, before the next check of tritonserver's index.
func TestTrial(t *testing.T) {
	m := &killableServer{text: deadEngineText}
	engine, _ := serveKillable(t, m, nil)
	m.kill()
	if err := ask(t.Context(), engine, "short", nil); inference.AsError(err).Code != inference.CodeUnavailable {
		t.Fatal(err)
	}
	until(t, "it is known that nothing can be loaded", func() bool { return strings.Contains(engine.health.faults()[testModel], byHand) })
	m.restart()
	if err := ask(t.Context(), engine, "short", nil); err == nil {
		t.Fatal("a request was let through at once")
	}
	engine.health.mu.Lock()
	engine.health.models[testModel].trial = time.Now().Add(-trialPause)
	engine.health.mu.Unlock()
	if err := ask(t.Context(), engine, "short", nil); err != nil {
		t.Fatal(err)
	}
	if err := engine.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestUnusedModelHealthIsDeleted checks that Engine deletes the health state of a model after its
// last request. Requests for invented model names therefore use no memory permanently.
func TestUnusedModelHealthIsDeleted(t *testing.T) {
	m := &killableServer{}
	engine, _ := serveKillable(t, m, nil)
	if err := ask(t.Context(), engine, "short", nil); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if n := len(engine.health.models); n != 0 {
		t.Errorf("%d models are kept", n)
	}
}
