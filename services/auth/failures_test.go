package auth

import (
	"bytes"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// TestFailures tests that an address gets its own errors up to the limit, then 429, and one
// more of its own errors after a pause. Other addresses aren't affected.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := newFailures(slog.New(slog.NewTextHandler(&log, nil)))
		wrong := errors.New("wrong")
		one := netip.MustParseAddr("192.0.2.1")
		for i := range failuresAtOnce {
			if err := f.bound(one, wrong); !errors.Is(err, wrong) {
				t.Fatalf("failure %d: %v", i, err)
			}
		}
		for range 50 {
			e := inference.AsError(f.bound(one, errKey("Incorrect API key provided")))
			if e.Code != inference.CodeLimited || e.Reason != inference.ReasonAuthFailures || e.RetryAfter != failurePause || !strings.HasPrefix(e.Message, "Incorrect API key provided; too many requests") {
				t.Fatalf("%+v", e)
			}
		}
		if f.count() != 50 || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "address=192.0.2.1") {
			t.Errorf("%d, log: %s", f.count(), &log)
		}
		fine := 0 // number of the 16 addresses that get their own error; a few share the bucket of the blocked address
		for i := range 16 {
			if errors.Is(f.bound(netip.AddrFrom4([4]byte{198, 51, 100, byte(i)}), wrong), wrong) {
				fine++
			}
		}
		if fine < 12 {
			t.Errorf("%d of 16 other addresses get their own answers", fine)
		}
		<-time.After(2 * failurePause)
		if err := f.bound(one, wrong); !errors.Is(err, wrong) {
			t.Errorf("after a pause: %v", err)
		}
		for range 1000 {
			if err := f.bound(netip.Addr{}, wrong); !errors.Is(err, wrong) {
				t.Fatalf("no address: %v", err)
			}
		}
	})
}
