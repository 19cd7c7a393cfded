"""What Hugging Face's tokenizers makes of texts, for the tests of services/tokenizer.

Reads requests as JSON lines and answers each with one:
  {"train": KIND, "texts": [...]}           {"json": TOKENIZER}: a small one, trained on the texts
  {"path" or "json": ..., "texts": [...],   {"plain", "special": ids of each text, without and with special tokens,
   "ids": [[...]]}                           "text", "skipped": each text decoded again, and each list of ids,
                                             "count": the vocabulary's size}, or {"error": ...}
  {"properties": [...]}                     {"sets": ranges of code points for each property of regular expressions and some
                                             others, "maps": what becomes of each character, where it does not stay}
  {"versions": true}                        {"versions": the packages that the answers depend on}
"""
import json
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers


def train(kind, texts):
    if kind == "wordpiece":
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
    elif kind in ("spaces", "words"):  # as SentencePiece's with bytes, and with words' ends marked
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


def ranges(points):
    out = []
    for c in points:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def unicode(properties):
    """Splits a text of all characters where a property begins and ends, and puts single ones through normalizers."""
    # Beyond is nothing, or for private use.
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
        between = "xyzzy" if name == "clean" else "\n"  # what the normalizer leaves, and nothing joins
        out = normalizer.normalize_str(between.join(map(chr, points))).split(between)
        if between == "\n":
            out[points.index(10) : points.index(10) + 2] = ["\n"]
        maps[name] = {c: changed for c, changed in zip(points, out, strict=True) if changed != chr(c)}
    return {"sets": sets, "maps": maps}


def answer(request):
    if "versions" in request:
        return {"versions": [f"tokenizers=={tokenizers.__version__}"]}
    if "properties" in request:
        return unicode(request["properties"])
    if "train" in request:
        return {"json": train(request["train"], request["texts"])}
    t = Tokenizer.from_file(request["path"]) if "path" in request else Tokenizer.from_str(json.dumps(request["json"]))
    t.no_truncation()
    t.no_padding()
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
    except Exception as error:  # what tokenizers refuses, the tests want to see refused
        result = {"error": repr(error)}
    print(json.dumps(result), flush=True)
