"""The tab Write: a skill in Python, tried in the sandbox with a sample before an agent gets it."""

from collections.abc import AsyncIterator
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.blocks import link_to, problem_card, titled_card
from serve_apps.ui.kit.html import SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import QUIET, ConsoleContext, html_part
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.kit.value_tables import value_view
from serve_apps.ui.kit.waiting import show_while_waiting
from serve_apps.ui.sessions import Role
from serve_apps.ui.skills.schema import parse_json
from serve_apps.ui.skills.views import parameters_view

CODE: Final = 'def run(payload):\n    return {"summary": payload["text"][:80]}\n'
SAMPLE: Final = '{"text": "A long text."}'
FOR_OPERATORS: Final = quiet_text("It works. An operator can give it to an agent: with this name, text and code.")
NO_AGENT: Final = ApiProblem(ProblemReport("No agent was chosen.", "", "Choose who gets the skill.", 422, "invalid"))


class SkillWorkbench:
    """The tab: whatever is changed after a trial has to be tried again before it is given to an agent."""

    def __init__(self, console: ConsoleContext) -> None:
        self._console = console
        about = (
            "run(payload) takes a dict and gives one. It runs in the sandbox: no network, no files, a few seconds. Try "
            "it first; what works can then be given to an agent, at once and without a restart."
        )
        html_part(quiet_text(about))
        with gr.Row():
            self.name = gr.Textbox(label="Name", info="Letters, digits, _ and -, up to 64.", max_length=64)
            self.about = gr.Textbox(label="Description", info="Models choose by it: what it does, in a sentence.")
            self.seconds = gr.Number(5, label="Time limit", info="Seconds of one call.")
        with gr.Row():
            self.code = gr.Code(CODE, language="python", label="Code", lines=10, max_lines=30)
            self.sample = gr.Code(SAMPLE, language="json", label="Sample payload", lines=10, max_lines=30)
        self.try_ = gr.Button("Try it", variant="primary", elem_classes="aos-narrow")
        self.result = html_part()
        self.tried = gr.State(None)
        with gr.Column(visible=False) as self.giving:
            self.agent = gr.Dropdown([], value=None, label="Give it to")
            self.give = gr.Button("Give it to the agent", variant="primary", elem_classes="aos-narrow")
        self.given = html_part()

    @property
    def boxes(self) -> list[Any]:
        """Input components of the form."""
        return [self.name, self.about, self.seconds, self.code, self.sample]

    def declare(self) -> None:
        """Its events."""
        outputs = [self.result, self.tried, self.giving, self.given]
        self.try_.click(self.trial, self.boxes, outputs, **QUIET)
        for box in self.boxes:
            box.change(self.again, None, [self.tried, self.giving], **QUIET)
        self.give.click(self.attach, [self.tried, self.agent], self.given, **QUIET)

    def again(self) -> tuple[None, Any]:
        """Discard the trial result after an edit: it is out of date."""
        return None, gr.update(visible=False)

    async def trial(
        self, request: gr.Request, name: str, about: str, seconds: float, code: str, sample: str
    ) -> AsyncIterator[list[Any]]:
        """In the sandbox, with nothing kept."""
        kept: list[dict[str, Any]] = []

        async def view() -> SafeHtml:
            body = {"name": name.strip(), "description": about.strip(), "code": code, "timeout": seconds or 5}
            try:
                if (sample or "").strip():
                    body["sample_payload"] = parse_json(sample, "The sample payload")
                made = await self._console.api(request).post("/api/skills/python:try", body)
            except ApiProblem as problem:
                return problem_card(problem.told)
            kept.append(body)
            return _trial_result(made)

        session = self._console.session(request)
        gives = session is not None and session.role.reaches(Role.OPERATOR)
        async for step in show_while_waiting(view(), "It runs in the sandbox …"):
            said = FOR_OPERATORS if kept and not gives else ""
            yield [step, kept[-1] if kept else None, gr.update(visible=bool(kept) and gives), said]

    async def attach(self, request: gr.Request, tried: dict[str, Any] | None, agent: str | None) -> SafeHtml:
        """Exactly what was tried."""
        if tried is None:
            return SafeHtml("")
        try:
            if not agent:
                raise NO_AGENT
            made = await self._console.api(request).post(f"/api/agents/{agent}/skills:create_and_attach", tried)
        except ApiProblem as problem:
            return problem_card(problem.told)
        name, version = made["skill"]["name"], made["skill"]["version"]
        said = f", version {version}, belongs to the agent from its next turn on."
        where = link_to("Look at the agent", self._console.link("agents", id=agent, tab="skills"))
        return tag("p", link_to(name, self._console.link("skills", skill=name)), said, " ", where, class_="aos-said")


def _trial_result(made: dict[str, Any]) -> SafeHtml:
    loaded = "It loads and has a run; without a sample nothing more was tried."
    gave = tag("p", loaded) if made["tried"] == "loaded" else value_view(made["sample_result"])
    takes = titled_card("What models are told it takes", parameters_view(made["parameters"]))
    return join_html(titled_card("What it gave", gave), takes)
