"""A client that stays within the limits of its API key, with OpenAI's Python SDK. The e2e tests run it.

    steady.py URL KEY SECONDS AT_ONCE

Sends short chats for SECONDS seconds, AT_ONCE of them concurrently, with the default retries of the SDK. Prints one line
of JSON: the number of answered requests, the longest duration in seconds, and the number of errors by kind.
"""

import collections
import json
import sys
import threading
import time

from openai import OpenAI

url, key, seconds, at_once = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
client = OpenAI(base_url=url + "/v1", api_key=key, timeout=60)
messages = [{"role": "user", "content": "Say hello."}]
answered, slowest, failed, lock = 0, 0.0, collections.Counter(), threading.Lock()
end = time.monotonic() + seconds


def ask():
    global answered, slowest
    while (began := time.monotonic()) < end:
        try:
            answer = client.chat.completions.create(model="chat", messages=messages, max_tokens=3, extra_body={"ignore_eos": True})
            error = None if answer.choices[0].finish_reason == "length" else f"finish_reason {answer.choices[0].finish_reason}"
        except Exception as e:  # counted below
            error = f"{type(e).__name__}: {e}"
        with lock:
            slowest = max(slowest, time.monotonic() - began)
            if error is None:
                answered += 1
            else:
                failed[error] += 1


threads = [threading.Thread(target=ask) for _ in range(at_once)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(json.dumps({"answered": answered, "slowest": round(slowest, 2), "failed": failed}))
