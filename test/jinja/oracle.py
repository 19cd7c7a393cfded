"""Renders chat templates the way transformers does, as the reference for services/chat/jinja.

Reads JSON lines {"template": str, "vars": object, "now": str} from stdin and answers each with one JSON line:
{"output": str} or {"error": str, "raised": bool}, where raised says that the template itself called
raise_exception with that message. "now" (ISO 8601, optional) is the time that strftime_now sees.
The template is compiled by transformers' own function, so that its jinja2 environment is the one compared with.

With "messages" in it, a request is a chat in OpenAI's form, rendered by transformers' own function as
apply_chat_template calls it: "tools" are those of the chat, "vars" what else the template is given, and "nulls"
keeps keys that are null, as transformers 4 does; 5 drops them. Without it, no content is the empty string, as
Trident has it. Arguments of calls are parsed, as servers do.

{"versions": true} is answered with {"versions": [...]}, the packages that the answers depend on.
"""

import datetime
import json
import sys

import jinja2
import transformers
from transformers.utils import chat_template_utils


def freeze(now):
    """Makes datetime.now() inside of transformers return the given time."""

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
        add_generation_prompt=True,
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
    except Exception as error:  # whatever a template can cause is an answer
        return {
            "error": f"{type(error).__name__}: {error}" if type(error) is not jinja2.TemplateError else str(error),
            "raised": type(error) is jinja2.TemplateError,
        }


def main():
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
