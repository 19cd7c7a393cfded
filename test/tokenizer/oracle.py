"""Runs Hugging Face's tokenizers on texts, for the tests of services/tokenizer.

Reads requests as JSON lines and writes one response for each:

    {"train": KIND, "texts": [...]}           {"json": TOKENIZER}: a small one, trained on the texts
    {"train": "again", "json": TOKENIZER,     {"json": TOKENIZER}: the same with a vocabulary of this size, trained on the texts.
     "tokens": [...], "size": N, "texts": [...]} It has the tokens at its start
    {"path" or "json": ..., "texts": [...],   {"plain", "special": ids of each text, without and with special tokens,
     "ids": [[...]]}                           "text", "skipped": each text decoded again, and each list of ids,
                                               "count": the vocabulary's size}, or {"error": ...}
    {"path" or "json": ..., "inputs": [...]}  {"encodings": [{"ids", "types"} of each input, or {} if tokenizers fails]}: an input
                                               has "first", optionally "second", "special", and optionally "truncation"
    {"path" or "json": ..., "texts": [...],   {"seconds": the shortest CPU time of one thread for all texts, of this many rounds}
     "rounds": N}
    {"properties": [...]}                     {"sets": ranges of code points for each property of regular expressions and some
                                               others, "maps": the normalized form of each character that changes}
    {"versions": true}                        {"versions": the packages that the responses depend on}
"""
import io
import json
import sys
import time

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers


def charsmap():
    """Returns SentencePiece's compiled rules nmt_nfkc, as in XLM-RoBERTa, from
    a tiny trained model."""
    import sentencepiece

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world %d" % i for i in range(100)]), model_writer=model, vocab_size=30,
        hard_vocab_limit=False, normalization_rule_name="nmt_nfkc", minloglevel=2,
    )
    normalizer = dict(fields(model.getvalue()))[3]
    return dict(fields(normalizer))[2]


def fields(message):
    """Yields the numbers and contents of a protobuf message's fields, except
    numeric ones."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            varint()
            continue
        size = varint() if key & 7 == 2 else {1: 8, 5: 4}[key & 7]
        yield key >> 3, message[at : at + size]
        at += size


def train(kind, texts):
    if kind == "unigram":
        t = Tokenizer(models.Unigram())
        t.normalizer = normalizers.Precompiled(charsmap())
        t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
        t.decoder = decoders.Metaspace()
        tokens = ["<s>", "<pad>", "</s>", "<unk>"] + ["<0x%02X>" % i for i in range(256)]
        trainer = trainers.UnigramTrainer(vocab_size=2500, special_tokens=tokens, unk_token="<unk>", show_progress=False)
    elif kind == "wordpiece":
        t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        t.normalizer = normalizers.BertNormalizer()
        t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        t.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=3000, special_tokens=["[UNK]", "[CLS]", "[SEP]"], show_progress=False)
    elif kind == "bytes":
        t = Tokenizer(models.BPE())
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        t.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=3000, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"], show_progress=False)
    elif kind in ("spaces", "words"):  # as in SentencePiece with byte fallback, and with marked word ends
        suffix = {} if kind == "spaces" else {"end_of_word_suffix": "</w>"}
        t = Tokenizer(models.BPE(unk_token="<unk>", **suffix))
        t.pre_tokenizer = pre_tokenizers.Metaspace() if kind == "spaces" else pre_tokenizers.WhitespaceSplit()
        t.decoder = decoders.Metaspace() if kind == "spaces" else decoders.BPEDecoder()
        tokens = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % i for i in range(256)]
        trainer = trainers.BpeTrainer(
            vocab_size=3000, limit_alphabet=200, special_tokens=tokens, show_progress=False, **suffix
        )
    t.train_from_iterator(texts, trainer)
    return json.loads(t.to_str())


def train_again(file, tokens, size, texts):
    t = Tokenizer.from_str(json.dumps({**file, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}))
    options = {"vocab_size": size, "special_tokens": tokens, "show_progress": False}
    kind = file["model"]["type"]
    if kind == "Unigram":
        trainer = trainers.UnigramTrainer(unk_token=tokens[3], **options)
    elif kind == "WordPiece":
        trainer = trainers.WordPieceTrainer(**options)
    else:
        trainer = trainers.BpeTrainer(initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)
    t.train_from_iterator(texts, trainer)
    return {**file, "model": json.loads(t.to_str())["model"]}


def ranges(points):
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def unicode(properties):
    """Splits a text of all characters at the borders of a property, and applies
    normalizers to single characters."""
    # The remaining code points are unassigned or for private use.
    points = [*range(1, 0xD800), *range(0xE000, 0x33000), *range(0xE0000, 0xE1000)]
    every = "".join(map(chr, points))
    sets = {}
    for name in properties:
        splitter = pre_tokenizers.Split(Regex("\\p{%s}+" % name), "removed")
        left = bytearray(len(points))
        for _, (start, end) in splitter.pre_tokenize_str(every):
            left[start:end] = b"x" * (end - start)
        sets["onig " + name] = ranges(c for c, kept in zip(points, left) if not kept)
    alone = "".join("x%sx" % chr(c) for c in points)
    for name, splitter in {
        "rust N": pre_tokenizers.Digits(individual_digits=True),
        "old P": pre_tokenizers.Punctuation(),
    }.items():
        starts = (start for _, (start, end) in splitter.pre_tokenize_str(alone) if start % 3 == 1 and end == start + 1)
        sets[name] = ranges(points[start // 3] for start in starts)
    words = "".join("x%sx " % chr(c) for c in points)
    whole = (start for _, (start, end) in pre_tokenizers.Whitespace().pre_tokenize_str(words) if end == start + 3 and start % 4 == 0)
    sets["rust w"] = ranges(points[start // 4] for start in whole)
    bert = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    maps = {
        "lower": normalizers.Lowercase(),
        "NFC": normalizers.NFC(),
        "NFD": normalizers.NFD(),
        "NFKC": normalizers.NFKC(),
        "NFKD": normalizers.NFKD(),
        "clean": normalizers.BertNormalizer(**{**bert, "clean_text": True}),
        "accents": normalizers.BertNormalizer(**{**bert, "strip_accents": True}),
        "marks": normalizers.StripAccents(),
    }
    for name, normalizer in maps.items():
        between = "xyzzy" if name == "clean" else "\n"  # the normalizer keeps it, and it joins with no character
        out = normalizer.normalize_str(between.join(map(chr, points))).split(between)
        if between == "\n":
            out[points.index(10) : points.index(10) + 2] = ["\n"]
        maps[name] = {c: changed for c, changed in zip(points, out, strict=True) if changed != chr(c)}
    return {"sets": sets, "maps": maps}


def encoding(t, given):
    try:
        t.no_truncation()
        if cut := given.get("truncation"):
            t.enable_truncation(**cut)
        e = t.encode(given["first"], given.get("second"), add_special_tokens=given["special"])
        return {"ids": e.ids, "types": e.type_ids}
    except BaseException as error:  # Rust panics are no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return {}


def seconds(t, texts):
    start = time.process_time()
    t.encode_batch_fast(texts)
    return time.process_time() - start


def answer(request):
    if "versions" in request:
        return {"versions": [f"tokenizers=={tokenizers.__version__}"]}
    if "properties" in request:
        return unicode(request["properties"])
    if request.get("train") == "again":
        return {"json": train_again(request["json"], request["tokens"], request["size"], request["texts"])}
    if "train" in request:
        return {"json": train(request["train"], request["texts"])}
    t = Tokenizer.from_file(request["path"]) if "path" in request else Tokenizer.from_str(json.dumps(request["json"]))
    t.no_truncation()
    t.no_padding()
    if "inputs" in request:
        return {"encodings": [encoding(t, i) for i in request["inputs"]]}
    if "rounds" in request:
        return {"seconds": min(seconds(t, request["texts"]) for _ in range(request["rounds"]))}
    plain = [e.ids for e in t.encode_batch(request["texts"], add_special_tokens=False)]
    special = [t.encode(text).ids for text in request["texts"]]
    ids = special + (request.get("ids") or [])
    return {
        "plain": plain,
        "special": special,
        "text": [t.decode(i, skip_special_tokens=False) for i in ids],
        "skipped": [t.decode(i, skip_special_tokens=True) for i in ids],
        "count": t.get_vocab_size(with_added_tokens=True),
    }


for line in sys.stdin:
    try:
        result = answer(json.loads(line))
    except Exception as error:  # the tests check that Trident refuses what tokenizers refuses
        result = {"error": repr(error)}
    print(json.dumps(result), flush=True)
