"""Wishes for a reading: the pages to read again, the OCR strategy and the languages of scans."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from cluster.basics.errors import Invalid

PAGES_FIX = "Such as 3,7-9; leave pages out to read all of them."
LONGEST_PAGES = 4_000  # characters
_RANGE = re.compile(r"([0-9]{1,7})(?: ?- ?([0-9]{1,7}))?")
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,31}")


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """How pages are to be read where that is not as the settings and the workspace say; empty fields are as they do."""

    strategy: str | None = None  # of OCR, as ocr.strategy
    languages: tuple[str, ...] = ()  # of scans, by Tesseract's names, the likeliest first

    @classmethod
    def from_json(cls, value: Mapping[str, Any] | None) -> "ReadingOptions":
        """From what a page or a job holds; null is as the settings say."""
        value = value or {}
        return cls(value.get("strategy"), tuple(value.get("languages") or ()))

    def as_json(self) -> dict[str, Any]:
        """Only what is set."""
        fields = {"strategy": self.strategy, "languages": list(self.languages)}
        return {name: value for name, value in fields.items() if value}


AS_SET = ReadingOptions()


@dataclass(frozen=True, slots=True)
class ReextractionRequest:
    """A request to read a document's file again, beside the version that readers see."""

    pages: str = ""  # as `parse_pages` takes them; empty for all
    options: ReadingOptions = AS_SET

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> "ReextractionRequest | None":
        """From a job's payload; None where it asks for no such thing."""
        asked = payload.get("reading")
        return None if asked is None else cls(asked.get("pages") or "", ReadingOptions.from_json(asked))

    def as_json(self) -> dict[str, Any]:
        """As a job's payload holds it."""
        return self.options.as_json() | ({"pages": self.pages} if self.pages else {})

    def page_numbers(self, count: int) -> tuple[int, ...]:
        """The pages to read of a document that has so many."""
        return parse_pages(self.pages, count) if self.pages else tuple(range(1, count + 1))


def parse_pages(text: str, count: int) -> tuple[int, ...]:
    """Page numbers and ranges (`3,7-9`), ascending, of a document that has `count` pages.

    Raises Invalid: it is nothing of that form, or names a page twice or outside the document.
    """
    parts = [part.strip() for part in text.split(",")] if len(text) <= LONGEST_PAGES else []
    ranges = sorted(_parse_range(part, count) for part in parts)
    if not ranges:
        raise Invalid("pages are numbers and ranges", fix=PAGES_FIX)
    # Told before a list is made: a thousand long ranges would be millions of numbers.
    for (_, last), (first, _) in pairwise(ranges):
        if first <= last:
            raise Invalid(f"page {first} is named twice", fix=PAGES_FIX)
    return tuple(number for first, last in ranges for number in range(first, last + 1))


def _parse_range(part: str, count: int) -> tuple[int, int]:
    told = _RANGE.fullmatch(part)
    if told is None:
        raise Invalid("pages are numbers and ranges", fix=PAGES_FIX)
    first, last = int(told[1]), int(told[2] or told[1])
    if first > last:
        raise Invalid(f"the range {part} ends before it begins", fix=PAGES_FIX)
    if first < 1 or last > count:
        outside = first if first < 1 or first > count else last
        has = f"{count} page{'' if count == 1 else 's'}"
        raise Invalid(f"there is no page {outside}: the document has {has}", fix=PAGES_FIX)
    return first, last


def parse_languages(told: str | Sequence[str]) -> tuple[str, ...]:
    """Names of languages as a list, or as one text (`deu+eng`, `deu,eng`), each once and in order.

    Raises Invalid: one is no name of a language.
    """
    parts = [told] if isinstance(told, str) else told
    names = [name.strip() for part in parts for name in re.split(r"[+,]", part) if name.strip()]
    if strange := [name for name in names if _LANGUAGE.fullmatch(name) is None]:
        raise Invalid(f"{strange[0][:40]!r} is no name of a language", fix="By Tesseract's names, such as deu+eng.")
    return tuple(dict.fromkeys(names))
