"""A chat with a system message and max_completion_tokens, by OpenAI's client."""

from openai import OpenAI

client = OpenAI(base_url="http://localhost:9000/v1", api_key="EMPTY")
answer = client.chat.completions.create(
    model="llama-3.1-8b-instruct",
    messages=[{"role": "system", "content": "Answer in one sentence."}, {"role": "user", "content": "Which models are large?"}],
    max_completion_tokens=256,
)
print(answer.choices[0].message.content)
