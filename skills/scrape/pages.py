"""Extraction from an HTML page: the readable text, tables, links, elements. Plain functions over its text."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from cluster.basics.errors import Invalid

if TYPE_CHECKING:
    from scrapling.parser import Selector

MOST_CHARACTERS = 60_000
MOST_ELEMENTS = 200
MOST_LINKS = 500
MOST_ROWS = 500
MOST_COLUMNS = 200
MOST_CELLS = 20_000  # of a table, those included that a spanning cell fills
MOST_SPAN = 50  # of a cell; the standard allows 1,000, and a page can ask for that in each cell


def read_article(html: str, url: str, most: int = MOST_CHARACTERS) -> dict[str, Any]:
    """{title, author, date, text} of the page's main text as Markdown, without menus and advertising."""
    from trafilatura import extract_with_metadata  # a second of imports

    found = extract_with_metadata(html, url=url, output_format="markdown", include_comments=False, include_links=False)
    given = {} if found is None else found.as_dict()
    text = given.get("text") or ""
    known = {name: given.get(name) for name in ("title", "author", "date")}
    return known | {"text": text[:most]} | ({"cut": True} if len(text) > most else {})


def read_tables(html: str, url: str, selector: str = "table") -> list[list[list[str]]]:
    """Innermost tables as rows of cells; a cell that spans several is in each. Raises Invalid: the selector is none."""
    found = _select_elements(html, url, selector)
    leaves = [one for one in found if one.tag == "table" and not one.css("table table")]
    return [_table_rows(one) for one in leaves[:MOST_ELEMENTS]]


def read_links(html: str, url: str, selector: str = "a[href]") -> list[dict[str, str]]:
    """{text, url} of each link to the web, once, as an absolute address. Raises Invalid: the selector is none."""
    given: dict[str, str] = {}
    for one in _select_elements(html, url, selector):
        to = _absolute_url(url, str(one.attrib.get("href", "")))
        if to is not None and to not in given:
            given[to] = _element_text(one)[:500]
        if len(given) == MOST_LINKS:
            break
    return [{"text": text, "url": to} for to, text in given.items()]


def read_elements(html: str, url: str, selector: str, attribute: str | None = None) -> list[str]:
    """The text or an attribute of what a CSS selector finds, in page order. Raises Invalid: the selector is none."""
    found = _select_elements(html, url, selector)[:MOST_ELEMENTS]
    if attribute is None:
        return [_element_text(one)[:10_000] for one in found]
    return [str(one.attrib[attribute])[:10_000] for one in found if attribute in one.attrib]


def _select_elements(html: str, url: str, selector: str) -> "list[Selector]":
    from cssselect import SelectorError  # with scrapling half a second of imports
    from scrapling.parser import Selector

    page = Selector(html or " ", url=url, huge_tree=False)  # a page nested a million times deep is cut, not a crash
    try:
        found = list(page.css(selector))
    except (SelectorError, RecursionError, ValueError) as error:
        raise Invalid(f"{selector!r} is no CSS selector: {str(error)[:200]}") from error
    if any(not one.tag or one.tag.startswith("#") for one in found):
        raise Invalid("a selector finds elements; ::text and ::attr() are not read", fix="Name the attribute.")
    return found


def _table_rows(table: "Selector") -> list[list[str]]:
    """Cells in their places: columns and rows that a cell spans have its text too."""
    rows: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}  # column: how many rows more, and the text that hangs into them
    for row in list(table.css("tr"))[:MOST_ROWS]:
        cells: list[str] = []
        for cell in row.css("td, th"):
            cells += _hanging_cells(hanging, len(cells))
            text, wide, deep = _element_text(cell)[:1_000], _cell_span(cell, "colspan"), _cell_span(cell, "rowspan")
            wide = min(wide, MOST_COLUMNS - len(cells))
            for column in range(len(cells), len(cells) + wide):
                hanging[column] = (deep - 1, text)
            cells += [text] * wide
        cells += _hanging_cells(hanging, len(cells))
        if any(cells):
            rows.append(cells)
        if sum(map(len, rows)) > MOST_CELLS:
            break
    return rows


def _hanging_cells(hanging: dict[int, tuple[int, str]], column: int) -> Iterator[str]:
    while hanging.get(column, (0, ""))[0] > 0:
        left, text = hanging[column]
        hanging[column] = (left - 1, text)
        yield text
        column += 1


def _cell_span(cell: "Selector", name: str) -> int:
    text = str(cell.attrib.get(name, "1")).strip()
    return max(1, min(int(text), MOST_SPAN)) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _element_text(one: "Selector") -> str:
    return " ".join(str(one.get_all_text(separator=" ", strip=True)).split())


def _absolute_url(base: str, href: str) -> str | None:
    """The address without its fragment, where it is one of the web."""
    try:
        to = urljoin(base, href.strip()).partition("#")[0]
        return to if urlsplit(to).scheme in ("http", "https") and to != base else None
    except ValueError:
        return None
