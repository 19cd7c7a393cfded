"""Renders chat templates as transformers does. It is the reference for services/chat/jinja.

Reads JSON lines {"template": str, "vars": object, "now": str} from stdin and writes one JSON line
for each: {"output": str} or {"error": str, "raised": bool}. raised reports whether the template
itself called raise_exception with that message. "now" (ISO 8601, optional) is the time for
strftime_now. The template is compiled by transformers' own function, so that its jinja2 environment
is used.

A request with "messages" is a chat in OpenAI's format. transformers' own function renders it as
apply_chat_template calls it. "tools" are the chat's tools, and "vars" the template's other
variables. "nulls" keeps keys that are null, as transformers 4 does; transformers 5 drops them.
Without "nulls", missing content is the empty string, as in Trident. Arguments of calls are parsed,
as servers do. With "continue" the last message is left open, and with "closed" the prompt of the next
message is left out. "documents" are the chat's documents.

{"versions": true} is answered with {"versions": [...]}, the versions of the packages that affect
the results.
"""

import datetime
import json
import sys

import jinja2
import transformers
from transformers.utils import chat_template_utils


def freeze(now):
    """Makes datetime.now() inside transformers return the given time."""

    class Frozen(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.datetime.fromisoformat(now)

    chat_template_utils.datetime = Frozen


def chat(request):
    messages = request["messages"]
    for message in messages:
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    if not request.get("nulls"):
        messages = [{k: v for k, v in m.items() if v is not None} for m in messages]
        for message in messages:
            message.setdefault("content", "")
    rendered, _ = chat_template_utils.render_jinja_template(
        conversations=[messages],
        tools=request.get("tools"),
        chat_template=request["template"],
        documents=request.get("documents"),
        add_generation_prompt=not request.get("continue") and not request.get("closed"),
        continue_final_message=bool(request.get("continue")),
        **request["vars"],
    )
    return rendered[0]


def answer(request):
    if request.get("versions"):
        return {"versions": [f"jinja2=={jinja2.__version__}", f"transformers=={transformers.__version__}"]}
    freeze(request.get("now") or "2024-07-26T09:05:03.000120")
    try:
        if "messages" in request:
            return {"output": chat(request)}
        template = chat_template_utils._compile_jinja_template(request["template"])
        return {"output": template.render(**request["vars"])}
    except Exception as error:  # any exception of a template is a result
        return {
            "error": f"{type(error).__name__}: {error}" if type(error) is not jinja2.TemplateError else str(error),
            "raised": type(error) is jinja2.TemplateError,
        }


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
