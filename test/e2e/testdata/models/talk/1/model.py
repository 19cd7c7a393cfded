"""A chat model without weights. It sends a word every 10 ms until max_tokens words are sent.

The message "hang" makes the model hang in a child process whose command line has the name of the model's shared memory.
The environment variable TALK_LOAD_SECONDS is the time that loading takes, and TALK_HOLD_MIB the memory that the
model holds, in MiB.
"""

import json
import os
import subprocess
import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils

PACE = 0.01


def text_of(request, name, default):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return tensor.as_numpy().flat[0].decode() if tensor is not None else default


def segment():
    """Returns the second argument of this process, the name of its shared memory."""
    with open("/proc/self/cmdline") as line:
        return line.read().split("\0")[2]


class TritonPythonModel:
    def initialize(self, args):
        time.sleep(float(os.environ.get("TALK_LOAD_SECONDS", "0")))
        self.held = b"\1" * (int(os.environ.get("TALK_HOLD_MIB", "0")) << 20)

    def execute(self, requests):
        for request in requests:
            if text_of(request, "text_input", "") == "hang":
                subprocess.run(["sh", "-c", "sleep 3600; :", segment()])
            threading.Thread(target=talk, args=(request,), daemon=True).start()


def talk(request):
    sender = request.get_response_sender()
    words = json.loads(text_of(request, "sampling_parameters", "{}")).get("max_tokens", 16)
    for _ in range(words):
        if sender.is_cancelled():
            break
        tensor = pb_utils.Tensor("text_output", np.array([b"word "], dtype=np.object_))
        sender.send(pb_utils.InferenceResponse(output_tensors=[tensor]))
        time.sleep(PACE)
    sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
