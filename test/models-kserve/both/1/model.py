"""A model that responds with the request's input tensors."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [answer(request) for request in requests]


def answer(request):
    tensors = [pb_utils.Tensor(t.name(), t.as_numpy()) for t in request.inputs()]
    return pb_utils.InferenceResponse(output_tensors=tensors)
