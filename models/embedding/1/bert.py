"""A BERT encoder in numpy with mean pooling. It computes sentence embeddings
from safetensors weights, one text at a time.

Devlin et al. 2018, arXiv:1810.04805; pooling and normalisation as in Reimers
and Gurevych 2019, arXiv:1908.10084.
"""

import json
import os

import numpy as np


class Encoder:
    """Weights of a sentence-transformers folder (config.json, model.safetensors); safe for concurrent calls."""

    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        self.vocabulary, self.dimensions = config["vocab_size"], config["hidden_size"]
        self._heads, self._layers = config["num_attention_heads"], config["num_hidden_layers"]
        self._epsilon = config["layer_norm_eps"]
        self._weights = safetensors(os.path.join(folder, "model.safetensors"))

    def encode(self, tokens):
        """Returns the embedding of a list of token ids, including special
        tokens: float32 [dimensions] of length 1."""
        w = self._weights
        x = (w["embeddings.word_embeddings.weight"][tokens] + w["embeddings.position_embeddings.weight"][: len(tokens)]
             + w["embeddings.token_type_embeddings.weight"][0])
        x = self._norm(x, "embeddings.LayerNorm")
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}."
            x = self._norm(x + self._dense(self._attention(x, name + "attention.self."), name + "attention.output.dense"),
                           name + "attention.output.LayerNorm")
            inner = gelu(self._dense(x, name + "intermediate.dense"))
            x = self._norm(x + self._dense(inner, name + "output.dense"), name + "output.LayerNorm")
        pooled = x.mean(axis=0)
        return pooled / np.linalg.norm(pooled)

    def _dense(self, x, name):
        return x @ self._weights[name + ".weight"].T + self._weights[name + ".bias"]

    def _norm(self, x, name):
        x = x - x.mean(axis=-1, keepdims=True)
        x /= np.sqrt((x * x).mean(axis=-1, keepdims=True) + self._epsilon)
        return x * self._weights[name + ".weight"] + self._weights[name + ".bias"]

    def _attention(self, x, name):
        # [tokens, dimensions] → [heads, tokens, dimensions / heads]
        query, key, value = (self._dense(x, name + part).reshape(len(x), self._heads, -1).swapaxes(0, 1)
                             for part in ("query", "key", "value"))
        scores = query @ key.swapaxes(1, 2) / np.sqrt(np.float32(query.shape[-1]))
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).swapaxes(0, 1).reshape(len(x), -1)


def gelu(x):
    """Returns GELU, x Φ(x), with the error function of Abramowitz and Stegun 7.1.26
    (error at most 1.5e-7)."""
    z = np.abs(x) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (np.float32(0.254829592) + t * (np.float32(-0.284496736) + t * (
        np.float32(1.421413741) + t * (np.float32(-1.453152027) + t * np.float32(1.061405429)))))
    return x * (1 + np.sign(x) * (1 - poly * np.exp(-z * z))) / 2


def safetensors(path):
    """Returns the float32 tensors of a safetensors file by name. They are
    mapped, not copied. The file has 8 bytes of header length, the header, and
    the data."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    size = int(data[:8].view("<u8")[0])
    tensors = {}
    for name, tensor in json.loads(data[8 : 8 + size].tobytes()).items():
        if tensor.get("dtype") == "F32":
            first, last = (8 + size + offset for offset in tensor["data_offsets"])
            tensors[name] = data[first:last].view(np.float32).reshape(tensor["shape"])
    return tensors
