package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
)

func TestLimitFlags(t *testing.T) {
	t.Setenv("TRIDENT_MAX_QUEUED_PER_MODEL", "chat=0\nother=4")
	got, err := parse("--max-in-flight=9", "--max-queued=0", "--max-in-flight-per-model=2", "--max-in-flight-per-model=chat=3",
		"--requests-per-second=0.5", "--burst=7", "--max-body-bytes-in-flight=100", "--max-reading=30", "--max-decoding=0", "--request-timeout=5s")
	if err != nil {
		t.Fatal(err)
	}
	want := admission.Bounds{
		Server: inference.Limits{InFlight: 9, Queued: inference.NoQueue, Rate: 0.5, Burst: 7},
		Models: map[string]inference.Limits{
			"": {InFlight: 2}, "chat": {InFlight: 3, Queued: inference.NoQueue}, "other": {InFlight: 2, Queued: 4},
		},
		BodyBytes: 100, Reading: 30, RequestTimeout: 5 * time.Second,
	}
	if !reflect.DeepEqual(got.Inference.Bounds, want) {
		t.Errorf("got %+v", got.Inference.Bounds)
	}
	for flag, message := range map[string]string{
		"--max-queued=-1":                "--max-queued: -1 is negative",
		"--max-in-flight-per-model=m=x":  `--max-in-flight-per-model: must be a number of requests, 0 or more, not "x"`,
		"--max-queued-per-model=-1":      `--max-queued-per-model: must be a number of requests, 0 or more, not "-1"`,
		"--requests-per-second=-1":       "--requests-per-second: -1 is not a rate",
		"--requests-per-second=NaN":      "--requests-per-second: NaN is not a rate",
		"--burst=-1":                     "--burst: -1 is negative",
		"--max-body-bytes-in-flight=-1":  `--max-body-bytes-in-flight: "-1" isn't a size`,
		"--max-reading=-1":               "--max-reading: -1 is negative",
		"--max-decoding=-1":              "--max-decoding: -1 is negative",
		"--max-in-flight-per-model=1\n2": "is set twice for all models",
	} {
		if _, err := parse(flag); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v", flag, err)
		}
	}
}
