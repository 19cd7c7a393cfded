"""Translates vllm.SamplingParams to llama.cpp's parameters.

Each parameter of vLLM 0.13 is supported or refused by name; none is ignored. logprob_token_ids is from a later
version. If a name means different things in the two engines, a docstring describes the difference.
"""

import json
from dataclasses import dataclass

from llguidance import LLMatcher, regex_to_lark

VOCABULARY = 49152  # number of SmolLM2's tokens
MAX_LOGPROBS = 20  # vLLM's default of max_logprobs
MAX_LOGPROB_TOKEN_IDS = 128  # vLLM's maximum
ALLOW = 1e4  # added to the logits of allowed tokens, far above the difference of any two logits

# SmolLM2's special tokens, except <|endoftext|> and <|im_end|>, which end a response. vLLM leaves the listed tokens out
# of the text.
SPECIAL_TOKENS = [
    "<|im_start|>", "<repo_name>", "<reponame>", "<file_sep>", "<filename>", "<gh_stars>", "<issue_start>", "<issue_comment>",
    "<issue_closed>", "<jupyter_start>", "<jupyter_text>", "<jupyter_code>", "<jupyter_output>", "<jupyter_script>", "<empty_output>",
]

# Parameters of vLLM that llama.cpp doesn't support, with the values that have no effect.
UNSUPPORTED = {
    "bad_words": ([],),
    "best_of": (1,),
    "detokenize": (True,),
    "extra_args": ({},),
    "flat_logprobs": (False,),
    "guided_decoding": (),
    "logits_processors": ([],),
    "lora_name": (),
    "min_tokens": (0,),
    "n": (1,),
    "output_kind": (),
    "prompt_logprobs": (),
    "spaces_between_special_tokens": (True,),
    "truncate_prompt_tokens": (),
}


class InvalidParameter(ValueError):
    """A sampling parameter that is unknown, out of range or not supported by this model. The message names the
    parameter."""


@dataclass(frozen=True)
class Sampling:
    """The sampling of one request: llama.cpp's completion fields, and the options that the model itself implements."""

    fields: dict
    max_tokens: int = 16
    logprobs: int | None = None
    logprob_token_ids: tuple = ()
    allowed_token_ids: tuple = ()
    stop_token_ids: frozenset = frozenset()
    include_stop: bool = False


def translate(text: str, defaults: dict | None = None) -> Sampling:
    """Reads a JSON object of vllm.SamplingParams; null means absent. defaults has the values of absent parameters,
    where they differ from vLLM's. Raises InvalidParameter."""
    try:
        given = json.loads(text)
    except ValueError as error:
        raise InvalidParameter(f"sampling_parameters is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise InvalidParameter("sampling_parameters must be a JSON object")
    given = {**(defaults or {}), **{name: value for name, value in given.items() if value is not None}}
    for name, value in given.items():
        if name in UNSUPPORTED:
            # The types are compared too, because True == 1.
            _require(any(type(value) is type(ok) and value == ok for ok in UNSUPPORTED[name]),
                     name, "is not supported by this model")
        else:
            _require(name in HONOURED, name, "is not a sampling parameter")
    # The samplers are in vLLM's order: the temperature applies before top-k, top-p and min-p. Penalties also count the
    # prompt's tokens; vLLM's presence and frequency penalties count only the response's.
    fields = {
        "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": 0.0,
        "samplers": ["penalties", "temperature", "min_p", "top_k", "top_p"],
    }
    own = {}
    for name, value in given.items():
        if name in HONOURED:
            target, check = HONOURED[name]
            (own if target in Sampling.__dataclass_fields__ else fields)[target] = check(name, value)
    # llama.cpp holds back text that may be the start of a stop string. A stop token that arrives while llama.cpp holds
    # text back would discard that text.
    _require(not (own.get("stop_token_ids") and fields.get("stop")), "stop_token_ids", "can't be combined with 'stop' in this model")
    # llama.cpp has no list of allowed tokens. Log probabilities are those before the bias.
    if "allowed_token_ids" in own:
        fields["logit_bias"] = fields.get("logit_bias", []) + [[token, ALLOW] for token in own["allowed_token_ids"]]
    _require("logprobs" not in own or own["logprobs"] == len(own.get("logprob_token_ids", ())) or "logprob_token_ids" not in own, "logprob_token_ids",
             "needs as many logprobs as it has ids, or none")
    return Sampling(fields, **own)


def _require(condition, name, message):
    if not condition:
        raise InvalidParameter(f"sampling parameter '{name}' {message}")


def _from_text(kind, value):
    """Converts a number that may be a string, as in vLLM's backend. Older versions of Triton had no fractions in
    request parameters."""
    try:
        return kind(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _number(low, high, open_low=False):
    def check(name, value):
        value = _from_text(float, value)
        _require(isinstance(value, (int, float)) and not isinstance(value, bool), name, "must be a number")
        inside = (low < value if open_low else low <= value) and value <= high
        _require(inside, name, f"must be in {'(' if open_low else '['}{low}, {high}], got {value}")
        return value
    return check


def _integer(low, high):
    def check(name, value):
        value = _from_text(int, value)
        _require(isinstance(value, int) and not isinstance(value, bool), name, "must be an integer")
        _require(low <= value <= high, name, f"must be in [{low}, {high}], got {value}")
        return value
    return check


def _boolean(name, value):
    _require(isinstance(value, bool), name, "must be a boolean")
    return value


def _top_k(name, value):
    """Returns llama.cpp's top_k. vLLM's 0 and -1 both mean all tokens; llama.cpp's value for that is 0."""
    return max(0, _integer(-1, 2**31 - 1)(name, value))


def _seed(name, value):
    """Returns llama.cpp's seed, which has 32 bits. All ones request a random seed, as -1 does in vLLM."""
    return _integer(-(2**63), 2**63 - 1)(name, value) % 2**32


def _stop(name, value):
    strings = [value] if isinstance(value, str) else value
    _require(isinstance(strings, list) and all(isinstance(s, str) for s in strings), name, "must be a string or a list of strings")
    _require(all(strings), name, "must not contain an empty string")
    return strings


def _token_ids(name, value):
    _require(isinstance(value, list), name, "must be a list of token ids")
    return frozenset(_integer(0, VOCABULARY - 1)(name, token) for token in value)


def _some_token_ids(most):
    def check(name, value):
        _require(isinstance(value, list) and 0 < len(value) <= most, name, f"must be a list of 1 to {most} token ids")
        return tuple(_integer(0, VOCABULARY - 1)(name, token) for token in value)
    return check


def _logit_bias(name, value):
    _require(isinstance(value, dict), name, "must be an object of token ids and biases")
    _require(all(token.isdecimal() and int(token) < VOCABULARY for token in value), name,
             f"has a key that is not a token id below {VOCABULARY}")
    return [[int(token), _number(-100, 100)(name, bias)] for token, bias in value.items()]


def _preserved_tokens(name, value):
    """llama.cpp shows the special tokens that a request lists, and leaves the others out of the text."""
    return [] if _boolean(name, value) else SPECIAL_TOKENS


def _structured_outputs(name, value):
    """Reads a JSON object, in a string, with one kind of constraint. Returns a grammar that llguidance has checked,
    because llama.cpp responds to an invalid schema or regex with unconstrained text. llama.cpp itself reports an
    invalid GBNF grammar."""
    _require(isinstance(value, str), name, "must be a JSON object in a string")
    try:
        constraint = json.loads(value)
    except ValueError as error:
        raise InvalidParameter(f"sampling parameter '{name}' is not JSON: {error}") from error
    _require(isinstance(constraint, dict), name, "must be a JSON object in a string")
    constraint = {kind: of for kind, of in constraint.items() if of is not None}
    _require(len(constraint) == 1 and set(constraint) <= {"json", "json_object", "regex", "choice", "grammar"}, name,
             f"must have exactly one of the keys json, json_object, regex, choice and grammar; it has {', '.join(constraint) or 'none'}")
    (kind, of), = constraint.items()
    try:
        grammar = _grammar(f"{name}.{kind}", kind, of)
        if kind != "grammar":
            error = LLMatcher.validate_grammar(grammar)
            _require(not error, f"{name}.{kind}", f"is not valid: {_cause(error)}")
    except json.JSONDecodeError as error:
        raise InvalidParameter(f"sampling parameter '{name}.{kind}' is not valid: {error}") from error
    return grammar


def _cause(error):
    """Returns the line of an llguidance error that describes the error. The other lines quote the grammar."""
    lines = error.splitlines() or [""]
    return next((line[7:] for line in lines if line.startswith("error: ")), lines[0])


def _grammar(name, kind, of):
    """Returns a constraint in llguidance's notation (GBNF for the kind grammar)."""
    if kind == "grammar":
        _require(isinstance(of, str) and of, name, "must be a GBNF grammar in a string")
        return of
    if kind == "choice":
        _require(isinstance(of, list) and of and all(isinstance(c, str) and c for c in of), name, "must be a list of strings")
        return "%llguidance {}\nstart: " + " | ".join(map(json.dumps, of))
    if kind == "regex":
        _require(isinstance(of, str) and of, name, "must be a regular expression in a string")
        return f"%llguidance {{}}\nstart: /{regex_to_lark(of)}/"
    if kind == "json_object":
        _require(of is True, name, "must be true")
        of = {"type": "object"}
    schema = json.loads(of) if isinstance(of, str) else of
    _require(schema is True or isinstance(schema, dict), name, "must be a JSON schema")
    _close(schema)
    # A small model generates flexible white space until its token limit. llguidance can enforce oneOf only as anyOf, as
    # in vLLM.
    options = {"whitespace_flexible": False, "coerce_one_of": True}
    return "%llguidance {}\nstart: %json " + json.dumps({**({} if schema is True else schema), "x-guidance": options})


# Keywords of JSON Schema whose values are schemas: definitions, schemas of a value's parts, and schemas of the value
# itself.
DEFINITIONS = {"$defs", "definitions"}
PARTS = {"properties", "patternProperties", "additionalProperties", "items", "prefixItems"}
WHOLES = {"allOf", "anyOf", "oneOf", "$ref", "not", "if", "then", "else", "dependentSchemas", "dependencies"}
NAMED = DEFINITIONS | {"properties", "patternProperties", "dependentSchemas", "dependencies"}  # their values are objects of named schemas


def _close(schema):
    """Closes the objects of a schema that lists properties without additionalProperties. llguidance lets a model repeat
    other properties, and a small model does so until its token limit. An object that several schemas describe stays
    open, because each schema would forbid the properties of the others."""
    alone, shared = [], []
    _sort(schema, alone, shared)
    if any("$ref" in one for one in shared):
        return  # the target of a $ref may be in the other list
    for one in alone:
        listed, required = one.get("properties"), one.get("required", [])
        said = {"additionalProperties", "patternProperties", "unevaluatedProperties", *WHOLES}.intersection(one)
        if isinstance(listed, dict) and isinstance(required, list) and not said and all(name in listed for name in required):
            one["additionalProperties"] = False


def _sort(schema, alone, shared):
    """Adds a schema and its subschemas to alone, or to shared if other schemas describe the same value."""
    if not isinstance(schema, dict):
        return
    wholes, parts = WHOLES.intersection(schema), PARTS.intersection(schema)
    (shared if "$ref" in wholes and (parts or len(wholes) > 1) else alone).append(schema)
    for keyword, value in schema.items():
        if keyword in NAMED and isinstance(value, dict):
            members = list(value.values())
        elif keyword in PARTS | WHOLES:
            members = value if isinstance(value, list) else [value]
        else:
            continue
        if keyword in PARTS:
            together = bool(wholes)
        elif keyword in ("anyOf", "oneOf", "allOf"):
            together = bool(parts) or len(wholes) > 1 or keyword == "allOf" and len(members) > 1
        else:
            together = keyword not in DEFINITIONS
        for member in members:
            _sort(member, shared if together else alone, shared)


# Maps vLLM's name to llama.cpp's field or Sampling's, and to the function that checks and converts the value.
HONOURED = {
    "allowed_token_ids": ("allowed_token_ids", _some_token_ids(VOCABULARY)),
    "frequency_penalty": ("frequency_penalty", _number(-2, 2)),
    "ignore_eos": ("ignore_eos", _boolean),
    "include_stop_str_in_output": ("include_stop", _boolean),
    "logit_bias": ("logit_bias", _logit_bias),
    "logprob_token_ids": ("logprob_token_ids", _some_token_ids(MAX_LOGPROB_TOKEN_IDS)),
    "logprobs": ("logprobs", _integer(0, MAX_LOGPROBS)),
    "max_tokens": ("max_tokens", _integer(1, 2**31 - 1)),
    "min_p": ("min_p", _number(0, 1)),
    "presence_penalty": ("presence_penalty", _number(-2, 2)),
    "repetition_penalty": ("repeat_penalty", _number(0, 1e6, open_low=True)),
    "seed": ("seed", _seed),
    "skip_special_tokens": ("preserved_tokens", _preserved_tokens),
    "stop": ("stop", _stop),
    "stop_token_ids": ("stop_token_ids", _token_ids),
    "structured_outputs": ("grammar", _structured_outputs),
    "temperature": ("temperature", _number(0, 1e6)),
    "top_k": ("top_k", _top_k),
    "top_p": ("top_p", _number(0, 1, open_low=True)),
}
