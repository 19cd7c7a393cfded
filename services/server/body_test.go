package server

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestBodiesInFlight checks that a request body counts against Bounds.BodyBytes before the body is
// read, and until its request ends.
func TestBodiesInFlight(t *testing.T) {
	core := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{BodyBytes: 400 << 10}}, inferencetest.New())
	read, end := make(chan struct{}), make(chan struct{})
	url, _, _ := start(t, Default(), core.Admission(), func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/stays" {
			close(read)
			<-end
		}
		own, _ := errors.AsType[*connect.Error](err)
		_, _ = fmt.Fprint(w, n, " ", err, own.Code())
	})
	body := func(size int, chunked bool) io.Reader {
		var body io.Reader = strings.NewReader(strings.Repeat("x", size))
		if chunked {
			body = io.MultiReader(body) // hides the length
		}
		return body
	}
	const (
		full  = "the bodies of the requests in flight use all memory that this server reserves for bodies: try again later unavailable"
		share = "the bodies of this client's requests use all memory that one client may use for bodies now: try again later unavailable"
	)
	var stays sync.WaitGroup
	stays.Go(func() { _, _ = send(t, http.MethodPost, url+"/stays", body(100<<10, false), nil) })
	<-read
	if _, all := core.Admission().Holdings(); all.Bytes != 100<<10 || all.Reading != 0 {
		t.Errorf("a request whose body has been read holds %+v", all)
	}
	for _, tt := range []struct {
		name, want string
		size       int
		chunked    bool
	}{
		{"room", "102400 <nil> unknown", 100 << 10, false},
		{"no room", "0 " + full, 301 << 10, false},
		{"no room for one client", "0 " + share, 101 << 10, false},
		{"room, chunked", "20480 <nil> unknown", 20 << 10, true},
		{"no room for one client, chunked", " " + share, 120 << 10, true},
		{"a large one still gets its answer", "0 " + full, 20 << 20, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, got := send(t, http.MethodPost, url, body(tt.size, tt.chunked), nil); !strings.HasSuffix(got, tt.want) || got[0] != tt.want[0] && tt.want[0] != ' ' {
				t.Errorf("got %q", got)
			}
		})
	}
	close(end)
	stays.Wait()
	if each, all := core.Admission().Holdings(); len(each) != 0 || all.Bytes != 0 || all.Reading != 0 {
		t.Errorf("requests that have ended hold %+v", all)
	}
}

// TestRequestTimeout tests that the deadline of a request follows the header X-Request-Timeout, and
// that an invalid value is refused.
func TestRequestTimeout(t *testing.T) {
	url, _, _ := start(t, Default(), noWork{}, func(w http.ResponseWriter, r *http.Request) {
		deadline, ok := r.Context().Deadline()
		_, _ = fmt.Fprintf(w, "%t %s", ok, time.Until(deadline).Round(time.Second))
	})
	for header, want := range map[string]string{
		"": "false", "90": "true 1m30s", "0.0001": "true 0s", "20s": "true 20s", "1e300": "true 1000h0m0s", "2000h": "true 1000h0m0s",
		"0": "400", "-1": "400", "NaN": "400", "soon": "400", "-5ms": "400",
	} {
		resp, got := send(t, http.MethodPost, url, nil, map[string]string{"X-Request-Timeout": header})
		if resp.StatusCode == http.StatusBadRequest {
			if !strings.Contains(got, `"code":"invalid_value"`) {
				t.Errorf("%q: %s", header, got)
			}
			got = "400"
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}
