"""The page Now: how every part is, what runs and waits, what failed in the last day, and what was asked of models."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import gradio as gr

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import (
    Colour,
    badge,
    card,
    columns,
    dot,
    empty,
    figure,
    figures,
    heading,
    link,
    loading,
    problem_card,
    progress,
    table,
)
from serve_apps.ui.kit.charts import bars
from serve_apps.ui.kit.formats import moment, number, short, span
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.html_component import part
from serve_apps.ui.kit.page import QUIET, Desk, Page, told
from serve_apps.ui.kit.problem import Problem
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
WORDS: Final[Mapping[str, str]] = {
    "green": "works",
    "amber": "works, look at it",
    "red": "does not work",
    "grey": "not in use",
}
FORBIDDEN: Final = 403


def draw(desk: Desk, blocks: gr.Blocks) -> None:
    """Two parts: figures come at once, while parts of the system may take seconds to answer."""
    figures_now = part(loading())
    health = part(loading("Asking every part …"))

    async def show_now(request: gr.Request) -> Html:
        return await told(_now(desk, request))

    async def show_health(request: gr.Request) -> Html:
        return await told(_health(desk, request))

    blocks.load(show_now, None, figures_now, **QUIET)
    blocks.load(show_health, None, health, **QUIET)
    gr.Timer(NOW_SECONDS).tick(show_now, None, figures_now, **QUIET)
    gr.Timer(HEALTH_SECONDS).tick(show_health, None, health, **QUIET)


PAGE = Page("", "Now", Role.VIEWER, draw, "M3 12h4l3-8 4 16 3-8h4")


def console_link(desk: Desk, path: str) -> str | None:
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
    return desk.link(page, **({"job": id_} if kind == "jobs" and id_ else {"id": id_} if id_ else {}), **query)


async def _now(desk: Desk, request: gr.Request) -> Html:
    api = desk.api(request)
    if api.session.role.reaches(Role.OPERATOR):
        return operator_view(desk, await api.get("/api/admin/now"))
    jobs, runs, documents = await asyncio.gather(
        api.get("/api/jobs", limit=8), api.get("/api/runs", limit=8), api.get("/api/documents/", limit=1)
    )
    return reader_view(desk, jobs, runs, documents)


def operator_view(desk: Desk, body: Mapping[str, Any]) -> Html:
    """View of the answer of /api/admin/now."""
    jobs, waiting, pages, runs = body["jobs"], body["approvals"], body["page_failures"], body["run_failures"]
    since = ("since ", moment(waiting["since"], relative=True)) if waiting["since"] else "nothing waits for a person"

    def at(path: str) -> str | None:
        return console_link(desk, path)

    row = figures(
        figure("Jobs at work", number(jobs["total"]), at(jobs["path"]), "waiting or running"),
        figure(
            "Approvals", number(waiting["total"]), at(waiting["path"]), since, "amber" if waiting["total"] else None
        ),
        figure("Pages that failed", number(pages["total"]), at(pages["path"]), "last 24 hours", _bad(pages["total"])),
        figure("Runs that failed", number(runs["total"]), at(runs["path"]), "last 24 hours", _bad(runs["total"])),
        figure("Cost", f"{body['cost_usd']['total']:,.2f} USD", at(body["cost_usd"]["path"]), "last 24 hours"),
    )
    charts = columns(
        _series(desk, "Requests", body["requests"], "accent"),
        _series(desk, "Failed requests", body["failed"], "bad"),
        _series(desk, "Tokens in", body["tokens_in"], "accent"),
        _series(desk, "Tokens out", body["tokens_out"], "accent"),
        _series(desk, "Pages read", body["pages"], "good"),
    )
    failures = _failures(desk, [("Pages", pages), ("Runs", runs)])
    title = heading("Now", ("This workspace, as of ", moment(body["at"]), ". It refreshes itself."))
    return join(title, row, columns(_jobs(desk, jobs), failures), tag("div", charts, class_="aos-charts"))


def _bad(count: int) -> Colour | None:
    return "red" if count else None


def _series(desk: Desk, title: str, series: Mapping[str, Any], colour: str) -> Html:
    total = link(short(series["total"]), console_link(desk, series["path"]))
    return card(title, bars(series["values"], f"{title} by hour", colour), aside=total)


def _jobs(desk: Desk, jobs: Mapping[str, Any]) -> Html:
    if not jobs["items"]:
        return card(
            "Jobs", empty("No job waits or runs.", "What is uploaded or scanned shows up here while it is read.")
        )
    rows = [
        (
            link(job["kind"], console_link(desk, job["path"])),
            badge(job["state"]),
            job["phase"] or "–",
            job["lane"],
            moment(job["started_at"] or job["created_at"], relative=True),
        )
        for job in jobs["items"]
    ]
    return card("Jobs", table(("Job", "State", "Phase", "Lane", "Since"), rows))


def _failures(desk: Desk, lists: list[tuple[str, Mapping[str, Any]]]) -> Html:
    rows = [
        (what, link(one["reason"].replace("_", " "), console_link(desk, one["path"])), number(one["count"]))
        for what, found in lists
        for one in found["reasons"]
    ]
    if not rows:
        return card(
            "Failures", empty("Nothing failed in the last 24 hours.", "Reasons of failed pages and runs would be here.")
        )
    return card("Failures", table(("What", "Reason", "How often"), rows, numbers=(2,)))


def reader_view(desk: Desk, jobs: Mapping[str, Any], runs: Mapping[str, Any], documents: Mapping[str, Any]) -> Html:
    """For who may not see everybody's figures: documents, jobs, and one's own runs."""
    open_jobs = [job for job in jobs["items"] if job["state"] in ("queued", "running")]
    row = figures(
        figure("Documents", number(documents["total"]), desk.link("documents"), "that you may read"),
        figure("Jobs at work", number(len(open_jobs)), desk.link("ingest"), "among the newest"),
        figure("Your runs", number(runs.get("total", len(runs["items"]))), desk.link("runs"), "questions to agents"),
    )
    rows = [
        (
            link(job["kind"], desk.link("ingest", job=job["id"])),
            badge(job["state"]),
            progress(job["pages"]["done"], job["pages"]["expected"]),
            moment(job["created_at"], relative=True),
        )
        for job in jobs["items"]
    ]
    shown = table(("Job", "State", "Pages", "Begun"), rows) if rows else empty("No job yet.", "Uploads show up here.")
    return join(heading("Now", "What happens in this workspace. It refreshes itself."), row, card("Newest jobs", shown))


async def _health(desk: Desk, request: gr.Request) -> Html:
    api = desk.api(request)
    if api.session.role.reaches(Role.OPERATOR):
        try:
            return health_view(desk, await api.get("/api/admin/health"))
        except Problem as problem:
            if problem.told.status != FORBIDDEN:
                raise
    return await _outside(api)


async def _outside(api: Api) -> Html:
    """Liveness of the product, which everybody may see."""
    try:
        body = await api.get("/health", deep=1)
    except Problem as problem:
        return card("Health", problem_card(problem.told))
    working = body["status"] == "ok"
    about = "Details are for operators of the first tenant."
    light = dot("green" if working else "red", body["status"])
    return card("Health", tag("div", light, "The product answers.", class_="aos-part"), tag("p", about, class_="quiet"))


def health_view(desk: Desk, body: Mapping[str, Any]) -> Html:
    """Every part by kind, those that need somebody first."""
    colour = body["colour"]
    order = ["red", "amber", "green", "grey"]
    cards = []
    for kind, title in KINDS.items():
        parts = sorted(
            (one for one in body["parts"] if one["kind"] == kind), key=lambda one: order.index(one["colour"])
        )
        if parts:
            models = desk.link("system", part="models") if kind == "model" else None
            more = link("LLM connections", models) if models else None
            cards.append(card(title, tag("ul", [_part(one) for one in parts], class_="aos-parts"), aside=more))
    said = {"green": "Everything works", "amber": "Works, with something to know", "red": "Something does not work"}
    head = tag("div", tag("h2", "Health"), badge(said.get(colour, colour), colour), class_="aos-card-head")
    return join(head, tag("div", cards, class_="aos-masonry"))


def _part(one: Mapping[str, Any]) -> Html:
    fix = tag("div", one["fix"], class_="quiet") if one["fix"] and one["colour"] != "green" else None
    about = tag("div", tag("b", one["part"]), tag("div", one["detail"] or WORDS[one["colour"]]), fix)
    took = tag("span", span(one["ms"] / 1000), class_="quiet", title="Answered in") if one["ms"] else None
    return tag("li", dot(one["colour"], WORDS[one["colour"]]), about, took)
