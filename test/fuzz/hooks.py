"""Hooks that make schemathesis also send names of loaded models, and fields that the
models support.

FUZZ_MODEL generates text and FUZZ_EMBEDDING embeds. FUZZ_MAX_TOKENS is for slow models:
it limits the length and the number of choices. The server has the same default limit, so
that invalid requests that are served nevertheless are short too. FUZZ_DOCUMENT is the path
of the document.
"""

import json
import os
import re
import zlib

import schemathesis

MODEL = os.environ.get("FUZZ_MODEL", "vllm")
EMBEDDING = os.environ.get("FUZZ_EMBEDDING", MODEL)
ANTHROPIC = os.environ.get("FUZZ_DOCUMENT", "").startswith("/v1/messages")
MAX_TOKENS = int(os.environ.get("FUZZ_MAX_TOKENS", "0"))

# Fields that are refused for all models, or with most of their values. A request with one of
# them is refused before it reaches a model.
REFUSED = (
    "audio", "chat_template", "continue_final_message", "documents", "function_call", "functions", "length_penalty", "logit_bias",
    "modalities", "moderation", "prompt_logprobs", "reasoning_effort", "suffix", "use_beam_search", "web_search_options",
)


@schemathesis.hook
def before_call(context, case, kwargs):
    if ANTHROPIC:  # without the header, /v1/models is that of OpenAI's API
        case.headers = {**(case.headers or {}), "anthropic-version": "2023-06-01"}
    body = case.body
    if not isinstance(body, dict):
        return
    # An invalid name stays; otherwise a request that must be refused would succeed.
    # Several models are served, so that requests without a name are refused.
    if isinstance(body.get("model"), str) and len(body["model"]) <= 256 or case.meta.generation.mode.is_positive:
        body["model"] = EMBEDDING if case.operation.path.endswith("/embeddings") else MODEL
    # Messages have no default limit, and requests that don't match their document may be served.
    if MAX_TOKENS and ANTHROPIC and isinstance(body.get("max_tokens"), int):
        body["max_tokens"] = min(body["max_tokens"], MAX_TOKENS)
    if not case.meta.generation.mode.is_positive:
        body.update(plainly_wrong(body))
        return
    # Half of the valid requests have only supported fields, so that they reach the model.
    if zlib.crc32(json.dumps(body, sort_keys=True, default=str).encode()) % 2:
        for name in REFUSED:
            body.pop(name, None)
    if MAX_TOKENS and case.operation.path.endswith(("/completions", "/responses")):
        for name in ("n", "best_of", "max_completion_tokens", "min_tokens"):
            body.pop(name, None)
        body["max_output_tokens" if case.operation.path.endswith("/responses") else "max_tokens"] = MAX_TOKENS


def plainly_wrong(value):
    """Removes cases from the invalid requests that are valid by other rules. 1.0 is no
    integer to schemathesis, but is one to Trident and to the standard of JSON Schema. An
    empty object means nothing to Trident, whatever keys it should have."""
    if isinstance(value, float) and value.is_integer():
        return value + 0.5
    if isinstance(value, list):
        return [plainly_wrong(item) for item in value]
    if isinstance(value, dict):
        return {name: plainly_wrong(item) for name, item in value.items()} or {"": 0}
    return value


ENDS = ("response.completed", "response.incomplete", "response.failed", "message_stop", "error")


@schemathesis.deserializer("text/event-stream")
def events(context, response):
    """Returns the objects of the events, which the document describes. A stream ends with
    [DONE] or an error; the streams of a response and of a message end with their own last
    events."""
    lines = re.split("\r\n|\r|\n", response.content.decode())
    *chunks, last = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")] or [""]
    if last == "[DONE]":
        return [json.loads(chunk) for chunk in chunks]
    end = json.loads(last or "{}")
    if end.get("type") in ENDS:
        return [json.loads(chunk) for chunk in chunks] + [end]
    if set(end.get("error", ())) != {"message", "type", "param", "code"}:
        raise ValueError(f"the stream's last event is {last}, which is neither [DONE] nor an end nor an error")
    return [json.loads(chunk) for chunk in chunks]
