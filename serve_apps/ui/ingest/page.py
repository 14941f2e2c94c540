"""The page Ingest: upload files, scan folders after a dry run, and follow jobs to their last page."""

from collections.abc import AsyncIterator
from typing import Any, Final

import gradio as gr

from serve_apps.ui.ingest.job import HERE, job_view
from serve_apps.ui.ingest.job_history import history
from serve_apps.ui.ingest.scan import chooser, estimated
from serve_apps.ui.ingest.send import sent, too_large
from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import card, empty, heading, loading, problem_card
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.html_component import part
from serve_apps.ui.kit.living import Turns, Wish, living, opened, wish
from serve_apps.ui.kit.page import QUIET, Desk, Page, told
from serve_apps.ui.kit.problem import Problem
from serve_apps.ui.sessions import Role

EVERY_SECONDS: Final = 3.0
ACTS: Final = frozenset({"cancel", "resume", "retry"})


def draw(desk: Desk, blocks: gr.Blocks) -> None:
    """Ways in above, jobs below; an address with a job shows that job and nothing else."""
    turns, at = Turns(), gr.State({})
    head, said = part(loading()), part()  # what was said of an act stays until the next one, whatever refreshes
    with gr.Row(visible=False, elem_classes="doc-ways") as ways:
        with gr.Column(min_width=320, elem_classes="doc-upload"):
            part(tag("div", tag("h2", "Upload files"), class_="aos-card-head"))
            files = gr.File(file_count="multiple", show_label=False, label="Files", height=150, elem_id="upload")
            part(too_large(desk.most_upload))
            gone = part()
        with gr.Column(min_width=320, visible=False) as scanning:
            scan = living(loading("Looking for folders …"))
    body = living(loading())
    clock = gr.Timer(EVERY_SECONDS)

    async def open_(request: gr.Request) -> list[Any]:
        asked, api = opened(request), desk.api(request)
        return [*await _shown(desk, api, asked, turns), *_ways(api, asked)]

    async def folders(request: gr.Request) -> Html:
        api = desk.api(request)
        return turns.mark(await chooser(api, "")) if api.session.role.reaches(Role.OPERATOR) else join()

    async def show(request: gr.Request, event: gr.EventData) -> list[Any]:
        asked, api = wish(event), desk.api(request)
        return [join(), *await _shown(desk, api, asked, turns), *_ways(api, asked)]

    async def again(request: gr.Request, asked: dict[str, str]) -> list[Any]:
        return await _shown(desk, desk.api(request), Wish(asked), turns)

    async def do(request: gr.Request, event: gr.EventData) -> list[Any]:
        asked, api = wish(event), desk.api(request)
        return [await _act(api, asked), *await _shown(desk, api, asked, turns)]

    async def survey(request: gr.Request, event: gr.EventData) -> AsyncIterator[Html]:
        async for html in _survey(desk, desk.api(request), wish(event)):
            yield turns.mark(html)

    async def send(request: gr.Request, paths: list[str] | None) -> AsyncIterator[list[Any]]:
        async for html in sent(desk, desk.api(request), paths or []):
            yield [html, None]

    page = [head, body, at, clock]
    blocks.load(open_, None, [*page, ways, scanning], **QUIET)
    blocks.load(folders, None, scan, **QUIET)
    body.select(show, None, [said, *page, ways, scanning], **QUIET)
    body.click(do, None, [said, *page], **QUIET)
    clock.tick(again, at, page, **QUIET)
    scan.click(survey, None, scan, **QUIET)
    files.upload(send, files, [gone, files], **QUIET)


PAGE = Page("ingest", "Ingest", Role.VIEWER, draw, "M12 3v12M7 10l5 5 5-5M4 17v4h16v-4")


def _ways(api: Api, asked: Wish) -> list[Any]:
    """Uploads are for developers, scans for operators; neither is beside a job."""
    role, home = api.session.role, "job" not in asked.query
    return [
        gr.update(visible=home and role.reaches(Role.DEVELOPER)),
        gr.update(visible=home and role.reaches(Role.OPERATOR)),
    ]


async def _shown(desk: Desk, api: Api, asked: Wish, turns: Turns) -> list[Any]:
    """Head, body, what the address says, and whether it is to be asked again."""
    id_, live = asked.query.get("job"), True
    if id_:
        try:
            shown, live = await job_view(desk, api, id_, asked.number("skip"))
        except Problem as problem:
            shown, live = join(_home_link(), problem_card(problem.told)), False
        return [join(), turns.mark(shown), dict(asked.query), gr.Timer(EVERY_SECONDS, active=live)]
    about = "Files become pages, pages become text that can be found and cited."
    shown = await told(history(api, asked.query, asked.number("skip")))
    return [heading("Ingest", about), turns.mark(shown), dict(asked.query), gr.Timer(EVERY_SECONDS, active=True)]


def _home_link() -> Html:
    return tag("p", tag("a", "All jobs", href=HERE, class_="aos-button"), class_="doc-gap")


async def _act(api: Api, asked: Wish) -> Html:
    if asked.act not in ACTS or not asked.query.get("job"):
        return empty("Nothing was asked for.", "Load the page again.")
    try:
        await api.post(f"/api/jobs/{asked.query['job']}/{asked.act}")
    except Problem as problem:
        return problem_card(problem.told)
    return join()


async def _survey(desk: Desk, api: Api, asked: Wish) -> AsyncIterator[Html]:
    """Stand at a folder, look into it, or start its scan."""
    path, agent = asked.fields.get("folder", "").strip() or ".", asked.fields.get("agent", "")
    body = {"path": path} | ({"agent_id": agent} if agent else {})
    try:
        match asked.act:
            case "open":
                yield await chooser(api, asked.value)
                return
            case "estimate":
                yield card("Scan a folder", loading(f"Looking into {path}: it takes up to twenty seconds …"))
                found = await api.post("/api/documents/batch-scan", {**body, "dry_run": True})
                said = estimated({**found, "agent": agent})
            case "scan":
                job = await api.post("/api/documents/batch-scan", body)
                where = desk.link("ingest", job=job["job_id"])
                said = tag(
                    "div",
                    "The scan has begun: ",
                    tag("a", "follow the job", href=where, target="_self"),
                    ".",
                    class_="aos-good",
                    role="status",
                )
            case _:
                said = empty("Nothing was asked for.", "Load the page again.")
    except Problem as problem:
        said = problem_card(problem.told)
    yield await chooser(api, "" if path == "." or path.startswith("/") else path, said, agent)
