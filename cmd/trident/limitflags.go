package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/serving"
)

// limitFlags limit the load of the server.
type limitFlags struct {
	MaxInFlight          int           `default:"${max_in_flight}" help:"Requests served at once, 0 for no bound; more wait for their turn."`
	MaxQueued            int           `default:"${max_queued}" help:"Requests that wait for their turn, clients by turns; more get 503. 0 has none wait."`
	MaxInFlightPerModel  []perModel    `sep:"\n" type:"lines" placeholder:"[MODEL=]N" help:"Requests of one model served at once, likewise; of each model without MODEL; repeatable."`
	MaxQueuedPerModel    []perModel    `sep:"\n" type:"lines" placeholder:"[MODEL=]N" help:"Those that wait for it, of the ones above; repeatable."`
	RequestsPerSecond    float64       `default:"0" help:"Requests that begin each second on average, 0 for no bound; more get 429."`
	Burst                int           `default:"0" help:"How many of them may begin at once; 0 is those of a second."`
	MaxBodyBytesInFlight int64         `default:"${max_body_bytes_in_flight}" help:"Maximum number of bytes of the bodies of all requests that are being read or served; 0 is no limit. A request beyond it gets 503. One client may hold at most as many bytes as remain free for the others."`
	MaxReading           int           `default:"${max_reading}" help:"Maximum number of requests whose bodies are being read or decoded; 0 is no limit. A request beyond it gets 503."`
	MaxDecoding          int           `default:"${max_decoding}" help:"Maximum number of requests whose bodies are being decoded; 0 is no limit. Further requests wait for a slot, with fair queueing of the clients. One client has at most half of the slots."`
	RequestTimeout       time.Duration `default:"${request_timeout}" help:"End a request after this long, its waiting included; 0 for never. Clients may ask for less by the header x-request-timeout."`
}

// limitDefaults returns the default values that the struct tags refer to by
// name.
func limitDefaults() kong.Vars {
	b := serving.Default().Bounds
	return kong.Vars{
		"max_in_flight":            strconv.Itoa(b.Server.InFlight),
		"max_queued":               strconv.Itoa(b.Server.Queued),
		"max_body_bytes_in_flight": strconv.FormatInt(b.BodyBytes, 10),
		"max_reading":              strconv.Itoa(b.Reading),
		"max_decoding":             strconv.Itoa(b.Decoding),
		"request_timeout":          b.RequestTimeout.String(),
	}
}

// bounds returns the limits of the flags, or an error for invalid flags.
func (f *limitFlags) bounds() (admission.Bounds, error) {
	b := admission.Bounds{
		Server:    inference.Limits{InFlight: f.MaxInFlight, Queued: queued(f.MaxQueued), Rate: f.RequestsPerSecond, Burst: f.Burst},
		BodyBytes: f.MaxBodyBytesInFlight, Reading: f.MaxReading, Decoding: f.MaxDecoding, RequestTimeout: f.RequestTimeout,
	}
	inFlight, err := numbers("--max-in-flight-per-model", f.MaxInFlightPerModel)
	waiting, err2 := numbers("--max-queued-per-model", f.MaxQueuedPerModel)
	if err := errors.Join(err, err2); err != nil {
		return b, err
	}
	if f.MaxQueued < 0 {
		return b, fmt.Errorf("--max-queued: %d is negative", f.MaxQueued)
	}
	for _, v := range slices.Concat(f.MaxInFlightPerModel, f.MaxQueuedPerModel) {
		if b.Models == nil {
			b.Models = map[string]inference.Limits{}
		}
		limits := inference.Limits{InFlight: of(inFlight, v.model, 0)}
		if n := of(waiting, v.model, -1); n >= 0 {
			limits.Queued = queued(n)
		}
		b.Models[v.model] = limits
	}
	return b, nil
}

// queued converts a maximum queue length to the core's value.
func queued(n int) int {
	if n == 0 {
		return inference.NoQueue
	}
	return n
}

// of returns the number for a model, or for all models, or none.
func of(given map[string]int, model string, none int) int {
	if n, ok := given[model]; ok {
		return n
	}
	if n, ok := given[""]; ok {
		return n
	}
	return none
}

// numbers reads the numbers of a flag with an optional model.
func numbers(flag string, values []perModel) (map[string]int, error) {
	given := map[string]int{}
	for _, v := range values {
		n, err := strconv.Atoi(v.value)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%s: %q is no number of requests", flag, v.value)
		}
		if _, twice := given[v.model]; twice {
			return nil, fmt.Errorf("%s: is given twice for %s", flag, forWhom(v.model))
		}
		given[v.model] = n
	}
	return given, nil
}
