"""Checks that recorded responses match the types of OpenAI's Python SDK. The e2e tests run it.

    sdktypes.py FILE     one line for each response: {"type": name of the type, "object": the response}

Validation uses pydantic's strict mode. The SDK's types accept additional keys. The program reports all of them except KNOWN.
"""

import json
import sys

from openai.types import Completion, CreateEmbeddingResponse, Decision, ErrorObject, Model
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import InputTokenCountResponse, Response, ResponseItemList, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter, ValidationError

MODELS = (ChatCompletion, ChatCompletionChunk, Completion, CreateEmbeddingResponse, Decision, ErrorObject, InputTokenCountResponse, Model,
          Response, ResponseItemList)
TYPES = {t.__name__: TypeAdapter(t) for t in MODELS} | {"ResponseStreamEvent": TypeAdapter(ResponseStreamEvent)}
KNOWN = {"max_model_len", "reasoning", "reasoning_content"}


def unknown(value, path):
    """Yields the paths of keys that the types don't have."""
    if isinstance(value, BaseModel):
        for key in value.model_extra or ():
            if key not in KNOWN:
                yield f"{path}.{key}"
        for key in type(value).model_fields:
            yield from unknown(getattr(value, key), f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from unknown(item, f"{path}[{i}]")


def main(file):
    count = failed = 0
    with open(file) as lines:
        for line in lines:
            recorded = json.loads(line)
            text = json.dumps(recorded["object"])
            count += 1
            try:
                flaws = list(unknown(TYPES[recorded["type"]].validate_json(text, strict=True), recorded["type"]))
            except ValidationError as error:
                flaws = [str(error)]
            if flaws:
                failed += 1
                print("FAILED", *flaws, text[:500], sep="\n  ")
    print(f"{count - failed} of {count} responses match the types of the SDK")
    sys.exit(failed > 0 or count == 0)


main(*sys.argv[1:])
