"""The tab Academy: tracks, an agent's way from enrolment to graduation, and what its last examination missed."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import (
    Colour,
    data_table,
    empty_state,
    link_to,
    problem_card,
    progress_bar,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.formats import format_count, format_moment, format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part, view_or_problem
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.kit.waiting import show_while_waiting
from serve_apps.ui.sessions import Role

LOOK_SECONDS: Final = 3.0
STEPS: Final = ("Enrolled", "References read", "Examined", "Graduated")
WHY: Final[Mapping[str, str]] = {
    "not_retrieved": "was not found in its documents",
    "not_said": "was found, but not said",
    "wrong_source": "was said, but not with its source",
}
NOBODY: Final = ApiProblem(ProblemReport("No agent was chosen.", "", "Choose who is to study.", 422, "invalid"))


def step_of(standing: Record, open_jobs: int) -> int:
    """Number of the four steps that are done."""
    if standing["track"] is None:
        return 0
    if standing["status"] == "graduated":
        return 4
    if standing["report"] is not None and standing["report"]["at"] >= standing["enrolled_at"]:
        return 3
    return 1 if open_jobs else 2


def _tracks_view(tracks: Sequence[Record]) -> SafeHtml:
    rows = []
    for one in tracks:
        own = one["questions"] is None
        count = "a quiz of your own" if own else format_count(one["questions"], "question")
        rows.append((one["track"], count, ", ".join(one["sources"]) or "what the quiz names"))
    return titled_card("Tracks", data_table(("Track", "Quiz", "Answered by"), rows))


def standing_view(console: ConsoleContext, agent: str, standing: Record, jobs: Sequence[Record]) -> SafeHtml:
    """An agent's status: steps done, and its last examination."""
    if standing["track"] is None:
        return empty_state("This agent is not enrolled.", "Choose a track and enrol it: its documents are read first.")
    open_ = [job for job in jobs if job["state"] in ("queued", "running")]
    done = step_of(standing, len(open_))
    ways = ["done"] * done + ["now"] + [None] * len(STEPS)
    named = zip(STEPS, ways, strict=False)
    steps = [tag("li", name, class_=way, aria_current="step" if way == "now" else None) for name, way in named]
    reading = []
    for job in open_:
        link, read = link_to(f"Reading, {job['kind']}", console.link("ingest", job=job["id"])), job["documents"]
        reading.append(tag("div", link, progress_bar(read["done"], read["expected"], "documents")))
    colours: dict[str, Colour] = {"graduated": "green", "demoted": "red"}
    status = state_badge(standing["status"] or "enrolled", colours.get(standing["status"], "blue"))
    about = tag("p", "Track ", tag("b", standing["track"]), ", enrolled ", format_moment(standing["enrolled_at"]), ".")
    where = link_to("The agent", console.link("agents", id=agent))
    card = titled_card("Its way", about, tag("ol", steps, class_="aos-steps"), reading, where, aside=status)
    return join_html(card, _report_card(standing["report"]))


def _report_card(report: Record | None) -> SafeHtml | None:
    if report is None:
        return None
    missed = sum(len(one["missed"]) for one in report["questions"])
    passed = state_badge("passed" if report["passed"] else "not passed", "green" if report["passed"] else "red")
    said = (
        f"{format_percent(report['score'])} of the expected facts were said with their source; "
        f"{format_percent(report['pass_mark'])} are needed. {format_number(missed)} missed."
    )
    rows = []
    for one in sorted(report["questions"], key=lambda one: not one["missed"]):
        asked = tag("b", one["question"]), tag("div", one["answer"], class_="quiet")
        misses = [tag("div", tag("b", miss["fact"]), " ", WHY.get(miss["why"], miss["why"])) for miss in one["missed"]]
        cited = [tag("div", f"{place['file']}, page {place['page']}") for place in one["cited"]] or "nothing"
        facts = f"{one['found']} of {one['expected']}"
        rows.append((asked, facts, misses or state_badge("complete", "green"), cited))
    shown = data_table(("Question and answer", "Facts", "Missed, and why", "Cited"), rows)
    return titled_card("Last examination", tag("p", said, " ", format_moment(report["at"])), shown, aside=passed)


class AcademyTab:
    """The tab's components and what happens with them."""

    def __init__(self, console: ConsoleContext) -> None:
        self._console = console
        self.jobs = gr.State(())
        with gr.Row():
            self.agent = gr.Dropdown([], value=None, label="Agent", min_width=220)
            self.track = gr.Dropdown([], value=None, label="Track", min_width=180, visible=False)
        with gr.Row():
            self.enrol = gr.Button("Enrol", variant="primary", elem_classes="aos-narrow", visible=False)
            self.quiz = gr.Button("Examine now", elem_classes="aos-narrow", visible=False)
        self.said, self.body, self.about = html_part(), html_part(), html_part()
        self.timer = gr.Timer(LOOK_SECONDS, active=False)

    async def opened(self, request: gr.Request) -> list[Any]:
        """The tracks, and what this person may do."""
        try:
            api = self._console.api(request)
            tracks = (await api.get("/api/academy/tracks"))["items"]
        except ApiProblem as problem:
            return [problem_card(problem.told), *[gr.skip()] * 3]
        may = api.session.role.reaches(Role.OPERATOR)
        names = [one["track"] for one in tracks if one["questions"] is not None]
        chosen = gr.update(choices=names, value=names[0] if names else None, visible=may)
        return [_tracks_view(tracks), chosen, gr.update(visible=may), gr.update(visible=may)]

    async def look(self, request: gr.Request, agent: str | None, jobs: Sequence[str]) -> tuple[SafeHtml, Any]:
        """Refresh the agent's status; the timer repeats it while its documents are ingested."""
        if not agent:
            return empty_state("Choose an agent.", "Its way through the academy is shown here."), gr.Timer(active=False)
        found: list[Record] = []

        async def view() -> SafeHtml:
            api = self._console.api(request)
            found.extend([await api.get(f"/api/jobs/{job}") for job in jobs])
            return standing_view(self._console, agent, await api.get(f"/api/agents/{agent}/academy"), found)

        shown = await view_or_problem(view())
        return shown, gr.Timer(active=any(job["state"] in ("queued", "running") for job in found))

    async def enrolled(self, request: gr.Request, agent: str | None, track: str) -> tuple[SafeHtml, Any]:
        """Begin a track; the jobs that read its references."""
        try:
            if not agent:
                raise NOBODY
            made = await self._console.api(request).post(f"/api/agents/{agent}/academy/enrol", {"track": track})
        except ApiProblem as problem:
            return problem_card(problem.told), gr.skip()
        return SafeHtml(""), made["jobs"]

    async def examined(self, request: gr.Request, agent: str | None) -> AsyncIterator[SafeHtml]:
        """Ask every question of the quiz."""

        async def view() -> SafeHtml:
            if not agent:
                raise NOBODY
            await self._console.api(request).post(f"/api/agents/{agent}/academy/quiz")
            return SafeHtml("")

        async for step in show_while_waiting(view_or_problem(view()), "Every question of the quiz is asked …"):
            yield step


def draw_academy_tab(console: ConsoleContext, blocks: gr.Blocks) -> gr.Dropdown:
    """The tab; gives the choice of the agent, which whoever declares the page fills."""
    tab = AcademyTab(console)
    shown = ([tab.agent, tab.jobs], [tab.body, tab.timer])
    blocks.load(tab.opened, None, [tab.about, tab.track, tab.enrol, tab.quiz], **QUIET)
    tab.agent.change(lambda: (), None, tab.jobs, **QUIET).then(tab.look, *shown, **QUIET)
    tab.enrol.click(tab.enrolled, [tab.agent, tab.track], [tab.said, tab.jobs], **QUIET).then(tab.look, *shown, **QUIET)
    tab.quiz.click(tab.examined, tab.agent, tab.said, **QUIET).then(tab.look, *shown, **QUIET)
    tab.timer.tick(tab.look, *shown, **QUIET)
    return tab.agent
