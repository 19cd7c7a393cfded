"""TensorRT-LLM's executor with its pre- and postprocessing, as far as it is
visible through the ensemble and tensorrt_llm_bls.

It keeps the weights of a few LoRA adapters, and evicts the least recently used one
for another. An adapter's first value is the id of the token with which its
responses begin. The adapters in ../ensemble/loras have the format of
hf_lora_convert.py: numpy.save of [1, modules, values] in float16, and of [1,
modules, 3] in int32.
"""

import collections
import itertools
import threading

import bigrams
import numpy as np
from engine import CONTEXT, END, Cache, answer, cancelled, constrained, decode, encode, scalar, send, strings, tensor, texts

ADAPTERS, LAYERS, MODULES, WIDTH = 2, 2, (0, 1), 8  # size of the cache; layers and modules of the model; values of a module at rank 1

cache = collections.OrderedDict()  # first value of each cached adapter by its task's id, the most recently used one last
cache_lock = threading.Lock()

blocks = Cache()

GUIDES = ("json", "json_schema", "regex", "ebnf_grammar")


class Request:
    """The parameters of a request. Raises ValueError with TensorRT-LLM's messages."""

    def __init__(self, request):
        for name in ("text_input", "max_tokens"):
            if tensor(request, name) is None or tensor(request, name).shape != (1, 1):
                raise ValueError(f"{name} is required, in the shape [1, 1]")
        self.prompt = encode(scalar(request, "text_input").decode())
        if len(self.prompt) > CONTEXT:
            raise ValueError(
                "Encountered an error when fetching new request: "
                f"Prompt length ({len(self.prompt)}) exceeds maximum input length ({CONTEXT}). Set log level to info and check "
                "TRTLLM logs for how to set maximum input length (/src/tensorrt_llm/batch_manager/llmRequest.h:472)")
        self.limit = int(scalar(request, "max_tokens"))
        if self.limit <= 0:
            raise ValueError("max_tokens must be a single value > 0")
        self.stream = bool(scalar(request, "stream", False))
        self.exclude = bool(scalar(request, "exclude_input_in_output", False))
        self.logprobs = bool(scalar(request, "return_log_probs", False))
        self.context_logits = bool(scalar(request, "return_context_logits", False))
        self.counts = [name for name in ("num_input_tokens", "num_output_tokens") if scalar(request, "return_" + name, False)]
        self.reused = blocks.reuse(self.prompt)
        self.metrics = bool(scalar(request, "return_perf_metrics", False))
        self.stop = [encode(word) for word in texts(request, "stop_words")]
        adapter = lora(request)
        self.ids = self._answer(request) if adapter is None else itertools.chain([adapter], self._answer(request))

    def _answer(self, request):
        kind = scalar(request, "guided_decoding_guide_type")
        if kind is not None:
            kind = kind.decode()
            guide = scalar(request, "guided_decoding_guide", b"").decode()
            if kind not in GUIDES or not guide and kind != "json":
                raise ValueError("The guide string must be provided unless using GuideType::kJSON.")
            return [*encode(constrained(kind, guide)), END]
        bias = self._bias(request)
        endless = scalar(request, "end_id", 0) == -1
        ids = answer(self.prompt, least=int(scalar(request, "min_tokens", 0)), endless=endless)
        # The likeliest token is the response's next one, unless a bias favors
        # another one.
        return (max(bias, key=bias.get) if any(weight > 50 for weight in bias.values()) else token for token in ids)

    def _bias(self, request):
        words, weights = texts(request, "embedding_bias_words"), tensor(request, "embedding_bias_weights")
        if not words:
            return {}
        if weights is None or len(words) != weights.size:
            raise ValueError("Embedding bias words must have same dimension as embedding bias weights")
        bias = {}
        for word, weight in zip(words, weights.flat):
            for token in encode(word):
                bias[token] = bias.get(token, 0) + float(weight)
        return bias

    def tokens(self):
        """Returns the response's ids, including the stop sequence that ends it and
        the end token."""
        made = []
        for token in self.ids:
            made.append(token)
            yield token
            if token == END or len(made) == self.limit or any(made[-len(stop):] == stop for stop in self.stop):
                return


def lora(request):
    """Returns the first value of the request's adapter, or None for a request
    without one."""
    task, weights, config = (tensor(request, name) for name in ("lora_task_id", "lora_weights", "lora_config"))
    if task is None and weights is None and config is None:
        return None
    if task is None or task.size != 1:
        raise ValueError("lora_task_id must be set for LoRA inference")
    task = int(task.flat[0])
    if weights is not None or config is not None:
        check(weights, config)
    with cache_lock:
        if task not in cache:
            if weights is None:
                raise ValueError("Encountered an error when fetching new request: "
                                 f"LoRA task {task} not found in cache. Please send LoRA weights with request")
            cache[task] = int(weights.flat[0])
        cache.move_to_end(task)
        if len(cache) > ADAPTERS:
            cache.popitem(last=False)
        return cache[task]


def check(weights, config):
    """Checks an adapter as TensorRT-LLM's loraUtils.cpp does."""
    for wrong, text in (
        (weights is None or config is None, "Request for LoRA inference must have both lora_weights and lora_keys"),
        (lambda: weights.ndim != 3, "Invalid shape for lora_weights tensor"),
        (lambda: config.ndim != 3, "Invalid shape for lora_keys tensor"),
        (lambda: weights.shape[0] != 1 or config.shape[0] != 1, "Expected batch dimension to be 1 for each lora request"),
        (lambda: weights.dtype != np.float16, "Expected lora weights to be the same data type as base model"),
        (lambda: config.dtype != np.int32, f"Expected  lora keys to have TYPE_INT32 but was {config.dtype}"),
        (lambda: weights.shape[1] != config.shape[1], "Expected dim1 lora_weights and lora_keys to have the same size"),
        (lambda: config.shape[2] not in (3, 4), "Expected dim2 of lora_keys to have a size in [3, 4]"),
        (lambda: any(not 0 <= layer < LAYERS for layer in config[0, :, 1]), "Expected layerId to be in the range [0, numModelLayers)"),
        (lambda: any(rank <= 0 for rank in config[0, :, 2]), "Expected adapterSize to be > 0"),
        (lambda: any(module not in MODULES for module in config[0, :, 0]), "lora module not enabled for this model"),
        (lambda: any(rank * WIDTH > weights.shape[2] for rank in config[0, :, 2]), "lora_weights has to few values for attn_q"),
    ):
        if wrong() if callable(wrong) else wrong:
            raise ValueError("Encountered an error when fetching new request: " + text)


def respond(request, sender, accumulate, gathers):
    """Responds token by token, or with one response. Each token is decoded
    separately unless tokens are accumulated. An engine that doesn't gather the
    logits of prompts refuses to return them."""
    if request.context_logits and not gathers:
        raise ValueError("Return context logit need to build engine with gather_context_logits")
    made = []
    for token in request.tokens():
        if request.stream and cancelled(sender):
            break
        made.append(token)
        if request.stream:
            send(sender, False, **outputs(request, decode(made if accumulate else [token]), [token], made))
    if not request.stream:
        text = decode(made if request.exclude else request.prompt + made)
        send(sender, False, **outputs(request, text, made if request.exclude else request.prompt + made, made))
    sender.send(flags=1)


def outputs(request, text, counted, made):
    """Returns the tensors of one response. The counts are its own; the
    probabilities are those of all tokens so far."""
    found = {"text_output": strings(text), "cum_log_probs": np.zeros((1, 1), np.float32)}
    if request.logprobs:
        found["output_log_probs"] = np.array([[[-(1 + token % 8) / 8 for token in made]]], np.float32)
    if request.context_logits:
        found["context_logits"] = bigrams.logits(request.prompt)[np.newaxis]
    if request.metrics:
        found["kv_cache_reused_blocks"] = np.array([[request.reused]], np.int32)
    counts = {"num_input_tokens": len(request.prompt), "num_output_tokens": len(counted)}
    for name in request.counts:
        found[name] = np.array([[counts[name]]], np.int32)
    return found
