package state_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/state/statetest"
)

// TestCheck checks which URLs are refused, and that errors don't contain passwords.
func TestCheck(t *testing.T) {
	for address, want := range map[string]string{
		"redis://host:6379/0":                 "",
		"rediss://user:secret@host":           "",
		"unix:///run/valkey.sock?db=1":        "",
		"host:6379":                           "must be a URL such as",
		"http://host":                         "with the scheme redis, rediss, unix",
		"redis://user:secret@host:port/0":     "isn't the URL of a store",
		"redis://user:secret@host/nodatabase": "isn't the URL of a store",
		"rediss://user:sec/ret@host:6379":     "isn't the URL of a store: use rediss://USER:PASSWORD@HOST:6379/0, and percent-encode /, ?, # and @",
		"redis://user:12/secret@host":         "isn't the URL of a store",
	} {
		err := state.Check(address)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && (strings.Contains(err.Error(), "sec") || strings.Contains(err.Error(), "ret@")) {
			t.Errorf("the error has the password: %v", err)
		}
	}
}

// TestRecords stores, reads and deletes records, which another Trident reads.
func TestRecords(t *testing.T) {
	server := statetest.Start(t)
	a, b := server.Open(), server.Open()
	ctx := t.Context()
	put := func(records ...state.Record) {
		t.Helper()
		if err := a.Put(ctx, records, nil, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	put(state.Record{Key: "one", Value: []byte("1")}, state.Record{Key: "two", Value: []byte("2")})
	put(state.Record{Key: "two", Value: []byte("3"), New: true}, state.Record{Key: "four", Value: []byte("4"), New: true})
	values, err := b.Get(ctx, "one", "none", "two", "four")
	if err != nil || string(values[0]) != "1" || values[1] != nil || string(values[2]) != "2" || string(values[3]) != "4" {
		t.Errorf("%q, %v", values, err)
	}
	for _, want := range []bool{true, false} {
		if found, err := b.Delete(ctx, "one"); err != nil || found != want {
			t.Errorf("deleted: %t, %v", found, err)
		}
	}
	if err := a.Put(ctx, []state.Record{{Key: "short", Value: []byte("x")}}, nil, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := a.Put(ctx, nil, []string{"short"}, time.Hour); err != nil {
		t.Fatal(err)
	}
	<-time.After(100 * time.Millisecond)
	if values, err := b.Get(ctx, "short"); err != nil || string(values[0]) != "x" {
		t.Errorf("a record that was kept is gone: %v", err)
	}
}

// TestAway checks that calls fail within half a second while the server is away, whether its port is
// closed or it doesn't answer, and succeed afterwards.
func TestAway(t *testing.T) {
	server := statetest.Start(t)
	store := server.Open()
	if err := store.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Stop()
	wantAway(t, store)
	if err := store.Ready(t.Context()); err != nil {
		t.Errorf("a Trident whose store went away isn't ready: %v", err)
	}
	server.Resume()
	if err := store.Put(t.Context(), []state.Record{{Key: "a", Value: []byte("b")}}, nil, time.Hour); err != nil {
		t.Errorf("after it is back: %v", err)
	}

	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(io.Discard, conn) }()
		}
	}()
	frozen, err := state.Open("redis://"+silent.Addr().String(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = frozen.Stop(context.Background()) }()
	wantAway(t, frozen)
}

func wantAway(t *testing.T, store *state.Store) {
	t.Helper()
	_, before := store.Health()
	began := time.Now()
	_, err := store.Get(t.Context(), "a")
	if e := inference.AsError(err); e.Code != inference.CodeUnavailable || e.Reason != inference.ReasonStoreUnavailable || e.RetryAfter == 0 {
		t.Errorf("while the server is away: %v", err)
	}
	if took := time.Since(began); took > 500*time.Millisecond {
		t.Errorf("it failed after %s", took)
	}
	if up, failures := store.Health(); up || failures == before {
		t.Errorf("the failure wasn't counted: up %t, %d failures", up, failures)
	}
}

// TestWrongPassword checks that a Trident whose store refuses it isn't ready, with the reason and
// without the password.
func TestWrongPassword(t *testing.T) {
	server := statetest.Start(t, "--requirepass", "right")
	address := strings.Replace(server.URL, "unix://", "unix://:wrong-secret@", 1)
	store, err := state.Open(address, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Stop(context.Background()) }()
	e := inference.AsError(store.Ready(t.Context()))
	if e.Code != inference.CodeUnavailable || !strings.Contains(e.Message, "WRONGPASS") || strings.Contains(e.Message, "wrong-secret") {
		t.Errorf("the reason is %q", e.Message)
	}
}

// TestLeases checks that a Trident is alive until it stops.
func TestLeases(t *testing.T) {
	server := statetest.Start(t)
	a, b := server.Open(), server.Open()
	await := func(want bool) {
		t.Helper()
		for range 500 {
			alive, err := b.Alive(t.Context(), a.Replica())
			if err != nil {
				t.Fatal(err)
			}
			if alive == want {
				return
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Errorf("alive isn't %t", want)
	}
	await(true)
	if err := a.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	await(false)
}
