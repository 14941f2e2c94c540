"""The chat turn: prompt, model calls, tool calls, recovery, streaming filter, cited answers."""
