"""The frames that data is put into, as somebody sees them who reads a prompt."""

import re

FRAMES = ("source", "result", "memory", "observation", "message", "earlier", "said", "summary_so_far")
_FRAME = re.compile(rf"<({'|'.join(FRAMES)})\b[^\n]*>\n.*?\n</\1>", re.DOTALL)
END = re.compile(rf"<\s*/\s*(?:{'|'.join(FRAMES)})\s*>", re.IGNORECASE)


def bare(text: str) -> str:
    """What of a message stands in none of the frames that data is put into."""
    return _FRAME.sub(" ", text)


def broken(text: str) -> bool:
    """Whether something in a message closes a frame that is not its own."""
    return bool(END.search(bare(text)))
