"""A language model of bigrams: the logit of a token is the logarithm of the number of times that it follows
the previous one in corpus.txt, plus 1. As those of an engine, the logits have columns for padding, whose
weights are 0."""

import os

import numpy as np
from engine import HERE, TOKENIZER, encode

PADDED = 320

with open(os.path.join(HERE, "corpus.txt"), encoding="utf-8") as file:
    CORPUS = encode(file.read())
VOCABULARY = TOKENIZER.get_vocab_size()
COUNTS = np.ones((VOCABULARY, VOCABULARY), np.float32)
np.add.at(COUNTS, (CORPUS[:-1], CORPUS[1:]), 1)


def logits(ids):
    """Returns the logits after each token, in the shape [tokens, columns]."""
    found = np.zeros((len(ids), PADDED), np.float32)
    found[:, :VOCABULARY] = np.log(COUNTS[ids])
    return found
