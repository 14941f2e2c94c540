"""Reads a page in a process of its own: whoever wrote it may want the reader to never end, or to fill the memory."""

import json
import resource
import sys
from collections.abc import Mapping
from typing import Any, Literal, assert_never

from cluster.basics.errors import Invalid, Permanent
from skills.framework.child_program import ask_program
from skills.scrape import pages

MEMORY_BYTES = 1 << 30
LEAST_SECONDS = 2.0  # also where the page itself took nearly all of the time

Reads = Literal["article", "tables", "links", "elements"]


class PageUnreadable(Permanent):
    """The page takes more time or memory than there is."""

    code, status = "page_unreadable", 422
    fix = "Ask for less of it, by a simpler selector."


async def read_page(
    reads: Reads, html: str, url: str, values: Mapping[str, Any], seconds: float, memory: int = MEMORY_BYTES
) -> dict[str, Any]:
    """Extract a part of the page in a child process; it is gone afterwards, however this ends.

    `values`: `selector` and `attribute`, where the skill has them; `seconds`: a few are always given; `memory`: bytes.

    Raises Invalid: the selector is none; Unreadable: too slow, or too large.
    """
    wanted = {"selector": values.get("selector"), "attribute": values.get("attribute")}
    asked = {"reads": reads, "html": html, "url": url, **wanted}
    most = max(seconds, LEAST_SECONDS)
    try:
        given, ended = await ask_program("skills.scrape.scrape_process", asked, most, str(memory), env={})
    except TimeoutError:
        raise PageUnreadable(f"it was not read within {seconds:.0f} s") from None
    if given is None:
        raise PageUnreadable(f"reading it ended with {ended}")
    if "wrong" in given:
        raise Invalid(given["wrong"])
    return given


def _extract_part(reads: Reads, html: str, url: str, selector: str | None, attribute: str | None) -> dict[str, Any]:
    if reads == "article":
        return pages.read_article(html, url)
    if reads == "tables":
        return {"tables": pages.read_tables(html, url, selector or "table")}
    if reads == "links":
        return {"links": pages.read_links(html, url, selector or "a[href]")}
    if reads == "elements":
        return {"elements": pages.read_elements(html, url, selector or "", attribute)}
    assert_never(reads)


def main() -> None:
    """The process: how many bytes it may take as its argument, a page from standard input, JSON to standard output."""
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]), int(sys.argv[1])))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    asked = json.loads(sys.stdin.buffer.read())
    try:
        given = _extract_part(**asked)
    except Invalid as error:
        given = {"wrong": error.detail}
    sys.stdout.buffer.write(json.dumps(given).encode())


if __name__ == "__main__":
    main()
