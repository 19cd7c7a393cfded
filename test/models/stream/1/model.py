"""A decoupled model that streams numbered responses and keeps a record of each request."""

import threading
import time

import numpy as np
import triton_python_backend_utils as pb_utils


def scalar(request, name, default=None):
    """Returns the single element of an input, or default if the request doesn't have
    it."""
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().flat[0]


class TritonPythonModel:
    def initialize(self, args):
        self.records = {}  # key -> [state, responses sent]

    def execute(self, requests):
        # Each request has its own thread, so that a slow stream doesn't delay the
        # others.
        for request in requests:
            threading.Thread(target=self.serve, args=(request,), daemon=True).start()

    def serve(self, request):
        sender = request.get_response_sender()
        key = scalar(request, "KEY")
        if scalar(request, "COUNT") is None:
            state, sent = self.records.get(key, ["unknown", 0])
            send(sender, index=sent, STATE=np.array([state.encode()], dtype=np.object_))
        else:
            record = self.records[key] = ["running", 0]
            record[0] = self.stream(request, sender, record)
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def stream(self, request, sender, record):
        delay = scalar(request, "DELAY", 0) / 1000
        size = scalar(request, "SIZE", 0)
        fail_at = scalar(request, "FAIL_AT", -1)
        for index in range(scalar(request, "COUNT")):
            if cancelled_within(sender, delay):
                return "cancelled"
            if index == fail_at:
                error = pb_utils.TritonError(f"response {index} failed, as asked")
                sender.send(pb_utils.InferenceResponse(error=error))
                return "failed"
            send(sender, index, DATA=np.full(size, index % 256, dtype=np.uint8))
            record[1] = index + 1
        return "done"


def cancelled_within(sender, seconds):
    """Waits, and returns early on a cancellation."""
    end = time.monotonic() + seconds
    while not sender.is_cancelled():
        left = end - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(left, 0.005))
    return True


def send(sender, index, **outputs):
    outputs["INDEX"] = np.array([index], dtype=np.int32)
    tensors = [pb_utils.Tensor(name, value) for name, value in outputs.items()]
    sender.send(pb_utils.InferenceResponse(output_tensors=tensors))
