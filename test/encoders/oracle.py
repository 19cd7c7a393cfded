"""Vectors, scores and logits of sentence-transformers and transformers: the oracle
of the encoder tests. It answers each line of JSON with a line of JSON.

A question is {"versions": true}, or has the folder of a model and a text. With
"text" (and "prompt", a prompt's name or null) the answer is {"vector": base64}.
With "query" and "document" it is {"score": number}. With "classify" it is {"logits":
[number, ...]}.

Vectors are int16 numbers in units of 1/UNITS. Texts beyond the model's limit are
truncated, as the libraries do. Tests run it with the Python of .venv-encoders.
"""

import base64
import functools
import importlib.metadata
import json
import sys

import numpy as np
import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

UNITS = 65000


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
    tokenizer, model = classifier(folder)
    return {"logits": model(**tokenizer(asked["classify"], truncation=True, return_tensors="pt")).logits[0].tolist()}


def packed(vector):
    units = np.rint(np.asarray(vector, np.float64) * UNITS)
    if np.abs(units).max() > 32767:
        units = units[:0]  # such a vector isn't comparable: the test fails by its length
    return base64.b64encode(units.astype("<i2").tobytes()).decode()


@functools.cache
def sentences(folder):
    return SentenceTransformer(folder, device="cpu")


@functools.cache
def pairs(folder):
    return CrossEncoder(folder, device="cpu")


@functools.cache
def classifier(folder):
    return AutoTokenizer.from_pretrained(folder), AutoModelForSequenceClassification.from_pretrained(folder).eval()


if __name__ == "__main__":
    main()
