"""The little of Markdown that answers are written in, as HTML; everything else stays text."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from serve_apps.ui.kit.html import Html, join, tag

INLINE: Final = re.compile(r"`(?P<code>[^`\n]+)`|\*\*(?P<bold>[^*\n]+)\*\*|\[(?P<mark>\d{1,3})\]")
BULLET: Final = re.compile(r"\s*[-*•]\s+(?P<rest>.+)")
NUMBERED: Final = re.compile(r"\s*\d{1,3}[.)]\s+(?P<rest>.+)")
HEADING: Final = re.compile(r"#{1,6}\s+(?P<rest>.+)")
RULER: Final = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*")
MOST: Final = 200_000
Marks = Mapping[int, str | None]


def prose(text: str, marks: Marks | None = None) -> Html:
    """Paragraphs, lists, tables and code; `[n]` becomes a link where `marks` knows its address."""
    known = marks or {}
    return tag("div", list(_blocks(text[:MOST].splitlines(), known)), class_="aos-prose")


def _blocks(lines: list[str], marks: Marks) -> Iterator[Html]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.lstrip().startswith("```"):
            end = _until(lines, at + 1, lambda one: one.lstrip().startswith("```"))
            yield tag("pre", tag("code", "\n".join(lines[at + 1 : end])))
            at = end + 1
        elif not line.strip():
            at += 1
        elif found := HEADING.fullmatch(line):
            yield tag("p", tag("b", _inline(found["rest"], marks)))
            at += 1
        elif _table_begins(lines, at):
            end = _until(lines, at + 2, lambda one: "|" not in one)
            yield _table(lines[at], lines[at + 2 : end], marks)
            at = end
        else:
            pattern = next((one for one in (BULLET, NUMBERED) if one.fullmatch(line)), None)
            end = _until(lines, at + 1, _other(pattern))
            yield _list(lines[at:end], pattern, marks) if pattern else _paragraph(lines[at:end], marks)
            at = end


def _other(pattern: re.Pattern[str] | None) -> Callable[[str], bool]:
    """Test whether a line ends the block: a list at the first line without an item, a paragraph at any other block."""
    if pattern is not None:
        return lambda line: pattern.fullmatch(line) is None
    starts = (BULLET, NUMBERED, HEADING)
    return lambda line: (
        not line.strip() or line.lstrip().startswith("```") or any(one.fullmatch(line) for one in starts)
    )


def _until(lines: list[str], at: int, ends: Callable[[str], bool]) -> int:
    while at < len(lines) and not ends(lines[at]):
        at += 1
    return at


def _list(lines: list[str], pattern: re.Pattern[str], marks: Marks) -> Html:
    items = [found["rest"] for line in lines if (found := pattern.fullmatch(line))]
    return tag("ul" if pattern is BULLET else "ol", [tag("li", _inline(one, marks)) for one in items])


def _paragraph(lines: list[str], marks: Marks) -> Html:
    return tag("p", [[_inline(line, marks), tag("br") if n < len(lines) - 1 else None] for n, line in enumerate(lines)])


def _table_begins(lines: list[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and bool(RULER.fullmatch(lines[at + 1]))


def _table(head: str, rows: list[str], marks: Marks) -> Html:
    def cells(line: str, name: str) -> list[Html]:
        return [tag(name, _inline(cell.strip(), marks)) for cell in line.strip().strip("|").split("|")]

    body = [tag("tr", cells(row, "td")) for row in rows]
    return tag("div", tag("table", tag("thead", tag("tr", cells(head, "th"))), tag("tbody", body)), class_="wide")


def _inline(text: str, marks: Marks) -> Html:
    parts: list[Html | str] = []
    end = 0
    for found in INLINE.finditer(text):
        parts.append(text[end : found.start()])
        parts.append(_marked(found, marks))
        end = found.end()
    return join(*parts, text[end:])


def _marked(found: re.Match[str], marks: Marks) -> Html | str:
    if found["code"] is not None:
        return tag("code", found["code"])
    if found["bold"] is not None:
        return tag("b", found["bold"])
    number = int(found["mark"])
    if number not in marks:
        return found[0]
    address, label = marks[number], f"Source {number}"
    if address is None:
        return tag("sup", number, class_="mark", title=label)
    return tag("a", number, class_="mark", href=address, target="_blank", aria_label=label, title=label)
