"""A streamed completion, by OpenAI's client."""

from openai import OpenAI

client = OpenAI(base_url="http://localhost:3000/v1", api_key="test")
for event in client.completions.create(model="ensemble", prompt="Once there was a hero who left", stream=True, max_tokens=50):
    print(event.model_dump()["choices"][0]["text"], end="", flush=True)
