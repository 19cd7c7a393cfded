"""A stand-in for llama.cpp in models/chat, by the part of its Python package that this model uses. It has no weights: it counts
from one to ten in words, again and again, a word every 10 ms, and after WORDS of them it ends unless ignore_eos is set.

SCRIPTED_LOAD_SECONDS in the environment is how long it takes to load. What it can't do (grammars, probabilities, stop strings) it refuses as llama.cpp refuses a bad request.
"""

import os
import time
from types import SimpleNamespace

PACE = 0.01
WORDS = 40
TEN = "one two three four five six seven eight nine ten".split()


class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace())


class Server:
    def __init__(self, params):
        time.sleep(float(os.environ.get("SCRIPTED_LOAD_SECONDS", "0")))

    def handle_completions(self, request, receive):
        """Calls receive with each chunk until it returns True."""
        for name in ("grammar", "stop"):
            if request.get(name):
                receive({"error": {"type": "invalid_request_error", "message": f"the stand-in for llama.cpp has no {name}"}})
                return
        if request["n_probs"]:
            receive({"error": {"type": "invalid_request_error", "message": "the stand-in for llama.cpp has no probabilities"}})
            return
        prompt = len(request["prompt"].split())
        most = request["max_tokens"] if request.get("ignore_eos") else min(request["max_tokens"], WORDS)
        reason = "length" if most == request["max_tokens"] else "stop"
        if receive({"prompt_progress": {}}):
            return
        for n in range(most):
            time.sleep(PACE)
            if receive(chunk(" " + TEN[n % len(TEN)], None, prompt, n + 1)):
                return
        receive(chunk("", reason, prompt, most))


def chunk(text, reason, prompt, tokens):
    return {
        "choices": [{"text": text, "finish_reason": reason, "logprobs": None}],
        "timings": {"cache_n": 0, "prompt_n": prompt, "predicted_n": tokens},
    }
