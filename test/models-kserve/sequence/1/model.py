"""A stateful model that sums up each sequence's inputs."""

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        self.sums = {}

    def execute(self, requests):
        return [self.add(request) for request in requests]

    def add(self, request):
        key = request.correlation_id()
        if request.flags() & pb_utils.TRITONSERVER_REQUEST_FLAG_SEQUENCE_START:
            self.sums[key] = 0
        value = pb_utils.get_input_tensor_by_name(request, "VALUE").as_numpy()
        self.sums[key] += int(value.flat[0])
        output = numpy.full(value.shape, self.sums[key], dtype=numpy.int32)
        return pb_utils.InferenceResponse(output_tensors=[pb_utils.Tensor("SUM", output)])
