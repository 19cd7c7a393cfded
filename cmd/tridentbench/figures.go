package main

import (
	"fmt"
	"math"
	"strings"
)

// figure is a metric with a target of the project.
type figure struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit,omitempty"`
	AtMost  float64 `json:"at_most,omitempty"`
	AtLeast float64 `json:"at_least,omitempty"` // minimum of the target; a figure without AtMost and AtLeast is informational
	Value   spread  `json:"value"`

	of func(round) float64 // value for one round; NaN if the round lacks data
}

// met reports whether the median reaches the target. Without a target it is true.
func (f *figure) met() bool {
	return (f.AtLeast == 0 || f.Value.Median >= f.AtLeast) && (f.AtMost == 0 || f.Value.Median <= f.AtMost)
}

// round returns a metric of a scenario and column in one round, or NaN if it wasn't
// measured.
type round func(scenario, column, metric string) float64

const (
	cpuTrident = cpuOf + roleTrident
	millis     = "ms"
	micros     = "µs"
)

// figures returns the figures of the project's plan, in its order, each followed by
// related figures.
func figures() []figure {
	return []figure{
		{
			Name: "in process, 64 streams flat out: tokens/s ÷ canned SSE, one token a write", AtLeast: 0.6,
			of: ratio(flat64, colLocal, colCanned, tokenRate),
		},
		{
			Name: "in process, 64 streams flat out: tokens/s ÷ canned SSE at the same tokens a write", AtLeast: 0.6,
			of: ratio(flat64, colLocal, colCannedAs, tokenRate),
		},
		{Name: "engine loop, 64 streams flat out: tokens/s ÷ canned SSE, one token a write", of: ratio(flat64, colEngine, colCanned, tokenRate)},
		{Name: "engine loop, 64 streams flat out: tokens/s ÷ canned SSE at the same tokens a write", of: ratio(flat64, colEngine, colCannedAs, tokenRate)},
		{Name: "in process, 64 streams flat out: tokens a write", of: of(flat64, colLocal, perWrite)},
		{Name: "in process, 64 streams flat out: CPU of the whole server process a token", Unit: micros, AtMost: 4, of: of(flat64, colLocal, cpuTrident)},
		{
			Name: "remote, 64 streams flat out: tokens/s ÷ (bare gRPC client + driver)", AtLeast: 0.8,
			of: ratio(flat64, colRemote, colRelay, tokenRate),
		},
		{Name: "remote, 64 streams flat out: tokens/s ÷ bare gRPC client, which has no driver", of: ratio(flat64, colRemote, colBare, tokenRate)},
		{
			Name: "remote, 64 streams flat out: Trident's CPU a token minus that of the bare gRPC client + driver", Unit: micros, AtMost: 3,
			of: additionalCPU(colRelay),
		},
		{Name: "remote, 64 streams flat out: Trident's CPU a token minus that of the bare gRPC client", Unit: micros, of: additionalCPU(colBare)},
		{Name: "in process, 64 paced streams: CPU a token", Unit: micros, AtMost: 10, of: of(paced64, colLocal, cpuTrident)},
		{Name: "canned SSE, 64 paced streams: CPU a token, mostly kernel time for sending it", Unit: micros, of: of(paced64, colCanned, cpuTrident)},
		{
			Name: "in process, 64 paced streams: CPU a token ÷ (engine loop + canned SSE)", AtMost: 2,
			of: func(r round) float64 {
				return r(paced64, colLocal, cpuTrident) / (r(paced64, colEngine, cpuTrident) + r(paced64, colCanned, cpuTrident))
			},
		},
		{Name: "one stream paced at 10 ms: tokens/s, in process ÷ bare gRPC client", AtLeast: 0.95, of: ratio(paced1, colLocal, colBare, tokenRate)},
		{Name: "one stream paced at 10 ms: tokens/s, remote ÷ bare gRPC client", AtLeast: 0.95, of: ratio(paced1, colRemote, colBare, tokenRate)},
		{Name: "100 clients at 10 ms a token: requests/s streaming ÷ not streaming, in process", AtLeast: 0.95, of: streaming(colLocal)},
		{Name: "100 clients at 10 ms a token: requests/s streaming ÷ not streaming, remote", AtLeast: 0.95, of: streaming(colRemote)},
		{Name: "time to first chunk, one idle client: in process ÷ bare gRPC client", AtMost: 1, of: ratio(firstToken, colLocal, colBare, first50)},
		{Name: "time to first chunk, one idle client: remote ÷ bare gRPC client", AtMost: 1.5, of: ratio(firstToken, colRemote, colBare, first50)},
		{Name: "time to first chunk, one idle client: (bare gRPC client + canned SSE) ÷ bare gRPC client, the minimum of two hops", of: twoHops},
		{Name: "time to first chunk, one client without pauses: in process ÷ bare gRPC client, text alone", AtMost: 1.2, of: ratio(nextRequest, colLocal, colText, first50)},
		{Name: "time to first chunk, one client without pauses: remote ÷ bare gRPC client, text alone", AtMost: 1.8, of: ratio(nextRequest, colRemote, colText, first50)},
		{Name: "remote, 64 streams flat out: tritonserver's CPU a token ÷ tritonserver's with the bare gRPC client, text alone", AtMost: 1.35, of: tritonFor(flat64)},
		{Name: "remote, 64 paced streams: tritonserver's CPU a token ÷ tritonserver's with the bare gRPC client, text alone", AtMost: 1.35, of: tritonFor(paced64)},
		{Name: "remote, ensemble, 64 streams flat out: tritonserver's CPU a token ÷ tritonserver's with the bare gRPC client, text alone", AtMost: 1.35, of: tritonFor(ensembleName(flat64))},
		{Name: "remote, ensemble, 64 paced streams: tritonserver's CPU a token ÷ tritonserver's with the bare gRPC client, text alone", AtMost: 1.35, of: tritonFor(ensembleName(paced64))},
		{Name: "over Trident, 64 streams flat out: (CPU a token of both Tridents - in process) ÷ in process", AtMost: 1, of: beyondInProcess(flat64)},
		{Name: "over Trident, 64 paced streams: (CPU a token of both Tridents - in process) ÷ in process", of: beyondInProcess(paced64)},
		{Name: "over Trident, 64 streams flat out: CPU in use, of all cores", AtLeast: 0.9, of: of(flat64, colOver, busyShare)},
		{Name: "messages of Anthropic's API ÷ chats, in process: CPU a token, 64 streams flat out", AtMost: 1.1, of: between(messages64, flat64, colLocal, cpuTrident)},
		{Name: "messages of Anthropic's API ÷ chats, remote: CPU a token, 64 streams flat out", AtMost: 1.1, of: between(messages64, flat64, colRemote, cpuTrident)},
		{Name: "messages of Anthropic's API ÷ chats, in process: time to first chunk, one idle client", AtMost: 1.1, of: between(messages1, firstToken, colLocal, first50)},
		{Name: "messages of Anthropic's API ÷ chats, remote: time to first chunk, one idle client", AtMost: 1.1, of: between(messages1, firstToken, colRemote, first50)},
		{Name: "steady streaming in process: allocations a token", AtMost: 4, of: of(flat64, colLocal, allocations)},
		{Name: "steady streaming in process: bytes a token", AtMost: 512, of: of(flat64, colLocal, allocBytes)},
		{Name: "1,024 streams paced at 50 ms: inter-token p99, in process", Unit: millis, AtMost: 100, of: of(slow1024, colLocal, gap99)},
		{Name: "1,024 streams paced at 50 ms: inter-token p99, remote", Unit: millis, AtMost: 100, of: of(slow1024, colRemote, gap99)},
		inferFigure(1<<10, 1, colLocalRPC, 1), inferFloor(1<<10, 1),
		inferFigure(1<<10, 64, colLocalRPC, 1), inferFloor(1<<10, 64),
		inferFigure(1<<20, 1, colLocalRPC, 1), inferFloor(1<<20, 1),
		inferFigure(1<<20, 64, colLocalRPC, 1), inferFloor(1<<20, 64),
		{Name: "decoupled streams, 64: tokens/s, in process ÷ tritonserver's own gRPC", AtLeast: 1, of: ratio(decoupled64, colLocalRPC, colTriton, tokenRate)},
		inferFigure(1<<10, 1, colRemoteRPC, 0.45), inferFigure(1<<10, 64, colRemoteRPC, 0.45),
		inferFigure(1<<20, 1, colRemoteRPC, 0.45), inferFigure(1<<20, 64, colRemoteRPC, 0.45),
		{Name: "decoupled streams, 64: tokens/s, remote ÷ tritonserver's own gRPC", AtLeast: 0.45, of: ratio(decoupled64, colRemoteRPC, colTriton, tokenRate)},
		{Name: "memory a stream, 1,024 idle streams, in process", Unit: "KiB", AtMost: 64, of: of(idleStreams, colLocal, growth)},
		{Name: "memory a stream, 1,024 idle streams, remote", Unit: "KiB", AtMost: 64, of: of(idleStreams, colRemote, growth)},
	}
}

// peerFigures compares Trident before a tritonserver with other servers, and Trident in process with
// Triton's OpenAI frontend.
func peerFigures(peers []string) []figure {
	var list []figure
	for _, peer := range peers {
		if peer == colFrontend {
			list = append(list, frontendFigures()...)
			continue
		}
		for _, contract := range []struct {
			title string
			name  func(scenario string) string
		}{{"", strings.Clone}, {"ensemble, ", ensembleName}} {
			for _, s := range []struct{ scenario, title string }{{flat64, "64 streams flat out"}, {flat256, "256 streams flat out"}} {
				list = append(list,
					figure{Name: fmt.Sprintf("remote ÷ %s, %s%s: tokens/s", peer, contract.title, s.title), AtLeast: 1.15, of: ratio(contract.name(s.scenario), colRemote, peer, tokenRate)},
					figure{Name: fmt.Sprintf("remote ÷ %s, %s%s: own CPU a token", peer, contract.title, s.title), AtMost: 0.85, of: ratio(contract.name(s.scenario), colRemote, peer, cpuTrident)},
				)
			}
			list = append(list, figure{Name: fmt.Sprintf("remote ÷ %s, %s64 paced streams: own CPU a token", peer, contract.title), AtMost: 1, of: ratio(contract.name(paced64), colRemote, peer, cpuTrident)})
		}
	}
	return list
}

// frontendFigures compares Trident in process with Triton's OpenAI frontend.
func frontendFigures() []figure {
	name := func(what string) string { return "in process ÷ " + colFrontend + ", " + what }
	return []figure{
		{Name: name("64 streams flat out: tokens/s"), of: ratio(flat64, colLocal, colFrontend, tokenRate)},
		{Name: name("64 streams flat out: CPU a token"), of: ratio(flat64, colLocal, colFrontend, cpuTrident)},
		{Name: name("64 paced streams: CPU a token"), of: ratio(paced64, colLocal, colFrontend, cpuTrident)},
		{Name: name("one idle client: time to first chunk"), of: ratio(firstToken, colLocal, colFrontend, first50)},
	}
}

// tritonFor compares the CPU time of tritonserver for Trident with that for the client that
// requests the text alone.
func tritonFor(scenario string) func(round) float64 {
	return func(r round) float64 {
		return tritonCPU(r, scenario, colRemote) / tritonCPU(r, scenario, colText)
	}
}

// beyondInProcess returns the CPU time of both processes of Trident over Trident beyond that
// of Trident in process, divided by the latter.
func beyondInProcess(scenario string) func(round) float64 {
	return func(r round) float64 {
		one := serverCPU(r, scenario, colLocal)
		return (serverCPU(r, scenario, colOver) - one) / one
	}
}

// inferFigure compares unary calls with direct calls of tritonserver.
func inferFigure(size, clients int, column string, least float64) figure {
	where := "in process"
	if column == colRemoteRPC {
		where = "remote"
	}
	return figure{
		Name:    fmt.Sprintf("unary calls of %d KiB, clients: %d: requests/s, %s ÷ tritonserver's own gRPC", size>>10, clients, where),
		AtLeast: least, of: ratio(inferName(clients, size), column, colTriton, requestRate),
	}
}

// inferFloor compares grpc-go and the engine, without Trident's service, with
// tritonserver.
func inferFloor(size, clients int) figure {
	return figure{
		Name: fmt.Sprintf("unary calls of %d KiB, clients: %d: requests/s, Trident's in-process engine behind grpc-go, without the rest of Trident ÷ tritonserver's own gRPC", size>>10, clients),
		of:   ratio(inferName(clients, size), colEngineRPC, colTriton, requestRate),
	}
}

func of(scenario, column, metric string) func(round) float64 {
	return func(r round) float64 { return r(scenario, column, metric) }
}

// between compares two scenarios in one column.
func between(scenario, to, column, metric string) func(round) float64 {
	return func(r round) float64 { return r(scenario, column, metric) / r(to, column, metric) }
}

func ratio(scenario, column, to, metric string) func(round) float64 {
	return func(r round) float64 { return r(scenario, column, metric) / r(scenario, to, metric) }
}

// additionalCPU returns the additional CPU time per token of Trident with a remote Triton,
// compared with a column.
func additionalCPU(column string) func(round) float64 {
	return func(r round) float64 {
		return r(flat64, colRemote, cpuTrident) - r(flat64, column, cpuTrident)
	}
}

// twoHops returns the relative time to the first chunk for a proxy without any own
// delay.
func twoHops(r round) float64 {
	return 1 + r(firstToken, colCanned, first50)/r(firstToken, colBare, first50)
}

func streaming(column string) func(round) float64 {
	return func(r round) float64 {
		return r(clientsParts, column, requestRate) / r(clientsWhole, column, requestRate)
	}
}

// evaluate returns the figures for which the rounds of measurements have data.
func evaluate(all []figure, rounds []round) []figure {
	var known []figure
	for _, f := range all {
		var values []float64
		for _, r := range rounds {
			if v := f.of(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
				values = append(values, v)
			}
		}
		if value, ok := spreadOf(values); ok {
			f.Value = value
			known = append(known, f)
		}
	}
	return known
}
