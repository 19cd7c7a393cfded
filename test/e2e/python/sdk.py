"""Calls Trident with OpenAI's Python SDK. The e2e tests run it.

    sdk.py all URL DOWN_URL     all operations of an application; DOWN_URL is a Trident without a Triton
    sdk.py interrupted URL      streams, prints "streaming", and expects the stream to fail

Prints the name of each check. The exit code is 0 only if all checks succeed.
"""

import asyncio
import json
import math
import sys

import openai
from openai import AsyncOpenAI, OpenAI

from responses import responses

MESSAGES = [{"role": "user", "content": "Say hello."}]
LONG = {"model": "chat", "messages": MESSAGES, "max_tokens": 1500, "extra_body": {"ignore_eos": True}}


def options(url):
    return {"base_url": url + "/v1", "api_key": "unused", "max_retries": 0, "timeout": 60}


def check(name, condition, got=None):
    if not condition:
        raise SystemExit(f"FAILED {name}: {got!r}")
    print("ok", name, flush=True)


def raised(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise SystemExit(f"FAILED: {kind.__name__} was not raised")


def chats(client):
    answer = client.chat.completions.create(model="chat", messages=MESSAGES, max_tokens=5, extra_body={"ignore_eos": True})
    check("chat", answer.choices[0].message.content and answer.choices[0].finish_reason == "length", answer)
    check("usage", answer.usage.completion_tokens == 5 and answer.usage.total_tokens == answer.usage.prompt_tokens + 5, answer.usage)
    check("request id of a chat", answer._request_id, answer._request_id)

    stream = client.chat.completions.create(
        model="chat", messages=MESSAGES, max_tokens=12, stream=True, stream_options={"include_usage": True}, extra_body={"ignore_eos": True})
    *chunks, last = list(stream)
    check("stream", len([c for c in chunks if c.choices[0].delta.content]) > 5, chunks)
    check("role first", chunks[0].choices[0].delta.role == "assistant" and all(c.choices[0].delta.role is None for c in chunks[1:]), chunks)
    check("finish_reason once", [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == ["length"], chunks)
    check("usage of a stream", not last.choices and last.usage.completion_tokens == 12, last)

    from pydantic import BaseModel

    class Answer(BaseModel):
        yes: bool

    parsed = client.chat.completions.parse(model="chat", messages=MESSAGES, response_format=Answer, max_tokens=40)
    check("structured output", isinstance(parsed.choices[0].message.parsed, Answer), parsed)

    tools(client)

    stream = client.chat.completions.create(**LONG, stream=True)
    for chunk in stream:
        if chunk.choices[0].delta.content:
            break
    stream.close()
    check("stream closed by the client", True)


def tools(client):
    """Checks forced tool calls, for which the output is constrained, and an unforced one."""
    parameters = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"], "additionalProperties": False}
    answer_tool = {"type": "function", "function": {"name": "answer", "strict": True, "parameters": parameters}}
    offered = {"model": "chat", "messages": MESSAGES, "max_tokens": 60, "parallel_tool_calls": False,
               "tools": [{"type": "function", "function": {"name": "now", "strict": True}}, answer_tool]}
    named = {"type": "function", "function": {"name": "answer"}}
    choice = client.chat.completions.create(**offered, tool_choice=named).choices[0]
    call, = choice.message.tool_calls
    check("named tool", choice.finish_reason == "tool_calls" and choice.message.content is None and call.type == "function" and call.id
          and call.function.name == "answer" and isinstance(json.loads(call.function.arguments)["yes"], bool), choice)

    choice = client.chat.completions.create(**offered, tool_choice="required").choices[0]
    call, = choice.message.tool_calls
    check("required tool", choice.finish_reason == "tool_calls" and call.function.name in ("now", "answer")
          and isinstance(json.loads(call.function.arguments), dict), choice)

    chunks = [c.choices[0] for c in client.chat.completions.create(**offered, tool_choice=named, stream=True)]
    pieces = [c.delta.tool_calls[0] for c in chunks if c.delta.tool_calls]
    check("streamed tool", [p.function.name for p in pieces if p.id] == ["answer"] and chunks[-1].finish_reason == "tool_calls"
          and isinstance(json.loads("".join(p.function.arguments for p in pieces))["yes"], bool), chunks)
    with client.chat.completions.stream(**offered, tool_choice=named) as stream:
        call, = stream.get_final_completion().choices[0].message.tool_calls
    check("tool call with the SDK's stream helper", call.function.name == "answer" and "yes" in json.loads(call.function.arguments), call)

    # A small model seldom calls a tool by itself, so a constraint determines its output.
    words = '<tool_call>\n{"name": "answer", "arguments": {"yes": true}}\n</tool_call>'
    choice = client.chat.completions.create(**offered, extra_body={"structured_outputs": {"choice": [words]}}).choices[0]
    call, = choice.message.tool_calls
    check("unforced tool call", choice.finish_reason == "tool_calls" and choice.message.content is None
          and call.function.name == "answer" and json.loads(call.function.arguments) == {"yes": True}, choice)
    offered["messages"] = [*MESSAGES, choice.message, {"role": "tool", "tool_call_id": call.id, "content": "It is."}]
    answered = client.chat.completions.create(**offered, tool_choice="none").choices[0].message
    check("answer to a tool's result", answered.content and not answered.tool_calls, answered)


def completions(client):
    answer = client.completions.create(model="chat", prompt=["One, two,", "Red, green,"], n=2, max_tokens=6, echo=True)
    check("completions", [c.index for c in answer.choices] == [0, 1, 2, 3]
          and [c.text.split(",")[0] for c in answer.choices] == ["One", "One", "Red", "Red"], answer)
    check("usage of completions", 4 <= answer.usage.completion_tokens <= 24 and answer.usage.prompt_tokens >= 6, answer.usage)

    best = client.completions.create(model="chat", prompt="One, two,", best_of=3, max_tokens=6, logprobs=2).choices
    check("best of", len(best) == 1 and len(best[0].logprobs.tokens) == len(best[0].logprobs.top_logprobs), best)
    check("text offsets", "".join(best[0].logprobs.tokens).startswith(best[0].text[:8])
          and best[0].logprobs.text_offset[1] == len(best[0].logprobs.tokens[0]), best[0].logprobs)

    *chunks, last = list(client.completions.create(model="chat", prompt="One, two,", max_tokens=8, stream=True,
                                                   stream_options={"include_usage": True}, extra_body={"ignore_eos": True}))
    check("stream of a completion", len([c for c in chunks if c.choices[0].text]) > 4, chunks)
    check("end of the stream of a completion", chunks[-1].choices[0].finish_reason == "length" and not last.choices and last.usage.completion_tokens == 8, last)


def embeddings(client):
    texts = ["a cat", "a kitten", "the stock market"]
    default = client.embeddings.create(model="embedding", input=texts)  # base64 on the wire
    floats = client.embeddings.create(model="embedding", input=texts, encoding_format="float")
    vectors = [d.embedding for d in default.data]
    check("embeddings", [d.index for d in default.data] == [0, 1, 2] and all(len(v) == 384 for v in vectors), default.usage)
    check("unit length", all(math.isclose(math.fsum(x * x for x in v), 1, abs_tol=1e-5) for v in vectors))
    check("base64 is float", all(math.isclose(a, b, abs_tol=1e-6) for v, d in zip(vectors, floats.data) for a, b in zip(v, d.embedding)))
    check("dimensions", len(client.embeddings.create(model="embedding", input="a cat", dimensions=32).data[0].embedding) == 32)


def decisions(client):
    questions = [
        {"type": "predicate", "name": "sky", "instructions": "Is it about the sky?"},
        {"type": "choice", "name": "color", "instructions": "Which color is the sky?", "choices": [
            {"value": "blue"}, {"value": True, "description": "no color"}, {"value": "green"}]},
        {"type": "score", "instructions": "How bright is it?", "levels": [{"label": "dark"}, {"label": "bright", "description": "like noon"}]}]
    answer = client.decisions.create(model="chat", input="The sky is blue.", questions=questions, safety_identifier="u")
    sky, color, bright = answer.answers
    check("decisions", sky.type == "predicate" and 0 < sky.probability < 1 and (sky.name, color.name, bright.name) == ("sky", "color", None), answer)
    shares = {choice.value: choice.probability for choice in color.probabilities}
    check("probabilities", list(shares) == ["blue", True, "green"] and math.isclose(math.fsum(shares.values()), 1)
          and shares[color.choice] == max(shares.values()) and 0 <= color.confidence <= 1, color)
    check("score", [p.label for p in bright.probabilities] == ["dark", "bright"] and math.isclose(bright.score, bright.probabilities[1].probability), bright)
    check("usage of decisions", answer.usage.output_tokens == 3 and answer.usage.total_tokens == answer.usage.input_tokens + 3, answer.usage)
    messages = [{"role": "developer", "content": "Be exact."}, {"role": "user", "content": [{"type": "input_text", "text": "A cat."}, {"type": "input_json", "data": {"paws": 4}}]}]
    check("decisions about messages", client.decisions.create(model="chat", input=messages, questions=questions[:1]).answers[0].type == "predicate")
    error = raised(openai.BadRequestError, lambda: client.decisions.create(model="chat", input="x", questions=[{**questions[1], "choices": [{"value": "a"}, {"value": "a"}]}]))
    check("decision of equal values", error.param == "questions[0].choices[1].value", error)


def models(client):
    check("models", [m.id for m in client.models.list()] == ["chat", "embedding"])
    check("model", client.models.retrieve("chat").id == "chat")


def errors(client, down):
    def chat(by=client, **more):
        return lambda: by.chat.completions.create(**{"model": "chat", "messages": MESSAGES, **more})

    for name, stream in (("", False), (", streaming", True)):
        error = raised(openai.NotFoundError, chat(model="none", stream=stream, extra_headers={"x-request-id": "my-id"}))
        check("NotFoundError" + name, (error.code, error.param, error.type) == ("model_not_found", "model", "invalid_request_error"), error)
        check("request id of NotFoundError" + name, error.request_id == "my-id", error.request_id)
        error = raised(openai.BadRequestError, chat(temperature=3, stream=stream))
        check("BadRequestError" + name, (error.code, error.param) == ("invalid_value", "temperature") and error.request_id, error)
        error = raised(openai.InternalServerError, chat(by=down, stream=stream))
        check("InternalServerError" + name, (error.status_code, error.code) == (503, "engine_unavailable") and error.request_id, error)
        check("Retry-After of InternalServerError" + name, int(error.response.headers["retry-after"]) > 0, error.response.headers)
    error = raised(openai.APIStatusError, chat(messages=[{"role": "user", "content": "x" * (2 << 20)}]))
    check("request that is too large", (error.status_code, error.code) == (413, "content_too_large") and error.request_id, error)
    error = raised(openai.NotFoundError, lambda: client.models.retrieve("org/none"))
    check("unknown model", error.code == "model_not_found", error)
    error = raised(openai.BadRequestError, lambda: client.embeddings.create(model="embedding", input=""))
    check("embedding without input", error.param == "input", error)


async def asynchronous(url):
    async with AsyncOpenAI(**options(url)) as client:
        stream = await client.chat.completions.create(model="chat", messages=MESSAGES, max_tokens=6, stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
        check("async stream", text, text)
        answers = await asyncio.gather(*(
            client.chat.completions.create(model="chat", messages=MESSAGES, max_tokens=3, extra_body={"ignore_eos": True}) for _ in range(3)))
        check("concurrent async chats", [a.usage.completion_tokens for a in answers] == [3, 3, 3], answers)
        vectors = await client.embeddings.create(model="embedding", input=["one", "two"])
        check("async embeddings", len(vectors.data) == 2)
        check("async models", [m.id async for m in client.models.list()] == ["chat", "embedding"])
        try:
            await client.chat.completions.create(model="none", messages=MESSAGES)
            raise SystemExit("FAILED: NotFoundError was not raised")
        except openai.NotFoundError as error:
            check("async NotFoundError", error.code == "model_not_found" and error.request_id, error)
        task = asyncio.create_task(client.chat.completions.create(**LONG))
        await asyncio.wait([task], timeout=0.3)
        task.cancel()
        await asyncio.wait([task])
        check("async chat cancelled by the client", task.cancelled(), task)


def interrupted(client):
    stream = client.chat.completions.create(**LONG, stream=True)

    def consume():
        for chunk in stream:
            if chunk.choices[0].delta.content and not consume.begun:
                consume.begun = True
                print("streaming", flush=True)

    consume.begun = False
    error = raised(openai.APIError, consume)
    check("error in the stream", error.code == "engine_unavailable" and error.type == "server_error", error)


def main(mode, url, down=None):
    with OpenAI(**options(url)) as client:
        if mode == "interrupted":
            interrupted(client)
            return
        with OpenAI(**options(down)) as nowhere:
            chats(client)
            completions(client)
            responses(client, check, raised)
            embeddings(client)
            decisions(client)
            models(client)
            errors(client, nowhere)
    asyncio.run(asynchronous(url))


main(*sys.argv[1:])
