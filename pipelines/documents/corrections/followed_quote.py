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
    page: Page, start: int, end: int, quote_hash: str, made: Sequence[Mapping[str, Any]]
) -> FollowedQuote | None:
    """The quote that stood at [start, end), as it stands now; None where the page says something else by now.

    Args:
        quote_hash: SHA-256 of the quote, in hex.
        made: corrections of the page in readings of its bytes, the oldest first: `here` on this very page, whenever,
            else on another reading of it, of which this one keeps its text, and `since` the answer was begun.
    """
    edits = [(_edit_of(one), one) for one in made if one["here"]]
    unmade = _edits_since_quote(page.text, start, end, quote_hash, [edit for edit, _ in edits])
    if unmade is None:
        return None
    told = []
    for edit, one in edits[len(edits) - unmade :]:
        told += [_told(one)] if edit.changes_text and edit.touches(start, end) else []
        start, end = edit.map_start(start), max(edit.map_start(start), edit.map_end(end))
    for one in made:
        placed = place_correction(page, _kept_correction(one)) if one["since"] and not one["here"] else None
        if placed is not None and one["before"] != one["after"] and placed.touches(start, end):
            told.append(_told(one))
    return FollowedQuote(start, end, tuple(told))


def _edits_since_quote(text: str, start: int, end: int, quote_hash: str, edits: Sequence[LineEdit]) -> int | None:
    """How many of the newest edits the quote is older than; None where no text that the page had holds it.

    The text says so, not the clock: a page that was quoted may have been looked at long before its answer was stored.
    """
    for unmade in range(len(edits) + 1):
        if hash_quote(text[start:end]) == quote_hash:
            return unmade
        if unmade < len(edits):
            edit = edits[-1 - unmade]
            if text[edit.start : edit.start + len(edit.after)] != edit.after:
                return None  # it was read again in between
            text = text[: edit.start] + edit.before + text[edit.start + len(edit.after) :]
    return None


def hash_quote(text: str) -> str:
    """As answers keep what they quote."""
    return sha256(text.encode()).hexdigest()


def _told(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"at": one["at"], "text_before": one["before"], "text_after": one["after"]}


def _edit_of(one: Mapping[str, Any]) -> LineEdit:
    return LineEdit(one["start"], one["before"], one["after"], one["whole"])


def _kept_correction(one: Mapping[str, Any]) -> KeptCorrection:
    box = None if one["box"] is None else Box(*one["box"])
    return KeptCorrection("", one["line"], one["before"], one["after"], box, one["whole"])
