package main

import (
	"fmt"
	"strings"
	"time"
)

// scenario is one load that is measured with several columns.
type scenario struct {
	name    string // short name by which flags select the scenario
	title   string
	job     job
	columns []string // the measured columns, without peers, which take part in all streaming scenarios
	quick   bool     // included in a quick run
	once    bool     // measured once, before the rounds
}

// Names of the scenarios that figures use.
const (
	idleStreams  = "idle-1024"
	firstToken   = "first-token"
	nextRequest  = "next-request"
	flat64       = "flat-64"
	messages1    = "messages-first-token"
	messages64   = "messages-64"
	paced1       = "paced-1"
	paced64      = "paced-64"
	flat256      = "flat-256"
	slow1024     = "slow-1024"
	clientsParts = "clients-100"
	clientsWhole = "clients-100-whole"
	python64     = "python-64"
	decoupled64  = "decoupled-64"
)

// Paces of the models: the time between two tokens of a stream.
const (
	fastPace = 10 * time.Millisecond
	stepPace = 20 * time.Millisecond
	slowPace = 50 * time.Millisecond
	idlePace = 5 * time.Second
)

// scenarios returns the work of a whole run. On two cores of 2024 each measurement
// takes one or two seconds: long enough to be meaningful, and short enough for
// many repetitions. Scenarios with many streams are last, because they fragment
// Triton's memory and make later measurements slower.
func scenarios() []scenario {
	trident := []string{colLocal, colRemote}
	latency := []string{colEngine, colLocal, colBare, colText, colRemote, colOver, colCanned}
	list := []scenario{
		{
			name: idleStreams, title: "1,024 idle streams that wait for their next token", columns: trident, once: true,
			job: job{Model: idleModel, Streams: 1024, Requests: 1024, Tokens: 1000, Hold: true},
		},
		{
			name: firstToken, title: "one client that pauses between its requests", columns: latency, quick: true,
			job: job{Model: flatModel, Streams: 1, Requests: 300, Tokens: 8, Pause: 3 * time.Millisecond},
		},
	}
	list = append(list, messages(messages1, trident, list[len(list)-1]), scenario{
		name: nextRequest, title: "one client that sends its next request after each response", columns: latency, quick: true,
		job: job{Model: flatModel, Streams: 1, Requests: 1000, Tokens: 8},
	})
	for _, n := range []int{1, 8, 64} {
		list = append(list, flat(n))
	}
	list = append(list, messages(messages64, trident, list[len(list)-1]), infer(1, 1<<10), infer(64, 1<<10), infer(1, 1<<20), infer(64, 1<<20), scenario{
		name: decoupled64, title: "64 streams flat out by KServe v2", columns: kserveColumns(),
		job: flat(64).job,
	})
	for _, n := range []int{1, 8, 64} {
		list = append(list, paced(n, fastPace))
	}
	list = append(list, paced(1, stepPace), paced(64, stepPace), ensemble(flat(64)), ensemble(paced(64, fastPace)))
	clients := job{Model: modelAt(flatModel, fastPace), Streams: 100, Requests: 200, Tokens: 100}
	whole := clients
	whole.Whole = true
	return append(list,
		scenario{name: clientsParts, title: "100 clients that stream, a token each 10 ms", columns: trident, job: clients},
		scenario{name: clientsWhole, title: "100 clients that don't stream, a token each 10 ms", columns: trident, job: whole},
		scenario{
			name: python64, title: "64 streams of a model in Triton's python backend", columns: []string{colEngine, colLocal, colBare, colRemote},
			job: job{Model: "python", Streams: 64, Requests: 64, Tokens: 200},
		},
		paced(256, fastPace), paced(256, stepPace), flat(256), ensemble(flat(256)),
		scenario{
			name: slow1024, title: "1,024 streams, a token each 50 ms", columns: trident,
			job: job{Model: modelAt(flatModel, slowPace), Streams: 1024, Requests: 1024, Tokens: 40, Pace: slowPace},
		},
		paced(1024, fastPace), flat(1024),
	)
}

// flat returns a scenario in which the model is as fast as Triton accepts its
// tokens.
func flat(streams int) scenario {
	const tokens, all = 500, 256_000
	s := scenario{
		name: fmt.Sprintf("flat-%d", streams), title: fmt.Sprintf("%s flat out", count(streams)),
		columns: []string{colEngine, colLocal, colCannedAs, colCanned, colBare, colRemote, colRelay},
		job:     job{Model: flatModel, Streams: streams, Requests: all / tokens, Tokens: tokens},
	}
	switch streams {
	case 1:
		s.job.Requests /= 4
		s.columns = append(s.columns, colText, colOver)
	case 64:
		s.columns = append(s.columns, colText, colOver, colCanned64)
		s.quick = true
	case 256:
		s.columns = append(s.columns, colText, colOver)
	case 1024:
		s.job.Requests, s.job.Tokens = streams, all/streams
	}
	return s
}

// messages returns a scenario with the work of another one by Anthropic's API.
func messages(name string, columns []string, chats scenario) scenario {
	s := scenario{name: name, title: chats.title + ", messages of Anthropic's API", columns: columns, job: chats.job, quick: name == messages64}
	s.job.Messages = true
	return s
}

// paced returns a scenario in which each stream gets a token at each step of a model. A
// response takes one second, and each stream receives several. Beyond one stream, the
// requests arrive evenly, as those of independent clients do: the streams begin one after
// another within a second, and each request waits up to a step. If all arrived together,
// the time to their first token would be the time to send them all. If each followed the
// last token of another, which comes at a step, the wait for the next step would hide any
// delay.
func paced(streams int, pace time.Duration) scenario {
	s := scenario{
		name: pacedName(streams, pace), title: fmt.Sprintf("%s, a token each %d ms", count(streams), pace.Milliseconds()),
		columns: []string{colEngine, colLocal, colText, colRemote, colOver}, quick: streams == 64,
		job: job{Model: modelAt(flatModel, pace), Streams: streams, Requests: 3 * streams, Tokens: int(time.Second / pace), Pace: pace},
	}
	if pace == fastPace {
		s.columns = append(s.columns, colCanned, colBare)
	}
	if streams > 1 {
		s.job.Spread, s.job.Jitter = time.Second, pace
	}
	if streams > 64 {
		s.job.Requests = max(1024, streams)
	}
	return s
}

// modelAt returns the name of a model with a pace.
func modelAt(model string, pace time.Duration) string {
	return fmt.Sprintf("%s_%dms", model, pace.Milliseconds())
}

// ensemble returns a scenario with the work of another one by a model with the tensors of
// TensorRT-LLM's ensemble.
func ensemble(of scenario) scenario {
	s := of
	s.name, s.title, s.quick = ensembleName(of.name), of.title+", with the tensors of TensorRT-LLM's ensemble", false
	s.columns = []string{colLocal, colText, colRemote}
	s.job.Model, s.job.Ensemble = strings.Replace(of.job.Model, flatModel, ensembleModel, 1), true
	return s
}

func ensembleName(scenario string) string { return ensembleModel + "-" + scenario }

// pacedName returns paced-64 for 64 streams at the fast pace, and paced-20ms-64 for another
// pace.
func pacedName(streams int, pace time.Duration) string {
	if pace == fastPace {
		return fmt.Sprintf("paced-%d", streams)
	}
	return fmt.Sprintf("paced-%dms-%d", pace.Milliseconds(), streams)
}

func kserveColumns() []string { return []string{colTriton, colLocalRPC, colRemoteRPC} }

// infer returns a scenario in which clients send tensors of size bytes and receive
// them back, with unary calls of KServe v2.
func infer(clients, size int) scenario {
	s := scenario{
		name: inferName(clients, size), title: fmt.Sprintf("%d KiB by unary calls of KServe v2, clients: %d", size>>10, clients),
		columns: append(kserveColumns(), colEngineRPC, colCannedRPC), quick: clients == 64 && size < 1<<20,
		job: job{Model: echoModel, Streams: clients, Requests: 4000, Bytes: size},
	}
	if size >= 1<<20 {
		s.job.Requests = 500
	}
	return s
}

func inferName(clients, size int) string { return fmt.Sprintf("infer-%dk-%d", size>>10, clients) }

func count(streams int) string {
	if streams == 1 {
		return "one stream"
	}
	return fmt.Sprintf("%d streams", streams)
}

// short reduces the job to a fraction of a second.
func (s *scenario) short() {
	s.job.Requests = max(s.job.Requests/8, s.job.Streams)
	s.job.Tokens = max(s.job.Tokens/4, 8)
	s.job.Spread /= 4
}
