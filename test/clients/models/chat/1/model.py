"""A model without weights that follows scripts, with the tensors of Triton's vLLM backend (vllm_backend's main branch).

The file that CLIENTS_SCRIPTS names has the scripts as a JSON list. A script is {"task": text, "steps": [step, ...]}. It applies
to the prompts that contain its task. Among several, the one whose task is nearest to the prompt's end applies. The number of tool
results in the prompt after the task is the index of the next step, so that an agent's loop goes on only if the results reach the
model. A step is one of

    {"text": "..."}                                   the text
    {"json": {...}}                                   the object as JSON
    {"calls": [{"name": "...", "arguments": {...}}]}  calls of tools
    {"scores": {"...": 2.5}}                          the label of an answer to the question of a decision, by the scores of the answers


and may have "think", a reasoning before it, "wait", a number of seconds before its end, and "fail", the message of an error
at its end. The wait ends early if the request is cancelled. A step with json and calls is a call if the request has tools. In a text, {result} is the content of the last tool result, and
{think} is the last reasoning in the prompt. Calls have Hermes's form
without a constraint; under the constraint of a forced call they have the form that its JSON schema describes. A prompt of
no script, or with more results than steps, is an error.

If CLIENTS_PROMPTS names a file, each prompt is appended to it as a line of JSON.

A token is <|im_start|>, <|im_end|> or a byte. A prompt that is longer than the context is vLLM's error. If the request streams, the text arrives in pieces of PIECE characters.
"""

import json
import math
import os
import re
import time

import numpy as np
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL
RETURN = ("finish_reason", "cumulative_logprob", "logprobs", "num_input_tokens", "num_output_tokens")
PIECE = 7
POLL = 0.01  # seconds between looks at a request's cancellation
MARK = re.compile(r"<\|im_(?:start|end)\|>")
THINK = re.compile(r"<think>\n(.*?)\n</think>", re.DOTALL)
RESULT = re.compile(r"<tool_response>\n(.*?)\n</tool_response>", re.DOTALL)


class TritonPythonModel:
    """The class that Triton loads. A response takes less than a millisecond, so execute sends it."""

    def initialize(self, args):
        with open(os.environ["CLIENTS_SCRIPTS"]) as file:
            self._scripts = json.load(file)
        self._context = int(json.loads(args["model_config"])["parameters"]["trident.context_length"]["string_value"])

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            try:
                for response, last in self._responses(request, sender.is_cancelled):
                    sender.send(response, flags=FINAL if last else 0)
            except Exception as error:
                sender.send(pb_utils.InferenceResponse([tensor("text_output", b"N/A")], error=pb_utils.TritonError(f"Error generating stream: {error}")), flags=FINAL)

    def _responses(self, request, cancelled):
        """Yields pairs of a response and whether it is the last. cancelled reports whether the request is cancelled."""
        prompt = scalar(request, "text_input").decode()
        self._record(prompt)
        size = tokens(prompt)
        if size > self._context:
            raise ValueError(f"The decoder prompt (length {size}) is longer than the maximum model length of {self._context}. "
                             "Make sure that `max_model_len` is no smaller than the number of text tokens.")
        sampling = json.loads(scalar(request, "sampling_parameters", b"{}").decode())
        step = self._step(prompt)
        logits = labelled(step["scores"], prompt) if "scores" in step else {}
        text = max(logits, key=logits.get) if logits else written(step, prompt, constraint(sampling))
        limit = sampling.get("max_tokens", 16)
        cut = text.encode()[:limit].decode(errors="ignore")
        reason = "stop" if cut == text else "length"
        width = PIECE if scalar(request, "stream", False) else max(len(cut), 1)
        pieces = [cut[i:i + width] for i in range(0, len(cut), width)] or [""]
        wanted = {name for name in RETURN if scalar(request, "return_" + name, False)}
        for i, piece in enumerate(pieces):
            last = i == len(pieces) - 1
            if last:
                end = time.monotonic() + step.get("wait", 0)
                while time.monotonic() < end and not cancelled():
                    time.sleep(POLL)
                if "fail" in step:
                    raise ValueError(step["fail"])
            values = {
                "finish_reason": str(reason if last else None).encode(),
                "cumulative_logprob": np.float32(0),
                "logprobs": json.dumps([scored(logits, sampling["logprob_token_ids"])] if logits else None).encode(),
                "num_input_tokens": np.uint32(size),
                "num_output_tokens": np.uint32(1 if logits else len(piece.encode()) + last),
            }
            tensors = [tensor("text_output", piece.encode())] + [tensor(name, values[name]) for name in RETURN if name in wanted]
            yield pb_utils.InferenceResponse(tensors), last

    def _record(self, prompt):
        if "CLIENTS_PROMPTS" in os.environ:
            with open(os.environ["CLIENTS_PROMPTS"], "a") as file:
                file.write(json.dumps(prompt) + "\n")

    def _step(self, prompt):
        script = max(self._scripts, key=lambda script: prompt.rfind(script["task"]))
        at = prompt.rfind(script["task"])
        if at < 0:
            raise ValueError(f"no script for this prompt: {prompt[-500:]!r}")
        results = len(RESULT.findall(prompt, at))
        if results >= len(script["steps"]):
            raise ValueError(f"the script of {script['task']!r} has no step after {results} tool results")
        return script["steps"][results]


def tokens(text):
    """Returns the number of tokens of a text."""
    return len(MARK.sub("-", text).encode())


def written(step, prompt, schema):
    """Returns what the model writes for a step, under the JSON schema of a constraint or None."""
    if "calls" in step and ("json" not in step or "<tools>" in prompt):
        text = called(step["calls"], schema)
    elif "json" in step:
        text = json.dumps(step["json"])
    else:
        text = step["text"]
        for name, found in (("{result}", RESULT.findall(prompt)), ("{think}", THINK.findall(prompt))):
            text = text.replace(name, found[-1] if found else name)
    return f"<think>\n{step['think']}\n</think>\n\n{text}" if "think" in step else text


def labelled(scores, prompt):
    """Returns the scores of the labels of the last question's answers."""
    options = prompt.rpartition("\n\nAnswer with the label")[0].rpartition("\n\n")[2]
    pairs = [line.partition(": ") for line in options.split("\n")]
    return {label: scores[option] for label, colon, option in pairs if colon}


def scored(logits, ids):
    """Returns the log probabilities of tokens among all labels. A token is a byte. The likeliest token comes first, as if it was sampled."""
    total = math.log(sum(map(math.exp, logits.values())))
    ranked = sorted(ids, key=lambda token: -logits[chr(token)])
    return {str(token): {"logprob": logits[chr(token)] - total, "rank": rank, "decoded_token": chr(token)} for rank, token in enumerate(ranked, 1)}


def called(calls, schema):
    if schema is None:
        return "\n".join(f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls)
    if schema.get("type") == "array":
        return json.dumps(calls)
    if "anyOf" in schema:
        return json.dumps(calls[0])
    return json.dumps(calls[0]["arguments"])


def constraint(sampling):
    """Returns the JSON schema that constrains the answer, or None."""
    given = sampling.get("structured_outputs")
    schema = json.loads(given).get("json") if given else None
    return json.loads(schema) if isinstance(schema, str) else schema


def tensor(name, value):
    return pb_utils.Tensor(name, np.array([value], dtype=np.object_ if isinstance(value, bytes) else value.dtype))


def scalar(request, name, default=None):
    """Returns the only element of an input, or default if the request doesn't have it."""
    given = pb_utils.get_input_tensor_by_name(request, name)
    return default if given is None else given.as_numpy().item()
