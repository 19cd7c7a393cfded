import time

held = []


def release(response):
    """Closes the stream that keeps the server busy, once the server has refused a request."""
    if response.status_code == 529 and held:
        held.pop().close()


client = client.with_options(http_client=anthropic.DefaultHttpxClient(event_hooks={"response": [release]}))
once = client.with_options(max_retries=0)
elks, line, bridge, ship = (
    {"model": "chat", "max_tokens": 1000, "messages": [{"role": "user", "content": f"anthropic-errors: {text}"}]}
    for text in ("How are the elks?", "Hold the line.", "Cross the bridge.", "Sink the ship.")
)


def show(what, create, **request):
    """Prints the answer or the error of a request."""
    written = ""
    try:
        answer = create(**request)
        if request.get("stream"):
            for event in answer:
                if event.type == "content_block_delta":
                    written += event.delta.text
        else:
            written = answer.content[0].text
        print(f"{what}: {written}")
    except anthropic.APIStatusError as error:
        print(f"{what}: {written}{type(error).__name__}", error.status_code, error.type, error.request_id[:4], error.api_message)


def hold():
    """Returns a stream of a model that doesn't end."""
    stream = client.messages.create(stream=True, **line)
    next(iter(stream))
    return stream


show("forbidden", client.with_options(default_headers={"origin": "https://example.com"}).messages.create, **elks)
slow = client.with_options(api_key="slow")
show("first", slow.messages.create, **elks)
show("limited", slow.messages.create, **elks)
show("failed", client.messages.create, **ship)
show("failed in a stream", client.messages.create, stream=True, **bridge)
stream = hold()
show("overloaded", once.messages.create, **elks)
held.append(stream)
show("after the overload", client.messages.create, **elks)
show("late in a stream", client.messages.create, stream=True, **line)
time.sleep(1)
show("late", client.messages.create, **line)
