"""A model without weights that has the contract of TensorRT-LLM's tensorrt_llm_bls. It accumulates
tokens, and its errors are Python's stack traces. Its engine wasn't built with
gather_context_logits.

Without the parameter multimodal_model_path, which belongs to its preprocessing model, it ignores
images.
"""

import json
import os
import sys
import traceback

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import engine
import executor
import imagefile


class TritonPythonModel:
    """The class that Triton loads."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.sees = bool(config["parameters"].get("multimodal_model_path", {}).get("string_value"))
        self.accumulate = config["parameters"]["accumulate_tokens"]["string_value"] == "true"

    def execute(self, requests):
        for request in requests:
            engine.record(request, "bls")
            sender = request.get_response_sender()
            try:
                if self.sees:
                    for uri in engine.texts(request, "image_url_input"):
                        imagefile.of_uri(uri, "jpeg")
                executor.respond(executor.Request(request), sender, self.accumulate, gathers=False)
            except ValueError:
                engine.fail(sender, traceback.format_exc())
