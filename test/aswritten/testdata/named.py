"""A chat that forces one of two tools."""

from weather import TOOLS, ask

ask(TOOLS, tool_choice={"type": "function", "function": {"name": "get_n_day_weather_forecast"}})
