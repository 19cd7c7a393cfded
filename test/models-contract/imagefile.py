"""Detects the format of images as Python's image library does, and reads the pixels of PNG files. Only the model joint uses
the pixels."""

import base64
import io
import re
import struct
import zlib

import numpy as np

MARKS = {b"\xff\xd8\xff": "JPEG", b"GIF87a": "GIF", b"GIF89a": "GIF", b"RIFF": "WEBP", b"BM": "BMP"}


def opened(text):
    """Returns the format of an image in base64. Python's decoder ignores characters that aren't in
    the alphabet."""
    data = base64.b64decode(text)
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return png(data)
    for mark, kind in MARKS.items():
        if data.startswith(mark):
            return kind
    raise ValueError(f"cannot identify image file {io.BytesIO(data)!r}")


def png(data):
    """Checks all chunks, and the pixels of formats that have them."""
    pixels, at = b"", 8
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + size]
        if len(body) < size:
            break
        if kind == b"IDAT":
            pixels += body
        if kind == b"IEND":
            zlib.decompress(pixels)
            return "PNG"
        at += 12 + size
    raise ValueError(f"image file is truncated ({len(data) - at} bytes not processed)")


def of_uri(uri, types):
    """Returns the format of an image in a data: URI of one of the types. Any other string is an
    address."""
    found = re.fullmatch(rf"data:image/({types});base64,(.*)", uri)
    if not found:
        raise ValueError(f"No connection adapters were found for {uri[:40]!r}")
    return opened(found[2])


def pixels(data):
    """Returns the colours of a PNG file with 8 bits a sample and without interlacing: an array of height, width and 3."""
    png(data)
    width, height, depth, kind, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    samples = {0: 1, 2: 3, 6: 4}.get(kind)
    if depth != 8 or samples is None or interlaced:
        raise ValueError(f"cannot read a PNG image of {depth} bits and type {kind}")
    lines = np.frombuffer(zlib.decompress(chunks(data, b"IDAT")), np.uint8).reshape(height, 1 + width * samples).astype(int)
    image = np.zeros((height + 1, width + 1, samples), int)  # with a line above and a column to the left
    for y, line in enumerate(lines):
        for x, sample in enumerate(line[1:].reshape(width, samples)):
            image[y + 1, x + 1] = (sample + predicted(line[0], image[y + 1, x], image[y, x + 1], image[y, x])) % 256
    return np.repeat(image[1:, 1:], 3, axis=2) if samples == 1 else image[1:, 1:, :3]


def chunks(data, wanted):
    """Returns the contents of all chunks of a type."""
    found, at = b"", 8
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        if kind == wanted:
            found += data[at + 8:at + 8 + size]
        at += 12 + size
    return found


def predicted(rule, left, above, corner):
    """Returns the value from which a pixel of PNG differs, by the filter of its line."""
    if rule < 4:
        return (0, left, above, (left + above) // 2)[rule]
    to_left, to_above, to_corner = abs(above - corner), abs(left - corner), abs(left + above - 2 * corner)
    return np.where((to_left <= to_above) & (to_left <= to_corner), left, np.where(to_above <= to_corner, above, corner))
