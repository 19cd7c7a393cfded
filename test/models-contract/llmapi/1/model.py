"""A model without weights that has the contract of TensorRT-LLM's model for its LLM API. Each text
contains all previous text, and ends before the stop sequence.

Without the parameter multimodal, which replaces triton_config.multimodal of model.yaml, it ignores
images. Responses with a LoRA adapter begin with the token whose id is in the adapter_config.json of
its folder.
"""

import itertools
import json
import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import engine
import imagefile
from engine import END, Cache, decode, encode, scalar, send, strings, tensor, texts

SCALARS = ("max_tokens", "temperature", "top_k", "top_p", "frequency_penalty", "presence_penalty", "seed", "best_of")


blocks = Cache()


class TritonPythonModel:
    """The class that Triton loads."""

    def initialize(self, args):
        parameters = json.loads(args["model_config"])["parameters"]
        self.multimodal = parameters.get("multimodal", {}).get("string_value") == "true"

    def execute(self, requests):
        for request in requests:
            engine.record(request, "llmapi")
            sender = request.get_response_sender()
            try:
                if self.multimodal:
                    for uri in texts(request, "image_url"):
                        imagefile.of_uri(uri, r"\w+")
                respond(request, sender)
            except ValueError as error:
                engine.fail(sender, f"Error generating request: {error}", text_output=strings("N/A"))


def respond(request, sender):
    if tensor(request, "text_input").ndim > 1:
        raise ValueError("The current implementation only supports text_input being a 1D tensor.")
    for name in SCALARS:
        values = tensor(request, "sampling_param_" + name)
        if values is not None and values.size != 1:
            raise ValueError(f"Expected a scalar tensor for tensor sampling_param_{name}")
    prompt = encode(scalar(request, "text_input").decode())
    if len(prompt) > engine.CONTEXT:
        raise ValueError(f"The sum of prompt length ({len(prompt)}.0), query length (0) should not exceed max_num_tokens ({engine.CONTEXT})")
    reused = blocks.reuse(prompt)
    streaming = bool(scalar(request, "streaming", False))
    excluded = bool(scalar(request, "sampling_param_exclude_input_from_output", False))
    stop, limit = texts(request, "sampling_param_stop"), int(scalar(request, "sampling_param_max_tokens", 32))
    made, text, reason = [], "", "None"
    for token in itertools.chain(adapter(request), engine.answer(prompt)):
        if streaming and engine.cancelled(sender):
            return sender.send(flags=engine.FINAL)
        made.append(token)
        text, stopped = before(decode(made), stop)
        reason = "stop" if token == END or stopped else "length" if len(made) == limit else "None"
        if streaming or reason != "None":
            whole = text if excluded or streaming else decode(prompt) + text
            outputs = {"finish_reason": strings(reason)} if scalar(request, "return_finish_reason", False) else {}
            if scalar(request, "sampling_param_return_perf_metrics", False):
                # The model makes its tensors of metrics of the datatype of text_output.
                outputs["kv_cache_reused_block"] = strings(str(reused))
            send(sender, reason != "None", text_output=strings(whole), **outputs)
        if reason != "None":
            return None


numbers = {}  # numbers of adapters by name; the LLM API identifies an adapter by its number


def adapter(request):
    """Returns the token of the request's adapter, if it has one. Raises the errors of
    TensorRT-LLM's helpers.py and LoRARequest."""
    number, name, path = (scalar(request, "lora_" + part) for part in ("id", "name", "path"))
    if number is None and name is None and path is None:
        return []
    if number is None or name is None or path is None:
        raise ValueError("lora_id, lora_name, and lora_path must all be provided together")
    name, path = name.decode(), path.decode()
    if not os.path.exists(path):
        raise ValueError(f"lora_path does not exist on the Triton server's filesystem: {path}")
    if numbers.setdefault(name, int(number)) != int(number) or list(numbers.values()).count(int(number)) != 1:
        raise ValueError(f"lora_id {number} and lora_name {name} are not those of before: {numbers}")
    with open(os.path.join(path, "adapter_config.json")) as config:
        return [json.load(config)["token"]]


def before(text, stop):
    """Returns the text before the first stop sequence, and whether there is one."""
    places = [text.index(word) for word in stop if word in text]
    return (text[:min(places)], True) if places else (text, False)
