"""Reads tool calls out of whatever models write: native ones, and a dozen ways to put them into text."""
