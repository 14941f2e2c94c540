"""The page Now: how every part is, what runs and waits, what failed in the last day, and what was asked of models."""

import asyncio
from typing import Final
from urllib.parse import parse_qsl, urlsplit

import gradio as gr

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import (
    Colour,
    card_columns,
    data_table,
    empty_card,
    empty_state,
    key_figure,
    key_figures,
    link_to,
    loading_notice,
    page_heading,
    problem_card,
    progress_bar,
    state_badge,
    status_dot,
    titled_card,
)
from serve_apps.ui.kit.charts import bar_chart
from serve_apps.ui.kit.formats import format_duration, format_moment, format_number, format_short
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.sessions import Role

NOW_SECONDS: Final = 5.0
HEALTH_SECONDS: Final = 10.0
KINDS: Final = {
    "state": "Storage",
    "cluster": "Cluster",
    "serve": "Deployments",
    "queue": "Queues",
    "model": "Language models",
}
WORDS: Final = {"green": "works", "amber": "works, look at it", "red": "does not work", "grey": "not in use"}
FORBIDDEN: Final = 403


def draw_now_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """Two parts: figures come at once, while parts of the system may take seconds to answer."""
    figures_now = html_part(loading_notice())
    health = html_part(loading_notice("Asking every part …"))

    async def show_now(request: gr.Request) -> SafeHtml:
        return await view_or_problem(_now_view(console, request))

    async def show_health(request: gr.Request) -> SafeHtml:
        return await view_or_problem(_health_section(console, request))

    blocks.load(show_now, None, figures_now, **QUIET)
    blocks.load(show_health, None, health, **QUIET)
    gr.Timer(NOW_SECONDS).tick(show_now, None, figures_now, **QUIET)
    gr.Timer(HEALTH_SECONDS).tick(show_health, None, health, **QUIET)


PAGE = ConsolePage("", "Now", Role.VIEWER, draw_now_page, "M3 12h4l3-8 4 16 3-8h4")


def console_link(console: ConsoleContext, path: str) -> str | None:
    """The page that shows what a path of the API names; None where none does."""
    parts = urlsplit(path)
    query: dict[str, object] = dict(parse_qsl(parts.query))
    _, _, kind, *rest = [*parts.path.rstrip("/").split("/"), ""][:5] if parts.path.startswith("/api/") else ["", "", ""]
    page = {"jobs": "ingest", "runs": "runs", "approvals": "runs", "documents": "documents"}.get(kind)
    if page is None:
        return None
    if kind == "approvals":
        query["state"] = "waiting_approval"
    id_ = next((part for part in rest if part), None)
    return console.link(page, **({"job": id_} if kind == "jobs" and id_ else {"id": id_} if id_ else {}), **query)


async def _now_view(console: ConsoleContext, request: gr.Request) -> SafeHtml:
    api = console.api(request)
    if api.session.role.reaches(Role.OPERATOR):
        return _operator_view(console, await api.get("/api/admin/now"))
    jobs, runs, documents = await asyncio.gather(
        api.get("/api/jobs", limit=8), api.get("/api/runs", limit=8), api.get("/api/documents/", limit=1)
    )
    return reader_view(console, jobs, runs, documents)


def _operator_view(console: ConsoleContext, body: Record) -> SafeHtml:
    jobs, waiting, cost = body["jobs"], body["approvals"], body["cost_usd"]
    pages, runs = body["page_failures"], body["run_failures"]
    oldest = ("since ", format_moment(waiting["since"], relative=True))

    def figure(label: str, found: Record, about: Child, colour: Colour | None = None) -> SafeHtml:
        where = console_link(console, found["path"])
        return key_figure(label, format_number(found["total"]), where, about, colour if found["total"] else None)

    row = key_figures(
        figure("Jobs at work", jobs, "waiting or running"),
        figure("Approvals", waiting, oldest if waiting["since"] else "nothing waits for a person", "amber"),
        figure("Pages that failed", pages, "last 24 hours", "red"),
        figure("Runs that failed", runs, "last 24 hours", "red"),
        key_figure("Cost", f"{cost['total']:,.2f} USD", console_link(console, cost["path"]), "last 24 hours"),
    )
    charts = card_columns(
        _series_card(console, "Requests", body["requests"], "accent"),
        _series_card(console, "Failed requests", body["failed"], "bad"),
        _series_card(console, "Tokens in", body["tokens_in"], "accent"),
        _series_card(console, "Tokens out", body["tokens_out"], "accent"),
        _series_card(console, "Pages read", body["pages"], "good"),
    )
    failures = _failures_card(console, [("Pages", pages), ("Runs", runs)])
    title = page_heading("Now", ("This workspace, as of ", format_moment(body["at"]), ". It refreshes itself."))
    lists = card_columns(_jobs_card(console, jobs), failures)
    return join_html(title, row, lists, tag("div", charts, class_="aos-charts"))


def _series_card(console: ConsoleContext, title: str, series: Record, colour: str) -> SafeHtml:
    total = link_to(format_short(series["total"]), console_link(console, series["path"]))
    return titled_card(title, bar_chart(series["values"], f"{title} by hour", colour), aside=total)


def _jobs_card(console: ConsoleContext, jobs: Record) -> SafeHtml:
    if not jobs["items"]:
        todo = "What is uploaded or scanned shows up here while it is read."
        return empty_card("Jobs", "No job waits or runs.", todo)
    rows = []
    for job in jobs["items"]:
        link, since = link_to(job["kind"], console_link(console, job["path"])), job["started_at"] or job["created_at"]
        phase, lane = job["phase"] or "–", job["lane"]
        rows.append((link, state_badge(job["state"]), phase, lane, format_moment(since, relative=True)))
    return titled_card("Jobs", data_table(("Job", "State", "Phase", "Lane", "Since"), rows))


def _failures_card(console: ConsoleContext, lists: list[tuple[str, Record]]) -> SafeHtml:
    rows = [
        (
            what,
            link_to(one["reason"].replace("_", " "), console_link(console, one["path"])),
            format_number(one["count"]),
        )
        for what, found in lists
        for one in found["reasons"]
    ]
    if not rows:
        todo = "Reasons of failed pages and runs would be here."
        return empty_card("Failures", "Nothing failed in the last 24 hours.", todo)
    return titled_card("Failures", data_table(("What", "Reason", "How often"), rows, numbers=(2,)))


def reader_view(console: ConsoleContext, jobs: Record, runs: Record, documents: Record) -> SafeHtml:
    """For who may not see everybody's figures: documents, jobs, and one's own runs."""
    ran = runs.get("total", len(runs["items"]))
    open_jobs = [job for job in jobs["items"] if job["state"] in ("queued", "running")]
    row = key_figures(
        key_figure("Documents", format_number(documents["total"]), console.link("documents"), "that you may read"),
        key_figure("Jobs at work", format_number(len(open_jobs)), console.link("ingest"), "among the newest"),
        key_figure("Your runs", format_number(ran), console.link("runs"), "questions to agents"),
    )
    rows = []
    for job in jobs["items"]:
        link, pages = link_to(job["kind"], console.link("ingest", job=job["id"])), job["pages"]
        bar, begun = progress_bar(pages["done"], pages["expected"]), format_moment(job["created_at"], relative=True)
        rows.append((link, state_badge(job["state"]), bar, begun))
    columns = ("Job", "State", "Pages", "Begun")
    shown = data_table(columns, rows) if rows else empty_state("No job yet.", "Uploads show up here.")
    head = page_heading("Now", "What happens in this workspace. It refreshes itself.")
    return join_html(head, row, titled_card("Newest jobs", shown))


async def _health_section(console: ConsoleContext, request: gr.Request) -> SafeHtml:
    api = console.api(request)
    if api.session.role.reaches(Role.OPERATOR):
        try:
            return health_view(console, await api.get("/api/admin/health"))
        except ApiProblem as problem:
            if problem.told.status != FORBIDDEN:
                raise
    return await _public_health(api)


async def _public_health(api: SessionApi) -> SafeHtml:
    """Liveness of the product, which everybody may see."""
    try:
        body = await api.get("/health", deep=1)
    except ApiProblem as problem:
        return titled_card("Health", problem_card(problem.told))
    working = body["status"] == "ok"
    about = "Details are for operators of the first tenant."
    light = status_dot("green" if working else "red", body["status"])
    return titled_card("Health", tag("div", light, "The product answers.", class_="aos-part"), quiet_text(about))


def health_view(console: ConsoleContext, body: Record) -> SafeHtml:
    """Every part by kind, those that need somebody first."""
    colour: Colour = body["colour"]
    order = ["red", "amber", "green", "grey"]
    cards = []
    for kind, title in KINDS.items():
        parts = [one for one in body["parts"] if one["kind"] == kind]
        if parts:
            models = console.link("system", part="models") if kind == "model" else None
            more = link_to("LLM connections", models) if models else None
            rows = [_health_row(one) for one in sorted(parts, key=lambda one: order.index(one["colour"]))]
            cards.append(titled_card(title, tag("ul", rows, class_="aos-parts"), aside=more))
    said = {"green": "Everything works", "amber": "Works, with something to know", "red": "Something does not work"}
    head = tag("div", tag("h2", "Health"), state_badge(said.get(colour, colour), colour), class_="aos-card-head")
    return join_html(head, tag("div", cards, class_="aos-masonry"))


def _health_row(one: Record) -> SafeHtml:
    fix = tag("div", one["fix"], class_="quiet") if one["fix"] and one["colour"] != "green" else None
    about = tag("div", tag("b", one["part"]), tag("div", one["detail"] or WORDS[one["colour"]]), fix)
    took = tag("span", format_duration(one["ms"] / 1000), class_="quiet", title="Answered in") if one["ms"] else None
    return tag("li", status_dot(one["colour"], WORDS[one["colour"]]), about, took)
