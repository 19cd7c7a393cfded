"""Two tools, and their call by what a model answers."""

import json

from openai import OpenAI

PLACE = {
    "city": {"type": "string", "description": "name of the city, such as Boston"},
    "state": {"type": "string", "description": "code of the state with two letters, such as MA"},
    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
}
DAYS = {"num_days": {"type": "integer", "description": "number of days"}}


def function(name, properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": "The weather of a city.", "parameters": parameters}}


FUNCTIONS = {
    "get_current_weather": lambda city, state, unit: f"85 degrees in {city}, {state}",
    "get_n_day_weather_forecast": lambda city, state, unit, num_days: f"85 degrees for {num_days} days in {city}, {state}",
}
TOOLS = [function("get_current_weather", PLACE), function("get_n_day_weather_forecast", PLACE | DAYS)]


def ask(tools, **fields):
    """Asks for the weather, and calls the function that the model names."""
    client = OpenAI(base_url="http://localhost:9000/v1", api_key="EMPTY")
    messages = [{"role": "user", "content": "What is the weather in Dallas, in Texas?"}]
    answer = client.chat.completions.create(model="llama-3.1-8b-instruct", messages=messages, tools=tools, max_completion_tokens=128, **fields)
    called = answer.choices[0].message.tool_calls[0].function
    print("function name:", called.name)
    print("function arguments:", called.arguments)
    print("tool calling result:", FUNCTIONS[called.name](**json.loads(called.arguments)))
