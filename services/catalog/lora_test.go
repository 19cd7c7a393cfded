package catalog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/tokenizer"
)

// adapterLibrary is a library of adapters. The weights of each are one row with the first letter of its
// name.
type adapterLibrary struct {
	fakeLibrary

	mu        sync.Mutex
	reads     int
	err       error
	noWeights bool          // the weights aren't available
	slow      chan struct{} // reads wait until this channel is closed; nil for no wait
}

func (w *adapterLibrary) LoRAPath(model, _, name string) (string, error) {
	if w.err != nil || w.noWeights {
		return "", w.err
	}
	return "/repository/" + model + "/" + name, nil
}

func (w *adapterLibrary) LoRAWeights(_, _, name string) (*inference.LoRAWeights, error) {
	if w.slow != nil {
		<-w.slow
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if w.err != nil || w.noWeights {
		return nil, w.err
	}
	return &inference.LoRAWeights{Rows: 1, Width: 1, Columns: 3, Weights: []byte{name[0], 0}, Config: make([]byte, 12)}, nil
}

// loraEngine behaves like TensorRT-LLM's executor with adapters: it keeps some, and refuses
// requests for those that it lacks.
type loraEngine struct {
	*inferencetest.Engine

	models *catalog.Catalog

	mu       sync.Mutex
	capacity int
	kept     []uint64
	log      []string      // received requests: the id of the adapter, and the letter of its weights or -
	first    chan struct{} // the first response waits until this channel is closed; nil for no wait
	idle     bool          // keep-alives precede the response
	fault    error         // sent after the first response
}

const noLoRA = "LoRA task %d not found in cache. Please send LoRA weights with request"

func (e *loraEngine) run(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	var id uint64
	letter := "-"
	for i, in := range req.GetInputs() {
		switch raw := req.GetRawInputContents()[i]; in.GetName() {
		case "lora_task_id":
			id = binary.LittleEndian.Uint64(raw)
		case "lora_weights":
			letter = string(raw[:1])
		}
	}
	inference.Sent(ctx)
	if (letter != "-") != (req.GetRawInputContents() == nil) {
		return errors.New("weights are let go once they were sent, and nothing else is")
	}
	if err := e.take(id, letter); id != 0 && err != nil {
		if e.idle {
			send(&inference.Response{Idle: true})
		}
		return &inference.Error{Code: inference.CodeInternal, Message: err.Error()}
	}
	if e.first != nil {
		select {
		case <-e.first:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if e.idle {
		send(&inference.Response{Idle: true})
	}
	send(&inference.Response{Outputs: []inference.Output{inferencetest.Bytes("text_output", "a")}})
	if e.fault != nil {
		return e.fault
	}
	send(&inference.Response{Final: true, Outputs: []inference.Output{inferencetest.Bytes("text_output", "b")}})
	return nil
}

func (e *loraEngine) take(id uint64, letter string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = append(e.log, fmt.Sprint(id, letter))
	if slices.Contains(e.kept, id) {
		return nil
	}
	if letter == "-" || e.capacity == 0 {
		return fmt.Errorf(noLoRA, id)
	}
	if e.kept = append(e.kept, id); len(e.kept) > e.capacity {
		e.kept = e.kept[1:]
	}
	return nil
}

// sent returns the log since the last call: letters of weights, and - for ids without weights.
func (e *loraEngine) sent() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	for _, line := range e.log {
		b.WriteString(line[len(line)-1:])
	}
	e.log = nil
	return b.String()
}

func loraConfig(name, loras string, inputs ...string) *kserve.ModelConfig {
	config := &kserve.ModelConfig{Name: name, ModelTransactionPolicy: &kserve.ModelTransactionPolicy{Decoupled: true}, Parameters: map[string]*kserve.ModelParameter{}}
	if loras != "" {
		config.Parameters["trident.loras"] = &kserve.ModelParameter{StringValue: loras}
	}
	config.Input = []*kserve.ModelInput{{Name: "text_input", Dims: []int64{1}, DataType: kserve.DataType_TYPE_STRING}, {Name: "stream", Dims: []int64{1}, DataType: kserve.DataType_TYPE_BOOL, Optional: true}}
	types := map[string]kserve.DataType{"lora_weights": kserve.DataType_TYPE_FP16, "lora_config": kserve.DataType_TYPE_INT32}
	for _, in := range inputs {
		config.Input = append(config.Input, &kserve.ModelInput{Name: in, Dims: []int64{-1, -1}, DataType: types[in], Optional: true})
	}
	config.Output = []*kserve.ModelOutput{{Name: "text_output"}}
	return config
}

var byID, byPath = []string{"lora_task_id", "lora_weights", "lora_config"}, []string{"lora_id", "lora_name", "lora_path"}

// newLoRAService returns a service over an engine with room for some adapters.
func newLoRAService(t *testing.T, library inference.Library, engine *loraEngine, configs ...*kserve.ModelConfig) *serving.Service {
	t.Helper()
	engine.Engine = inferencetest.New()
	for _, config := range configs {
		engine.AddOther(config.GetName(), config, engine.run)
	}
	models := catalog.New(catalog.Config{LoRASeparator: ":"}, []inference.Engine{engine.Engine}, contracts.All(contracts.Config{}), tokenizer.NewFolders(), slog.New(slog.DiscardHandler))
	models.Consult(library, nil)
	engine.models = models
	service, err := serving.New(serving.Config{}, models, nil)
	if err != nil {
		t.Fatal(err)
	}
	models.Start()
	t.Cleanup(models.Stop)
	return service
}

func askAdapter(ctx context.Context, s *serving.Service, model string, n int) *inferencetest.Answer {
	return inferencetest.Collect(ctx, s, &inference.Request{Model: model, Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "hello"}}, N: n, Stream: true})
}

func TestAdaptersAreSentOnce(t *testing.T) {
	library, engine := &adapterLibrary{}, &loraEngine{capacity: 2, idle: true}
	s := newLoRAService(t, library, engine, loraConfig("m", "doll,sheep,cow", byID...))
	for _, tt := range []struct{ name, model, sent string }{
		{"the first time", "m:doll", "d"},
		{"then the number alone", "m:doll", "-"},
		{"another one", "m:sheep", "s"},
		{"no adapter", "m", "-"},
		{"a third one puts out the first", "m:cow", "c"},
		{"which is sent again", "m:doll", "-d"},
		{"and stays", "m:doll", "-"},
		{"as the second is", "m:sheep", "-s"},
	} {
		if a := askAdapter(t.Context(), s, tt.model, 1); a.Err != nil || a.Texts[0] != "ab" {
			t.Errorf("%s: %v, %v", tt.name, a.Texts, a.Err)
		}
		if sent := engine.sent(); sent != tt.sent {
			t.Errorf("%s: sent %s, want %s", tt.name, sent, tt.sent)
		}
	}
	if library.reads != 5 {
		t.Errorf("%d reads", library.reads)
	}
}

// TestAdapterIDs checks that the number of an adapter is the same in each process, differs
// between models and adapters, and is the configured one if the operator set it.
func TestAdapterIDs(t *testing.T) {
	seen := map[string]string{}
	for range 2 {
		engine := &loraEngine{capacity: 9}
		s := newLoRAService(t, &adapterLibrary{}, engine, loraConfig("m", "doll,sheep,cow=7", byID...), loraConfig("n", "doll", byID...))
		for _, model := range []string{"m:doll", "m:sheep", "m:cow", "n:doll"} {
			if a := askAdapter(t.Context(), s, model, 1); a.Err != nil {
				t.Fatal(a.Err)
			}
			id := engine.log[len(engine.log)-1]
			if seen[model] != "" && seen[model] != id {
				t.Errorf("%s was %s, is %s", model, seen[model], id)
			}
			seen[model] = id
		}
	}
	if seen["m:cow"] != "7c" || seen["m:doll"] == seen["n:doll"] || seen["m:doll"][:4] == seen["m:sheep"][:4] || len(seen["m:doll"]) < 18 {
		t.Errorf("got %v", seen)
	}
}

func TestUnavailableAdapters(t *testing.T) {
	secret := errors.New("/secret/path is gone")
	for _, tt := range []struct {
		name    string
		library *adapterLibrary
		room    int
		config  *kserve.ModelConfig
		code    inference.Code
		message string
		sent    string
	}{
		{"unlisted where nobody knows", &adapterLibrary{}, 1, loraConfig("m", "", byID...), inference.CodeNotFound, "the model `m:doll` does not exist: its engine has no such LoRA adapter", "-"},
		{"unlisted", &adapterLibrary{}, 1, loraConfig("m", "sheep", byID...), inference.CodeNotFound, "the model `m` has no LoRA adapter `doll`", ""},
		{"listed, but neither here nor there", &adapterLibrary{noWeights: true}, 1, loraConfig("m", "doll", byID...), inference.CodeNotFound, "its engine has no such LoRA adapter", "-"},
		{"files that can't be read", &adapterLibrary{err: secret}, 1, loraConfig("m", "doll", byID...), inference.CodeInternal, "the LoRA adapter `doll` of the model `m` can't be used: the server's log has the details", ""},
		{"an engine without room", &adapterLibrary{}, 0, loraConfig("m", "doll", byID...), inference.CodeUnavailable, "the engine of the model `m` has no room for the LoRA adapter `doll` now: try again later", "dd"},
		{"a path that nobody listed", &adapterLibrary{noWeights: true}, 1, loraConfig("m", "", byPath...), inference.CodeNotFound, "the model `m` has no LoRA adapter `doll`", ""},
		{"a path that leads away", &adapterLibrary{err: secret}, 1, loraConfig("m", "doll", byPath...), inference.CodeInternal, "can't be used", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			engine := &loraEngine{capacity: tt.room}
			s := newLoRAService(t, tt.library, engine, tt.config)
			for range 2 { // a failure doesn't block the next request
				a := askAdapter(t.Context(), s, "m:doll", 1)
				if a.Err == nil || a.Err.Code != tt.code || a.Err.Param != "model" || !strings.Contains(a.Err.Message, tt.message) || len(a.Texts) > 0 {
					t.Errorf("got %v, %+v", a.Texts, a.Err)
				}
				if sent := engine.sent(); sent != tt.sent {
					t.Errorf("sent %s, want %s", sent, tt.sent)
				}
			}
		})
	}
}

// TestAdaptersByPath checks that an error of the engine about a LoRA adapter doesn't reveal the
// adapter's path to clients.
func TestAdaptersByPath(t *testing.T) {
	engine := &loraEngine{fault: &inference.Error{Code: inference.CodeInternal, Message: "can't open /repository/m/doll/adapter_config.json"}}
	s := newLoRAService(t, &adapterLibrary{}, engine, loraConfig("m", "doll,sheep=/loras/sheep", byPath...))
	if a := askAdapter(t.Context(), s, "m:doll", 1); a.Err == nil || strings.Contains(a.Err.Message, "/") || !strings.Contains(a.Err.Err.Error(), "can't open /repository") {
		t.Errorf("got %+v", a.Err)
	}
	engine.fault = nil
	if a := askAdapter(t.Context(), s, "m:sheep", 1); a.Err != nil {
		t.Error(a.Err)
	}
	for i, want := range []string{"/repository/m/doll", "/loras/sheep"} {
		if path := inferencetest.Input(engine.Requests()[i], "lora_path"); path != want {
			t.Errorf("got %s, want %s", path, want)
		}
	}
}

// TestAdaptersUnderLoad checks that one of several concurrent requests sends the weights to the
// engine. The other requests wait until the weights are sent, not for the answer.
func TestAdaptersUnderLoad(t *testing.T) {
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			library, engine := &adapterLibrary{}, &loraEngine{capacity: 2, first: make(chan struct{})}
			s := newLoRAService(t, library, engine, loraConfig("m", "doll,sheep", byID...))
			if lost {
				close(engine.first)
				askAdapter(t.Context(), s, "m:doll", 1)
				askAdapter(t.Context(), s, "m:sheep", 1)
				engine.sent()
				engine.kept, engine.first = nil, make(chan struct{}) // the engine has lost the weights, as after a restart
			}
			var all sync.WaitGroup
			for _, name := range []string{"doll", "sheep"} {
				all.Go(func() {
					if a := askAdapter(t.Context(), s, "m:"+name, 4); a.Err != nil || len(a.Texts) != 4 || a.Texts[3] != "ab" {
						t.Errorf("%s: got %+v", name, a)
					}
				})
			}
			synctest.Wait()
			sent := engine.sent()
			close(engine.first)
			all.Wait()
			dolls, sheep := strings.Count(sent, "d"), strings.Count(sent, "s")
			if dolls == 0 || sheep == 0 || !lost && (dolls+sheep != 2 || len(sent) != 8) || lost && len(sent) > 16 || engine.sent() != "" {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

// TestAdaptersOfAbandonedRequests checks that the next request sends the weights if a request is
// canceled before the engine answers, and that nothing leaks.
func TestAdaptersOfAbandonedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &loraEngine{capacity: 0, first: make(chan struct{})}
		s := newLoRAService(t, &adapterLibrary{}, engine, loraConfig("m", "doll", byID...))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		engine.capacity = 1
		if a := askAdapter(ctx, s, "m:doll", 1); a.Err == nil || a.Err.Code != inference.CodeDeadlineExceeded {
			t.Errorf("got %+v", a)
		}
		close(engine.first)
		engine.kept = nil
		if a := askAdapter(t.Context(), s, "m:doll", 1); a.Err != nil || a.Texts[0] != "ab" {
			t.Errorf("got %+v", a)
		}
		if sent := engine.sent(); sent != "dd" {
			t.Errorf("sent %s", sent)
		}
	})
}

// TestAdaptersWaitForTheirTurn checks that a request stops waiting for LoRA weights that another
// request sends to the engine when its context ends.
func TestAdaptersWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		library, engine := &adapterLibrary{slow: make(chan struct{})}, &loraEngine{capacity: 2}
		s := newLoRAService(t, library, engine, loraConfig("m", "doll,sheep", byID...))
		var first sync.WaitGroup
		first.Go(func() {
			if a := askAdapter(t.Context(), s, "m:doll", 1); a.Err != nil {
				t.Error(a.Err)
			}
		})
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if a := askAdapter(ctx, s, "m:sheep", 1); a.Err == nil || a.Err.Code != inference.CodeDeadlineExceeded {
			t.Errorf("got %+v", a)
		}
		close(library.slow)
		first.Wait()
		if a := askAdapter(t.Context(), s, "m:sheep", 1); a.Err != nil || engine.sent() != "ds" {
			t.Errorf("got %+v", a)
		}
	})
}

// TestAdaptersAreNotSentIntoAnAnswer checks that a request isn't repeated with the weights of its
// LoRA adapter if the engine reports the adapter as missing after the first response. The client
// would get the start of the answer twice.
func TestAdaptersAreNotSentIntoAnAnswer(t *testing.T) {
	engine := &loraEngine{capacity: 1, fault: &inference.Error{Code: inference.CodeInternal, Message: fmt.Sprintf(noLoRA, 5)}}
	s := newLoRAService(t, &adapterLibrary{}, engine, loraConfig("m", "doll", byID...))
	for _, want := range []string{"d", "-"} {
		a := askAdapter(t.Context(), s, "m:doll", 1)
		if sent := engine.sent(); a.Err == nil || a.Texts[0] != "a" || sent != want {
			t.Errorf("got %+v, sent %s", a, sent)
		}
	}
}

// TestAdaptersOfAReloadedModel checks that the weights of a LoRA adapter are sent to the engine again
// after the adapter's model was reloaded.
func TestAdaptersOfAReloadedModel(t *testing.T) {
	engine := &loraEngine{capacity: 1}
	s := newLoRAService(t, &adapterLibrary{}, engine, loraConfig("m", "doll", byID...))
	askAdapter(t.Context(), s, "m:doll", 1)
	engine.Configure("m", func(c *kserve.ModelConfig) { c.Platform = "another" })
	if err := engine.models.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	askAdapter(t.Context(), s, "m:doll", 1)
	if sent := engine.sent(); sent != "dd" {
		t.Errorf("sent %s", sent)
	}
}

// twoServers is an engine over two servers, which keep adapters independently. Place chooses the
// servers that the test names, and a server that is down moves a request to the other one.
type twoServers struct {
	*inferencetest.Engine

	servers map[string]*loraEngine
	next    []string // servers of the next requests
	down    string
}

func (e *twoServers) Place(ctx context.Context, _ string) (release func(), err error) {
	if routing := inference.RoutingOf(ctx); routing.Server == "" {
		routing.Server, e.next = e.next[0], e.next[1:]
	}
	return func() {}, nil
}

func (e *twoServers) run(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	routing := inference.RoutingOf(ctx)
	if routing.Adapter == "" || routing.Prompt != "hello" {
		return fmt.Errorf("the routing is %+v", routing)
	}
	if routing.Server == e.down {
		routing.Server = map[string]string{"a": "b", "b": "a"}[e.down]
	}
	return e.servers[routing.Server].run(ctx, req, send)
}

// TestAdaptersByServer checks that the weights of an adapter are sent to each server of an engine
// that has several, also after a request has moved to another server.
func TestAdaptersByServer(t *testing.T) {
	library := &adapterLibrary{}
	engine := &twoServers{Engine: inferencetest.New(), servers: map[string]*loraEngine{"a": {capacity: 1}, "b": {capacity: 1}}}
	for _, config := range []*kserve.ModelConfig{loraConfig("m", "doll,sheep", byID...)} {
		engine.AddOther(config.GetName(), config, engine.run)
	}
	models := catalog.New(catalog.Config{LoRASeparator: ":"}, []inference.Engine{engine}, contracts.All(contracts.Config{}), tokenizer.NewFolders(), slog.New(slog.DiscardHandler))
	models.Consult(library, nil)
	s, err := serving.New(serving.Config{}, models, nil)
	if err != nil {
		t.Fatal(err)
	}
	models.Start()
	defer models.Stop()
	for _, tt := range []struct{ name, model, to, down, a, b string }{
		{"the first server", "m:doll", "a", "", "d", ""},
		{"the first server again", "m:doll", "a", "", "-", ""},
		{"the second server", "m:doll", "b", "", "", "d"},
		{"the second server again", "m:doll", "b", "", "", "-"},
		{"another adapter", "m:sheep", "b", "", "", "s"},
		{"the first adapter is still on the first server", "m:doll", "a", "", "-", ""},
		{"but no longer on the second", "m:doll", "b", "", "", "-d"},
		{"a request that moves without weights", "m:doll", "a", "a", "", "-"},
		{"may have lost them where it came from", "m:doll", "a", "", "d", ""},
		{"a request that moves with weights", "m:sheep", "a", "a", "", "s"},
		{"has them where it went", "m:sheep", "b", "", "", "-"},
	} {
		engine.next, engine.down = []string{tt.to}, tt.down
		if a := askAdapter(t.Context(), s, tt.model, 1); a.Err != nil || a.Texts[0] != "ab" {
			t.Errorf("%s: %v, %v", tt.name, a.Texts, a.Err)
		}
		if a, b := engine.servers["a"].sent(), engine.servers["b"].sent(); a != tt.a || b != tt.b {
			t.Errorf("%s: sent %q and %q, want %q and %q", tt.name, a, b, tt.a, tt.b)
		}
	}
}
