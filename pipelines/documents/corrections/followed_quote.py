"""Quotes followed through corrections of their page: their place by now, and what they said before."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pipelines.documents.corrections.line_edit import LineEdit
from pipelines.documents.corrections.replay import KeptCorrection, place_correction
from pipelines.documents.document import Box, Page


@dataclass(frozen=True, slots=True)
class FollowedQuote:
    """A quote on its page as it is now: text[start:end), and the corrections that changed it."""

    start: int
    end: int
    corrections: tuple[Mapping[str, Any], ...]  # at, text_before and text_after of each, the oldest first


def follow_quote(
    page: Page, start: int, end: int, quote_hash: str, since: Sequence[Mapping[str, Any]]
) -> FollowedQuote | None:
    """The quote that stood at [start, end), as it stands now; None where the page says something else by now.

    Args:
        quote_hash: SHA-256 of the quote, in hex.
        since: corrections made after the answer, the oldest first: `here` on this very page, else on another reading of
            it, of which this one keeps the text that it had.
    """
    edits = [(_edit_of(one), one) for one in since if one["here"]]
    text = page.text
    for edit, _ in reversed(edits):
        if text[edit.start : edit.start + len(edit.after)] != edit.after:
            return None  # it was read again in between
        text = text[: edit.start] + edit.before + text[edit.start + len(edit.after) :]
    if hash_quote(text[start:end]) != quote_hash:
        return None
    told = []
    for edit, one in edits:
        told += [_told(one)] if edit.touches(start, end) else []
        start, end = edit.map_start(start), max(edit.map_start(start), edit.map_end(end))
    for one in since:
        placed = None if one["here"] else place_correction(page, _kept_correction(one))
        if placed is not None and placed.touches(start, end):
            told.append(_told(one))
    return FollowedQuote(start, end, tuple(told))


def hash_quote(text: str) -> str:
    """As answers keep what they quote."""
    return sha256(text.encode()).hexdigest()


def _told(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"at": one["at"], "text_before": one["before"], "text_after": one["after"]}


def _edit_of(one: Mapping[str, Any]) -> LineEdit:
    return LineEdit(one["start"], one["before"], one["after"], one["whole"])


def _kept_correction(one: Mapping[str, Any]) -> KeptCorrection:
    box = None if one["box"] is None else Box(*one["box"])
    return KeptCorrection("", one["line"], one["before"], one["after"], box, one["whole"], one["same_file"])
