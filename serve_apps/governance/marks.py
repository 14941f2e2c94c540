"""Marks of what was erased: ids, and keyed hashes of its words, by which it is found again without being kept."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from typing import Any, Final

ERASED: Final = "[erased]"
WINDOW: Final = 8  # words in a row; fewer occur in texts that have nothing to do with each other
MOST_WINDOWS: Final = 20_000  # of one document; of longer ones those whose hashes are smallest, which is a fair sample
_WORD = re.compile(r"\w+")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32,64}")
_EMAIL = re.compile(r"[^\s:@\"'<>,;()\[\]]+@[^\s:@\"'<>,;()\[\]]*[^\s:@\"'<>,;()\[\].!?]")
_SUFFIX = re.compile(r"\.\w{1,8}$")
DISTINCTIVE: Final = 24  # characters of a name without a suffix that stands for nothing else


@dataclass(frozen=True, slots=True)
class ErasureMarks:
    """Attributes:
    ids: of documents, versions and chunks, or of an account with its conversations and runs.
    names: keyed hashes of file names and e-mail addresses.
    windows: keyed hashes of eight words in a row.
    """

    ids: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    windows: frozenset[str] = frozenset()

    def as_json(self) -> dict[str, list[str]]:
        """As a row keeps them."""
        return {"ids": sorted(self.ids), "names": sorted(self.names), "windows": sorted(self.windows)}

    @property
    def strong(self) -> "ErasureMarks":
        """Those that say that a record is about it: ids alone."""
        return ErasureMarks(self.ids)

    @property
    def quotes(self) -> "ErasureMarks":
        """Those that say that its words are in a text."""
        return ErasureMarks(windows=self.windows)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "ErasureMarks":
        """As `as_json` wrote them."""
        return cls(*(frozenset(stored[name]) for name in ("ids", "names", "windows")))


class MarkFinder:
    """Makes marks with a key, without which nobody can try words out on them, and finds them again in any JSON."""

    def __init__(self, key: bytes) -> None:
        """`key`: at most 64 bytes."""
        self._key = key

    def name(self, text: str) -> str:
        """The mark of a file's name or an e-mail address, without case."""
        return blake2b(text.strip().casefold().encode(errors="replace"), key=self._key, digest_size=16).hexdigest()

    def windows(self, text: str, most: int | None = None) -> set[str]:
        """The marks of a text's words; a text of fewer than eight has none."""
        words = _WORD.findall(text.casefold())
        made = {self._window(words[at : at + WINDOW]) for at in range(len(words) - WINDOW + 1)}
        return made if most is None or len(made) <= most else set(nsmallest(most, made))

    def is_in(self, marks: ErasureMarks, value: Any) -> bool:
        """True where a text anywhere in it, has one of the marks; names of fields have none."""
        return any(self._is_marked(marks, text) for text in texts_in(value))

    def redacted(self, marks: ErasureMarks, value: Any, *, whole: bool = False) -> Any:
        """The same in its shape: texts that quote it or are its name are replaced, of others ids and addresses in them.

        With `whole` every text that has a mark is replaced.
        """
        if isinstance(value, str):
            if whole:
                return ERASED if self._is_marked(marks, value) else value
            return self._redacted_text(marks, value)
        if isinstance(value, Mapping):
            return {key: self.redacted(marks, one, whole=whole) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.redacted(marks, one, whole=whole) for one in value]
        return value

    def _redacted_text(self, marks: ErasureMarks, text: str) -> str:
        if self._is_marked(marks.quotes, text) or (marks.names and self.name(text) in marks.names):
            return ERASED
        if marks.ids:
            text = _ID.sub(lambda found: ERASED if found[0] in marks.ids else found[0], text)
        if marks.names:
            text = _EMAIL.sub(lambda found: ERASED if self.name(found[0]) in marks.names else found[0], text)
        return text

    def _is_marked(self, marks: ErasureMarks, text: str) -> bool:
        if marks.ids and not marks.ids.isdisjoint(_ID.findall(text)):
            return True
        if marks.names and (
            self.name(text) in marks.names or any(self.name(one) in marks.names for one in _EMAIL.findall(text))
        ):
            return True
        return bool(marks.windows) and not marks.windows.isdisjoint(self.windows(text))

    def _window(self, words: Iterable[str]) -> str:
        return blake2b(" ".join(words).encode(errors="replace"), key=self._key, digest_size=8).hexdigest()


def is_distinctive(name: str) -> bool:
    """True where a file's name stands for nothing else: `lease.pdf`, never `text` or `content`."""
    return bool(_SUFFIX.search(name)) or len(name) >= DISTINCTIVE


def without_texts(value: Any) -> Any:
    """The same in its shape, every text replaced."""
    if isinstance(value, str):
        return ERASED
    if isinstance(value, Mapping):
        return {key: without_texts(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_texts(one) for one in value]
    return value


def texts_in(value: Any) -> Iterator[str]:
    """Every text in it but the names of fields."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from texts_in(one)
