"""TensorRT-LLM's tensorrt_llm_bls without weights. It accumulates tokens, and its errors are Python's stacks."""

import json
import os
import sys
import traceback

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import engine
import executor


class TritonPythonModel:
    """What Triton loads."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.accumulate = config["parameters"]["accumulate_tokens"]["string_value"] == "true"

    def execute(self, requests):
        for request in requests:
            engine.record(request, "bls")
            sender = request.get_response_sender()
            try:
                executor.respond(executor.Request(request), sender, self.accumulate)
            except ValueError:
                engine.fail(sender, traceback.format_exc())
