"""A model that responds to each request once, with the request's input tensors."""

import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        return [answer(request) for request in requests]


def answer(request):
    fail = pb_utils.get_input_tensor_by_name(request, "FAIL")
    if fail is not None:
        code, message = fail.as_numpy()[0].decode().split(": ", 1)
        error = pb_utils.TritonError(message, getattr(pb_utils.TritonError, code))
        return pb_utils.InferenceResponse(error=error)
    inputs = [pb_utils.get_input_tensor_by_name(request, name) for name in ("TEXT", "DATA")]
    outputs = [pb_utils.Tensor(t.name(), t.as_numpy()) for t in inputs if t is not None]
    return pb_utils.InferenceResponse(output_tensors=outputs)
