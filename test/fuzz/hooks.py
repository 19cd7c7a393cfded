"""What schemathesis sends beside what the document says: models that are there, and fields that models can honour.

FUZZ_MODEL generates text, FUZZ_EMBEDDING embeds; FUZZ_MAX_TOKENS bounds answers, for models that take their time.
"""

import json
import os
import zlib

import schemathesis

MODEL = os.environ.get("FUZZ_MODEL", "vllm")
EMBEDDING = os.environ.get("FUZZ_EMBEDDING", MODEL)
MAX_TOKENS = int(os.environ.get("FUZZ_MAX_TOKENS", "0"))

# Refused whatever the model is, so that a request with one of them gets no further.
REFUSED = (
    "add_generation_prompt", "audio", "continue_final_message", "documents", "function_call", "functions", "length_penalty",
    "logit_bias", "modalities", "moderation", "prediction", "prompt_logprobs", "reasoning_effort", "suffix", "use_beam_search",
    "verbosity", "web_search_options",
)


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    if not isinstance(body, dict):
        return
    # A name that is wrong in itself stays, or a request that is to be refused would pass.
    if isinstance(body.get("model"), str) and 1 <= len(body["model"]) <= 256:
        body["model"] = EMBEDDING if case.operation.path.endswith("/embeddings") else MODEL
    if not case.meta.generation.mode.is_positive:
        return
    if MAX_TOKENS and "max_tokens" in case.operation.definition.raw.get("description", "max_tokens"):
        body["max_tokens"] = MAX_TOKENS
    # Every other one that is right gets as far as it can.
    if zlib.crc32(json.dumps(body, sort_keys=True, default=str).encode()) % 2:
        for name in REFUSED:
            body.pop(name, None)
