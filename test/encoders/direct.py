"""Embeds texts in a loop without a server: Hugging Face's tokenizers, ONNX Runtime and numpy.

The arguments are the folder of graph.py, the folder of the weights, the number of threads, the
limit of a text and the limit of a batch, both in tokens. It answers each line of JSON with a line of JSON.
A question has "texts" and "window".

The texts are taken in windows of "window" texts. Each window is tokenized, sorted by length and cut into
batches whose padded size is within the limit, and of which at most a tenth is padding. Vectors are means of
the token vectors, normalized. Texts are truncated. A latency is the time of a window, in seconds.
"""

import json
import os
import sys
import time

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

sys.path.insert(0, sys.argv[1])
import graph  # noqa: E402


# The largest share of a batch that may be padding.
PADDING = 0.1


class Loop:
    def __init__(self, weights, threads, limit, tokens):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(graph.load(weights), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(os.path.join(weights, "tokenizer.json"))
        self._tokenizer.enable_truncation(limit)
        self._tokenizer.no_padding()
        self._bound = tokens
        self.tokens = self.padded = 0

    def window(self, texts):
        """Returns the vectors of the texts."""
        encoded = self._tokenizer.encode_batch(texts)
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        vectors = [None] * len(texts)
        batch, total = [], 0
        for i in order:
            size = len(encoded[i].ids)
            padded = (len(batch) + 1) * size
            if batch and (padded > self._bound or padded - total - size > padded * PADDING):
                self._run(batch, encoded, vectors)
                batch, total = [], 0
            batch.append(i)
            total += size
        self._run(batch, encoded, vectors)
        return vectors

    def _run(self, batch, encoded, vectors):
        longest = max(len(encoded[i].ids) for i in batch)
        ids = np.zeros((len(batch), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, i in enumerate(batch):
            size = len(encoded[i].ids)
            ids[row, :size], mask[row, :size] = encoded[i].ids, 1
        states = self._session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
        pooled = (states * mask[:, :, None]).sum(axis=1)
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        for row, i in enumerate(batch):
            vectors[i] = pooled[row]
        self.tokens += int(mask.sum())
        self.padded += mask.size


def main():
    weights, threads, limit, tokens = sys.argv[2], *map(int, sys.argv[3:6])
    loop = Loop(weights, threads, limit, tokens)
    for line in sys.stdin:
        asked = json.loads(line)
        texts, window = asked["texts"], asked["window"]
        loop.tokens = loop.padded = 0
        latencies, began = [], time.perf_counter()
        for at in range(0, len(texts), window):
            start = time.perf_counter()
            loop.window(texts[at : at + window])
            latencies.append(time.perf_counter() - start)
        print(json.dumps({
            "seconds": time.perf_counter() - began, "tokens": loop.tokens, "padded": loop.padded, "latencies": latencies,
        }), flush=True)


if __name__ == "__main__":
    main()
