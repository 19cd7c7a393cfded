package metrics

import "github.com/prometheus/client_golang/prometheus"

// family is a metric of Trident. docs/reference/metrics.md lists all of them.
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
	labelEndpoint  = "endpoint"

	unknownModel = "(unknown)"
)

// families are Trident's metrics.
type families struct {
	requests, inFlight, queued, waitingTurn, promptTokens, cachedTokens, generatedTokens, inferDuration, refused *family

	firstToken, interToken, duration, tokenUsage *family

	refusals, bodyBytes, decoding, decodeWaiting *family

	httpRequests, grpcRequests, panics *family

	ready, modelReady, limit, mixed, build *family

	reloads, reloaded, reloadedAt *family

	shed, memoryUsed, memoryGoal, memoryLimit, memoryTriton *family

	waiting, running, kvCache, loras *family

	encoderBatches, encoderInputs, encoderTokens, encoderWaiting, encoderRunning *family

	sourceUp, sourceDuration, sourceClashes *family

	endpointState, endpointInFlight, endpointRequests, endpointFailures, endpointRepeats, endpointOuts, repeatsRefused *family

	storeUp, storeFailures *family
	alone                  *family
}

func newFamilies(cfg Config) *families {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	series := []string{labelModel, labelSurface, labelOperation}
	gateway := cfg.GatewayPrefix
	genAI := []string{"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", labelSurface}
	return &families{
		requests:        newFamily("trident_requests_total", "Number of requests to models that have ended. The label code is ok or the code of the error; canceled means that the client canceled the request or disconnected.", counter, append(series, labelCode)...),
		inFlight:        newFamily("trident_requests_in_flight", "Number of requests that Trident is serving, including those in its queue.", gauge, series...),
		queued:          newFamily("trident_requests_queued", "Number of requests in flight without an answer yet, in Trident's queue or in the engine.", gauge, series...),
		waitingTurn:     newFamily("trident_requests_waiting", "Number of requests that wait in Trident's queue for a slot.", gauge, series...),
		promptTokens:    newFamily("trident_prompt_tokens_total", "Number of tokens in the prompts and inputs of successful requests.", counter, series...),
		cachedTokens:    newFamily("trident_cached_prompt_tokens_total", "Number of tokens in the prompts of successful requests that the engine found in its prefix cache. Engines that don't report these tokens add nothing.", counter, series...),
		generatedTokens: newFamily("trident_generated_tokens_total", "Number of generated tokens, counted when they arrive from the engine.", counter, series...),
		inferDuration:   newFamily("trident_infer_duration_seconds", "Duration of inference requests with tensors, in seconds. The label error_type is empty for successful requests and _OTHER for failed ones.", histogram, labelModel, labelSurface, "error_type"),
		refused:         newFamily("trident_requests_refused_total", "Number of requests that were refused before they reached a model. The values of the label code are limited (a rate limit or a limit of an API key), overloaded (a limit of the server or of a model), unavailable (the shutdown) and canceled (the client disconnected while the request was queued).", counter, labelCode),

		firstToken: newFamily("gen_ai_server_time_to_first_token_seconds", "Time from the start of a request to the first token of its streamed answer, in seconds.", histogram, genAI...),
		interToken: newFamily("gen_ai_server_time_per_output_token_seconds", "Time between two tokens of a streamed answer, in seconds.", histogram, genAI...),
		duration:   newFamily("gen_ai_server_request_duration_seconds", "Duration of requests for text or embeddings, in seconds. The label error_type is empty for successful requests and _OTHER for failed ones.", histogram, append(genAI, "error_type")...),
		tokenUsage: newFamily("gen_ai_client_token_usage", "Number of tokens in a successful request. The label gen_ai_token_type is input for its prompt and output for its answer.", histogram, append(genAI, "gen_ai_token_type")...),

		refusals:      newFamily("trident_refusals_total", "Number of connections and requests that were refused before Trident read their body. The label reason has one of these values. For connections: connections (the limit of connections), connections_per_address (the limit of connections per address). For requests: header_lines (too many header lines), rate (a rate limit), tokens (a key has used its tokens per minute), full (all slots and the queue are taken), authentication_failures (an address failed authentication too often), stopping (the shutdown), load (low memory), reading (the limit of requests being read), body_bytes (the limit of the bytes of all bodies).", counter, "reason"),
		bodyBytes:     newFamily("trident_body_bytes_in_flight", "Size of the bodies of all requests that are being read or served, in bytes.", gauge),
		decoding:      newFamily("trident_requests_decoding", "Number of requests that have a decode slot, in which their body is decoded.", gauge),
		decodeWaiting: newFamily("trident_requests_waiting_to_decode", "Number of requests that wait for a decode slot, in which their body is decoded.", gauge),

		httpRequests: newFamily("trident_http_requests_total", "Number of HTTP responses of all ports. The label surface is the API, and code is the HTTP status.", counter, labelSurface, labelCode),
		grpcRequests: newFamily("trident_grpc_requests_total", "Number of calls that have ended on the gRPC port of KServe. The label code is the gRPC status code.", counter, labelCode),
		panics:       newFamily("trident_panics_total", "Number of recovered panics. Each one is a defect, and the log has its stack.", counter),

		ready:      newFamily("trident_ready", "1 while the server is ready, as /health/ready reports; 0 otherwise.", gauge),
		modelReady: newFamily("trident_model_ready", "1 for a model that is ready for requests, 0 for a model that is being loaded or unloaded, or that has failed. Other models have no series.", gauge, labelModel),
		limit:      newFamily("trident_requests_in_flight_limit", "Maximum number of requests in flight ("+cfg.Names.Of("admission.Server.InFlight")+"). 0 means no limit.", gauge),
		mixed:      newFamily("trident_triton_responses_mixed_total", "Number of responses of a remote Triton that had the id of another request. No client received such a response, and the request for which it arrived ended with an error.", counter),
		build:      newFamily("trident_build_info", "Always 1. The label version is the version of Trident.", gauge, "version"),

		reloads:    newFamily("trident_config_reloads_total", "Number of times that the settings were reloaded, after a change of their file or a SIGHUP. The label result is success, or failure if the previous settings stay in effect.", counter, "result"),
		reloaded:   newFamily("trident_config_last_reload_successful", "1 if the last reload of the settings succeeded, 0 if it failed and the previous settings stay in effect.", gauge),
		reloadedAt: newFamily("trident_config_last_reload_success_timestamp_seconds", "Unix time of the last successful reload of the settings, or of the start, in seconds.", gauge),

		shed:         newFamily("trident_requests_shed_total", "Number of requests that were refused because memory was low. Trident first refuses requests of the clients that use the most memory.", counter),
		memoryUsed:   newFamily("trident_memory_used_bytes", "Memory that Go uses, in bytes: live objects at the last garbage collection, stacks and memory of the runtime.", gauge),
		memoryGoal:   newFamily("trident_memory_go_limit_bytes", "Soft limit of Go's memory, in bytes. Trident refuses requests when the used memory comes close to it. 0 means no limit.", gauge),
		memoryLimit:  newFamily("trident_memory_limit_bytes", "Memory limit of Trident and its child processes, in bytes ("+cfg.Names.Of("memory.Limit")+", or the limit of the cgroup, or the memory of the machine). 0 means no limit.", gauge),
		memoryTriton: newFamily("trident_memory_triton_bytes", "Memory of in-process Triton and its child processes, in bytes, measured when the models last changed.", gauge),

		waiting: newFamily(gateway+"num_requests_waiting", "Number of requests of all models without an answer yet.", gauge),
		running: newFamily(gateway+"num_requests_running", "Number of requests of all models whose answer has started.", gauge),
		kvCache: newFamily(gateway+"kv_cache_usage_perc", "Used fraction of the KV cache, from 0 to 1, from the engines' own metrics. If several engines report a fraction, the value is the largest one.", gauge),
		loras:   newFamily(gateway+"lora_requests_info", "LoRA adapters of requests in flight. The labels running_lora_adapters and waiting_lora_adapters are comma-separated names of adapters, and max_lora is the number of known adapters. The value is the current Unix time in seconds.", gauge, "max_lora", "running_lora_adapters", "waiting_lora_adapters"),

		encoderBatches: newFamily("trident_encoder_batches_total", "Number of batches that Trident sent to an encoder. Encoders that Triton batches have no series.", counter, labelModel),
		encoderInputs:  newFamily("trident_encoder_inputs_total", "Number of inputs in the batches of an encoder.", counter, labelModel),
		encoderTokens:  newFamily("trident_encoder_tokens_total", "Number of tokens in the batches of an encoder. The label kind is input for the tokens of the inputs, and padding for the tokens that fill the batch.", counter, labelModel, "kind"),
		encoderWaiting: newFamily("trident_encoder_inputs_waiting", "Number of inputs that wait for an encoder.", gauge, labelModel),
		encoderRunning: newFamily("trident_encoder_batches_running", "Number of batches that an encoder is running.", gauge, labelModel),

		sourceUp:         newFamily("trident_triton_metrics_up", "1 if Triton's own metrics were read for this page, 0 if that failed. The label source is the host of the server, or local for in-process Triton.", gauge, labelSource),
		sourceDuration:   newFamily("trident_triton_metrics_duration_seconds", "Time that the read of Triton's own metrics for this page took, in seconds.", gauge, labelSource),
		endpointState:    newFamily("trident_endpoint_state", "1 for the state that a server of "+cfg.Names.Of("triton.Endpoint")+" has, 0 for the other states. The values of the label state are in (the server gets requests), starting (the server has come back and gets a growing share of requests), not_ready (the server reports that it isn't ready), out (the server fails health checks) and drained (an operator has drained the server).", gauge, labelEndpoint, "state"),
		endpointInFlight: newFamily("trident_endpoint_requests_in_flight", "Number of requests in flight at a server.", gauge, labelEndpoint),
		endpointRequests: newFamily("trident_endpoint_requests_total", "Number of requests that were sent to a server, including repeated requests.", counter, labelEndpoint),
		endpointFailures: newFamily("trident_endpoint_failures_total", "Number of requests that failed at a server because of a fault of the server.", counter, labelEndpoint),
		endpointRepeats:  newFamily("trident_endpoint_repeats_total", "Number of requests that were repeated at a server after they had failed at another one.", counter, labelEndpoint),
		endpointOuts:     newFamily("trident_endpoint_outs_total", "Number of times that Trident stopped sending requests to a server, because it refused connections or didn't answer.", counter, labelEndpoint),
		storeUp:          newFamily("trident_store_up", "1 if the last call to the shared store succeeded, 0 if it failed. The label store is responses or limits. A store that isn't configured has no series.", gauge, "store"),
		storeFailures:    newFamily("trident_store_failures_total", "Number of calls to the shared store that failed. If the stores of responses and of limits have the same URL, both labels have the same value.", counter, "store"),
		alone:            newFamily("trident_limits_store_fallbacks_total", "Number of times that this server applied rate limits without the shared store of limits, because the store didn't answer. Without a shared store of limits, the metric is absent.", counter),
		repeatsRefused:   newFamily("trident_endpoint_repeats_refused_total", "Number of requests that failed at a server and weren't repeated at another one, because too many requests were being repeated.", counter),

		sourceClashes: newFamily("trident_triton_metrics_dropped", "Number of Triton's metric families that this page omits, because the page already has a family with the same name.", gauge, labelSource),
	}
}

// list returns all families.
func (f *families) list() []*family {
	return []*family{
		f.requests, f.inFlight, f.queued, f.waitingTurn, f.promptTokens, f.cachedTokens, f.generatedTokens, f.inferDuration, f.refused,
		f.firstToken, f.interToken, f.duration, f.tokenUsage,
		f.refusals, f.bodyBytes, f.decoding, f.decodeWaiting,
		f.httpRequests, f.grpcRequests, f.panics,
		f.ready, f.modelReady, f.limit, f.mixed, f.build,
		f.reloads, f.reloaded, f.reloadedAt,
		f.shed, f.memoryUsed, f.memoryGoal, f.memoryLimit, f.memoryTriton,
		f.waiting, f.running, f.kvCache, f.loras,
		f.encoderBatches, f.encoderInputs, f.encoderTokens, f.encoderWaiting, f.encoderRunning,
		f.sourceUp, f.sourceDuration, f.sourceClashes,
		f.endpointState, f.endpointInFlight, f.endpointRequests, f.endpointFailures, f.endpointRepeats, f.endpointOuts, f.repeatsRefused,
		f.storeUp, f.storeFailures, f.alone,
	}
}
