"""Server-sent events read back."""

import json
from typing import Any

Frame = tuple[str | None, str, dict[str, Any]]


def frames(text: str) -> list[Frame]:
    """Id, name and data of each event; comments are left out."""
    found: list[Frame] = []
    for block in (block for block in text.split("\n\n") if block and not block.startswith(":")):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields.get("id"), fields["event"], json.loads(fields["data"])))
    return found
