"""Frames around what is data in a prompt: no text can close one, or look like a token of a chat template."""

import re

# Frames of ours (those of planning too, whose names are common in XML: there only the end is a danger), and tokens that
# chat templates of local models would take for the end of a message.
_BREAKERS = re.compile(
    r"<(?=\s*/?\s*(?:source|memory|observation)\b)|<(?=\s*/\s*(?:result|message|earlier|context|file)\b)|<(?=\|)|<(?=｜)|<(?=/?s>)|<(?=<SYS>>)|<(?=(?:start|end)_of_turn>)"
    r"|(?<=\[)(?=/?INST\])|(?<=###)(?= Reference Context)",
    re.IGNORECASE,
)


def neutral(text: str) -> str:
    """The text, unable to close a frame or to look like a token of a chat template: a space of no width parts them."""
    return _BREAKERS.sub(lambda found: f"{found[0]}\u200b", text)
