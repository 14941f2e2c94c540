"""Scraping skills: a page from an allowed address, fetched like every other one, and what is read out of it."""

from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from pydantic import BaseModel, ConfigDict

from cluster.basics.errors import Invalid
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import BadManifest, Manifest, Risk, options_of
from skills.http_client.endpoint import guaranteed_parameters
from skills.http_client.fetch import GuardedHttpClient, OutboundRequest
from skills.http_client.http_answer import raise_refusal
from skills.scrape.scrape_process import Reads, read_page

MOST_BYTES = 3_000_000  # of a page

_HTML = {"text/html", "application/xhtml+xml", "application/xml", "text/xml", ""}


class ScrapeOptions(BaseModel):
    """Options of a scraping skill: the part of the page to extract."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    reads: Reads  # `article` the readable text; `tables`; `links`; `elements` what the argument `selector` finds
    url: str | None = None  # the page; without it the argument `url` names it. An allowed host either way.


# Arguments beside `url`: those that a skill needs, and those that it may have.
_ARGUMENTS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "article": (frozenset(), frozenset()),
    "tables": (frozenset(), frozenset({"selector"})),
    "links": (frozenset(), frozenset({"selector"})),
    "elements": (frozenset({"selector"}), frozenset({"attribute"})),
}


class ScrapeSkill:
    """Reads one page; it sends nothing but the address."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies, clock: Callable[[], float] = monotonic) -> None:
        """Raises BadManifest where options and parameters are not those of a page; `clock` counts seconds."""
        how = options_of(manifest, ScrapeOptions)
        if manifest.risk is not Risk.READ or manifest.credential is not None:
            raise BadManifest(f"{manifest.name}: pages are read, and without a credential")
        needed, more = _ARGUMENTS[how.reads]
        needed |= {"url"} if how.url is None else set()
        known = set(manifest.parameters.get("properties", {}))
        if not needed <= guaranteed_parameters(manifest) or known - needed - more:
            raise BadManifest(f"{manifest.name}: parameters are {', '.join(sorted(needed | more)) or 'none'}")
        self.spec, self.effect = manifest.spec, manifest.effect
        self._manifest, self._how = manifest, how
        self._clock = clock
        self._way = GuardedHttpClient(ground.hosts, ground.resolve, manifest.seconds, MOST_BYTES)

    async def run(self, call: ToolInvocation) -> Any:
        """Give {url} and what was asked for: {title, author, date, text}, {tables}, {links} or {elements}.

        Raises:
            AosError: those of `GuardedHttpClient.send` and `raise_refusal`.
            Invalid: the address gives no page, or the selector is none.
            Unreadable: the page takes too much time or memory to read.
        """
        values = self._manifest.defaults | dict(call.arguments)
        begun, url = self._clock(), str(self._how.url or values["url"])
        headers = {"Accept": "text/html, application/xhtml+xml, application/xml;q=0.9, text/xml;q=0.9"}
        reply = await self._way.send(OutboundRequest(url, headers=headers))
        raise_refusal(reply, reads=True)
        if reply.kind not in _HTML:
            raise Invalid(f"the address gives {reply.kind}, and no page")
        left = self._manifest.seconds - (self._clock() - begun)
        return {"url": reply.url, **await read_page(self._how.reads, reply.text, reply.url, values, left)}


build = ScrapeSkill
