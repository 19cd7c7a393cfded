"""A decoupled model that executes the request's SCRIPT in order."""

import threading
import time

import numpy
import triton_python_backend_utils as pb_utils

FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            threading.Thread(target=play, args=(request,), daemon=True).start()


def play(request):
    sender = request.get_response_sender()
    script = pb_utils.get_input_tensor_by_name(request, "SCRIPT").as_numpy().flat[0].decode()
    sent = 0
    for letter, follower in zip(script, script[1:] + " "):
        if letter == "F":
            return
        if letter.isdigit():
            time.sleep(int(letter) / 100)
            continue
        sender.send(response(letter, sent), flags=FINAL if follower == "F" else 0)
        sent += 1
    sender.send(flags=FINAL)


def response(letter, index):
    tensors = [pb_utils.Tensor("INDEX", numpy.array([index], dtype=numpy.int32))]
    if letter == "e":
        return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"response {index} is an error", pb_utils.TritonError.INVALID_ARG))
    if letter == "z":
        return pb_utils.InferenceResponse(output_tensors=[])
    return pb_utils.InferenceResponse(output_tensors=tensors)
