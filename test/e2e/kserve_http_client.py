"""Calls KServe v2 by REST with NVIDIA's own client. usage: kserve_http_client.py HOST:PORT

The server's control mode must be explicit. Prints one line for each successful part, and raises an exception otherwise.
"""

import asyncio
import gzip
import http.client
import json
import os
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import numpy
import tritonclient.http as triton
import tritonclient.http.aio as aio
import tritonclient.utils.shared_memory as shared_memory
from tritonclient.utils import InferenceServerException

from regions import unregister


KEY = f"/trident-e2e-kserve-http-{os.getpid()}"  # name of the shared memory, unique because several programs may run at once


def fails(status, text, call):
    try:
        call()
    except InferenceServerException as e:
        assert e.status() == str(status) and text in e.message(), (e.status(), e.message())
    else:
        raise AssertionError(f"the call succeeded, want an error with status {status}: {text}")


def tensor(name, array, datatype, binary=True):
    made = triton.InferInput(name, list(array.shape), datatype)
    return made.set_data_from_numpy(array, binary_data=binary)


def text(*words, binary=True):
    return tensor("TEXT", numpy.array([w.encode() for w in words], dtype=object), "BYTES", binary)


def floats(*values, binary=True):
    return tensor("FP32", numpy.array(values, dtype=numpy.float32), "FP32", binary)


def wanted(name, **how):
    return triton.InferRequestedOutput(name, **how)


def eventually(otherwise, met):
    end = time.monotonic() + 30
    while not met():
        assert time.monotonic() < end, f"timeout after 30 s: {otherwise}"
        time.sleep(0.01)


def restore(client, model):
    """Reloads the model from the repository. A load alone would keep the configuration that another load has set."""
    client.unload_model(model)
    client.load_model(model)


def describe(client):
    assert client.is_server_live() and client.is_server_ready()
    assert client.is_model_ready("echo") and client.is_model_ready("echo", "1")
    assert not client.is_model_ready("none") and not client.is_model_ready("echo", "2")
    server = client.get_server_metadata()
    assert server["name"] == "triton" and "binary_tensor_data" in server["extensions"], server
    model = client.get_model_metadata("types", "1")
    assert model["versions"] == ["1"] and model["inputs"][0] == {"name": "BOOL", "datatype": "BOOL", "shape": [-1]}, model
    config = client.get_model_config("stream")
    assert config["model_transaction_policy"] == {"decoupled": True} and config["input"][0]["dims"] == [1], config


def counts(client):
    stats = client.get_inference_statistics("echo")["model_stats"]
    assert [(s["name"], s["version"]) for s in stats] == [("echo", "1")]
    assert stats[0]["inference_stats"]["success"].keys() == {"count", "ns"}, stats
    assert {s["name"] for s in client.get_inference_statistics()["model_stats"]} >= {"echo", "stream", "types", "rows"}


def controls(client):
    def state(name):
        return [m["state"] for m in client.get_model_repository_index() if m["name"] == name]

    assert state("echo") == ["READY"]
    client.unload_model("echo")
    assert not client.is_model_ready("echo")
    fails(404, "unknown model", lambda: client.get_model_metadata("echo"))
    client.load_model("echo")
    assert state("echo") == ["READY"] and client.is_model_ready("echo")
    config = client.get_model_config("echo")
    config["parameters"]["of"] = {"string_value": "the load"}
    client.load_model("echo", config=json.dumps(config))
    assert client.get_model_config("echo")["parameters"]["of"] == {"string_value": "the load"}
    client.unload_model("echo", unload_dependents=True)
    client.load_model("echo")
    assert "of" not in client.get_model_config("echo")["parameters"]
    fails(500, "failed to load 'none'", lambda: client.load_model("none"))


def settings(client):
    assert client.get_trace_settings()["trace_level"] == ["OFF"]
    assert client.update_trace_settings("echo", {"trace_rate": "7"})["trace_rate"] == "7"
    assert client.update_trace_settings("echo", {"trace_rate": None})["trace_rate"] == client.get_trace_settings()["trace_rate"]
    assert client.get_log_settings()["log_verbose_level"] == 0
    assert client.update_log_settings({"log_verbose_level": 1, "log_format": "ISO8601"})["log_verbose_level"] == 1
    assert client.update_log_settings({"log_verbose_level": 0, "log_format": "default"})["log_format"] == "default"


# The limits of each type's range, keyed by the type, which is also the name of the tensor.
VALUES = {
    "BOOL": numpy.array([True, False, True]),
    "FP32": numpy.array([0.1, -3.4028235e38, 1e-45, 16777217], dtype=numpy.float32),
    "FP64": numpy.array([0.1, -1.7976931348623157e308, 5e-324], dtype=numpy.float64),
} | {
    name: numpy.array([numpy.iinfo(kind).min, numpy.iinfo(kind).max, 1], dtype=kind)
    for name, kind in ((k.__name__.upper(), k) for k in (
        numpy.uint8, numpy.uint16, numpy.uint32, numpy.uint64, numpy.int8, numpy.int16, numpy.int32, numpy.int64))
}


def infers(client):
    for given in (True, False):
        for asked in (True, False):
            inputs = [tensor(name, array, name, given) for name, array in VALUES.items()]
            outputs = [wanted(name, binary_data=asked) for name in VALUES]
            answer = client.infer("types", inputs, model_version="1", outputs=outputs, request_id="7")
            head = answer.get_response()
            assert (head["model_name"], head["model_version"], head["id"]) == ("types", "1", "7"), head
            assert {o["name"] for o in head["outputs"]} == VALUES.keys(), head
            for name, array in VALUES.items():
                got, output = answer.as_numpy(name), answer.get_output(name)
                assert got.dtype == array.dtype and numpy.array_equal(got, array), (name, given, asked, got)
                assert ("data" in output) != asked and output["datatype"] == name, output
                assert output.get("parameters") == ({"binary_data_size": array.nbytes} if asked else None), output
    grid = numpy.arange(6, dtype=numpy.float32).reshape(3, 2)
    for binary in (True, False):
        answer = client.infer("types", [tensor("GRID", grid, "FP32", binary)], outputs=[wanted("GRID", binary_data=binary)])
        assert numpy.array_equal(answer.as_numpy("GRID"), grid), answer.get_response()
    words = ["hällo", "", 'q"\\\n\x00', "日本" * 1000]
    for binary in (True, False):
        answer = client.infer("echo", [text(*words, binary=binary)], outputs=[wanted("TEXT", binary_data=not binary)])
        got = [w if isinstance(w, bytes) else w.encode() for w in answer.as_numpy("TEXT").tolist()]
        assert got == [w.encode() for w in words], got
    any_bytes = tensor("TEXT", numpy.array([b"\xff\x00\xfe", b""], dtype=object), "BYTES")
    assert client.infer("echo", [any_bytes]).as_numpy("TEXT").tolist() == [b"\xff\x00\xfe", b""]
    halves = numpy.array([1.5, -65504, numpy.inf, 6e-8], dtype=numpy.float16)
    assert numpy.array_equal(client.infer("types", [tensor("FP16", halves, "FP16")]).as_numpy("FP16"), halves)
    nothing = client.infer("types", [floats()]).as_numpy("FP32")
    assert nothing.shape == (0,) and nothing.dtype == numpy.float32, nothing
    large = numpy.random.default_rng(1).random(1 << 20, dtype=numpy.float32)
    for array, binary in ((large, True), (large[: 1 << 16], False)):
        answer = client.infer("types", [tensor("FP32", array, "FP32", binary)], outputs=[wanted("FP32", binary_data=binary)])
        assert numpy.array_equal(answer.as_numpy("FP32"), array)


def extends(client):
    """Checks classification, parameters, and a subset of the outputs."""
    inputs = [floats(1, 3, 2), tensor("INT64", numpy.array([-(2**63)], dtype=numpy.int64), "INT64", False)]
    outputs = [wanted("INT64", binary_data=False), wanted("FP32", class_count=2), wanted("PARAMETERS")]
    given = {"word": "hällo", "number": 2**53 + 1, "flag": True, "part": 0.25}
    answer = client.infer("types", inputs, outputs=outputs, parameters=given)
    assert answer.as_numpy("FP32").tolist() == [b"3.000000:1:dog", b"2.000000:2:bird"], answer.as_numpy("FP32")
    assert answer.as_numpy("INT64").tolist() == [-(2**63)]
    assert json.loads(answer.as_numpy("PARAMETERS")[0]) == given, answer.as_numpy("PARAMETERS")
    answer = client.infer("types", inputs, outputs=[wanted("INT64")])
    assert [o["name"] for o in answer.get_response()["outputs"]] == ["INT64"] and answer.as_numpy("FP32") is None
    rows = numpy.array([[1, 3, 2], [9, 7, 8]], dtype=numpy.float32)
    answer = client.infer("rows", [tensor("FP32", rows, "FP32")], outputs=[wanted("FP32", class_count=1, binary_data=False)])
    assert answer.as_numpy("FP32").tolist() == [["3.000000:1:dog"], ["9.000000:0:cat"]], answer.get_response()


def sequences(client):
    """Checks sequences with numbers and with strings as ids. Each response is the current sum."""
    def add(sequence, value, **more):
        value = tensor("VALUE", numpy.array([[value]], dtype=numpy.int32), "INT32")
        return int(client.infer("sequence", [value], sequence_id=sequence, **more).as_numpy("SUM")[0][0])

    for name in (4000000001, "http one"):
        assert add(name, 1, sequence_start=True) == 1
        assert add(name, 2) == 3
        assert add(name, 4, sequence_end=True) == 7
        assert add(name, 5, sequence_start=True, sequence_end=True) == 5
    fails(400, "must specify the START flag", lambda: add(4000000009, 1))
    fails(400, "must specify a non-zero or non-empty correlation ID", lambda: add(0, 1))


def schedules(address):
    """Checks priority and timeout. The model runs one batch at a time and queues one request of each priority."""
    client = triton.InferenceServerClient(address)
    config = client.get_model_config("rows")
    policy = {"timeout_action": "REJECT", "default_timeout_microseconds": 60000000, "allow_timeout_override": True, "max_queue_size": 1}
    levels = {str(priority): policy for priority in (1, 2, 3)}
    config["dynamic_batching"] = {"priority_levels": 3, "default_priority_level": 3, "priority_queue_policy": levels}
    client.load_model("rows", config=json.dumps(config))
    rows = numpy.arange(8, dtype=numpy.float32).reshape(8, 1)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        def path(name):
            return os.path.join(folder, name)

        def infer(name, more):
            with triton.InferenceServerClient(address) as own:
                answer = own.infer("rows", [tensor("FP32", rows, "FP32")], parameters={"hold": path(name)}, request_id=name, **more)
            assert numpy.array_equal(answer.as_numpy("FP32"), rows)
            return answer.get_response()["id"]

        def ask(name, **more):
            open(path(name), "w").close()
            return pool.submit(infer, name, more)

        def waiting(name, **more):
            """Sends the request twice. When one is refused, the other one waits in the queue."""
            both = [ask(name, **more) for _ in range(2)]
            refused, left = wait(both, 30, FIRST_COMPLETED)
            fails(503, "Exceeds maximum queue size", refused.pop().result)
            return left.pop()

        first = ask("first")
        eventually("the first request hasn't started", lambda: os.path.exists(path("first.seen")))
        later, sooner, late = waiting("later"), waiting("sooner", priority=1), waiting("late", priority=2, timeout=1)
        os.remove(path("first"))
        eventually("no queued request has started", lambda: os.path.exists(path("sooner.seen")) or os.path.exists(path("later.seen")))
        assert os.path.exists(path("sooner.seen")) and not os.path.exists(path("later.seen")), "the request with the lower priority started first"
        os.remove(path("sooner"))
        os.remove(path("later"))
        assert [c.result(30) for c in (first, sooner, later)] == ["first", "sooner", "later"]
        fails(503, "Request timeout expired", lambda: late.result(30))
        assert not os.path.exists(path("late.seen"))
    restore(client, "rows")
    client.close()


def parallel(client):
    calls = [client.async_infer("echo", [text(str(i))], request_id=str(i)) for i in range(20)]
    answers = [call.get_result(timeout=30) for call in calls]
    assert [a.get_response()["id"] for a in answers] == [str(i) for i in range(20)]
    assert [a.as_numpy("TEXT").tolist() for a in answers] == [[str(i).encode()] for i in range(20)]
    fails(404, "unknown model: 'none'", client.async_infer("none", [text("x")]).get_result)


def compresses(client):
    words = ["hällo " * 10000, "x"]
    for request in (None, "gzip", "deflate"):
        for response in (None, "gzip", "deflate"):
            for binary in (True, False):
                answer = client.infer(
                    "echo", [text(*words, binary=binary)], outputs=[wanted("TEXT", binary_data=binary)], request_id="7",
                    request_compression_algorithm=request, response_compression_algorithm=response)
                got = [w if isinstance(w, bytes) else w.encode() for w in answer.as_numpy("TEXT").tolist()]
                assert got == [w.encode() for w in words] and answer.get_response()["id"] == "7", (request, response, binary)


def bodies(address):
    """Sends bodies of the client over another HTTP client, and a body that is only a tensor."""
    def post(model, body, **headers):
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", f"/v2/models/{model}/infer", body, {k.replace("_", "-"): str(v) for k, v in headers.items()})
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        assert response.status == 200, (response.status, answer)
        encoding = response.getheader("Content-Encoding")
        length = response.getheader("Inference-Header-Content-Length")
        return encoding, len(answer), triton.InferenceServerClient.parse_response_body(
            answer, header_length=int(length) if length else None, content_encoding=encoding)

    body, length = triton.InferenceServerClient.generate_request_body([floats(1, 2)], outputs=[wanted("FP32")], request_id="7")
    encoding, _, answer = post("types", body, Inference_Header_Content_Length=length)
    assert encoding is None and answer.as_numpy("FP32").tolist() == [1, 2] and answer.get_response()["id"] == "7"
    body, length = triton.InferenceServerClient.generate_request_body([text("a" * 100000)])
    for name in ("gzip", "deflate"):
        encoding, size, answer = post("echo", body, Inference_Header_Content_Length=length, Accept_Encoding=name)
        assert encoding == name and size < 2000 and answer.as_numpy("TEXT").tolist() == [b"a" * 100000], (encoding, size)
    client = triton.InferenceServerClient(address)
    config = client.get_model_config("echo")
    config["input"] = [{"name": "TEXT", "data_type": "TYPE_STRING", "dims": [1]}]
    client.load_model("echo", config=json.dumps(config))  # raw bodies need a model with one input
    raw = "hällo".encode()
    for data, headers in ((raw, {}), (gzip.compress(raw), {"Content_Encoding": "gzip"})):
        _, _, answer = post("echo", data, Inference_Header_Content_Length=0, **headers)
        assert answer.as_numpy("TEXT").tolist() == [raw], answer.get_response()
        assert answer.get_output("TEXT")["parameters"] == {"binary_data_size": 4 + len(raw)}, answer.get_response()
    restore(client, "echo")
    client.close()

def shares(client):
    region = shared_memory.create_shared_memory_region("http", KEY, 128)
    array = numpy.arange(16, dtype=numpy.float32)
    try:
        shared_memory.set_shared_memory_region(region, [array])
        client.register_system_shared_memory("http", KEY, 128)
        want = {"name": "http", "key": KEY, "offset": 0, "byte_size": 128}
        assert client.get_system_shared_memory_status() == [want]
        assert client.get_system_shared_memory_status("http") == [want]
        fails(400, "", lambda: client.register_system_shared_memory("http", KEY, 64))
        given = triton.InferInput("FP32", [16], "FP32")
        given.set_shared_memory("http", 64)
        output = wanted("FP32")
        output.set_shared_memory("http", 64, offset=64)
        answer = client.infer("types", [given], outputs=[output])
        assert answer.get_output("FP32")["shape"] == [16] and "data" not in answer.get_output("FP32"), answer.get_response()
        assert numpy.array_equal(shared_memory.get_contents_as_numpy(region, numpy.float32, [32])[16:], array)
        assert numpy.array_equal(client.infer("types", [given]).as_numpy("FP32"), array)
        output.set_shared_memory("http", 4)
        fails(500, "should be at least 64 bytes", lambda: client.infer("types", [given], outputs=[output]))
        given.set_shared_memory("http", 64, offset=96)
        fails(400, "Invalid offset + byte size", lambda: client.infer("types", [given]))
        unregister(client, "http")
        fails(404, "Unable to find shared memory region: 'http'", lambda: client.infer("types", [given]))
        assert client.get_system_shared_memory_status() == [] and client.get_cuda_shared_memory_status() == []
    finally:
        shared_memory.destroy_shared_memory_region(region)


def errors(client):
    fails(404, "unknown model: 'none'", lambda: client.infer("none", [text("x")]))
    fails(404, "version 2 is not", lambda: client.infer("echo", [text("x")], model_version="2"))
    fails(400, "unexpected inference input 'FP32' for model 'echo'", lambda: client.infer("echo", [floats(1)]))
    fails(400, "but got 0 inputs", lambda: client.infer("echo", []))
    fails(400, "unexpected inference output 'NONE'", lambda: client.infer("echo", [text("x")], outputs=[wanted("NONE")]))
    fails(400, "unexpected shape for input 'GRID'", lambda: client.infer("types", [tensor("GRID", numpy.zeros([2, 3], dtype=numpy.float32), "FP32")]))
    fails(501, "decoupled", lambda: client.infer("stream", [tensor("COUNT", numpy.array([1], dtype=numpy.int32), "INT32")]))
    for code, status in (("INTERNAL", 500), ("NOT_FOUND", 404), ("UNAVAILABLE", 503), ("UNSUPPORTED", 501), ("INVALID_ARG", 400)):
        fail = tensor("FAIL", numpy.array([f"{code}: as asked".encode()], dtype=object), "BYTES")
        fails(status, "as asked", lambda: client.infer("echo", [text("x"), fail]))
    half = tensor("FP16", numpy.zeros([1], dtype=numpy.float16), "FP16")
    fails(400, "FP16", lambda: client.infer("types", [half], outputs=[wanted("FP16", binary_data=False)]))
    fails(400, "failed to get model version from specified version string", lambda: client.get_model_config("echo", "9" * 30))
    fails(404, "Not Found", lambda: client.get_model_metadata("echo", "x"))
    fails(400, "Unable to parse 'trace_rate'", lambda: client.update_trace_settings("", {"trace_rate": "x"}))
    fails(500, "attempt to access JSON non-boolean as boolean", lambda: client.update_log_settings({"log_info": 3}))


async def asynchronous(address):
    async with aio.InferenceServerClient(address) as client:
        assert await client.is_server_ready() and await client.is_model_ready("echo")
        names = ("echo", "types", "rows", "stream")
        answers = await asyncio.gather(*(client.get_model_metadata(name) for name in names))
        assert [a["name"] for a in answers] == list(names)
        answers = await asyncio.gather(*(client.infer(
            "echo", [text(str(i), binary=i % 2 == 0)], request_id=str(i),
            request_compression_algorithm="gzip" if i % 3 else None, response_compression_algorithm="deflate" if i % 3 else None,
        ) for i in range(20)))
        assert [(a.get_response()["id"], int(a.as_numpy("TEXT")[0])) for a in answers] == [(str(i), i) for i in range(20)]
        try:
            await client.infer("none", [text("x")])
        except InferenceServerException as e:
            assert e.status() == "404" and "unknown model: 'none'" in e.message(), e
        else:
            raise AssertionError("a request to an unknown model succeeded")


PARTS = (describe, counts, controls, settings, infers, extends, sequences, parallel, compresses, shares, errors)
BY_ADDRESS = (schedules, bodies)


def main(address):
    client = triton.InferenceServerClient(address, concurrency=4)
    for part in PARTS + BY_ADDRESS:
        part(client if part in PARTS else address)
        print(part.__name__, flush=True)
    client.close()
    asyncio.run(asynchronous(address))
    print(asynchronous.__name__)


main(sys.argv[1])
