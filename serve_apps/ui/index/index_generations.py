"""Generations of the index: the live one, the one before, those that are built or held back, and what may be done."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from serve_apps.ui.index.report import Questions, report_view
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import (
    Colour,
    empty_state,
    key_figure,
    key_figures,
    link_to,
    progress_bar,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_count, format_moment, format_number, format_size
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import ConsoleContext
from serve_apps.ui.sessions import Role

ROLES: Final[Mapping[str, tuple[str, Colour]]] = {
    "live": ("live: readers use it", "green"),
    "previous": ("before: the way back", "grey"),
    "building": ("being built", "blue"),
    "ready": ("complete, held back", "amber"),
    "refused": ("refused by the gate", "red"),
}
DOUBTFUL: Final = ("failed", "partial", "degraded")  # of documents that are not wholly or not surely read
OVER: Final = frozenset({"completed", "partial", "failed", "cancelled"})
POLL_SECONDS: Final = 1.5
MOST_SETS: Final = 10


@dataclass(frozen=True, slots=True)
class IndexState:
    """Snapshot of the index: generations, statistics, and the golden questions that a report names."""

    body: Record
    stats: Record
    questions: Questions


async def load_index_state(api: SessionApi) -> IndexState:
    """Asked for together; questions only as far as a report names them and one may read them."""
    body, stats = await asyncio.gather(api.get("/api/generations"), api.get("/api/documents/vector-store/stats"))
    reports = [item["report"] for item in body["items"] if item["report"]]
    fallen = {one["name"] for report in reports for one in report["golden"] if one.get("fell")}
    reads = fallen and api.session.role.reaches(Role.OPERATOR)
    return IndexState(body, stats, await _load_questions(api, fallen) if reads else {})


async def _load_questions(api: SessionApi, names: set[str]) -> Questions:
    sets = (await api.get("/api/golden-sets", limit=100))["items"]
    wanted = [one for one in sets if one["name"] in names][:MOST_SETS]
    pages = await asyncio.gather(*(api.get(f"/api/golden-sets/{one['id']}/questions", limit=1000) for one in wanted))
    return {
        (one["name"], asked["key"]): asked["question"]
        for one, page in zip(wanted, pages, strict=True)
        for asked in page["items"]
    }


def index_view(console: ConsoleContext, held: IndexState) -> SafeHtml:
    """The figures of what is searched, and a card for every generation."""
    items = held.body["items"]
    if not items:
        todo = "It is made when the first document is read: upload or scan one."
        return join_html(_index_figures(console, held), empty_state("There is no index yet.", todo))
    cards = tag("div", [_generation_card(one, held.questions) for one in items])
    return join_html(_index_figures(console, held), _embedder_mismatch(held.body), cards)


def _index_figures(console: ConsoleContext, held: IndexState) -> SafeHtml:
    stats = held.stats
    live = stats["generation"]
    weight = stats["embeddings"] * live["dimension"] * 4 if live.get("dimension") else None
    doubtful = [f"{format_number(stats['by_status'][one])} {one}" for one in DOUBTFUL if stats["by_status"].get(one)]
    state, pending = ", ".join(doubtful) or "all read", stats["without_vectors"]
    words = live.get("keyword_engine") or "nothing yet"
    about = f"about {format_size(weight)}, {live.get('vector_index') or 'no index'}" if weight else "none yet"
    return key_figures(
        key_figure("Documents", format_number(stats["documents"]), console.link("documents"), state),
        key_figure("Pages", format_number(stats["pages"]), None, "read and stored"),
        key_figure("Passages", format_number(stats["chunks"]), None, f"words by {words}"),
        key_figure("Vectors", format_number(stats["embeddings"]), None, about),
        key_figure("Without vectors", format_number(pending), None, "documents", "amber" if pending else None),
    )


def _embedder_mismatch(body: Record) -> SafeHtml | None:
    """Note where the configured embedder or chunker differs from the live index; None where they match."""
    live = next((one for one in body["items"] if one["role"] == "live"), None)
    made_now = body["configured"]
    if made_now is None:
        said = " The embedder does not answer, so nothing new can be embedded now."
        return tag("p", state_badge("embedder away", "amber"), said, class_="lab-fallback")
    if live is None or made_now["live"]:
        return None
    said = (
        f" The live index was made with {live['embedder']} ({live['dimension']}); "
        f"an index made now would be made with {made_now['embedder']} ({made_now['dimension']}), chunks of "
        f"{made_now['chunk_size']} characters. Re-index to bring both together."
    )
    return tag("p", state_badge("settings changed", "amber"), said, class_="lab-fallback")


def _generation_card(one: Record, questions: Questions) -> SafeHtml:
    words, colour = ROLES.get(one["role"], (one["role"], "grey"))
    facts = [
        ("Embedder", one["embedder"]),
        ("Dimension", format_number(one["dimension"])),
        ("Documents", f"{format_number(one['embedded'])} of {format_number(one['documents'])} with vectors"),
        ("Passages", format_number(one["chunks"])),
        ("Vector index", "HNSW" if one["graph"] else "none: every vector is measured"),
        ("Cut by", one["chunker"]),
    ]
    listed = tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts], class_="index-facts")
    switched = "live since " if one["role"] == "live" else "switched "
    events = (("made ", one["made_at"]), ("checked ", one["checked_at"]), (switched, one["switched_at"]))
    times = [tag("span", what, format_moment(at, relative=True)) for what, at in events if at]
    when = tag("p", times, class_="quiet lab-facts")
    said = " Somebody let it pass although the gate refused it."
    forced = tag("p", state_badge("forced", "amber"), said) if one["forced_by"] else None
    report = report_view(one["report"], questions) if one["report"] else None
    return titled_card(f"Generation {one['id']}", when, listed, forced, report, aside=state_badge(words, colour))


def switchable_generations(body: Record) -> list[tuple[str, str]]:
    """(what is shown, id) of the generations that readers may be given."""
    return [
        (f"Generation {one['id']}: {one['embedder']}, {ROLES.get(one['role'], (one['role'], ''))[0]}", str(one["id"]))
        for one in body["items"]
        if one["role"] in ("previous", "ready", "refused")
    ]


def switch_view(body: Record, wanted: str | None) -> SafeHtml:
    """Preview of a generation switch: its effects before it is made."""
    to = next((one for one in body["items"] if str(one["id"]) == wanted), None)
    if to is None:
        todo = "Re-index and hold it back, and it can be looked at before readers use it."
        return empty_state("No other generation can be used.", todo)
    now = next((one for one in body["items"] if one["role"] == "live"), None)
    rows = [("", "Now", "Afterwards")]
    names = (
        ("id", "Generation"),
        ("embedder", "Embedder"),
        ("dimension", "Dimension"),
        ("embedded", "Documents with vectors"),
        ("chunks", "Passages"),
    )
    rows += [(title, str(now[name]) if now else "–", str(to[name])) for name, title in names]
    marks = ["differs" if k and row[1] != row[2] else None for k, row in enumerate(rows)]
    cells = [[tag("td" if n else "th", cell) for n, cell in enumerate(row)] for row in rows]
    lines = [tag("tr", line, class_=mark) for line, mark in zip(cells, marks, strict=True)]
    told = tag("table", lines, class_="index-change")
    warn = None
    if to["role"] == "refused":
        reasons = "; ".join((to["report"] or {"reasons": []})["reasons"])
        warn = tag("p", state_badge("refused by the gate", "red"), " ", reasons, class_="lab-fallback")
    about = (
        "Every question asked from then on uses it; the way back is the same switch. Documents that came since it was "
        "built are taken over, and embedded in the background."
    )
    return tag("div", told, warn, quiet_text(about))


def switched_view(made: Record, console: ConsoleContext) -> SafeHtml:
    """Report of a generation switch that was made."""
    count = format_count(made["carried"], "document")
    carried = f" Taken over: {count} that came since it was built." if made["carried"] else ""
    link = link_to("Their vectors are made by this job", console.link("ingest", job=made["job_id"]))
    job = join_html(" ", link) if made["job_id"] else None
    note = f" {made['note']}" if made["note"] else ""
    said = tag("b", f"Readers use generation {made['generation']} now.")
    return tag("p", said, carried, job, note, class_="lab-done", role="status")


async def run_reindex(console: ConsoleContext, api: SessionApi, hold: bool, force: bool) -> AsyncIterator[SafeHtml]:
    """Begin it and say how far it is; it goes on where nobody looks. Raises Problem: the API refused."""
    asked = {name: "true" for name, wanted in (("hold", hold), ("force", force)) if wanted}
    begun = await api.post("/api/documents/reindex-all", params=asked)
    path = f"/api/jobs/{begun['job_id']}"
    while True:
        job = await api.get(path)
        yield _reindex_progress(console, job)
        if job["state"] in OVER:
            return
        await asyncio.sleep(POLL_SECONDS)


def _reindex_progress(console: ConsoleContext, job: Record) -> SafeHtml:
    documents = job["documents"]
    title = link_to("Re-indexing", console.link("ingest", job=job["id"]))
    over = job["state"] in OVER
    going = "You can leave: it goes on, and readers keep the index they have until it is complete."
    about = tag("p", job["error"]) if job["error"] else None if over else quiet_text(going)
    bar = progress_bar(documents["done"], documents["expected"], "documents")
    return titled_card(title, bar, about, aside=state_badge(job["state"]))
