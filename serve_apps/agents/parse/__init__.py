"""Reads tool calls out of whatever models write: native ones, and a dozen ways to put them into text."""

from serve_apps.agents.parse.found import Call, Parsed
from serve_apps.agents.parse.prompt import react_instructions, stop_sequences
from serve_apps.agents.parse.read import read

__all__ = ["Call", "Parsed", "react_instructions", "read", "stop_sequences"]
