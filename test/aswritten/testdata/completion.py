"""A completion, by OpenAI's client."""

from openai import OpenAI

print(OpenAI(base_url="http://localhost:3000/v1", api_key="test").completions.create(model="ensemble", prompt="Name a test of a model"))
