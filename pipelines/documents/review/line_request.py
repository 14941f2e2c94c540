"""A request to correct a line, checked against its page, as an edit of it."""

import unicodedata
from dataclasses import dataclass

from cluster.basics.errors import Invalid, TooLarge
from pipelines.documents.corrections.line_edit import LineEdit
from pipelines.documents.corrections.page_lines import PageLine, split_lines
from pipelines.documents.document import Page

LONGEST_LINE = 1_000  # characters; a longer line may stay as long as it is, and grow by half
_REFUSED = frozenset({"Cc", "Zl", "Zp", "Cs", "Cn", "Co"})


@dataclass(frozen=True, slots=True)
class LineRequest:
    """What a line is to say; with `word`, the offset of a word of it in the page's text, only that word."""

    line: int  # 0-based, as `PageLine.number`
    text: str
    word: int | None = None


def line_edit(page: Page, request: LineRequest) -> tuple[PageLine, LineEdit]:
    """The line that is meant, and the edit.

    Raises Invalid: there is no such line or word, or the text cannot stand in a line; TooLarge: it is too long.
    """
    line = next((one for one in split_lines(page) if one.number == request.line), None)
    if line is None:
        raise Invalid(f"page {page.number} has no text in line {request.line}", fix="Look at the page's lines again.")
    text = _checked_text(request.text, line)
    if request.word is None:
        return line, LineEdit(line.start, line.text, _checked_row(text, line))
    word = next((one for one in line.words if one.start == request.word), None)
    if word is None:
        raise Invalid(f"no word of line {request.line} begins at {request.word}", fix="Correct the whole line.")
    at = word.start - line.start
    after = line.text[:at] + text + line.text[at + len(word.text) :]
    return line, LineEdit(line.start, line.text, _checked_row(after, line), whole=False)


def _checked_text(text: str, line: PageLine) -> str:
    """The text without white space around it; what no line can hold is refused."""
    most = max(LONGEST_LINE, len(line.text) + len(line.text) // 2)
    if len(text) > most:
        raise TooLarge(f"the text has {len(text)} characters, and this line may have {most}")
    found = text.strip(" \t\u00a0\u3000")
    if not found:
        raise Invalid("the text is empty", fix="Write what stands in the line; a line cannot be taken away.")
    if any(unicodedata.category(sign) in _REFUSED for sign in found):
        raise Invalid("the text has control characters or line breaks", fix="One line without them.")
    return found


def _checked_row(text: str, line: PageLine) -> str:
    """The text, where a row of a table keeps its cells."""
    if line.text.startswith("|") and text.count("|") != line.text.count("|"):
        raise Invalid("the line is a row of a table", fix="Keep its bars: as many cells as there were.")
    return text
