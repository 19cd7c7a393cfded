"""A model without weights that has the contract of Triton's vLLM backend. It responds at once, and equal requests get
equal responses.

It has the tensors of vllm_backend's main branch (September 2025 on, vLLM 0.13), and its error messages. Its behavior:

- After a chat the text is the content of the last user message; after a plain prompt it is the prompt itself. It is repeated if it must
  continue.
- A constrained response is the smallest that satisfies a JSON schema, a choice or a regular expression. With a structural tag, what
  follows a trigger is the smallest that satisfies the tag. A grammar is accepted and ignored, as are bad_words.
- After a question of a decision the text is the label of an option, whose logit depends on the option alone. Log probabilities are those of the
  whole vocabulary (logprobs_mode raw_logprobs), also with allowed_token_ids, which have an effect only there.
- A token is a byte, except <|im_start|> and <|im_end|>; ../tokenizer contains that as tokenizer.json. The end token counts as a token.
- It reads images if the parameter vision is set, at most as many as limit_mm_per_prompt in model.json allows. Each image needs its
  <|image|> in the prompt, and counts as IMAGE tokens.
- An embedding has DIMENSIONS components and a length other than 1, and depends only on the input.

Its engine is a separate process that does nothing, with the name of vLLM's. If that process has ended, each request
fails as in vLLM, and Triton still reports that the model is ready. If CONTRACT_PACE is set in the environment, a stream
waits for this many seconds before each piece.

It differs from a real backend in three points. One model generates and embeds. It refuses an n above 1, of which the
real backend loses texts. Its engine doesn't end at {"json_object": false}. If CONTRACT_RECORD is set in the
environment, it appends each request to this file: a line of JSON with the inputs by name and the request's id and
parameters.
"""

import hashlib
import json
import math
import os
import re
import subprocess
import sys
import threading
import time
import zlib

import numpy as np
import triton_python_backend_utils as pb_utils
from constraint import smallest, tagged

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))

import imagefile

DIMENSIONS = 16
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
SPECIAL = re.compile("(<\\|im_start\\|>|<\\|im_end\\|>)")
EOS = 257
VOCABULARY = 258
PLACE, IMAGE = "<|image|>", 16
RETURN = ("finish_reason", "cumulative_logprob", "logprobs", "num_input_tokens", "num_output_tokens")
CHUNKS = 12  # approximate number of a stream's pieces
MAX_LOGPROBS = 20
UNLIKELY = -10.0  # the logit of tokens that are no labels


def same(value):
    return value


def anything(_):
    return True


# vllm.SamplingParams of 0.13: how the backend converts a value, and the check of the value. The backend's own lora_name
# is checked separately.
PARAMETERS = {
    "n": (int, lambda v: v >= 1),
    "presence_penalty": (float, lambda v: -2 <= v <= 2),
    "frequency_penalty": (float, lambda v: -2 <= v <= 2),
    "repetition_penalty": (float, lambda v: v > 0),
    "temperature": (float, lambda v: v >= 0),
    "top_p": (float, lambda v: 0 < v <= 1),
    "top_k": (int, lambda v: v >= -1),
    "min_p": (float, lambda v: 0 <= v <= 1),
    "seed": (int, lambda v: -(2**63) <= v < 2**64),
    "stop": (same, lambda v: v is None or isinstance(v, str) or is_list(v, str) and all(v)),
    "stop_token_ids": (same, lambda v: v is None or is_list(v, int)),
    "ignore_eos": (bool, anything),
    "max_tokens": (int, lambda v: v >= 1),
    "min_tokens": (int, lambda v: v >= 0),
    "logprobs": (int, lambda v: v >= -1),
    "detokenize": (bool, lambda v: v),
    "skip_special_tokens": (bool, anything),
    "spaces_between_special_tokens": (bool, anything),
    "include_stop_str_in_output": (bool, anything),
    "truncate_prompt_tokens": (same, lambda v: v is None or is_integer(v, -1) and v != 0),
    "bad_words": (same, lambda v: v is None or is_list(v, str)),
    "allowed_token_ids": (same, lambda v: v is None or is_list(v, int)),
    "logit_bias": (same, lambda v: v is None or isinstance(v, dict)),
    "structured_outputs": (json.loads, lambda v: isinstance(v, dict) and sum(v.get(kind) is not None for kind in KINDS) <= 1),
    "lora_name": (same, lambda v: v is None or isinstance(v, str)),
}
KINDS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")


class TritonPythonModel:
    """The class that Triton loads. A response takes less than a millisecond, so execute sends it."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self._context = int(config["parameters"]["trident.context_length"]["string_value"])
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "multi_lora.json")) as loras:
            self._loras = list(json.load(loras))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.json")) as file:
            self._images = json.load(file)["limit_mm_per_prompt"]["image"]
        if config["parameters"].get("vision", {}).get("string_value") != "true":
            self._images = None
        self._record = os.environ.get("CONTRACT_RECORD")
        self._lock = threading.Lock()
        self._pace = float(os.environ.get("CONTRACT_PACE", 0))
        self._engine = subprocess.Popen(["VLLM::EngineCore", "infinity"], executable="sleep")

    def finalize(self):
        self._engine.kill()
        self._engine.wait()

    def execute(self, requests):
        for request in requests:
            if self._record:
                self._write(request)
            if self._pace:  # streams run in parallel
                threading.Thread(target=self._serve, args=[request, request.get_response_sender()]).start()
            else:
                self._serve(request, request.get_response_sender())

    def _serve(self, request, sender):
        try:
            self._alive()
            self._answer(request, sender)
        except Exception as error:
            self._fail(sender, str(error))

    def _alive(self):
        if self._engine.poll() is not None:
            raise RuntimeError("EngineCore encountered an issue. See stack trace (above) for the root cause.")

    def _answer(self, request, sender):
        sampling = json.loads(scalar(request, "sampling_parameters", b"{}").decode())
        lora = sampling.get("lora_name")
        if lora is not None and lora not in self._loras:
            return self._fail(sender, f"LoRA {lora} is not supported, we currently support {self._loras}", prefix="")
        if pb_utils.get_input_tensor_by_name(request, "embedding_request") is not None:
            sender.send(self._embed(request), flags=FINAL)
            return None
        for response, last in Answer(request, sampling, self._context, self._images).responses():
            if sender.is_cancelled():
                return cancel(sender)
            sender.send(response, flags=FINAL if last else 0)
            if self._pace and not last:
                time.sleep(self._pace)
                self._alive()
        return None

    @staticmethod
    def _fail(sender, message, prefix="Error generating stream: "):
        if sender.is_cancelled():
            return cancel(sender)
        # The backend sends no error code, which makes it an internal error.
        text = pb_utils.Tensor("text_output", np.array([b"N/A"], dtype=np.object_))
        sender.send(pb_utils.InferenceResponse([text], error=pb_utils.TritonError(prefix + message)), flags=FINAL)

    def _embed(self, request):
        asked = json.loads(scalar(request, "embedding_request").decode())
        given = asked["input"]
        if isinstance(given, str):
            tokens = tokenize(given)
        elif is_list(given, int) and given:
            tokens = given
        else:
            raise ValueError("'list' object has no attribute 'get'")  # a list of texts; vLLM's message varies
        if max(tokens, default=0) > EOS:
            raise ValueError(f"Token id {max(tokens)} is out of vocabulary")
        fit(len(tokens), self._context)
        dimensions = asked.get("pooling_params", {}).get("dimensions", [DIMENSIONS])[0]
        digest = hashlib.sha256(json.dumps(tokens).encode()).digest()
        vector = [byte - 127.5 for byte in digest[:min(dimensions, DIMENSIONS)]]
        outputs = [pb_utils.Tensor("text_output", np.array([json.dumps(vector).encode()], dtype=np.object_))]
        for name, count in (("num_input_tokens", len(tokens)), ("num_output_tokens", 0)):
            if scalar(request, "return_" + name, False):
                outputs.append(pb_utils.Tensor(name, np.array(count, dtype=np.uint32)))
        return pb_utils.InferenceResponse(outputs)

    def _write(self, request):
        inputs = {tensor.name(): [plain(v) for v in tensor.as_numpy().reshape(-1)] for tensor in request.inputs()}
        line = json.dumps({"id": request.request_id(), "parameters": json.loads(request.parameters() or "{}"), "inputs": inputs})
        with self._lock, open(self._record, "a") as record:
            record.write(line + "\n")


class Answer:
    """One generation. Raises vLLM's errors for invalid parameters."""

    def __init__(self, request, sampling, context, images):
        self._prompt = scalar(request, "text_input").decode()
        image_count = seen(request, self._prompt, images)
        self._stream = bool(scalar(request, "stream", False))
        exclude = scalar(request, "exclude_input_in_output", None)
        self._echo = not exclude if exclude is not None else not self._stream
        if self._stream and self._echo:
            raise ValueError("When streaming, `exclude_input_in_output` = False is not allowed.")
        self._sampling = checked(sampling)
        refuse(self._sampling, context)
        self._return = {name for name in RETURN if scalar(request, "return_" + name, False)}
        tokens = tokenize(self._prompt) + [EOS] * image_count * IMAGE
        if not tokens:
            raise ValueError("The decoder prompt cannot be empty")
        keep = self._sampling.get("truncate_prompt_tokens", -1)
        tokens = tokens[-keep:] if keep > 0 else tokens
        self._prompt_tokens = len(tokens)
        fit(len(tokens), context)
        if len(tokens) == context:
            raise ValueError(f"The decoder prompt (length {context}) plus the number of requested output tokens (at least 1) is longer than "
                             f"the maximum model length of {context}. Make sure that `max_model_len` is no smaller than the number of text "
                             "tokens (prompt + requested output tokens).")
        self._limit = min(self._sampling.get("max_tokens", 16), context - len(tokens))

    def responses(self):
        """Yields pairs of a response and whether it is the last."""
        text, tokens, reason = self._text()
        step = max(4, len(text) // CHUNKS) if self._stream else max(1, len(text))
        pieces = [text[i:i + step] for i in range(0, len(text), step)] or [""]
        cumulative, sent = 0.0, 0
        if self._stream and reason == "stop" and pieces != [""]:
            pieces.append("")  # the token that ends the response is a separate piece without text
        for i, piece in enumerate(pieces):
            last = i == len(pieces) - 1
            count = tokens - sent if last else len(piece.encode())
            part = self._logprobs(text.encode(), sent, count)
            cumulative += sum(next(iter(entry.values()))["logprob"] for entry in part)
            sent += count
            yield self._response(piece, count, part, cumulative, reason if last else None), last

    def _text(self):
        """Returns the whole text, its number of tokens, and the finish reason."""
        self._logits = logits(self._prompt)
        if self._logits:
            allowed = self._sampling.get("allowed_token_ids") or self._logits
            token = max(allowed, key=lambda t: self._logits.get(t, UNLIKELY))
            return decoded(token), 1, "length" if self._limit == 1 else "stop"
        forever = self._sampling.get("ignore_eos", False)
        source, wanted = self._source(), max(self._sampling.get("min_tokens", 0), self._limit if forever else 0)
        data = source.encode()
        while data and len(data) < wanted:
            data += source.encode()
        ended = len(data) + (0 if forever else 1) <= self._limit
        # A character that the limit cuts is left out; its tokens count.
        text = data[:self._limit].decode(errors="ignore")
        tokens = min(len(data) + 1, self._limit) if not forever else self._limit
        reason = "stop" if ended and not forever else "length"
        return self._stopped(text, tokens, reason)

    def _stopped(self, text, tokens, reason):
        for i, token in enumerate(text.encode()):
            if token in self._sampling.get("stop_token_ids", ()):
                return text.encode()[:i].decode(errors="ignore"), i + 1, "stop"
        stops = self._sampling.get("stop", [])
        found = [(text.index(s), s) for s in ([stops] if isinstance(stops, str) else stops) if s in text]
        if not found:
            return text, tokens, reason
        at, stop = min(found, key=lambda f: f[0] + len(f[1]))
        used = len(text[:at + len(stop)].encode())
        return text[:at + len(stop)] if self._sampling.get("include_stop_str_in_output") else text[:at], used, "stop"

    def _source(self):
        constraint = self._sampling.get("structured_outputs")
        if constraint is not None:
            answer = smallest(constraint)
            if answer is not None:
                return answer
        turns = self._prompt.split("<|im_start|>user\n")
        text = turns[-1].split("<|im_end|>")[0] if len(turns) > 1 else self._prompt
        if constraint is not None and constraint.get("structural_tag"):
            return tagged(text, json.loads(constraint["structural_tag"]))
        return text

    def _logprobs(self, data, start, count):
        """Returns one entry per token, the sampled one first; in every third entry it isn't the likeliest."""
        top = self._sampling.get("logprobs")
        if top is None:
            return []
        if self._logits:
            return [scored(self._logits, data[0], top)]
        entries = []
        for i in range(start, start + count):
            sampled = data[i] if i < len(data) else EOS
            rank = 2 if i % 3 == 2 else 1
            others = [(sampled + 1 + r) % 256 for r in range(top + 1)]
            ranked = others[:rank - 1] + [sampled] + others[rank - 1:]
            wanted = [sampled] + [token for token in ranked[:top] if token != sampled]
            entries.append({str(t): {"logprob": -0.25 * (ranked.index(t) + 1), "rank": ranked.index(t) + 1, "decoded_token": decoded(t)}
                            for t in wanted})
        return entries

    def _response(self, text, count, logprobs, cumulative, reason):
        values = {
            "finish_reason": np.array([str(reason).encode()], dtype=np.object_),
            "cumulative_logprob": np.array([np.nan if self._sampling.get("logprobs") is None else cumulative], dtype=np.float32),
            "logprobs": np.array([b"null" if self._sampling.get("logprobs") is None else json.dumps(logprobs).encode()], dtype=np.object_),
            "num_input_tokens": np.array(self._prompt_tokens, dtype=np.uint32),  # of shape []
            "num_output_tokens": np.array([count], dtype=np.uint32),
        }
        text = (self._prompt if self._echo else "") + text
        tensors = [pb_utils.Tensor("text_output", np.array([text.encode()], dtype=np.object_))]
        return pb_utils.InferenceResponse(tensors + [pb_utils.Tensor(n, v) for n, v in values.items() if n in self._return])


def logits(prompt):
    """Returns the logits of the labels by their tokens if the prompt ends with a question of a decision, else nothing."""
    head, question, text = prompt.rpartition("Question about the input above:\n")
    if not question:
        return {}
    options = text.split("\n\nAnswer with the label")[0].split("\n\n")[-1]
    pairs = [line.partition(": ") for line in options.split("\n")]
    return {ord(label): zlib.crc32(option.encode()) % 1000 / 250 for label, colon, option in pairs if colon and len(label) == 1}


def scored(known, sampled, top):
    """Returns the log probabilities of a sampled token and of the likeliest tokens by the logits of some tokens."""
    all_logits = [known.get(token, UNLIKELY) for token in range(VOCABULARY)]
    total = math.log(sum(math.exp(logit) for logit in all_logits))
    ranked = sorted(range(VOCABULARY), key=lambda token: -all_logits[token])
    wanted = [sampled] + [token for token in ranked[:top] if token != sampled]
    return {str(token): {"logprob": all_logits[token] - total, "rank": ranked.index(token) + 1, "decoded_token": decoded(token)} for token in wanted}


def seen(request, prompt, most):
    """Returns the number of images of a request, if the model reads images and each has its place in the prompt."""
    tensor = pb_utils.get_input_tensor_by_name(request, "image")
    if tensor is None:
        return 0
    for text in tensor.as_numpy():
        imagefile.opened(text.decode())
    count, places = len(tensor.as_numpy()), prompt.count(PLACE)
    if most is None:
        raise ValueError("contract is not a multimodal model")
    if count > most:
        raise ValueError(f"At most {most} image(s) may be provided in one prompt.")
    if places < count:
        raise AssertionError(f"Failed to apply prompt replacement for mm_items['image'][{places}]")
    if places > count:
        raise RuntimeError(f"Expected there to be {places} prompt placeholders corresponding to {count} image items, but instead found {count}")
    return count


def cancel(sender):
    error = pb_utils.TritonError("Request was cancelled", pb_utils.TritonError.CANCELLED)
    sender.send(pb_utils.InferenceResponse(error=error), flags=FINAL)


def checked(sampling):
    """Returns the parameters that are set. For an invalid one the backend logs the error, and fails with this message."""
    try:
        made = {name: PARAMETERS[name][0](value) for name, value in sampling.items()}
        good = all(PARAMETERS[name][1](value) for name, value in made.items())
    except (KeyError, TypeError, ValueError):  # for an unknown name, a null, or a string that is no number or JSON
        good = False
    if not good or made.get("n", 1) > 1 or made.get("min_tokens", 0) > made.get("max_tokens", 16):
        raise AttributeError("'NoneType' object has no attribute 'lora_name'")
    return {name: value for name, value in made.items() if value is not None}


def refuse(sampling, context):
    """Raises the errors that vLLM's engine raises for parameters that passed the checks so far. Assertions have no
    message."""
    logprobs, cut = sampling.get("logprobs", 0), sampling.get("truncate_prompt_tokens", -1)
    if not -1 < logprobs <= MAX_LOGPROBS:
        asked = VOCABULARY if logprobs == -1 else logprobs
        raise ValueError(f"Requested sample logprobs of {asked}, which is greater than max allowed: {MAX_LOGPROBS}")
    if cut > context:
        raise ValueError(f"truncate_prompt_tokens value ({cut}) is greater than max_model_len ({context}). Please, select a smaller truncation size.")
    if sampling.get("logit_bias") or "" in sampling.get("bad_words", ()):
        raise AssertionError
    allowed = sampling.get("allowed_token_ids")
    if allowed == []:
        raise ValueError("allowed_token_ids is not None and empty!")
    if allowed and not all(0 <= token < VOCABULARY for token in allowed):
        raise ValueError("allowed_token_ids contains out-of-vocab token id!")


def fit(tokens, context):
    if tokens > context:
        raise ValueError(f"The decoder prompt (length {tokens}) is longer than the maximum model length of {context}. "
                         "Make sure that `max_model_len` is no smaller than the number of text tokens.")


def tokenize(text):
    tokens = []
    for piece in SPECIAL.split(text):
        if SPECIAL.fullmatch(piece):
            tokens.append(256 if piece == "<|im_start|>" else EOS)
        else:
            tokens += piece.encode()
    return tokens


def decoded(token):
    """Returns the string that vLLM shows for one token: a part of a character is U+FFFD."""
    return "<|im_end|>" if token == EOS else bytes([token]).decode(errors="replace")


def scalar(request, name, default=None):
    """Returns the only element of an input, or default if the request doesn't have it."""
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().item()


def plain(value):
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else value.item()


def is_integer(value, low):
    return isinstance(value, int) and not isinstance(value, bool) and value >= low


def is_list(value, kind):
    return isinstance(value, list) and all(isinstance(v, kind) and not isinstance(v, bool) for v in value)
