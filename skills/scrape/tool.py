"""Scraping skills: a page from an allowed address, fetched like every other one, and what is read out of it."""

import asyncio
from collections.abc import Mapping
from typing import Any, Literal, assert_never

from pydantic import BaseModel, ConfigDict

from cluster.basics.errors import Invalid
from skills.contract import Call
from skills.ground import Ground
from skills.http.answers import refuse
from skills.http.fetch import Ask, Reply, Way
from skills.http.service import filled, sure
from skills.manifest import BadManifest, Manifest, Risk, options_of
from skills.scrape import pages

MOST_BYTES = 3_000_000  # of a page

Reads = Literal["article", "tables", "links", "elements"]
_HTML = {"text/html", "application/xhtml+xml", "application/xml", "text/xml", ""}


class ScrapeOptions(BaseModel):
    """What is read out of a page.

    Attributes:
        reads: `article` the readable text; `tables`; `links`; `elements` what the argument `selector` finds.
        url: the page; without it the argument `url` names it. An allowed host either way.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    reads: Reads
    url: str | None = None


# Arguments beside `url`: those that a skill needs, and those that it may have.
_ARGUMENTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "article": (frozenset(), frozenset()),
    "tables": (frozenset(), frozenset({"selector"})),
    "links": (frozenset(), frozenset({"selector"})),
    "elements": (frozenset({"selector"}), frozenset({"attribute"})),
}


class Scrape:
    """Reads one page; it sends nothing but the address."""

    def __init__(self, manifest: Manifest, ground: Ground) -> None:
        """Raises BadManifest where options and parameters are not those of a page."""
        how = options_of(manifest, ScrapeOptions)
        if manifest.risk is not Risk.READ or manifest.credential is not None:
            raise BadManifest(f"{manifest.name}: pages are read, and without a credential")
        needed, more = _ARGUMENTS[how.reads]
        needed |= {"url"} if how.url is None else set()
        known = set(manifest.parameters.get("properties", {}))
        if not needed <= sure(manifest) or known - needed - more:
            raise BadManifest(f"{manifest.name}: parameters are {', '.join(sorted(needed | more)) or 'none'}")
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._how = manifest, how
        self._way = Way(ground.hosts, ground.resolve, manifest.seconds, MOST_BYTES)

    async def run(self, call: Call) -> Any:
        """Give {url} and what was asked for: {title, author, date, text}, {tables}, {links} or {elements}.

        Raises:
            AosError: those of `Way.send` and `answers.refuse`.
            Invalid: the address gives no page, or the selector is none.
        """
        values = filled(self._manifest, call.arguments)
        url = str(self._how.url or values["url"])
        headers = {"Accept": "text/html, application/xhtml+xml, application/xml;q=0.9, text/xml;q=0.9"}
        reply = await self._way.send(Ask(url, headers=headers))
        refuse(reply, reads=True)
        if reply.kind not in _HTML:
            raise Invalid(f"the address gives {reply.kind}, and no page")
        # A large page takes a second of computing.
        return {"url": reply.url, **await asyncio.to_thread(_read, self._how.reads, reply, values)}


def build(manifest: Manifest, ground: Ground) -> Scrape:
    """See `Build`."""
    return Scrape(manifest, ground)


def _read(reads: Reads, reply: Reply, values: Mapping[str, Any]) -> dict[str, Any]:
    html, url, selector = reply.text, reply.url, values.get("selector")
    if reads == "article":
        return pages.article(html, url)
    if reads == "tables":
        return {"tables": pages.tables(html, url, selector or "table")}
    if reads == "links":
        return {"links": pages.links(html, url, selector or "a[href]")}
    if reads == "elements":
        return {"elements": pages.elements(html, url, str(selector), values.get("attribute"))}
    assert_never(reads)
