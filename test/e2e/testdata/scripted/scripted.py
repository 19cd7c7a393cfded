"""A stand-in for llama.cpp in models/chat, with the part of llama.cpp's Python package that the model uses. It has no weights.
It repeats the words from one to ten, one word every 10 ms. It ends after WORDS words unless ignore_eos is set.

The environment variable SCRIPTED_LOAD_SECONDS is the time that loading takes. Grammars, probabilities and stop strings are not
supported; requests with them get llama.cpp's error for an invalid request.
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
