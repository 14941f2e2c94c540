"""Golden questions in the search lab: keep a query with what should be found, run the set, look at the runs."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, link_to, progress_bar, titled_card
from serve_apps.ui.kit.formats import format_count
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import ConsoleContext, query_uuid
from serve_apps.ui.search.trend import comparison_view, results_view, runs_table, trend_charts
from serve_apps.ui.sessions import Role

RUNS: Final = 20
RESULTS: Final = 100
POLL_SECONDS: Final = 1.0
UNFINISHED: Final = ("queued", "running")


@dataclass(frozen=True, slots=True)
class GoldenSelection:
    """Selection in a link of the page: a set, a run of it, and a baseline run; empty where not chosen."""

    set: str = ""
    run: str = ""
    baseline: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "GoldenSelection":
        """Only ids of the right form go into the API's paths."""
        return cls(*(query_uuid(query, name) for name in ("set", "run", "baseline")))


async def golden_sets(api: SessionApi) -> list[tuple[str, str]]:
    """(what is shown, id) of every set; none for who may not see them."""
    if not api.session.role.reaches(Role.DEVELOPER):
        return []
    body = await api.get("/api/golden-sets", limit=100)
    return [(_set_label(one), str(one["id"])) for one in body["items"]]


def _set_label(one: Record) -> str:
    return f"{one['name']} ({one['questions']})" + (", guards the index" if one["gate"] else "")


async def save_question(
    api: SessionApi, set_: str | None, question: str, documents: Sequence[str], answers: str, answerable: bool
) -> SafeHtml:
    """Keep the question; the same text changes the one that is there."""
    if not set_:
        return empty_state("No set is chosen.", "Choose a golden set, or make one.")
    if not question.strip():
        return empty_state("There is no question.", "Search for something first, or write it here.")
    if answerable and not documents and not answers.strip():
        return empty_state("Nothing is expected.", "Tick the documents that hold the answer, or write down the answer.")
    wanted = [line.strip() for line in answers.splitlines() if line.strip()]
    named, right = (list(documents), wanted) if answerable else ([], [])
    body = {"question": question, "documents": named, "answers": right, "answerable": answerable}
    filled = await api.post(f"/api/golden-sets/{set_}/questions", body)
    held = f" The set holds {format_count(filled['questions'], 'question')} now."
    return tag("p", tag("b", "Saved."), held, class_="lab-done", role="status")


async def runs_view(console: ConsoleContext, api: SessionApi, chosen: GoldenSelection) -> SafeHtml:
    """Trend and table of a set's runs; one of them, or two beside each other, where the link says so."""
    if not api.session.role.reaches(Role.DEVELOPER):
        todo = "Tell one of them which question was answered well or badly."
        return empty_state("Golden questions are for developers.", todo)
    if not api.session.role.reaches(Role.OPERATOR):
        return empty_state("Runs are for operators.", "You can save golden questions; an operator runs the set.")
    if not chosen.set:
        todo = "A golden set holds questions whose answers are known. Choose one, or make one."
        return empty_state("No set is chosen.", todo)
    body = await api.get(f"/api/golden-sets/{chosen.set}/runs", limit=RUNS)

    def address(run: str, baseline: str | None) -> str | None:
        return console.link("search", set=chosen.set, run=run, baseline=baseline)

    table = titled_card("Runs", runs_table(body["items"], body["total"], address))
    return join_html(trend_charts(body["items"], address), await _run_view(console, api, chosen), table)


async def _run_view(console: ConsoleContext, api: SessionApi, chosen: GoldenSelection) -> SafeHtml | None:
    if not chosen.run:
        return None
    run = await api.get(f"/api/golden-runs/{chosen.run}")
    results = await api.get(f"/api/golden-runs/{chosen.run}/results", limit=RESULTS)
    compared = None
    if chosen.baseline:
        compared = comparison_view(await api.get(f"/api/golden-runs/{chosen.run}/compare/{chosen.baseline}"))
    back = tag("p", link_to("← All runs of the set", console.link("search", set=chosen.set)))
    return join_html(back, compared, results_view(run, results["items"]))


async def evaluate_set(
    console: ConsoleContext, api: SessionApi, set_: str | None, answers: bool
) -> AsyncIterator[SafeHtml]:
    """Run the set and say how far it is; it goes on where nobody looks any more. Raises Problem: the API refused."""
    if not set_:
        yield empty_state("No set is chosen.", "Choose a golden set first.")
        return
    run = await api.post(f"/api/golden-sets/{set_}/runs", {"answers": answers})
    while run["state"] in UNFINISHED and not run["finished_at"]:
        bar = progress_bar(run["done"], run["total"], "questions asked")
        leave = quiet_text("You can leave: it goes on, and is in the list of runs afterwards.")
        yield titled_card("The set is being run", bar, leave)
        await asyncio.sleep(POLL_SECONDS)
        run = await api.get(f"/api/golden-runs/{run['id']}")
    yield await runs_view(console, api, GoldenSelection(set_, str(run["id"])))
