"""Calls KServe v2 by REST with NVIDIA's own client. usage: kserve_http_client.py HOST:PORT

The server's control mode must be explicit. Prints one line for each part that went well; anything else is an exception.
"""

import asyncio
import json
import sys

import numpy
import tritonclient.http as triton
import tritonclient.http.aio as aio
import tritonclient.utils.shared_memory as shared_memory
from tritonclient.utils import InferenceServerException


def fails(status, text, call):
    try:
        call()
    except InferenceServerException as e:
        assert e.status() == str(status) and text in e.message(), (e.status(), e.message())
    else:
        raise AssertionError("no " + text)


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


def shares(client):
    region = shared_memory.create_shared_memory_region("http", "/trident-e2e-kserve-http", 128)
    try:
        shared_memory.set_shared_memory_region(region, [numpy.arange(16, dtype=numpy.float32)])
        client.register_system_shared_memory("http", "/trident-e2e-kserve-http", 128)
        want = {"name": "http", "key": "/trident-e2e-kserve-http", "offset": 0, "byte_size": 128}
        assert client.get_system_shared_memory_status() == [want]
        assert client.get_system_shared_memory_status("http") == [want]
        fails(400, "", lambda: client.register_system_shared_memory("http", "/trident-e2e-kserve-http", 64))
        client.unregister_system_shared_memory("http")
        assert client.get_system_shared_memory_status() == [] and client.get_cuda_shared_memory_status() == []
    finally:
        shared_memory.destroy_shared_memory_region(region)


def errors(client):
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


# Inferences are a part of their own: add it here.
PARTS = (describe, counts, controls, settings, shares, errors)


def main(address):
    client = triton.InferenceServerClient(address, concurrency=4)
    for part in PARTS:
        part(client)
        print(part.__name__, flush=True)
    client.close()
    asyncio.run(asynchronous(address))
    print(asynchronous.__name__)


main(sys.argv[1])
