"""The little of Markdown that answers are written in, as HTML; everything else stays text."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from serve_apps.ui.kit.html import SafeHtml, join_html, tag

INLINE: Final = re.compile(r"`(?P<code>[^`\n]+)`|\*\*(?P<bold>[^*\n]+)\*\*|\[(?P<mark>\d{1,3})\]")
BULLET: Final = re.compile(r"\s*[-*•]\s+(?P<rest>.+)")
NUMBERED: Final = re.compile(r"\s*\d{1,3}[.)]\s+(?P<rest>.+)")
HEADING: Final = re.compile(r"#{1,6}\s+(?P<rest>.+)")
RULER: Final = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*")
MOST: Final = 200_000
Marks = Mapping[int, str | None]


def render_markdown(text: str, marks: Marks | None = None) -> SafeHtml:
    """Paragraphs, lists, tables and code; `[n]` becomes a link where `marks` knows its address."""
    return tag("div", list(_render_blocks(text[:MOST].splitlines(), marks or {})), class_="aos-prose")


def _render_blocks(lines: list[str], marks: Marks) -> Iterator[SafeHtml]:
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.lstrip().startswith("```"):
            end = _find_end(lines, at + 1, lambda one: one.lstrip().startswith("```"))
            yield tag("pre", tag("code", "\n".join(lines[at + 1 : end])))
            at = end + 1
        elif not line.strip():
            at += 1
        elif found := HEADING.fullmatch(line):
            yield tag("p", tag("b", _render_inline(found["rest"], marks)))
            at += 1
        elif _table_begins(lines, at):
            end = _find_end(lines, at + 2, lambda one: "|" not in one)
            yield _render_table(lines[at], lines[at + 2 : end], marks)
            at = end
        else:
            pattern = next((one for one in (BULLET, NUMBERED) if one.fullmatch(line)), None)
            end = _find_end(lines, at + 1, _block_end_test(pattern))
            yield _render_list(lines[at:end], pattern, marks) if pattern else _render_paragraph(lines[at:end], marks)
            at = end


def _block_end_test(pattern: re.Pattern[str] | None) -> Callable[[str], bool]:
    """Test whether a line ends the block: a list at the first line without an item, a paragraph at any other block."""
    if pattern is not None:
        return lambda line: pattern.fullmatch(line) is None
    starts = (BULLET, NUMBERED, HEADING)
    return lambda line: (
        not line.strip() or line.lstrip().startswith("```") or any(one.fullmatch(line) for one in starts)
    )


def _find_end(lines: list[str], at: int, ends: Callable[[str], bool]) -> int:
    while at < len(lines) and not ends(lines[at]):
        at += 1
    return at


def _render_list(lines: list[str], pattern: re.Pattern[str], marks: Marks) -> SafeHtml:
    items = [found["rest"] for line in lines if (found := pattern.fullmatch(line))]
    return tag("ul" if pattern is BULLET else "ol", [tag("li", _render_inline(one, marks)) for one in items])


def _render_paragraph(lines: list[str], marks: Marks) -> SafeHtml:
    first, *others = (_render_inline(line, marks) for line in lines)
    return tag("p", first, [(tag("br"), line) for line in others])


def _table_begins(lines: list[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and bool(RULER.fullmatch(lines[at + 1]))


def _render_table(head: str, rows: list[str], marks: Marks) -> SafeHtml:
    def cells(line: str, name: str) -> list[SafeHtml]:
        return [tag(name, _render_inline(cell.strip(), marks)) for cell in line.strip().strip("|").split("|")]

    body = [tag("tr", cells(row, "td")) for row in rows]
    return tag("div", tag("table", tag("thead", tag("tr", cells(head, "th"))), tag("tbody", body)), class_="wide")


def _render_inline(text: str, marks: Marks) -> SafeHtml:
    parts, end = list[SafeHtml | str](), 0
    for found in INLINE.finditer(text):
        parts += [text[end : found.start()], _render_match(found, marks)]
        end = found.end()
    return join_html(*parts, text[end:])


def _render_match(found: re.Match[str], marks: Marks) -> SafeHtml | str:
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
