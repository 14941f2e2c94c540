"""A world outside that tools act on: a folder in which each effect is a file, so that a kill cannot take it back.

A service that takes an idempotency key knows it again and acts once; one that takes none acts each time.
"""

import contextlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class Marks:
    """Labels are what was asked for, such as `keyed-7`; each effect is one file."""

    folder: Path

    def leave(self, label: str, key: str | None) -> None:
        """Act; `key` where the service takes one."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{label}.{uuid4().hex}.call").touch()
        with contextlib.suppress(FileExistsError):
            (self.folder / f"{label}.{key or uuid4().hex}.effect").touch(exist_ok=False)

    def effects(self) -> Counter[str]:
        """Label to how often it happened."""
        return Counter(path.name.partition(".")[0] for path in self.folder.glob("*.effect"))

    def calls(self) -> Counter[str]:
        """Label to how often it was asked for."""
        return Counter(path.name.partition(".")[0] for path in self.folder.glob("*.call"))
