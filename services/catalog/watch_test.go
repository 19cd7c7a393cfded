package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// states returns the states of a model that the watcher has pending, with the reasons.
func states(t *testing.T, w *catalog.Watch, model string) string {
	t.Helper()
	var all []string
	for {
		select {
		case <-w.Updates():
			for _, card := range w.Next().Cards {
				if state := strings.TrimSpace(fmt.Sprint(card.State, " ", card.Reason)); card.Name == model && (len(all) == 0 || all[len(all)-1] != state) {
					all = append(all, state)
				}
			}
		default:
			return strings.Join(all, ", ")
		}
	}
}

// TestWatchControl checks that a watcher sees Trident's own changes of a model at once and in
// order, whichever API made the change, even if the changes end quickly.
func TestWatchControl(t *testing.T) {
	load := func(s *serving.Service) error { _, err := s.LoadModel(t.Context(), "off"); return err }
	for name, test := range map[string]struct {
		explicit bool
		loading  error
		change   func(s *serving.Service) error
		fails    bool
		want     string
	}{
		"a load": {explicit: true, change: load, want: "UNAVAILABLE, LOADING, READY"},
		"a load and an unload": {explicit: true, change: func(s *serving.Service) error {
			return errors.Join(load(s), s.UnloadModel(t.Context(), "off"))
		}, want: "UNAVAILABLE, LOADING, READY, UNLOADING, UNAVAILABLE unloaded"},
		"a load that fails":    {explicit: true, loading: errors.New("no"), change: load, fails: true, want: "UNAVAILABLE, LOADING, UNAVAILABLE"},
		"a load where none is": {change: load, fails: true, want: "UNAVAILABLE"},
		"KServe's": {explicit: true, change: func(s *serving.Service) error {
			return s.Control(t.Context(), "off", inference.ModelLoading, func(context.Context, inference.Repository) error { return nil })
		}, want: "UNAVAILABLE, LOADING, UNAVAILABLE"},
		"KServe's of what is loaded already": {explicit: true, change: func(s *serving.Service) error {
			return errors.Join(load(s), s.Control(t.Context(), "off", inference.ModelLoading, func(context.Context, inference.Repository) error { return nil }))
		}, want: "UNAVAILABLE, LOADING, READY"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := controlled()
			if test.explicit {
				engine.Control(func(string) error { return test.loading })
			}
			s := inferencetest.Service(t, serving.Config{}, engine)
			if _, err := s.Catalog().Model(t.Context(), "ready"); err != nil { // waits for the first refresh
				t.Fatal(err)
			}
			watch := s.Catalog().Watch(t.Context())
			defer watch.Close()
			if err := test.change(s); (err != nil) != test.fails {
				t.Fatal(err)
			}
			if got := states(t, watch, "off"); got != test.want {
				t.Errorf("a watcher receives %s, want %s", got, test.want)
			}
		})
	}
}

// TestWatchHidesStaleStates checks that while a model is being loaded, its earlier state doesn't reappear,
// although the engine is asked meanwhile.
func TestWatchHidesStaleStates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, loaded := controlled(), make(chan struct{})
		engine.Control(func(string) error { <-loaded; return nil })
		s := inferencetest.Service(t, serving.Config{}, engine)
		synctest.Wait()
		watch := s.Catalog().Watch(t.Context())
		defer watch.Close()
		done := make(chan error)
		go func() { _, err := s.LoadModel(t.Context(), "off"); done <- err }()
		time.Sleep(20 * time.Second) //nolint:forbidigo // synctest's clock; the engine is asked repeatedly
		if got := states(t, watch, "off"); got != "UNAVAILABLE, LOADING" {
			t.Errorf("during the load: %s", got)
		}
		close(loaded)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if got := states(t, watch, "off"); got != "READY" {
			t.Errorf("after it: %s", got)
		}
	})
}

// TestWatchPendingChange checks that the end of a change by another client is seen soon, and that the
// engine is asked less often otherwise.
func TestWatchPendingChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &counted{Engine: inferencetest.New()}
		engine.AddModel("m", inferencetest.StreamText("x"), nil)
		s := inferencetest.Service(t, serving.Config{}, engine)
		synctest.Wait()
		watch := s.Catalog().Watch(t.Context())
		defer watch.Close()
		<-watch.Updates()
		watch.Next()
		wait := func(state inference.ModelState) time.Duration {
			engine.SetState("m", state, "")
			began := time.Now()
			<-watch.Updates()
			if got := watch.Next().Cards[0].State; got != state {
				t.Errorf("a watcher receives %s, want %s", got, state)
			}
			return time.Since(began)
		}
		if took := wait(inference.ModelUnloading); took > 5*time.Second {
			t.Errorf("its beginning shows after %s", took)
		}
		if took := wait(inference.ModelUnavailable); took > time.Second/2 {
			t.Errorf("its end shows after %s", took)
		}
		wait(inference.ModelLoading)
		before := engine.calls.Load()
		time.Sleep(time.Minute) //nolint:forbidigo // synctest's clock
		select {
		case <-watch.Updates():
			t.Error("news of nothing")
		default:
		}
		if calls := engine.calls.Load() - before; calls < 12 || calls > 18 {
			t.Errorf("in a minute of a load the engine is asked %d times", calls)
		}
	})
}

// counted counts the requests for its models.
type counted struct {
	*inferencetest.Engine

	calls atomic.Int64
}

func (c *counted) Models(ctx context.Context) ([]inference.Model, error) {
	c.calls.Add(1)
	return c.Engine.Models(ctx)
}

// TestWatchSlow checks that a watcher that reads slowly receives the latest state, and that the
// catalog keeps few changes for this watcher.
func TestWatchSlow(t *testing.T) {
	engine := controlled()
	engine.Control(nil)
	s := inferencetest.Service(t, serving.Config{}, engine)
	if _, err := s.Catalog().Model(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	slow := s.Catalog().Watch(t.Context())
	defer slow.Close()
	const rounds = 20
	for range rounds {
		if _, err := s.LoadModel(t.Context(), "off"); err != nil {
			t.Fatal(err)
		}
		if err := s.UnloadModel(t.Context(), "off"); err != nil {
			t.Fatal(err)
		}
	}
	all := strings.Split(states(t, slow, "off"), ", ")
	if len(all) > 16 || all[len(all)-1] != "UNAVAILABLE unloaded" || slices.Contains(all[1:], "") {
		t.Errorf("after %d changes a watcher receives %v", 4*rounds, all)
	}
	slow.Close()
	if _, err := s.LoadModel(t.Context(), "off"); err != nil {
		t.Fatal(err)
	}
	if got := states(t, slow, "off"); got != "" {
		t.Errorf("after its end a watcher receives %s", got)
	}
}
