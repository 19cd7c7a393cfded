package server

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestOpenBodies tests that open routes accept only small bodies and respond while memory
// is short. Otherwise a probe would take a full server for a dead one.
func TestOpenBodies(t *testing.T) {
	core := inferencetest.Service(t, serving.Config{}, inferencetest.New())
	core.Admission().SetGuard(func(admission.Holding) error {
		return &inference.Error{Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, Message: "short of memory"}
	})
	echo := func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		switch _, large := errors.AsType[*http.MaxBytesError](err); {
		case large:
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		case err != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
		case n > 0:
			w.WriteHeader(http.StatusOK)
		}
	}
	var routes []Route
	for path, access := range map[string]auth.Access{"/open": auth.Open, "/client": auth.Client} {
		routes = append(routes, Route{Pattern: path, Handler: http.HandlerFunc(echo), Record: &auth.Record{Access: access, Group: auth.Free}})
	}
	cfg := Default()
	listener := NewListener(cfg)
	s, err := New(Common{Config: cfg, Core: core.Admission(), Abort: func(error) {}, Log: slog.New(slog.DiscardHandler)}, listener, routes)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		size int
		want int
	}{
		{"/open", MaxOpenBody, http.StatusOK},
		{"/open", MaxOpenBody + 1, http.StatusRequestEntityTooLarge},
		{"/client", 1, http.StatusServiceUnavailable},
	} {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, tt.path, strings.NewReader(strings.Repeat("x", tt.size))))
		if answer.Code != tt.want {
			t.Errorf("%s with %d bytes: %d", tt.path, tt.size, answer.Code)
		}
	}
	if _, all := core.Admission().Holdings(); all.Bytes != 0 || all.Reading != 0 {
		t.Errorf("requests that have ended hold %+v", all)
	}
}
