package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/memory"
	"github.com/trident-inference/trident/services/serving"
)

// limitFlags limit the load of the server.
type limitFlags struct {
	MaxInFlight          int           `default:"${max_in_flight}" help:"Maximum number of requests that are served at the same time; 0 means no limit. Further requests wait in the queue of --max-queued."`
	MaxQueued            int           `default:"${max_queued}" help:"Maximum number of requests in the queue, which serves clients by fair queueing. A request beyond the limit gets status 503; with 0, no request waits."`
	MaxInFlightPerModel  []perModel    `sep:"\n" type:"lines" placeholder:"[MODEL=]N" help:"Maximum number of requests of one model that are served at the same time; 0 means no limit. Further requests wait in the queue. A limit with the prefix MODEL= applies to that model; any other limit applies to each model without a limit of its own; repeatable."`
	MaxQueuedPerModel    []perModel    `sep:"\n" type:"lines" placeholder:"[MODEL=]N" help:"Maximum number of queued requests of one model; a request beyond the limit gets status 503. A limit with the prefix MODEL= applies to that model; any other limit applies to each model without a limit of its own; repeatable. Default: only --max-queued limits the queue."`
	RequestsPerSecond    float64       `default:"0" help:"Maximum number of requests that start per second on average (rate limit); 0 means no limit. A request beyond the limit gets status 429."`
	Burst                int           `default:"0" help:"Maximum number of requests that may start at once under --requests-per-second; 0 means the number of requests in one second."`
	LimitsStore          string        `placeholder:"URL" help:"Valkey or Redis server, such as rediss://USER:PASSWORD@HOST:6379/0, through which several Tridents apply rate limits together: --requests-per-second, and the limits of API keys on requests per second and tokens per minute. While the server can't be reached, each Trident applies the limits to its own requests alone. Default: the limits aren't shared."`
	MaxBodyBytesInFlight size          `default:"${max_body_bytes_in_flight}" help:"Maximum total size of the bodies of all requests that are being read or served, in bytes or with a unit such as 1GiB; 0 means no limit. A request beyond the limit gets status 503. A client with several requests may use at most half of the bytes that the other clients don't use."`
	MaxReading           int           `default:"${max_reading}" help:"Maximum number of requests whose bodies are being read or decoded; 0 means no limit. A request beyond the limit gets status 503."`
	MaxDecoding          int           `default:"${max_decoding}" help:"Maximum number of requests whose bodies are being decoded; 0 means no limit. Further requests wait for a slot, with fair queueing of the clients. One client has at most half of the slots."`
	EncoderBatchDelay    time.Duration `default:"${encoder_batch_delay}" help:"Time that an input of an encoder waits for inputs of other requests while its model is free; 0 sends it at once. Inputs that wait for a busy model are always batched."`
	EncoderQueueTokens   int           `default:"${encoder_queue_tokens}" help:"Maximum number of tokens that wait for one encoder; 0 means no limit. A request beyond the limit gets status 503. A single request may exceed the limit if no other request waits."`
	RequestTimeout       time.Duration `default:"${request_timeout}" help:"Maximum duration of a request, including its time in the queue; 0 means no limit. A client can set a shorter duration in the header x-request-timeout."`
}

// limitDefaults returns the default values that the struct tags refer to by
// name.
func limitDefaults() kong.Vars {
	b := serving.Default().Bounds
	return kong.Vars{
		"max_in_flight":            strconv.Itoa(b.Server.InFlight),
		"max_queued":               strconv.Itoa(b.Server.Queued),
		"max_body_bytes_in_flight": configfield.SizeText(b.BodyBytes),
		"max_reading":              strconv.Itoa(b.Reading),
		"max_decoding":             strconv.Itoa(b.Decoding),
		"request_timeout":          durationText(b.RequestTimeout),
		"encoder_batch_delay":      durationText(serving.Default().EncoderBatchDelay),
		"encoder_queue_tokens":     strconv.Itoa(serving.Default().EncoderQueueTokens),
	}
}

// bounds returns the limits of the flags, or an error for invalid flags.
func (f *limitFlags) bounds() (admission.Bounds, error) {
	b := admission.Bounds{
		Server:    inference.Limits{InFlight: f.MaxInFlight, Queued: queued(f.MaxQueued), Rate: f.RequestsPerSecond, Burst: f.Burst},
		BodyBytes: int64(f.MaxBodyBytesInFlight), Reading: f.MaxReading, Decoding: f.MaxDecoding, RequestTimeout: f.RequestTimeout,
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
			return nil, fmt.Errorf("%s: must be a number of requests, 0 or more, not %q", flag, v.value)
		}
		if _, twice := given[v.model]; twice {
			return nil, fmt.Errorf("%s: is set twice for %s: keep one value", flag, modelPhrase(v.model))
		}
		given[v.model] = n
	}
	return given, nil
}

// memoryFlags limit the memory.
type memoryFlags struct {
	MemoryLimit byteSize `placeholder:"SIZE" help:"Memory limit of Trident and its child processes, in bytes or with a unit such as 2GiB. It sets Go's soft memory limit and the point at which requests are refused. Default: the memory limit of the cgroup, or else the machine's memory."`
}

func (f *memoryFlags) config(inProcess bool) memory.Config {
	return memory.Config{Limit: int64(f.MemoryLimit), InProcess: inProcess}
}
