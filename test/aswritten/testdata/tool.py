"""A chat in which the model chooses the tool."""

from weather import TOOLS, ask

ask(TOOLS[:1])
