"""The burst backend as a model of Triton's python backend: words at a pace,
with vLLM's tensors.

One thread steps all requests, as the loop of a real engine does.
"""

import json
import queue
import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.words = parameters["words"]["string_value"].split()
        self.pace = int(parameters["pace_us"]["string_value"]) / 1e6
        self.arrivals = queue.SimpleQueue()
        self.engine = threading.Thread(target=self.run)
        self.engine.start()

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            try:
                self.arrivals.put(Sequence(request, sender))
            except ValueError as error:
                refused = pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG)
                sender.send(pb_utils.InferenceResponse(error=refused), flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def finalize(self):
        self.arrivals.put(None)
        self.engine.join()

    def run(self):
        batch, due, ending = [], 0.0, False
        while batch or not ending:
            idle = not batch
            # A busy engine takes the requests that have arrived; an idle one
            # waits for the next request.
            while not ending and (not batch or not self.arrivals.empty()):
                arrival = self.arrivals.get()
                if arrival is None:
                    ending = True
                else:
                    batch.append(arrival)
            if idle:
                due = time.monotonic()
            batch = [sequence for sequence in batch if not sequence.step(self.words)]
            # Steps are at fixed times. An engine that is late doesn't catch up.
            now = time.monotonic()
            due = max(due + self.pace, now)
            if batch and due > now:
                time.sleep(due - now)


class Sequence:
    """A request in flight."""

    def __init__(self, request, sender):
        self.sender = sender
        self.tokens = 0
        self.prompt = scalar(request, "text_input", b"").decode()
        self.stream = scalar(request, "stream", False)
        self.exclude_input = scalar(request, "exclude_input_in_output", self.stream)
        if self.stream and not self.exclude_input:
            raise ValueError("exclude_input_in_output must not be false with stream")
        self.wanted = [name for name in RETURNED if scalar(request, "return_" + name, False)]
        self.max_tokens = max_tokens(scalar(request, "sampling_parameters", b"{}"))

    def step(self, words):
        """Makes a token. Returns True if the request has ended."""
        if self.sender.is_cancelled():
            self.sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
            return True
        self.tokens += 1
        last = self.tokens == self.max_tokens
        if last or self.stream:
            self.respond(words, last)
        return last

    def respond(self, words, last):
        first = self.tokens - 1 if self.stream else 0
        text = "".join(" " + words[i % len(words)] for i in range(first, self.tokens))
        if not self.exclude_input:
            text = self.prompt + text
        values = {
            "finish_reason": "length" if last else "None",
            "num_input_tokens": np.uint32(len(self.prompt.split())),
            "num_output_tokens": np.uint32(self.tokens - first),
        }
        tensors = [tensor("text_output", text)] + [tensor(name, values[name]) for name in self.wanted]
        flags = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if last else 0
        self.sender.send(pb_utils.InferenceResponse(output_tensors=tensors), flags=flags)


RETURNED = ("finish_reason", "num_input_tokens", "num_output_tokens")


def tensor(name, value):
    """Returns a tensor of one element; strings are encoded as bytes."""
    if isinstance(value, str):
        return pb_utils.Tensor(name, np.array([value.encode()], dtype=np.object_))
    return pb_utils.Tensor(name, np.array([value]))


def scalar(request, name, default):
    """Returns the single element of an input, or default if the request doesn't
    have it."""
    found = pb_utils.get_input_tensor_by_name(request, name)
    return default if found is None else found.as_numpy().flat[0]


def max_tokens(sampling):
    try:
        value = dict(json.loads(sampling)).get("max_tokens", 16)
    except (TypeError, ValueError) as error:
        raise ValueError("a parameter isn't valid JSON") from error
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"sampling parameter 'max_tokens={value}' must be a whole number from 1")
    return value
