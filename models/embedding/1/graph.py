"""Builds the ONNX graph of a BERT-like encoder from safetensors weights.

The graph has the tensors of Hugging Face's exports: input_ids, attention_mask
and, if the weights have token types, token_type_ids, all INT64 [batch, tokens].
Its output is last_hidden_state [batch, tokens, hidden], logits [batch,
labels] if the weights have a classification head, or logits [batch, tokens,
vocabulary] if they have a head that predicts tokens. Its operators include those
of ONNX Runtime's domain com.microsoft, which compute several steps at once.

Models: BertModel, BertForSequenceClassification, BertForMaskedLM, XLMRobertaModel,
XLMRobertaForSequenceClassification and their Roberta twins, with absolute
positions. Devlin et al. 2018, arXiv:1810.04805; Conneau et al. 2019,
arXiv:1911.02116.
"""

import json
import os
import struct
import sys

import numpy as np

# The numbers of the ONNX format (onnx.proto, IR version 8).
FLOAT, INT32, INT64 = 1, 6, 7
ELEMENTS = {"float32": FLOAT, "int32": INT32, "int64": INT64}
IR_VERSION, OPSET = 8, 17


def load(folder):
    """Returns the ONNX model of a folder with config.json and model.safetensors, as bytes."""
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    return build(config, safetensors(os.path.join(folder, "model.safetensors")))


def build(config, weights):
    """Returns the ONNX model of a config.json and its float32 weights by name, as bytes."""
    if config.get("hidden_act", "gelu") != "gelu" or config.get("position_embedding_type", "absolute") != "absolute":
        raise ValueError("the encoder needs the activation gelu and absolute positions")
    graph = Graph()
    prefix = next((p for p in ("", "bert.", "roberta.") if p + "embeddings.word_embeddings.weight" in weights), None)
    if prefix is None:
        raise ValueError("the weights have no word embeddings of BERT or RoBERTa")
    encoder = Encoder(graph, config, weights, prefix)
    hidden = encoder.encode()
    if "classifier.weight" in weights or "classifier.out_proj.weight" in weights:
        graph.output(encoder.classify(hidden), "logits", ["batch", encoder.labels])
    elif "cls.predictions.bias" in weights:
        graph.output(encoder.predict(hidden), "logits", ["batch", "tokens", len(weights["cls.predictions.bias"])])
    else:
        graph.output(hidden, "last_hidden_state", ["batch", "tokens", config["hidden_size"]])
    return graph.model()


class Encoder:
    """Writes the nodes of one encoder into a graph."""

    def __init__(self, graph, config, weights, prefix):
        self._graph, self._weights, self._prefix = graph, weights, prefix
        self._heads, self._layers = config["num_attention_heads"], config["num_hidden_layers"]
        self._epsilon = float(config["layer_norm_eps"])
        # RoBERTa's first position follows its padding token.
        self._first = config["pad_token_id"] + 1 if config["model_type"] in ("roberta", "xlm-roberta") else 0
        self._types = config.get("type_vocab_size", 0) > 1
        self.labels = 0

    def encode(self):
        """Returns the name of the hidden states after the last layer."""
        g = self._graph
        ids, mask = g.input("input_ids"), g.input("attention_mask")
        mask = g.node("Cast", [mask], to=INT32)
        hidden = self._embed(ids)
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}."
            hidden = self._norm(self._attention(hidden, mask, name + "attention.self."), hidden, name + "attention.output.")
            inner = g.node("MatMul", [hidden, self._matrix(name + "intermediate.dense.weight")])
            inner = g.node("BiasGelu", [inner, self._vector(name + "intermediate.dense.bias")], domain="com.microsoft")
            hidden = self._norm(inner, hidden, name + "output.")
        return hidden

    def classify(self, hidden):
        """Returns the name of the logits of the first token's hidden state."""
        g = self._graph
        first = g.node("Gather", [hidden, g.constant(np.array(0, np.int64))], axis=1)
        dense, out = ("pooler.dense", "classifier")
        if "classifier.out_proj.weight" in self._weights:  # RoBERTa's head
            dense, out = "classifier.dense", "classifier.out_proj"
        else:
            dense = self._prefix + dense
        pooled = g.node("Tanh", [self._gemm(first, dense)])
        self.labels = len(self._weights[out + ".bias"])
        return self._gemm(pooled, out)

    def predict(self, hidden):
        """Returns the name of the logits of the vocabulary after each token. The last matrix is that of the embeddings."""
        g, name = self._graph, "cls.predictions."
        dense = g.node("MatMul", [hidden, g.constant(self._weights[name + "transform.dense.weight"].T)])
        dense = g.node("BiasGelu", [dense, g.constant(self._weights[name + "transform.dense.bias"])], domain="com.microsoft")
        norm = [g.constant(self._weights[f"{name}transform.LayerNorm.{part}"]) for part in ("weight", "bias")]
        dense = g.node("LayerNormalization", [dense, *norm], axis=-1, epsilon=self._epsilon)
        words = self._weights[self._prefix + "embeddings.word_embeddings.weight"].T
        return g.node("Add", [g.node("MatMul", [dense, g.constant(words)]), g.constant(self._weights[name + "bias"])])

    def _embed(self, ids):
        g = self._graph
        words = g.node("Gather", [self._table("word"), ids])
        # The positions of padding have no effect, because attention omits them.
        positions = self._weights[self._prefix + "embeddings.position_embeddings.weight"][self._first:]
        length = g.node("Slice", [g.node("Shape", [ids]), g.constant([1]), g.constant([2])])
        total = g.node("Add", [words, g.node("Slice", [g.constant(positions), g.constant([0]), length])])
        if self._types:
            total = g.node("Add", [total, g.node("Gather", [self._table("token_type"), g.input("token_type_ids")])])
        else:
            total = g.node("Add", [total, g.constant(self._weights[self._prefix + "embeddings.token_type_embeddings.weight"][0])])
        return g.node("LayerNormalization", [total, self._vector("embeddings.LayerNorm.weight"), self._vector("embeddings.LayerNorm.bias")],
                      axis=-1, epsilon=self._epsilon)

    def _attention(self, hidden, mask, name):
        weights = [self._weights[self._prefix + name + part + ".weight"].T for part in ("query", "key", "value")]
        biases = [self._weights[self._prefix + name + part + ".bias"] for part in ("query", "key", "value")]
        g = self._graph
        return g.node("Attention", [hidden, g.constant(np.concatenate(weights, axis=1)), g.constant(np.concatenate(biases)), mask],
                      domain="com.microsoft", num_heads=self._heads)

    def _norm(self, inner, hidden, name):
        """Returns the layer norm of the sum of a dense layer of inner and hidden."""
        g = self._graph
        dense = g.node("MatMul", [inner, self._matrix(name + "dense.weight")])
        return g.node("SkipLayerNormalization", [
            dense, hidden, self._vector(name + "LayerNorm.weight"), self._vector(name + "LayerNorm.bias"), self._vector(name + "dense.bias"),
        ], domain="com.microsoft", epsilon=self._epsilon)

    def _gemm(self, x, name):
        g = self._graph
        return g.node("Gemm", [x, g.constant(self._weights[name + ".weight"]), g.constant(self._weights[name + ".bias"])], transB=1)

    def _matrix(self, name):
        return self._graph.constant(self._weights[self._prefix + name].T)

    def _vector(self, name):
        return self._graph.constant(self._weights[self._prefix + name])

    def _table(self, kind):
        return self._graph.constant(self._weights[f"{self._prefix}embeddings.{kind}_embeddings.weight"])


class Graph:
    """Collects the parts of an ONNX graph in the protobuf wire format."""

    def __init__(self):
        self._inputs, self._outputs, self._names = {}, [], 0
        self._parts = []  # nodes and constants: a node's inputs come before the node

    def input(self, name):
        """Adds an input INT64 [batch, tokens]. It returns the name."""
        self._inputs.setdefault(name, tensor_info(name, INT64, ["batch", "tokens"]))
        return name

    def output(self, value, name, shape):
        """Makes a value an output of the graph."""
        self._parts.append(field(1, text(1, value) + text(2, name) + text(4, "Identity")))
        self._outputs.append(tensor_info(name, FLOAT, shape))

    def constant(self, value):
        """Adds a constant array and returns its name."""
        array = np.asarray(value, order="C")
        name = self._name()
        dims = b"".join(number(1, size) for size in array.shape)
        data = array.tobytes()
        self._parts.append(field(5, dims + number(2, ELEMENTS[array.dtype.name]) + text(8, name) + field(9, data)))
        return name

    def node(self, operator, inputs, domain="", **attributes):
        """Adds a node with one output and returns the output's name."""
        name = self._name()
        body = b"".join(text(1, i) for i in inputs) + text(2, name) + text(3, name) + text(4, operator)
        for key, value in attributes.items():
            if isinstance(value, float):
                content = key_of(2, 5) + struct.pack("<f", value) + number(20, 1)
            else:
                content = number(3, value) + number(20, 2)
            body += field(5, text(1, key) + content)
        self._parts.append(field(1, body + text(7, domain)))
        return name

    def model(self):
        """Returns the model with this graph."""
        graph = b"".join(self._parts) + text(2, "encoder")
        graph += b"".join(field(11, i) for i in self._inputs.values()) + b"".join(field(12, o) for o in self._outputs)
        domains = (("", OPSET), ("com.microsoft", 1))
        opsets = b"".join(field(8, text(1, domain) + number(2, version)) for domain, version in domains)
        return number(1, IR_VERSION) + opsets + field(7, graph)

    def _name(self):
        self._names += 1
        return f"v{self._names}"


def tensor_info(name, element, shape):
    dims = b"".join(field(1, number(1, size) if isinstance(size, int) else text(2, size)) for size in shape)
    return text(1, name) + field(2, field(1, number(1, element) + field(2, dims)))


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def key_of(tag, kind):
    return varint(tag << 3 | kind)


def number(tag, value):
    return key_of(tag, 0) + varint(value)


def field(tag, data):
    return key_of(tag, 2) + varint(len(data)) + data


def text(tag, value):
    return field(tag, value.encode())


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


if __name__ == "__main__":  # the arguments are the folder and the ONNX file
    with open(sys.argv[2], "wb") as out:
        out.write(load(sys.argv[1]))
