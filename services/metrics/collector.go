package metrics

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/trident-inference/trident/services/batching"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
	"github.com/trident-inference/trident/services/state"
)

// collector reads the counters that the service and the ports keep in any case. It
// adds no work while no page is requested.
type collector struct {
	*families
	Parts

	version string
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, f := range c.list() {
		to <- f.Desc
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(to chan<- prometheus.Metric) {
	out := sink(to)
	var waiting, running int
	for _, figures := range c.Service.Meters().Figures() {
		waiting, running = waiting+figures.Queued, running+figures.InFlight-figures.Queued
		c.collectSeries(out, &figures)
	}
	for i, n := range c.Service.Meters().Refused() {
		if n > 0 {
			out.value(c.refused, float64(n), metering.Outcome(i).String())
		}
	}
	c.collectIntake(out)
	out.value(c.waiting, float64(max(waiting, 0)))
	out.value(c.running, float64(max(running, 0)))
	c.collectLoRAs(out)
	c.collectEncoders(out)
	c.collectPorts(out)
	c.collectModels(out)
	c.collectReloads(out)
	c.collectMemory(out)
	c.collectEndpoints(out)
	c.collectStores(out)
	out.value(c.limit, float64(c.Service.Admission().MaxInFlight()))
	out.value(c.mixed, float64(c.mixedResponses()))
	out.value(c.build, 1, c.version)
}

// collectIntake collects the metrics of incoming bodies and of requests that are
// refused before they are read.
func (c *collector) collectIntake(out sink) {
	for reason, n := range c.Telemetry.Refusals() {
		out.value(c.refusals, float64(n), reason)
	}
	for reason, n := range c.Service.Admission().Refusals() {
		out.value(c.refusals, float64(n), reason)
	}
	out.value(c.refusals, float64(c.Gate.Failures()), "authentication_failures")
	_, held := c.Service.Admission().Holdings()
	out.value(c.bodyBytes, float64(held.Bytes))
	out.value(c.decoding, float64(held.Decoding))
	out.value(c.decodeWaiting, float64(held.Waiting))
}

// collectSeries collects the metrics of one model, surface and operation.
func (c *collector) collectSeries(out sink, f *metering.Figures) {
	model := f.Model
	if model == "" {
		model = unknownModel
	}
	series := []string{model, string(f.Surface), string(f.Operation)}
	for i, n := range f.Ended {
		if outcome := metering.Outcome(i); n > 0 || outcome == metering.OutcomeOK {
			out.value(c.requests, float64(n), append(series, outcome.String())...)
		}
	}
	out.value(c.inFlight, float64(f.InFlight), series...)
	out.value(c.queued, float64(f.Queued), series...)
	out.value(c.waitingTurn, float64(f.Waiting), series...)
	const failure = "_OTHER" // OpenTelemetry's value; trident_requests_total has the codes
	if f.Operation == inference.OperationInfer {
		out.histogram(c.inferDuration, &f.Succeeded, model, string(f.Surface), "")
		out.some(c.inferDuration, &f.Failed, model, string(f.Surface), failure)
		return
	}
	out.value(c.promptTokens, float64(f.PromptTokens), series...)
	out.value(c.cachedTokens, float64(f.CachedPromptTokens), series...)
	out.value(c.generatedTokens, float64(f.CompletionTokens), series...)
	genAI := []string{string(f.Operation), "triton", model, string(f.Surface)}
	out.histogram(c.duration, &f.Succeeded, append(genAI, "")...)
	out.some(c.duration, &f.Failed, append(genAI, failure)...)
	out.some(c.firstToken, &f.FirstToken, genAI...)
	out.some(c.interToken, &f.InterToken, genAI...)
	out.some(c.tokenUsage, &f.Inputs, append(genAI, "input")...)
	out.some(c.tokenUsage, &f.Outputs, append(genAI, "output")...)
}

func (c *collector) collectLoRAs(out sink) {
	listed := 0
	for _, card := range c.Service.Catalog().Cards() {
		listed += len(card.LoRAs)
	}
	running, waiting := c.Service.Meters().Adapters()
	if listed > 0 {
		out.value(c.loras, float64(time.Now().Unix()), strconv.Itoa(listed), strings.Join(running, ","), strings.Join(waiting, ","))
	}
}

// collectEncoders collects the metrics of the queues of encoders.
func (c *collector) collectEncoders(out sink) {
	c.Service.EncoderFigures(func(model string, f batching.Figures) {
		out.value(c.encoderBatches, float64(f.Batches), model)
		out.value(c.encoderInputs, float64(f.Items), model)
		out.value(c.encoderTokens, float64(f.Length), model, "input")
		out.value(c.encoderTokens, float64(f.Padded-f.Length), model, "padding")
		out.value(c.encoderWaiting, float64(f.Waiting), model)
		out.value(c.encoderRunning, float64(f.Running), model)
	})
}

func (c *collector) collectPorts(out sink) {
	for answers, n := range c.Telemetry.HTTP() {
		out.value(c.httpRequests, float64(n), string(answers.Surface), strconv.Itoa(answers.Status))
	}
	for code, n := range c.Telemetry.GRPC() {
		out.value(c.grpcRequests, float64(n), code.String())
	}
	out.value(c.panics, float64(c.Telemetry.Panics()))
}

// readyTimeout limits the readiness check of the engines.
const readyTimeout = time.Second

func (c *collector) collectModels(out sink) {
	ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
	defer cancel()
	out.value(c.ready, number(c.Service.Ready(ctx) == nil))
	for _, card := range c.Service.Catalog().Cards() {
		if card.State != inference.ModelNeverLoaded && card.Reason != "unloaded" {
			out.value(c.modelReady, number(card.State == inference.ModelReady), card.Name)
		}
	}
}

func (c *collector) collectReloads(out sink) {
	r := c.Settings.Reloads()
	out.value(c.reloads, float64(r.Taken), "success")
	out.value(c.reloads, float64(r.Refused), "failure")
	out.value(c.reloaded, number(!r.Stale))
	out.value(c.reloadedAt, float64(r.At.UnixMilli())/1000)
}

func (c *collector) collectMemory(out sink) {
	m := c.Memory.Figures()
	out.value(c.shed, float64(m.Shed))
	out.value(c.memoryUsed, float64(m.Used))
	out.value(c.memoryGoal, limit(m.Goal))
	out.value(c.memoryLimit, limit(m.Limit))
	out.value(c.memoryTriton, float64(m.Others))
}

// collectEndpoints collects the metrics of the servers of engines that have several.
func (c *collector) collectEndpoints(out sink) {
	for _, e := range c.Service.Catalog().Engines() {
		several, ok := e.(inference.EndpointReporter)
		if !ok {
			continue
		}
		report := several.Endpoints()
		for _, server := range report.Endpoints {
			for _, state := range inference.EndpointStates() {
				out.value(c.endpointState, number(server.State == state), server.Address, string(state))
			}
			out.value(c.endpointInFlight, float64(server.InFlight), server.Address)
			out.value(c.endpointRequests, float64(server.Requests), server.Address)
			out.value(c.endpointFailures, float64(server.Failures), server.Address)
			out.value(c.endpointRepeats, float64(server.Repeats), server.Address)
			out.value(c.endpointOuts, float64(server.Outs), server.Address)
		}
		out.value(c.repeatsRefused, float64(report.RepeatsRefused))
	}
}

// limit returns a memory limit in bytes, or 0 if there is none.
func limit(bytes int64) float64 {
	if bytes == math.MaxInt64 {
		return 0
	}
	return float64(bytes)
}

// collectStores collects the metrics of the shared stores, if there are any.
func (c *collector) collectStores(out sink) {
	for name, store := range map[string]*state.Store{"responses": c.Stores.Responses, "limits": c.Stores.Limits} {
		if store == nil {
			continue
		}
		up, failures := store.Health()
		out.value(c.storeUp, number(up), name)
		out.value(c.storeFailures, float64(failures), name)
	}
	if c.Stores.Limits != nil {
		out.value(c.alone, float64(c.Service.Admission().Alone()))
	}
}

// mixedResponses returns the number of mixed responses of all engines.
func (c *collector) mixedResponses() (all uint64) {
	for _, e := range c.Service.Catalog().Engines() {
		if able, ok := e.(inference.MixedCounter); ok {
			all += able.Mixed()
		}
	}
	return all
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// sink receives metrics.
type sink chan<- prometheus.Metric

func (s sink) value(f *family, v float64, labels ...string) {
	m, err := prometheus.NewConstMetric(f.Desc, f.kind, v, labels...)
	s.put(f, m, err)
}

// some sends a histogram unless the histogram is empty. Most series have no values
// for the histogram.
func (s sink) some(f *family, h *metering.Histogram, labels ...string) {
	if h.Count > 0 {
		s.histogram(f, h, labels...)
	}
}

func (s sink) histogram(f *family, h *metering.Histogram, labels ...string) {
	counts := make(map[float64]uint64, len(h.Bounds))
	for i, bound := range h.Bounds {
		counts[bound] = h.Counts[i]
	}
	m, err := prometheus.NewConstHistogram(f.Desc, h.Count, h.Sum, counts, labels...)
	if e := h.Exemplar; err == nil && e != nil {
		m, err = prometheus.NewMetricWithExemplars(m, prometheus.Exemplar{Value: e.Value, Labels: prometheus.Labels{"trace_id": e.TraceID}, Timestamp: e.At})
	}
	s.put(f, m, err)
}

// put sends a metric. An invalid metric becomes an error that leaves the rest of the
// page intact.
func (s sink) put(f *family, m prometheus.Metric, err error) {
	if err != nil {
		m = prometheus.NewInvalidMetric(f.Desc, err)
	}
	s <- m
}
