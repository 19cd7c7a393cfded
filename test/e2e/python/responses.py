"""Checks the Responses API with OpenAI's Python SDK. sdk.py checks the other operations."""

import json

import openai
from pydantic import BaseModel

HELLO = {"model": "chat", "input": "Say hello.", "max_output_tokens": 12, "extra_body": {"ignore_eos": True}}


class Answer(BaseModel):
    yes: bool


def responses(client, check, raised):
    answer = client.responses.create(**HELLO)
    check("response", answer.id.startswith("resp_") and answer.object == "response" and answer.output_text, answer)
    check("status of the response", answer.status == "incomplete" and answer.incomplete_details.reason == "max_output_tokens", answer)
    usage = answer.usage
    check("usage of the response", usage.output_tokens == 12 and usage.total_tokens == usage.input_tokens + 12
          and usage.input_tokens_details.cached_tokens == usage.output_tokens_details.reasoning_tokens == 0, usage)
    strict(answer, check)

    items = client.responses.create(model="chat", instructions="Be short.", input=[
        {"role": "developer", "content": "Speak English."}, {"role": "user", "content": [{"type": "input_text", "text": "Say hello."}]}],
        max_output_tokens=5, temperature=0, metadata={"a": "b"})
    check("response to items", items.output_text and items.instructions == "Be short." and items.metadata == {"a": "b"}, items)

    streams(client, check)
    structured(client, check)
    tools(client, check)
    custom(client, check)
    kept(client, check, raised)
    errors(client, check, raised)


def strict(answer, check):
    """Validates the response strictly. The SDK itself reads responses without validation."""
    type(answer).model_validate(answer.model_dump(), strict=True)
    check("response matches the SDK's types", True)


def streams(client, check):
    events = list(client.responses.create(**HELLO, stream=True))
    kinds = [e.type for e in events]
    check("stream of events", kinds[:4] == ["response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"]
          and kinds[-4:] == ["response.output_text.done", "response.content_part.done", "response.output_item.done", "response.incomplete"], kinds)
    check("sequence numbers", [e.sequence_number for e in events] == list(range(len(events))), kinds)
    text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
    check("text of the stream", text and text == events[-1].response.output_text and kinds.count("response.output_text.delta") > 5, events[-1])
    for event in events:
        type(event).model_validate(event.model_dump(), strict=True)
    check("events match the SDK's types", True)

    with client.responses.stream(model="chat", input="Count to three.", text_format=Answer) as stream:
        snapshots = [e.snapshot for e in stream if e.type == "response.output_text.delta"]
        final = stream.get_final_response()
    check("stream with the SDK's stream helper", isinstance(final.output_parsed, Answer) and snapshots[-1] == final.output_text, final)

    stream = client.responses.create(model="chat", input="Write a very long story.", max_output_tokens=1500, stream=True, extra_body={"ignore_eos": True})
    for event in stream:
        if event.type == "response.output_text.delta":
            break
    stream.close()
    check("stream of events closed by the client", True)


def structured(client, check):
    parsed = client.responses.parse(model="chat", input="Is water wet?", text_format=Answer, max_output_tokens=40)
    check("parsed response", isinstance(parsed.output_parsed, Answer), parsed)
    logprobs = client.responses.create(model="chat", input="Say hello.", max_output_tokens=4, include=["message.output_text.logprobs"], top_logprobs=2,
                                       extra_body={"ignore_eos": True}).output[0].content[0].logprobs
    check("logprobs of a response", len(logprobs) == 4 and all(len(t.top_logprobs) == 2 and t.logprob <= 0 for t in logprobs), logprobs)


def custom(client, check):
    """Checks a forced call of a custom tool of a namespace, streamed, and the answer to its output."""
    pick = {"type": "custom", "name": "pick", "description": "Picks a number.", "format": {"type": "grammar", "syntax": "regex", "definition": "[0-9]{1,3}"}}
    offered = {"model": "chat", "max_output_tokens": 60, "tools": [{"type": "namespace", "name": "numbers", "description": "Numbers.", "tools": [pick]}]}
    question = [{"role": "user", "content": "Pick a number."}]
    events = list(client.responses.create(**offered, input=question, tool_choice={"type": "custom", "name": "pick"}, stream=True))
    call = events[-1].response.output[0]
    check("custom call", call.type == "custom_tool_call" and (call.namespace, call.name) == ("numbers", "pick") and call.call_id, call)
    pieces = "".join(e.delta for e in events if e.type == "response.custom_tool_call_input.delta")
    check("input of a custom call", pieces == call.input and events[-1].response.status == "completed", events)
    output = {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "taken"}
    answered = client.responses.create(**offered, input=question + [call, output], tool_choice="none")
    check("answer after a custom call", answered.output[0].type == "message" and answered.output_text, answered)


def tools(client, check):
    """Checks a forced tool call and the answer to its output, with all items and with the response's id."""
    parameters = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}}, "required": ["city"], "additionalProperties": False}
    tool = {"type": "function", "name": "weather", "description": "Tells the weather.", "strict": True, "parameters": parameters}
    offered = {"model": "chat", "tools": [tool], "max_output_tokens": 60}
    question = [{"role": "user", "content": "How is the weather in Paris?"}]
    forced = client.responses.create(**offered, input=question, tool_choice={"type": "function", "name": "weather"})
    call, = forced.output
    check("forced call", call.type == "function_call" and call.name == "weather" and json.loads(call.arguments)["city"] in ("Paris", "Rome")
          and call.call_id and call.id != call.call_id and forced.status == "completed", forced)
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny, 20 degrees."}
    answered = client.responses.create(**offered, input=question + forced.output + [output], tool_choice="none")
    check("answer to the output of the call", answered.output_text and answered.output[0].type == "message", answered)
    continued = client.responses.create(**offered, previous_response_id=forced.id, input=[output], tool_choice="none")
    check("answer with previous_response_id", continued.output_text and continued.usage.input_tokens == answered.usage.input_tokens, (answered.usage, continued.usage))

    events = list(client.responses.create(**offered, input=question, tool_choice="required", stream=True))
    pieces = "".join(e.delta for e in events if e.type == "response.function_call_arguments.delta")
    done, = (e for e in events if e.type == "response.function_call_arguments.done")
    check("streamed call", pieces == done.arguments == events[-1].response.output[0].arguments and done.name == "weather", events)


def kept(client, check, raised):
    first = client.responses.create(model="chat", input="My name is Ada.", max_output_tokens=6)
    check("kept response", client.responses.retrieve(first.id) == first, first)
    second = client.responses.create(model="chat", input="What is my name?", previous_response_id=first.id, max_output_tokens=6)
    check("response that continues another one", second.previous_response_id == first.id and second.usage.input_tokens > first.usage.input_tokens, second.usage)
    items = list(client.responses.input_items.list(second.id, order="asc", limit=2))
    check("input items, page by page", [i.content[0].text for i in items] == ["My name is Ada.", first.output_text, "What is my name?"], items)
    client.responses.delete(first.id)
    error = raised(openai.NotFoundError, lambda: client.responses.create(model="chat", input="x", previous_response_id=first.id))
    check("request that continues a deleted response", (error.code, error.param) == ("previous_response_not_found", "previous_response_id"), error)
    error = raised(openai.NotFoundError, lambda: client.responses.retrieve(first.id))
    check("deleted response", error.code == "response_not_found", error)
    unkept = client.responses.create(model="chat", input="Say hello.", store=False, max_output_tokens=3)
    raised(openai.NotFoundError, lambda: client.responses.retrieve(unkept.id))
    check("response with store: false", unkept.store is False, unkept)
    error = raised(openai.BadRequestError, lambda: client.responses.cancel(second.id))
    check("cancelled response", "background" in error.message, error)


def errors(client, check, raised):
    error = raised(openai.BadRequestError, lambda: client.responses.create(model="chat", input="x", tools=[{"type": "mcp", "server_label": "x", "server_url": "http://localhost"}]))
    check("hosted tool", error.param == "tools[0].type" and error.code == "unsupported_parameter", error)
    error = raised(openai.BadRequestError, lambda: client.responses.create(model="chat", input="x", background=True))
    check("background", error.param == "background", error)
    error = raised(openai.NotFoundError, lambda: client.responses.create(model="none", input="x", stream=True))
    check("response of an unknown model", error.code == "model_not_found", error)
    counted = client.responses.input_tokens.count(model="chat", input="How many tokens are 123 words?")
    made = client.responses.create(model="chat", input="How many tokens are 123 words?", max_output_tokens=1)
    check("input token count equals the engine's", counted.input_tokens == made.usage.input_tokens, (counted, made.usage))
