"""Answers of clouds: JSON of which nothing is believed before it is looked at, and listings that have to end."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final, NoReturn

from pipelines.documents.sources.source_port import SourceAway, SourceRefused

MOST_PAGES: Final = 200_000  # of one listing, empty ones among them
MOST_FOLDERS: Final = 200_000
_UNSTORABLE: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # no name of a file, and partly no text of Postgres
_MOST_BYTES: Final = 2**63 - 1
_ID_CHARACTERS: Final = 1024


class ListingSteps:
    """The steps of one listing, by whatever the service names the next one with.

    One that was there before would lead round for ever. Of each step 12 bytes are kept.
    """

    def __init__(self, who: str, most: int = MOST_PAGES) -> None:
        """`who`: the service's name."""
        self._who, self._most = who, most
        self._seen: set[bytes] = set()

    def next(self, step: Any, of: str = "") -> str:
        """The step to take. `of`: the part of the listing that it belongs to, where parts have steps of their own.

        Raises SourceAway: it was taken before, or is none; SourceRefused: there are too many.
        """
        if not isinstance(step, str) or not step:
            raise SourceAway(f"{self._who} breaks its listing off")
        key = hashlib.blake2b(f"{of}\n{step}".encode("utf-8", "surrogatepass"), digest_size=12).digest()
        if key in self._seen:
            raise SourceAway(f"{self._who} goes round in circles: its listing goes on where it was before")
        if len(self._seen) >= self._most:
            raise SourceRefused(
                f"the listing of {self._who} has more than {self._most} pages", fix="Make a source of each part of it."
            )
        self._seen.add(key)
        return step


def load_object(body: bytes) -> Mapping[str, Any]:
    """Raises ValueError, RecursionError: it is no JSON object."""
    found = json.loads(body, parse_constant=_refuse_constant)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def rows_of(found: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """A list of objects. Raises ValueError: it is none."""
    rows = found.get(name)
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        raise ValueError(f"{name} is no list of objects")
    return rows


def part_of(one: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object inside; empty where there is none. Raises ValueError: it is something else."""
    found = one.get(name)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{name} is no object")
    return found or {}


def text_of(one: Mapping[str, Any], *names: str) -> str:
    """The first text that is there. Raises ValueError: none is."""
    if not (text := text_or_none(one, *names)):
        raise ValueError(f"{names[0]} is missing")
    return text


def text_or_none(one: Mapping[str, Any], *names: str) -> str | None:
    """Raises ValueError: it is there, and no text that can be stored."""
    for name in names:
        found = one.get(name)
        if found is not None and (not isinstance(found, str) or _UNSTORABLE.search(found)):
            raise ValueError(f"{name} is no text")
        if found:
            return str(found)
    return None


def id_of(one: Mapping[str, Any], name: str = "id") -> str:
    """An id that can be part of a path. Raises ValueError: it cannot."""
    id_ = text_of(one, name)
    if "/" in id_ or id_ in (".", "..") or len(id_) > _ID_CHARACTERS:
        raise ValueError(f"{name} is no id")
    return id_


def name_of(one: Mapping[str, Any]) -> str:
    """A name for one part of a path: what cannot be in one is replaced. Raises ValueError: there is none."""
    name = one.get("name")
    if not isinstance(name, str):
        raise ValueError("name is no text")
    return path_part(name)


def path_part(name: str) -> str:
    """A name as one part of a path: it ends no path, leads nowhere else, and can be stored."""
    name = _UNSTORABLE.sub("�", name).replace("/", "∕")
    return name if name.strip(" .") else f"_{name}"


def path_below(above: str, name: str) -> str:
    """The path of what lies in a folder; the root's is empty."""
    return f"{above}/{name}" if above else name


def size_of(one: Mapping[str, Any]) -> int | None:
    """Bytes; None where it is not told. Raises ValueError: it is no such number."""
    size = one.get("size")
    if size is None:
        return None
    if isinstance(size, str) and size.isascii() and size.isdigit() and len(size) < 20:
        size = int(size)
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _MOST_BYTES:
        raise ValueError("size is no number of bytes")
    return size


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
