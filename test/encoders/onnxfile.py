"""Reads the weights of a dynamically quantized ONNX export of BERT.

Quantized weights are int8 or uint8 with a scale and a zero point, as ONNX Runtime's
quantization writes them. They are returned as float32 under the names of the
PyTorch model, so that the model's weights are the same in each framework.
"""

import numpy as np

DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64}


def weights(path):
    """Returns the weights of an ONNX file by their names in PyTorch."""
    with open(path, "rb") as file:
        graph = only(file.read(), 7)
    constants, nodes = {}, []
    for tag, value in fields(graph):
        if tag == 1:
            nodes.append(node(value))
        elif tag == 5:
            name, array = tensor(value)
            constants[name] = array
    named = {}
    for name, operator, inputs in nodes:
        for entry in inputs:
            if not entry.endswith("_quantized") or entry not in constants:
                continue
            entry = entry[: -len("_quantized")]
            matrix = dequantized(constants, entry)
            # PyTorch's dense layers have the transposed matrix.
            if operator == "MatMulInteger":
                matrix = np.ascontiguousarray(matrix.T)
            # The exporter gives most matrices a number. Their node has the module's path.
            if entry.startswith("onnx::"):
                entry = name.strip("/").rsplit("/", 1)[0].replace("/", ".") + ".weight"
            named[entry] = matrix
    for name, array in constants.items():
        if array.dtype == np.float32 and name.endswith((".weight", ".bias")):
            named[name] = array
    return named


def dequantized(constants, name):
    values, scale, zero = (constants[name + suffix] for suffix in ("_quantized", "_scale", "_zero_point"))
    return ((values.astype(np.int32) - zero.astype(np.int32)) * scale).astype(np.float32)


def node(data):
    """Returns the name, the operator and the inputs of a node."""
    name, operator, inputs = "", "", []
    for tag, value in fields(data):
        if tag == 1:
            inputs.append(value.decode())
        elif tag == 3:
            name = value.decode()
        elif tag == 4:
            operator = value.decode()
    return name, operator, inputs


def tensor(data):
    """Returns the name and the value of a tensor."""
    name, dims, kind, raw, numbers = "", [], 0, None, []
    for tag, value in fields(data):
        if tag == 1:
            dims += [value] if isinstance(value, int) else list(varints(value))
        elif tag == 2:
            kind = value
        elif tag == 8:
            name = value.decode()
        elif tag == 9:
            raw = value
        elif tag == 4:
            numbers += list(np.frombuffer(value, "<f4")) if isinstance(value, bytes) else [value]
        elif tag in (5, 7):
            numbers += [value] if isinstance(value, int) else list(varints(value))
    if kind not in DTYPES:
        return name, np.zeros(0)
    array = np.frombuffer(raw, DTYPES[kind]) if raw is not None else np.array(numbers, DTYPES[kind])
    return name, array.reshape(dims)


def only(data, wanted):
    return next(value for tag, value in fields(data) if tag == wanted)


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value - (1 << 64) if value >= 1 << 63 else value), at
        shift += 7


def fields(data):
    """Yields the tag and the value of each field of a protobuf message: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        yield key >> 3, value
