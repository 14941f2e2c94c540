"""Titles of a PDF page, told from its text by their type: larger than it, or bold and on a line of their own."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pipelines.documents.document import Box
from pipelines.documents.layout.page_tokens import PageToken

# How much larger than the page's text, and how deep such a title is: LaTeX's sections are 1.4 and 1.2 times as large
# as its text, Word's headings 1.5 and 1.2.
_LARGER = ((1.7, 1), (1.35, 2), (1.1, 3))
_BOLD = 4
_LONGEST = 115  # with its marks (#### and a blank) no longer than the chunker takes for a title
_MOST_LINES = 3
_MOST_SHARE = 0.5  # of the page's characters: where more of it is large it is a poster, and has no titles
_LEAST_SHARE = 0.35  # that one type has of the page: where OCR has guessed sizes, line after line has another one
_LEADING = 2.0  # heights of its letters, from one line of a title to the next
_SENTENCE_ENDS = (".", ",", ";", "。", "，", "、", "；", "،", "؛", "۔")
_OPENING, _CLOSING = "\"'‘“«([「『（", "\"'’”»)]」』）"


@dataclass(frozen=True, slots=True)
class _Body:
    """The type in which most of the page is set."""

    size: float
    bold: bool


@dataclass(frozen=True, slots=True)
class _Line:
    tokens: tuple[PageToken, ...]
    level: int  # that its type speaks for; else 0

    @property
    def boxes(self) -> list[Box]:
        return [token.box for token in self.tokens if token.box]

    @property
    def text(self) -> str:
        return "".join(token.gap.strip("\n") + token.text for token in self.tokens)


def mark_titles(tokens: Sequence[PageToken], typed: Sequence[PageToken] = ()) -> tuple[PageToken, ...]:
    """The tokens with Markdown's marks before those lines that are titles; one over several lines becomes one line.

    What tables are made of stays as it is. `typed`: the page's tokens before there were tables, whose cells are of the
    page's type, too: on a page of forms hardly anything else is.
    """
    body = _body_type(typed or tokens)
    if body is None:
        return tuple(tokens)
    lines = _typed_lines(tokens, body)
    if sum(len(line.text) for line in lines if line.level) > _MOST_SHARE * sum(len(line.text) for line in lines):
        return tuple(tokens)
    return tuple(token for group in _line_groups(lines) for token in _marked_tokens(group))


def _body_type(tokens: Sequence[PageToken]) -> _Body | None:
    """The type of most characters; None where nothing is known of any, or none stands out."""
    kinds: Counter[_Body] = Counter()
    for token in tokens:
        if token.size:
            kinds[_Body(round(2 * token.size) / 2, token.bold)] += len(token.text)
    if not kinds:
        return None
    ((body, characters),) = kinds.most_common(1)
    return body if characters >= _LEAST_SHARE * kinds.total() else None


def _typed_lines(tokens: Sequence[PageToken], body: _Body) -> list[_Line]:
    starts = [at for at, token in enumerate(tokens) if at == 0 or "\n" in token.gap]
    bounds = [*starts, len(tokens)]
    apart = [True, *("\n\n" in tokens[at].gap for at in starts[1:]), True]  # from the line before
    return [
        _Line(line := tuple(tokens[bounds[n] : bounds[n + 1]]), _title_level(line, body, apart[n] and apart[n + 1]))
        for n in range(len(starts))
    ]


def _title_level(line: Sequence[PageToken], body: _Body, alone: bool) -> int:
    larger = min(token.size for token in line) / max(body.size, 0.5)
    for least, level in _LARGER:
        if larger >= least:
            return level
    bold = all(token.bold for token in line) and not body.bold
    return _BOLD if bold and alone and larger > 0.9 else 0


def _line_groups(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Lines that are large or bold together, as far as they follow each other; all others by themselves."""
    group: list[_Line] = []
    for line in lines:
        if group and not _goes_on(group[-1], line):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _goes_on(last: _Line, line: _Line) -> bool:
    """Large lines stand further apart than those of the text do, and are one title all the same."""
    if not line.level or line.level != last.level:
        return False
    above, below = last.boxes, line.boxes
    tallest = max(box.y1 - box.y0 for box in (*above, *below))
    down = min(box.y0 for box in below) - min(box.y0 for box in above)
    return "\n\n" not in line.tokens[0].gap or 0 <= down <= _LEADING * tallest


def _reads_as_title(lines: Sequence[str]) -> bool:
    """Few words, and no sentences: a lead is large, too, and so are numbers."""
    text = " ".join(lines)
    letters, signs = sum(map(str.isalpha, text)), sum(not sign.isspace() for sign in text)
    return (
        len(lines) <= _MOST_LINES
        and len(text) <= _LONGEST
        and letters >= max(3, signs / 2)
        and text.lstrip(_OPENING)[:1].isalnum()
        and not any(line.rstrip(_CLOSING).endswith(_SENTENCE_ENDS) for line in lines)
    )


def _marked_tokens(group: Sequence[_Line]) -> Iterator[PageToken]:
    title = group[0].level and _reads_as_title([line.text for line in group])
    for number, line in enumerate(group):
        first, *rest = line.tokens
        if title and number == 0:
            yield PageToken("#" * line.level, None, first.gap)
        yield replace(first, gap=" ") if title else first
        yield from rest
