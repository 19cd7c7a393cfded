"""Detects the format of images as Python's image library does. The models don't use the pixels."""

import base64
import io
import re
import struct
import zlib

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
