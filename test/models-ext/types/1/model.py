"""A model that responds with the request's input tensors, if they have an output.

The request parameter "hold" is the path of a file: the response waits until the file is removed. A
second file, "...seen", shows that the response waits.
"""

import json
import os
import time

import numpy
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.outputs = {output["name"] for output in config["output"]}

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        parameters = json.loads(request.parameters() or "{}")
        hold = parameters.get("hold", "")
        if hold:
            open(hold + ".seen", "w").close()
        while os.path.exists(hold):
            time.sleep(0.002)
        tensors = [pb_utils.Tensor(t.name(), t.as_numpy()) for t in request.inputs() if t.name() in self.outputs]
        if "PARAMETERS" in request.requested_output_names():
            text = json.dumps(parameters, sort_keys=True)
            tensors.append(pb_utils.Tensor("PARAMETERS", numpy.array([text.encode()], dtype=object)))
        return pb_utils.InferenceResponse(output_tensors=tensors)
