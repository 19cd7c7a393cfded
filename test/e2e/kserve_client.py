"""Calls KServe v2 by gRPC with NVIDIA's own client. usage: kserve_client.py HOST:PORT [CA_CERTIFICATES KEY CERTIFICATE]

Prints one line for each successful part, and raises an exception otherwise.
"""

import asyncio
import os
import queue
import sys

import numpy
import tritonclient.grpc as triton
import tritonclient.grpc.aio as aio
import tritonclient.utils.shared_memory as shared_memory
from tritonclient.utils import InferenceServerException

from regions import unregister


KEY = f"/trident-e2e-kserve-{os.getpid()}"  # name of the shared memory, unique because several programs may run at once


def tensor(name, array, datatype):
    made = triton.InferInput(name, list(array.shape), datatype)
    made.set_data_from_numpy(array)
    return made


def text(*words):
    return tensor("TEXT", numpy.array([w.encode() for w in words], dtype=object), "BYTES")


def count(n, **more):
    inputs = [tensor("COUNT", numpy.array([n], dtype=numpy.int32), "INT32")]
    return inputs + [tensor(name, numpy.array([value], dtype=numpy.int32), "INT32") for name, value in more.items()]


def describe(client):
    assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("echo")
    assert not client.is_model_ready("none")
    assert client.get_server_metadata().name == "triton"
    assert [t.name for t in client.get_model_metadata("types").inputs][0] == "BOOL"
    assert client.get_model_config("stream").config.model_transaction_policy.decoupled
    assert {m.name for m in client.get_model_repository_index().models} >= {"echo", "stream", "types", "rows"}
    assert client.get_inference_statistics("echo").model_stats[0].name == "echo"
    assert "trace_rate" in client.get_trace_settings().settings
    assert client.get_log_settings().settings["log_format"].string_param == "default"


def infer(client):
    for compression in (None, "gzip", "deflate"):
        answer = client.infer("echo", [text("hällo", "")], request_id="7", compression_algorithm=compression)
        assert answer.as_numpy("TEXT").tolist() == ["hällo".encode(), b""]
        assert answer.get_response().id == "7" and answer.get_response().model_version == "1"
    large = numpy.random.default_rng(1).random(1 << 20, dtype=numpy.float32)
    assert numpy.array_equal(client.infer("types", [tensor("FP32", large, "FP32")]).as_numpy("FP32"), large)
    classes = triton.InferRequestedOutput("FP32", class_count=2)
    answer = client.infer("types", [tensor("FP32", numpy.array([1, 3, 2], dtype=numpy.float32), "FP32")], outputs=[classes])
    assert [c.split(b":")[1] for c in answer.as_numpy("FP32").tolist()] == [b"1", b"2"]
    done = queue.Queue()
    calls = [client.async_infer("echo", [text(str(i))], callback=lambda result, error: done.put((result, error))) for i in range(20)]
    answers = [done.get(timeout=30) for _ in calls]
    assert all(error is None for _, error in answers)
    assert sorted(int(r.as_numpy("TEXT")[0]) for r, _ in answers) == list(range(20))
    for call, code in (
        (lambda: client.infer("none", [text("x")]), "StatusCode.NOT_FOUND"),
        (lambda: client.infer("stream", count(1)), "StatusCode.UNIMPLEMENTED"),
        (lambda: client.infer("echo", [text("x")], model_version="x"), "StatusCode.INVALID_ARGUMENT"),
    ):
        try:
            call()
            raise AssertionError(f"the call succeeded, want {code}")
        except InferenceServerException as e:
            assert e.status() == code, e


def streams(client):
    got = queue.Queue()
    client.start_stream(callback=lambda result, error: got.put((result, error)))
    lengths = {str(i): i % 5 for i in range(40)}
    for name, length in lengths.items():
        client.async_stream_infer("stream", count(length), request_id=name, enable_empty_final_response=True)
    client.async_stream_infer("none", [text("x")], request_id="bad")
    seen, finals, errors = {}, set(), 0
    while len(finals) < len(lengths) or not errors:
        result, error = got.get(timeout=30)
        if error is not None:
            assert "unknown model: 'none'" in error.message(), error
            errors += 1
            continue
        response = result.get_response()
        if response.outputs:
            seen.setdefault(response.id, []).append(int(result.as_numpy("INDEX")[0]))
        if response.parameters["triton_final_response"].bool_param:
            finals.add(response.id)
    client.stop_stream()
    assert errors == 1 and finals == set(lengths)
    assert {name: list(range(n)) for name, n in lengths.items() if n} == seen


def cancels(client):
    got = queue.Queue()
    client.start_stream(callback=lambda result, error: got.put((result, error)))
    key = tensor("KEY", numpy.array([b"left"], dtype=object), "BYTES")
    client.async_stream_infer("stream", count(100000, DELAY=50) + [key], request_id="1")  # a cancellation during a response may crash tritonserver
    assert got.get(timeout=30)[1] is None
    client.stop_stream(cancel_requests=True)
    client.start_stream(callback=lambda result, error: got.put((result, error)))
    while True:  # the loop ends when the model reports that it was cancelled
        client.async_stream_infer("stream", [key], request_id="record")
        result, error = got.get(timeout=30)
        while error is not None or result.get_response().id != "record":
            result, error = got.get(timeout=30)
        if result.as_numpy("STATE")[0] == b"cancelled":
            break
    client.stop_stream()


def shares(client):
    array = numpy.arange(16, dtype=numpy.float32)
    region = shared_memory.create_shared_memory_region("r", KEY, 128)
    try:
        shared_memory.set_shared_memory_region(region, [array])
        client.register_system_shared_memory("r", KEY, 128)
        given = triton.InferInput("FP32", [16], "FP32")
        given.set_shared_memory("r", 64)
        wanted = triton.InferRequestedOutput("FP32")
        wanted.set_shared_memory("r", 64, offset=64)
        answer = client.infer("types", [given], outputs=[wanted])
        assert list(answer.get_output("FP32").shape) == [16] and list(answer.get_response().raw_output_contents) == [b""]
        assert numpy.array_equal(shared_memory.get_contents_as_numpy(region, numpy.float32, [32])[16:], array)
        assert client.get_system_shared_memory_status().regions["r"].byte_size == 128
        unregister(client, "r")
    finally:
        shared_memory.destroy_shared_memory_region(region)


async def asynchronous(address, secure):
    async with aio.InferenceServerClient(address, **secure) as client:
        assert await client.is_server_ready()
        answers = await asyncio.gather(*(client.infer("echo", [text(str(i))], request_id=str(i)) for i in range(20)))
        assert [a.get_response().id for a in answers] == [str(i) for i in range(20)]

        async def requests():
            for i in range(20):
                yield {"model_name": "stream", "inputs": count(3), "request_id": str(i)}

        indices = {}
        responses = client.stream_infer(requests())
        async for result, error in responses:
            assert error is None, error
            indices.setdefault(result.get_response().id, []).append(int(result.as_numpy("INDEX")[0]))
        assert indices == {str(i): [0, 1, 2] for i in range(20)}, indices



def main(address, *files):
    names = dict(zip(("root_certificates", "private_key", "certificate_chain"), files))
    secure = {"ssl": True, **names} if files else {}
    with triton.InferenceServerClient(address, **secure) as client:
        for part in (describe, infer, streams, shares):
            part(client)
            print(part.__name__, flush=True)
        asyncio.run(asynchronous(address, secure))
        print("asynchronous", flush=True)
        cancels(client)  # the last part, because it may make tritonserver 2.51 unstable
        print("cancels")


main(*sys.argv[1:])
