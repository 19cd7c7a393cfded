"""Sends each line of a file to a model of the vLLM backend, all on one stream of gRPC, as the backend's sample client does.

The sampling parameters go as a tensor and as the parameters of the request.
"""

import argparse
import asyncio
import json

import numpy as np
import tritonclient.grpc.aio as grpcclient

SAMPLING = {"temperature": "0.1", "top_p": "0.95", "max_tokens": "100"}


def tensor(name, kind, value):
    made = grpcclient.InferInput(name, [1], kind)
    made.set_data_from_numpy(np.array([value], dtype=bool if kind == "BOOL" else np.object_))
    return made


def request(number, prompt, args):
    inputs = [
        tensor("text_input", "BYTES", prompt.encode()),
        tensor("stream", "BOOL", args.streaming_mode),
        tensor("sampling_parameters", "BYTES", json.dumps(SAMPLING).encode()),
        tensor("exclude_input_in_output", "BOOL", args.exclude_inputs_in_outputs),
    ]
    return {
        "model_name": args.model, "inputs": inputs, "outputs": [grpcclient.InferRequestedOutput("text_output")],
        "request_id": str(number), "parameters": SAMPLING,
    }


async def run(args):
    with open(args.input_prompts) as file:
        prompts = file.readlines()
    texts = {str(number): [] for number in range(len(prompts))}

    async def requests():
        for number, prompt in enumerate(prompts):
            yield request(number, prompt, args)

    async with grpcclient.InferenceServerClient(url=args.url) as client:
        async for result, error in client.stream_infer(inputs_iterator=requests()):
            if error:
                raise error
            texts[result.get_response().id] += [text.decode() for text in result.as_numpy("text_output")]
    with open(args.results_file, "w") as file:
        for parts in texts.values():
            file.write("".join(parts) + "\n\n=========\n\n")
    print("PASS: vLLM example" if all(texts.values()) else "FAIL: vLLM example")


parser = argparse.ArgumentParser()
parser.add_argument("--model", default="vllm_model")
parser.add_argument("--url", default="localhost:8001")
parser.add_argument("--input-prompts", default="prompts.txt")
parser.add_argument("--results-file", default="results.txt")
parser.add_argument("--streaming-mode", action="store_true")
parser.add_argument("--exclude-inputs-in-outputs", action="store_true")
asyncio.run(run(parser.parse_args()))
