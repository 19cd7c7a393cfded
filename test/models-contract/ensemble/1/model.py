"""A model without weights that has the contract of TensorRT-LLM's ensemble. It decodes each token
separately, so a character of several tokens breaks in a stream."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import engine
import executor


class TritonPythonModel:
    """The class that Triton loads."""

    def execute(self, requests):
        for request in requests:
            engine.record(request, "ensemble")
            sender = request.get_response_sender()
            try:
                executor.respond(executor.Request(request), sender, accumulate=False, gathers=True)
            except ValueError as error:
                engine.fail(sender, f"Executor failed process requestId 1 due to the following error: {error}")
