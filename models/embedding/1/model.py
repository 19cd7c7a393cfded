"""A text encoder in ONNX Runtime, with the tensors of Hugging Face's exports.

The inputs are input_ids, attention_mask and, if the weights have token types,
token_type_ids: [batch, tokens], INT64. The output is last_hidden_state [batch,
tokens, hidden], logits [batch, labels] or logits [batch, tokens, vocabulary]. Clients tokenize, and pool the output.

Parameters in config.pbtxt:

  weights  absolute path of a folder with config.json and model.safetensors, or
           package:NAME for the folder model of an installed Python package
  threads  number of threads of a request; default the number of cores
"""

import importlib.util
import json
import os

import triton_python_backend_utils as pb_utils

try:
    import onnxruntime
except ModuleNotFoundError as error:
    raise RuntimeError(f"the encoder needs the Python package {error.name}: run tools/setup.sh") from error

import graph


class TritonPythonModel:
    """The class that Triton loads. A request is a batch of texts, and all cores compute it, so execute processes
    requests one after the other."""

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(parameters.get("threads", {}).get("string_value", 0)) or cores()
        # Idle threads sleep: other models and the client need the cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        model = graph.load(folder(parameters["weights"]["string_value"]))
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._inputs = [i.name for i in self._session.get_inputs()]
        self._output = self._session.get_outputs()[0].name

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if request.is_cancelled():
            return failed(pb_utils.TritonError.CANCELLED, "Request was cancelled")
        tensors = {name: pb_utils.get_input_tensor_by_name(request, name).as_numpy() for name in self._inputs}
        try:
            result = self._session.run([self._output], tensors)[0]
        except Exception as error:  # token ids beyond the vocabulary, or too many positions
            return failed(pb_utils.TritonError.INVALID_ARG, f"the encoder failed: {error}")
        return pb_utils.InferenceResponse([pb_utils.Tensor(self._output, result)])


def folder(weights):
    """Returns the path of the folder with the weights."""
    if not weights.startswith("package:"):
        return weights
    name = weights.removeprefix("package:")
    package = importlib.util.find_spec(name)
    if package is None:
        raise RuntimeError(f"the weights of the encoder are missing: run tools/setup.sh (Python package {name.replace('_', '-')})")
    return os.path.join(package.submodule_search_locations[0], "model")


def failed(code, message):
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code))


def cores():
    return len(os.sched_getaffinity(0))
