"""Builds the smallest response that satisfies a constraint of vLLM's structured outputs."""

import json
import math
import re

try:
    import re._constants as op
    import re._parser as parser
except ModuleNotFoundError:  # Python 3.10
    import sre_constants as op
    import sre_parse as parser

REPEATS = {op.MAX_REPEAT, op.MIN_REPEAT, getattr(op, "POSSESSIVE_REPEAT", op.MAX_REPEAT)}
DEPTH = 32  # maximum depth of a schema that refers to itself
FIRST = {op.CATEGORY_DIGIT: "0", op.CATEGORY_SPACE: " ", op.CATEGORY_WORD: "a", op.CATEGORY_NOT_DIGIT: "a",
         op.CATEGORY_NOT_SPACE: "a", op.CATEGORY_NOT_WORD: " "}


def smallest(constraint):
    """Returns the text; None for no constraint, and for a kind that isn't enforced. Raises vLLM's
    errors for an invalid constraint."""
    if constraint.get("json_object"):
        return "{}"
    if (choice := constraint.get("choice")) is not None:
        if not choice:
            raise ValueError("Choice '[]' cannot be an empty list")
        return choice[0]
    if (pattern := constraint.get("regex")) is not None:
        return from_regex(pattern)
    if (schema := constraint.get("json")) is not None:
        schema = json.loads(schema) if isinstance(schema, str) else schema
        return json.dumps(instance(schema, schema), ensure_ascii=False)
    check(constraint)
    return first_string(constraint.get("grammar") or "")


def first_string(grammar):
    """Returns the first text of a grammar that is a list of texts; None for any other grammar."""
    found = re.match(r'root ::= ("(?:[^"\\]|\\.)*")(?: \||$)', grammar)
    return found and json.loads(found[1])


def check(constraint):
    """Raises vLLM's errors for an invalid grammar or structural tag."""
    grammar, tag = constraint.get("grammar"), constraint.get("structural_tag")
    if grammar is not None and not grammar.strip():
        raise ValueError("structured_outputs.grammar cannot be an empty string")
    if tag is not None and "structures" not in (read := json.loads(tag)) and "format" not in read:
        raise AssertionError
    if tag is not None and "structures" in read:
        try:
            triggers, tags = triggered(read)
            if not tags or not all(any(begin.startswith(trigger) for trigger in triggers) for begin, _, _ in tags):
                raise ValueError
        except (KeyError, ValueError) as error:
            raise ValueError("Invalid structural tag specification.") from error


def triggered(tag):
    """Returns the triggers of a structural tag in one of its two forms, and its tags as tuples (begin, schema, end).
    Returns empty lists for a format without triggers."""
    if "structures" in tag:
        return tag["triggers"], [(s["begin"], s["schema"], s["end"]) for s in tag["structures"]]
    form = tag["format"]
    while "elements" in form:
        form = form["elements"][-1]
    if "triggers" not in form:
        return [], []
    return form["triggers"], [(t["begin"], t["content"]["json_schema"], t["end"]) for t in form["tags"]]


def tagged(text, tag):
    """Returns a text as a structural tag permits it: after a trigger, it has the smallest content of the tag whose
    beginning the text has, or else of the first tag. Without triggers it is the smallest text of the format."""
    triggers, tags = triggered(tag)
    if not triggers and "format" in tag:
        return shaped(text, tag["format"])
    written = ""
    while found := [at for trigger in triggers if (at := text.find(trigger)) >= 0]:
        at = min(found)
        begin, schema, end = next((t for t in tags if text.startswith(t[0], at)), tags[0])
        written += text[:at] + begin + json.dumps(instance(schema, schema), ensure_ascii=False) + end
        rest = text.find(end, at)
        text = text[rest + len(end):] if rest >= 0 else ""
    return written + text


def shaped(text, form):
    """Returns the smallest text of a structural tag's format without triggers. It has the text where any is permitted."""
    kind = form["type"]
    if kind == "tag":
        return form["begin"] + shaped(text, form["content"]) + form["end"]
    if kind == "sequence":
        return "".join(shaped(text, element) for element in form["elements"])
    if kind == "or":
        return shaped(text, form["elements"][0])
    if kind == "tags_with_separator":
        return shaped(text, form["tags"][0]) if form.get("at_least_one") else ""
    if kind == "json_schema":
        return json.dumps(instance(form["json_schema"], form["json_schema"]), ensure_ascii=False)
    return {"const_string": lambda: form["value"], "regex": lambda: from_regex(form["pattern"])}.get(kind, lambda: text)()


def instance(schema, root, depth=0):
    """Returns a small value that matches a schema of a common kind."""
    if depth > DEPTH:
        raise ValueError("the JSON schema has no finite instance that is small")
    if not isinstance(schema, dict):
        return None
    if "$ref" in schema:
        return instance(lookup(root, schema["$ref"]), root, depth + 1)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "anyOf", "oneOf", "allOf"):
        if schema.get(key):
            first = schema[key][0]
            return first if key == "enum" else instance(first, root, depth + 1)
    kind = schema.get("type") or ("object" if "properties" in schema else "array" if "items" in schema else "null")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: instance(properties.get(name, {}), root, depth + 1) for name in schema.get("required", [])}
    if kind == "array":
        if schema.get("minItems", 0) > schema.get("maxItems", math.inf):
            raise ValueError(f"Grammar error: Unsatisfiable schema: minItems ({schema['minItems']}) is greater than maxItems ({schema['maxItems']})")
        return [instance(schema.get("items", {}), root, depth + 1) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        return from_regex(schema["pattern"]) if "pattern" in schema else "a" * schema.get("minLength", 0)
    return {"boolean": False, "null": None}.get(kind, max(schema.get("minimum", 0), 0) if kind in ("number", "integer") else None)


def lookup(root, pointer):
    for step in pointer.removeprefix("#").split("/")[1:]:
        root = root[step.replace("~1", "/").replace("~0", "~")]
    return root


def from_regex(pattern):
    """Returns a text that matches the whole pattern, with as few repetitions as possible."""
    try:
        parsed = parser.parse(pattern)
    except re.error as error:
        raise ValueError(f"Grammar error: at 1(8): invalid regex {json.dumps(pattern)} (in regex): regex parse error: {error}") from error
    return "".join(map(from_item, parsed))


def from_item(item):
    code, value = item
    if code is op.LITERAL:
        return chr(value)
    if code in REPEATS:
        return "".join(map(from_item, value[2])) * value[0]
    if code is op.SUBPATTERN:
        return "".join(map(from_item, value[3]))
    if code is op.BRANCH:
        return "".join(map(from_item, value[1][0]))
    if code is op.ANY:
        return "a"
    if code is op.NOT_LITERAL:
        return "b" if value == ord("a") else "a"
    if code is op.IN:
        return from_set(value)
    if code is op.AT:
        return ""
    raise ValueError(f"the regular expression has a {code}, which this model doesn't follow")


def from_set(items):
    if items[0][0] is op.NEGATE:
        return next(c for c in "a0 -_A" if not any(within(c, i) for i in items[1:]))
    code, value = items[0]
    return chr(value) if code is op.LITERAL else chr(value[0]) if code is op.RANGE else FIRST[value]


def within(character, item):
    code, value = item
    if code is op.LITERAL:
        return ord(character) == value
    if code is op.RANGE:
        return value[0] <= ord(character) <= value[1]
    return FIRST[value] == character
