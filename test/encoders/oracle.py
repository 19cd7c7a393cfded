"""Vectors, scores and logits of sentence-transformers and transformers: the oracle
of the encoder tests. It answers each line of JSON with a line of JSON.

A question is {"versions": true}, or has the folder of a model and a text. With
"text" (and "prompt", a prompt's name or null) the answer is {"vector": base64}.
With "query" and "document" it is {"score": number}. With "classify" it is {"logits":
[number, ...]}. With "sparse" it is {"ids": base64, "weights": base64}: int32 ids of
tokens, and float32 weights. With "tokens" and "dimensions" it is {"tokens": base64}:
the vectors of the text's tokens, one after the other, of which the first dimensions
are normalized.

Vectors are int16 numbers in units of 1/UNITS, and those of tokens in units of 1/TOKEN_UNITS. Texts beyond the model's limit are
truncated, as the libraries do. Tests run it with the Python of .venv-encoders.
"""

import base64
import functools
import importlib.metadata
import json
import sys

import numpy as np
import torch
from sentence_transformers import CrossEncoder, MultiVectorEncoder, SentenceTransformer, SparseEncoder
from sentence_transformers.base.modules import Transformer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

UNITS = 65000
# A component of a normalized vector of few dimensions may be 1.
TOKEN_UNITS = 32000


def main():
    torch.set_num_threads(1)  # a text is too short for several
    for line in sys.stdin:
        with torch.inference_mode():
            answer = answer_to(json.loads(line))
        print(json.dumps(answer), flush=True)


def answer_to(asked):
    if "versions" in asked:
        return {"versions": [f"{name}=={importlib.metadata.version(name)}" for name in ("sentence-transformers", "transformers", "tokenizers")]}
    folder = asked["folder"]
    if "text" in asked:
        vector = sentences(folder).encode([asked["text"]], prompt_name=asked.get("prompt"), show_progress_bar=False)[0]
        return {"vector": packed(vector)}
    if "query" in asked:
        return {"score": float(pairs(folder).predict([(asked["query"], asked["document"])], show_progress_bar=False)[0])}
    if "sparse" in asked:
        weights = sparse(folder).encode([asked["sparse"]], convert_to_sparse_tensor=False, show_progress_bar=False)[0].numpy()
        ids = np.flatnonzero(weights)
        return {"ids": encoded(ids.astype("<i4")), "weights": encoded(weights[ids].astype("<f4"))}
    if "tokens" in asked:
        vectors = late(folder).encode([asked["tokens"]], show_progress_bar=False)[0][:, : asked["dimensions"]]
        return {"tokens": packed(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), TOKEN_UNITS)}
    tokenizer, model = classifier(folder)
    return {"logits": model(**tokenizer(asked["classify"], truncation=True, return_tensors="pt")).logits[0].tolist()}


def packed(vector, scale=UNITS):
    units = np.rint(np.asarray(vector, np.float64) * scale)
    if np.abs(units).max() > 32767:
        units = units[:0]  # such a vector isn't comparable: the test fails by its length
    return encoded(units.astype("<i2"))


def encoded(array):
    return base64.b64encode(array.tobytes()).decode()


@functools.cache
def sentences(folder):
    return SentenceTransformer(folder, device="cpu")


@functools.cache
def pairs(folder):
    return CrossEncoder(folder, device="cpu")


@functools.cache
def sparse(folder):
    return SparseEncoder(folder, device="cpu")


@functools.cache
def late(folder):
    return MultiVectorEncoder(modules=[Transformer(folder)], device="cpu")


@functools.cache
def classifier(folder):
    return AutoTokenizer.from_pretrained(folder), AutoModelForSequenceClassification.from_pretrained(folder).eval()


if __name__ == "__main__":
    main()
