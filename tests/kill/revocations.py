"""A right is taken away at the source: how soon the person finds nothing more, by search, ask, the cache and MCP."""

import asyncio
import itertools
import random
import time
from collections.abc import Callable, Mapping

import httpx
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from cluster.basics.scope import Role
from tests.evals.report import Report
from tests.kill.source_sites import rights_site
from tests.kill.source_syncs import Shelf
from tests.kill.sync_desk import SyncDesk

GOAL = "Revocation → 0 hits for the person within 60 s, in search, ask, cache, MCP."
SECONDS = 60.0
ITEMS, TAKEN = 40, 10
QUESTION = "Which paper tells of harbour?"


def measure(desk: SyncDesk, report: Report) -> None:
    """A viewer who may see all of a source, and then some of it no more."""
    viewer = desk.office.emails[Role.VIEWER]
    with rights_site(desk.base) as site:
        shelf = Shelf(site, (viewer,), random.Random(5))
        shelf.add(ITEMS)
        source = desk.add_source("revoked", site)
        desk.sync(source)
        found = desk.found(source)
        doomed = list(shelf.ids)[:TAKEN]
        documents = {str(found.of(f"mk{number}v1x")) for number in doomed}
        ways = ways_of(desk, [f"{QUESTION} mk{number}v1x" for number in doomed])
        before = {name: hits(look(), documents) for name, look in ways.items()}
        for name, count in before.items():
            report.figure(f"revocation: documents found before, by {name}", count, goal=GOAL, holds=count > 0)
        ways["the cache"]()
        kept = desk.ask("GET", "/api/rag/cache/stats", role=Role.OPERATOR)["hits"]
        report.figure("revocation: answers out of the cache before", kept, goal=GOAL, holds=kept > 0)
        for number in doomed:
            site.set_rights(shelf.ids[number], ())
        began = time.monotonic()
        desk.begin_sync(source)
        soon: dict[str, float] = {}
        while len(soon) < len(ways) and time.monotonic() - began < 2 * SECONDS:
            for name, look in ways.items():
                if name not in soon and not hits(look(), documents):
                    soon[name] = time.monotonic() - began
        for name, look in ways.items():
            took, left = soon.get(name), hits(look(), documents)
            held = took is not None and took <= SECONDS and not left
            report.figure(f"revocation: until nothing is found by {name}", took, unit="s", goal=GOAL, holds=held)


def hits(told: str, documents: set[str]) -> int:
    """How many of them are named."""
    return sum(document in told for document in documents)


def ways_of(desk: SyncDesk, questions: list[str]) -> Mapping[str, Callable[[], str]]:
    """All that the viewer is told, by the way it is asked for."""
    headers = {"Authorization": f"Bearer {desk.token(Role.VIEWER)}"}
    http = httpx.Client(base_url=desk.url(), headers=headers, timeout=60)

    times = itertools.count()

    def post(path: str, field: str, **more: object) -> str:
        new = f" Answer {next(times)}." if path == "/api/ask" and more.pop("new", False) else ""
        answers = [http.post(path, json={field: question + new, **more}) for question in questions]
        assert all(one.status_code == 200 for one in answers), answers[0].text
        return "\n".join(one.text for one in answers)

    async def by_mcp() -> str:
        async with httpx2.AsyncClient(headers=headers, timeout=60) as line:
            transport = streamable_http_client(f"{desk.url()}/mcp", http_client=line)
            async with Client(transport) as mcp:
                told = [await mcp.call_tool("search", {"query": one}) for one in questions]
                told += [await mcp.call_tool("ask", {"question": one}) for one in questions[:3]]
                told.append(await mcp.call_tool("list_documents", {}))
        return "\n".join(block.text for one in told for block in one.content if block.type == "text")

    return {
        "search": lambda: post("/api/documents/search", "query", cache=False, limit=20),
        "ask": lambda: post("/api/ask", "question", new=True),
        "the cache": lambda: post("/api/documents/search", "query", limit=20) + post("/api/ask", "question"),
        "MCP": lambda: asyncio.run(by_mcp()),
    }
