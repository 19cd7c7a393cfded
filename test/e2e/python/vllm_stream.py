"""Calls a model with the vLLM backend's tensors like the sample program of that backend. It uses NVIDIA's asyncio client, one
stream for many prompts, and sampling parameters that are strings. Request ids distinguish the responses.
usage: vllm_stream.py HOST:PORT

Prints one line for each successful part, and raises an exception otherwise.
"""

import asyncio
import json
import sys

import numpy
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

PROMPTS = ["Hello, my name is", "The most dangerous animal is", "The capital of France is", "The future of AI is"]


def request(id, prompt, parameters, as_tensor, stream=True):
    """Returns a request like the sample's. If the parameters are a tensor, the request has them too, and the tensor takes precedence."""
    def tensor(name, value, datatype):
        made = triton.InferInput(name, [1], datatype)
        made.set_data_from_numpy(numpy.array([value], dtype=object if datatype == "BYTES" else bool))
        return made

    inputs = [tensor("text_input", prompt.encode(), "BYTES"), tensor("stream", stream, "BOOL"),
              tensor("exclude_input_in_output", True, "BOOL"),
              tensor("return_finish_reason", True, "BOOL"), tensor("return_num_output_tokens", True, "BOOL")]
    if as_tensor:
        inputs.append(tensor("sampling_parameters", json.dumps(parameters).encode(), "BYTES"))
    return {"model_name": "chat", "inputs": inputs, "request_id": id, "parameters": parameters}


async def answers(client, requests):
    """Returns the texts, finish reasons and token counts by request id, and the ids in the order of the responses."""
    async def send():
        for one in requests:
            yield one

    got, order = {}, []
    async for result, error in client.stream_infer(send()):
        assert error is None, error
        id = result.get_response().id
        texts, reasons, tokens = got.setdefault(id, ([], [], []))
        texts.append(result.as_numpy("text_output")[0].decode())
        reasons.append(result.as_numpy("finish_reason")[0].decode())
        tokens.append(int(result.as_numpy("num_output_tokens")[0]))
        order.append(id)
    return got, order


async def many(client, as_tensor):
    # Each request has its own length, which shows that its own parameters were used.
    lengths = {str(i): 8 + i for i in range(3 * len(PROMPTS))}
    got, order = await answers(client, [
        request(id, PROMPTS[int(id) % len(PROMPTS)], {"temperature": "0.1", "top_p": "0.95", "max_tokens": str(n), "ignore_eos": True}, as_tensor)
        for id, n in lengths.items()])
    assert {id: sum(tokens) for id, (_, _, tokens) in got.items()} == lengths, got
    for texts, reasons, _ in got.values():
        assert reasons[-1] == "length" and set(reasons[:-1]) == {"None"}, reasons
        assert len(texts) > 4 and "".join(texts).strip(), texts
    changes = sum(a != b for a, b in zip(order, order[1:]))
    assert changes > len(lengths), f"the responses of different requests are not interleaved: {order}"


async def both(client):
    """Checks that the tensor takes precedence if a request has both."""
    one = request("1", PROMPTS[0], {"max_tokens": "3"}, as_tensor=True, stream=False)
    one["parameters"] = {"max_tokens": "5"}
    got, _ = await answers(client, [one])
    assert sum(got["1"][2]) == 3, got


async def refused(client, as_tensor):
    for parameters, words in (({"temperature": "hot"}, "temperature"), ({"best": "1"}, "best")):
        async def send():
            yield request("1", PROMPTS[0], parameters, as_tensor)

        errors = [error async for _, error in client.stream_infer(send()) if error is not None]
        assert len(errors) == 1 and words in errors[0].message(), errors


async def main(address):
    async with triton.InferenceServerClient(address) as client:
        for as_tensor in (True, False):
            await many(client, as_tensor)
            await refused(client, as_tensor)
            print("as a tensor" if as_tensor else "as request parameters", flush=True)
        await both(client)
        print("both")
        try:
            await client.infer("chat", request("1", PROMPTS[0], {}, False)["inputs"])
            raise AssertionError("a decoupled model answered a unary request")
        except InferenceServerException as e:
            assert e.status() == "StatusCode.UNIMPLEMENTED", e


asyncio.run(main(*sys.argv[1:]))
