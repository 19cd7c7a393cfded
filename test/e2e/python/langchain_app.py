"""Calls Trident with LangChain. The e2e tests run it: langchain_app.py URL

Prints the name of each check. The exit code is 0 only if all checks succeed.
"""

import sys
from typing import Literal

import openai
import tiktoken
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from pydantic import BaseModel


def check(name, condition, got=None):
    if not condition:
        raise SystemExit(f"FAILED {name}: {got!r}")
    print("ok", name, flush=True)


class Answer(BaseModel):
    """The answer."""

    yes: bool


@tool
def weather(city: Literal["Paris", "Rome"]) -> str:
    """The weather in a city."""  # two values: a small model may never end free text
    return f"It is fine in {city}."


def chats(options):
    chat = ChatOpenAI(model="chat", max_tokens=8, **options)
    answer = chat.invoke([SystemMessage("Be short."), HumanMessage("Say hello.")])
    check("invoke", answer.content and answer.usage_metadata["output_tokens"] > 0, answer)
    check("metadata of the answer", answer.response_metadata["finish_reason"] in ("stop", "length")
          and answer.response_metadata["model_name"] == "chat" and answer.response_metadata["system_fingerprint"].startswith("fp_"), answer)

    chunks = list(chat.stream("Say hello.", stream_usage=True))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    check("stream", len(chunks) > 3 and whole.content and whole.usage_metadata["output_tokens"] > 0, chunks)

    scored = ChatOpenAI(model="chat", max_tokens=4, logprobs=True, top_logprobs=2, n=2, seed=1, temperature=0.5, **options)
    generations = scored.generate([[HumanMessage("Name a fruit.")]]).generations[0]
    check("n and logprobs", len(generations) == 2 and generations[0].message.response_metadata["logprobs"]["content"], generations)


def tools(options):
    """Uses strict schemas. If a schema allows additional keys, a small model writes keys until the token limit."""
    chat = ChatOpenAI(model="chat", max_tokens=60, **options)
    answer = chat.bind_tools([weather], tool_choice="any", strict=True, parallel_tool_calls=False).invoke("How is the weather in Paris?")
    check("tool call", len(answer.tool_calls) == 1, answer)
    call, = answer.tool_calls
    check("tool", call["name"] == "weather" and call["args"]["city"] in ("Paris", "Rome") and call["id"], call)
    check("result of the tool", "fine" in weather.invoke(call).content, call)

    chunks = list(chat.bind_tools([weather], tool_choice="weather", strict=True).stream("How is the weather in Paris?"))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    check("streamed tool", len(chunks) > 3 and whole.tool_calls[0]["args"]["city"] in ("Paris", "Rome"), whole)

    # A small model seldom calls a tool by itself, so a constraint determines its output.
    words = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>'
    answer = chat.bind_tools([weather]).invoke("How is the weather in Rome?", extra_body={"structured_outputs": {"choice": [words]}})
    call, = answer.tool_calls
    check("unforced tool call", (call["name"], call["args"]) == ("weather", {"city": "Rome"}) and not answer.content, answer)

    for method in ("json_schema", "function_calling"):
        answer = chat.with_structured_output(Answer, method=method, strict=True).invoke("Is the sky blue?")
        check("structured output by " + method, isinstance(answer, Answer), answer)


class Latin1:
    """An encoding with tiktoken's interface that needs no download. Its ids are larger than those of the demo model."""

    @staticmethod
    def encode(text, **_):
        return [100_000 + b for b in text.encode("latin-1")]

    encode_ordinary = encode


def embeddings(options):
    texts = ["a cat", "a kitten"]
    vectors = OpenAIEmbeddings(model="embedding", check_embedding_ctx_length=False, **options).embed_documents(texts)
    check("embeddings", [len(v) for v in vectors] == [384, 384], vectors)
    short = OpenAIEmbeddings(model="embedding", check_embedding_ctx_length=False, dimensions=32, **options).embed_query("a cat")
    check("dimensions", len(short) == 32, short)

    tiktoken.encoding_for_model = lambda _: Latin1
    try:
        OpenAIEmbeddings(model="embedding", **options).embed_documents(texts)  # the default sends token ids of OpenAI's vocabulary
        raise SystemExit("FAILED: token ids of another vocabulary were accepted")
    except openai.BadRequestError as error:
        check("token ids", error.param == "input[0]" and "check_embedding_ctx_length=False" in error.message, error)


def completions(options):
    model = OpenAI(model="chat", max_tokens=6, **options)
    text = model.invoke("One, two,")
    check("completion", text, text)
    pieces = list(model.stream("One, two,"))
    check("stream of a completion", len(pieces) > 2 and "".join(pieces), pieces)
    result = OpenAI(model="chat", max_tokens=4, n=2, best_of=3, **options).generate(["One, two,", "Red, green,"])
    check("generations", [len(g) for g in result.generations] == [2, 2] and result.llm_output["token_usage"]["completion_tokens"] > 0, result)


def main(url):
    options = {"base_url": url + "/v1", "api_key": "unused", "max_retries": 0, "timeout": 60}
    chats(options)
    tools(options)
    embeddings(options)
    completions(options)


main(*sys.argv[1:])
