"""A Python model that matches no backend's contract. It has a text input and text outputs, without
streaming, token limit, counts or finish reason. A | in its response starts another text."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import engine
import triton_python_backend_utils as pb_utils
from engine import decode, encode, scalar, strings


class TritonPythonModel:
    """The class that Triton loads."""

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        engine.record(request, "plain")
        ids = list(engine.answer(encode(scalar(request, "text_input").decode())))
        return pb_utils.InferenceResponse([pb_utils.Tensor("text_output", strings(*decode(ids).split("|")).reshape(1, -1))])
