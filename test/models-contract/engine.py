"""Code that the models without weights share: a tokenizer, the response text, and the record of
requests.

A response is the prompt itself. It is repeated if it must continue (min_tokens, or no end). A
constrained response is a short text that satisfies the constraint. If CONTRACT_RECORD is set in the
environment, each request is appended to this file: a line of JSON with the request's id, the model
and the inputs by name.
"""

import json
import os
import re
import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENIZER = Tokenizer.from_file(os.path.join(HERE, "ensemble", "tokenizer", "tokenizer.json"))
END = TOKENIZER.token_to_id("<|end|>")
FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
CONTEXT = int(os.environ.get("CONTRACT_CONTEXT", 200))  # maximum number of tokens of a prompt

lock = threading.Lock()


def encode(text):
    return TOKENIZER.encode(text, add_special_tokens=False).ids


def decode(ids):
    """Returns the text without special tokens; an incomplete character is U+FFFD."""
    return TOKENIZER.decode(ids, skip_special_tokens=True)


def answer(prompt, least=0, endless=False):
    """Yields the ids that follow a prompt, with the end token, which endless responses never reach."""
    ids = prompt or encode("?")
    made = 0
    while endless or made < least:
        yield from ids
        made += len(ids)
    if not made:
        yield from ids
    yield END


class Cache:
    """A KV cache: the blocks of all prompts so far. A block is known by all tokens up to its end."""

    BLOCK = 4  # tokens

    def __init__(self):
        self._known = set()
        self._lock = threading.Lock()

    def reuse(self, prompt):
        """Returns the number of blocks of a prompt that earlier prompts have filled. The last token is always
        computed, so that its block isn't reused."""
        ends = range(self.BLOCK, len(prompt), self.BLOCK)
        with self._lock:
            reused = sum(tuple(prompt[:end]) in self._known for end in ends)
            self._known.update(tuple(prompt[:end]) for end in range(self.BLOCK, len(prompt) + 1, self.BLOCK))
        return reused


def tensor(request, name):
    found = pb_utils.get_input_tensor_by_name(request, name)
    return None if found is None else found.as_numpy()


def scalar(request, name, default=None):
    values = tensor(request, name)
    return default if values is None else values.flat[0]


def texts(request, name):
    values = tensor(request, name)
    return [] if values is None else [value.decode() for value in values.flat]


def record(request, model):
    path = os.environ.get("CONTRACT_RECORD")
    if not path:
        return
    inputs = {}
    for given in request.inputs():
        values = given.as_numpy()
        shape = list(values.shape)
        values = [value.decode() if isinstance(value, bytes) else value for value in values.reshape(-1).tolist()]
        inputs[given.name()] = {"shape": shape, "values": values}
    line = json.dumps({"id": request.request_id(), "model": model, "inputs": inputs}, ensure_ascii=False)
    with lock, open(path, "a", encoding="utf-8") as file:
        file.write(line + "\n")


def cancelled(sender):
    """Reports whether the request was cancelled, a moment after the last token. tritonserver 2.51
    sometimes crashes if a cancellation coincides with the end of a request, so the end waits."""
    time.sleep(0.001)
    if not sender.is_cancelled():
        return False
    time.sleep(0.1)
    return True


def send(sender, final, **outputs):
    tensors = [pb_utils.Tensor(name, values) for name, values in outputs.items()]
    sender.send(pb_utils.InferenceResponse(tensors), flags=FINAL if final else 0)


def fail(sender, text, **outputs):
    tensors = [pb_utils.Tensor(name, values) for name, values in outputs.items()]
    sender.send(pb_utils.InferenceResponse(tensors, error=pb_utils.TritonError(text)), flags=FINAL)


def strings(*values):
    return np.array([value.encode() for value in values], dtype=np.object_)


def constrained(kind, guide):
    """Returns a text that satisfies a guide: a regular expression without operators, or the first
    text of a grammar."""
    if kind == "json":
        return "{}"
    if kind == "json_schema":
        schema = json.loads(guide)
        return json.dumps(instance(schema, schema))
    if kind == "regex":
        return guide
    if kind == "ebnf_grammar":
        return json.loads(re.search(r'"(?:[^"\\]|\\.)*"', guide)[0])
    raise ValueError(f"unknown guide type {kind}")


def instance(schema, root):
    if "$ref" in schema:
        found = root
        for step in schema["$ref"].split("/")[1:]:
            found = found[step]
        return instance(found, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return instance(schema[key][0], root)
    kind = schema.get("type", "object")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: instance(properties[name], root) for name in schema.get("required", properties)}
    if kind == "array":
        return [instance(schema.get("items", {}), root) for _ in range(schema.get("minItems", 1))]
    return {"string": "a", "integer": schema.get("minimum", 1), "number": schema.get("minimum", 1), "boolean": True}.get(kind)
