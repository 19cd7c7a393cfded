"""Embeds texts and images by their colours.

The vector of an image is the mean of its pixels. The vector of a text is the mean of the colours that it names. An input
with both has the mean of the two vectors. Images are PNG files in base64 with 8 bits a sample.
"""

import base64
import os
import re
import sys

import numpy as np
import triton_python_backend_utils as pb_utils

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))

import imagefile

COLOURS = {"red": (1, 0, 0), "green": (0, 1, 0), "blue": (0, 0, 1), "yellow": (1, 1, 0), "white": (1, 1, 1)}


class TritonPythonModel:
    """The class that Triton loads."""

    def execute(self, requests):
        return [answer(request) for request in requests]


def answer(request):
    texts = strings(request, "text")
    images = strings(request, "image") or [b""] * len(texts)
    try:
        vectors = [np.mean([v for v in (of_text(text), of_image(image)) if v is not None], axis=0) for text, image in zip(texts, images, strict=True)]
    except ValueError as error:
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG))
    return pb_utils.InferenceResponse([pb_utils.Tensor("vector", np.array(vectors, dtype=np.float32))])


def strings(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return [] if tensor is None else list(tensor.as_numpy().reshape(-1))


def of_text(text):
    if not text:
        return None
    named = [COLOURS[word] for word in re.findall(r"\w+", text.decode().lower()) if word in COLOURS]
    return np.mean(named or [(0.01, 0.01, 0.01)], axis=0)


def of_image(image):
    if not image:
        return None
    return imagefile.pixels(base64.b64decode(image)).mean(axis=(0, 1)) / 255 + 0.001
