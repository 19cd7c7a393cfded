package metrics

import "github.com/prometheus/client_golang/prometheus"

// family is a metric of Trident. docs/metrics.md lists all of them.
type family struct {
	name, help string
	kind       prometheus.ValueType // unused for histograms
	labels     []string
	*prometheus.Desc
}

func newFamily(name, help string, kind prometheus.ValueType, labels ...string) *family {
	return &family{name, help, kind, labels, prometheus.NewDesc(name, help, labels, nil)}
}

const histogram = prometheus.ValueType(0)

// The labels of all metrics by model. The label of the model is a name in the
// catalog, or unknownModel for requests with another name. Surfaces, operations and
// codes are fixed sets.
const (
	labelModel     = "model"
	labelSurface   = "surface"
	labelOperation = "operation"
	labelCode      = "code"
	labelSource    = "source"

	unknownModel = "(unknown)"
)

// families are Trident's metrics.
type families struct {
	requests, inFlight, queued, waitingTurn, promptTokens, generatedTokens, inferDuration, refused *family

	firstToken, interToken, duration, tokenUsage *family

	refusals, bodyBytes, decoding, decodeWaiting *family

	httpRequests, grpcRequests, panics *family

	ready, modelReady, limit, mixed, build *family

	reloads, reloaded, reloadedAt *family

	shed, memoryUsed, memoryGoal, memoryLimit, memoryTriton *family

	waiting, running, kvCache, loras *family

	sourceUp, sourceDuration, sourceClashes *family
}

func newFamilies(cfg Config) *families {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	series := []string{labelModel, labelSurface, labelOperation}
	gateway := cfg.GatewayPrefix
	genAI := []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", labelSurface}
	return &families{
		requests:        newFamily("trident_requests_total", "Requests to models that have ended, by outcome: ok, or the error's code; canceled are those that their clients left.", counter, append(series, labelCode)...),
		inFlight:        newFamily("trident_requests_in_flight", "Requests that are being served.", gauge, series...),
		queued:          newFamily("trident_requests_queued", "Requests in flight that no answer has come of yet.", gauge, series...),
		waitingTurn:     newFamily("trident_requests_waiting", "Requests of those queued that wait in Trident for their turn, by its limits.", gauge, series...),
		promptTokens:    newFamily("trident_prompt_tokens_total", "Tokens of the prompts and inputs of requests that have succeeded.", counter, series...),
		generatedTokens: newFamily("trident_generated_tokens_total", "Tokens of answers, counted as they come.", counter, series...),
		inferDuration:   newFamily("trident_infer_duration_seconds", "Time of whole requests for tensors.", histogram, labelModel, labelSurface, "error_type"),
		refused:         newFamily("trident_requests_refused_total", "Requests that were turned away before they got to a model, by code: limited for a rate or a key's bounds, overloaded for those of the server or a model, unavailable during the drain, canceled by clients that waited for their turn and left.", counter, labelCode),

		firstToken: newFamily("gen_ai_server_time_to_first_token_seconds", "Time from the request to the first token of streamed answers.", histogram, genAI...),
		interToken: newFamily("gen_ai_server_time_per_output_token_seconds", "Time between two tokens of streamed answers.", histogram, genAI...),
		duration:   newFamily("gen_ai_server_request_duration_seconds", "Time of whole requests; error_type is empty for those that succeeded.", histogram, append(genAI, "error_type")...),
		tokenUsage: newFamily("gen_ai_client_token_usage", "Tokens of requests that have succeeded: input or output.", histogram, append(genAI, "gen_ai_token_type")...),

		refusals:      newFamily("trident_refusals_total", "Connections and requests that were refused before anything of a body was read, by reason: connections and connections_per_address for those limits, header_lines, authentication_failures beyond an address's bound, rate, full for slots and queues, stopping, load, reading for the requests being read, body_bytes.", counter, "reason"),
		bodyBytes:     newFamily("trident_body_bytes_in_flight", "Bytes of the bodies of requests that are being read or served.", gauge),
		decoding:      newFamily("trident_requests_decoding", "Requests that have a decode slot.", gauge),
		decodeWaiting: newFamily("trident_requests_waiting_to_decode", "Requests that wait for a decode slot.", gauge),

		httpRequests: newFamily("trident_http_requests_total", "Answers by HTTP, by surface and status, of all ports.", counter, labelSurface, labelCode),
		grpcRequests: newFamily("trident_grpc_requests_total", "Calls of KServe's own port of gRPC that have ended, by gRPC's code.", counter, labelCode),
		panics:       newFamily("trident_panics_total", "Panics that were recovered from; each is a defect, and in the log.", counter),

		ready:      newFamily("trident_ready", "1 while /health/ready says so.", gauge),
		modelReady: newFamily("trident_model_ready", "1 for a model that takes requests, 0 for one that was to be loaded and doesn't.", gauge, labelModel),
		limit:      newFamily("trident_requests_in_flight_limit", "Most requests that are served at once ("+cfg.Names.Of("admission.Server.InFlight")+"); 0 for no limit.", gauge),
		mixed:      newFamily("trident_triton_responses_mixed_total", "Responses of a remote Triton that came to another request than their own: no client got them, and each ended the request that it came to.", counter),
		build:      newFamily("trident_build_info", "1; the labels tell the version.", gauge, "version"),

		reloads:    newFamily("trident_config_reloads_total", "Times that settings were read again, at a change of their file or on SIGHUP: success, or failure where the old ones stay.", counter, "result"),
		reloaded:   newFamily("trident_config_last_reload_successful", "1 while the settings that were read last are those that count, 0 after ones that can't be used.", gauge),
		reloadedAt: newFamily("trident_config_last_reload_success_timestamp_seconds", "When the settings that count were read, the start included.", gauge),

		shed:         newFamily("trident_requests_shed_total", "Requests that were refused before they were read, because memory was short: those of the clients that held most.", counter),
		memoryUsed:   newFamily("trident_memory_used_bytes", "Go's memory in use: what the last garbage collection found alive, stacks and the runtime's own.", gauge),
		memoryGoal:   newFamily("trident_memory_go_limit_bytes", "Go's soft limit, of which the watermarks are parts; 0 for no limit.", gauge),
		memoryLimit:  newFamily("trident_memory_limit_bytes", "Memory limit of Trident and its child processes ("+cfg.Names.Of("memory.Limit")+", the cgroup's or the machine's); 0 for no limit.", gauge),
		memoryTriton: newFamily("trident_memory_triton_bytes", "Memory that Triton in this process and its child processes held when the models last changed.", gauge),

		waiting: newFamily(gateway+"num_requests_waiting", "Requests that no answer has come of yet, of all models.", gauge),
		running: newFamily(gateway+"num_requests_running", "Requests that are being answered, of all models.", gauge),
		kvCache: newFamily(gateway+"kv_cache_usage_perc", "Part of the KV cache that is in use, 0 to 1, where an engine's own metrics tell it: the fullest one's.", gauge),
		loras:   newFamily(gateway+"lora_requests_info", "LoRA adapters of requests in flight; the value is the time.", gauge, "max_lora", "running_lora_adapters", "waiting_lora_adapters"),

		sourceUp:       newFamily("trident_triton_metrics_up", "1 where Triton's own metrics could be had for this page.", gauge, labelSource),
		sourceDuration: newFamily("trident_triton_metrics_duration_seconds", "Time that it took to get them.", gauge, labelSource),
		sourceClashes:  newFamily("trident_triton_metrics_dropped", "Families of Triton's that this page leaves out, as their names or series are there already.", gauge, labelSource),
	}
}

// list returns all families.
func (f *families) list() []*family {
	return []*family{
		f.requests, f.inFlight, f.queued, f.waitingTurn, f.promptTokens, f.generatedTokens, f.inferDuration, f.refused,
		f.firstToken, f.interToken, f.duration, f.tokenUsage,
		f.refusals, f.bodyBytes, f.decoding, f.decodeWaiting,
		f.httpRequests, f.grpcRequests, f.panics,
		f.ready, f.modelReady, f.limit, f.mixed, f.build,
		f.reloads, f.reloaded, f.reloadedAt,
		f.shed, f.memoryUsed, f.memoryGoal, f.memoryLimit, f.memoryTriton,
		f.waiting, f.running, f.kvCache, f.loras,
		f.sourceUp, f.sourceDuration, f.sourceClashes,
	}
}
