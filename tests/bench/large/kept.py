"""Figures of a folder, kept from run to run: curves need those of several sizes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class KeptFigures:
    """A JSON file: by the number of chunks, then by name. One that is measured again takes the old one's place."""

    def __init__(self, path: Path) -> None:
        """Reads what is there."""
        self._path = path
        self._sizes: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._sizes = json.loads(path.read_text(encoding="utf-8"))

    def put(self, chunks: int, name: str, value: Any) -> None:
        """Keep a figure; a run that is cut off in the middle of it leaves the file as it was."""
        self._sizes.setdefault(str(chunks), {})[name] = value
        self._path.parent.mkdir(parents=True, exist_ok=True)
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(self._sizes, indent=1) + "\n", encoding="utf-8")
        beside.replace(self._path)

    def sizes(self) -> Mapping[int, Mapping[str, Any]]:
        """All of them, smallest size first."""
        return {size: self._sizes[str(size)] for size in sorted(map(int, self._sizes))}
