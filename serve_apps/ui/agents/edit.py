"""Agents made, changed and deleted: what a person typed, sent to the API, and what it said at the fields."""

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import gradio as gr

from serve_apps.ui.agents.agent_form import KEYS, field_errors, patch_body, values_of
from serve_apps.ui.agents.form_fields import fill_fields, mark_wrong_fields
from serve_apps.ui.agents.views import HERE, address_of, agents_view, head_view, read_only_view, status_line
from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, link_to, page_heading, problem_card
from serve_apps.ui.kit.html import join_html
from serve_apps.ui.kit.page import ConsoleContext, query_int, query_uuid
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.sessions import Role

PAGE: Final = 50
NOTHING: Final = "Nothing was changed."
NAMELESS: Final = ProblemReport("The agent needs a name.", "", "Type one.", 422, "invalid")
RETYPE: Final = "Type the agent's name as it stands above."
OTHER_NAME: Final = ProblemReport("This is not its name.", "", RETYPE, 422, "invalid")


def agent_asked(request: gr.Request) -> str | None:
    """The id in the page's address, if it is one."""
    return query_uuid(dict(request.query_params), "id") or None


def may_edit(api: SessionApi) -> bool:
    """True for a role that may change agents."""
    return api.session.role.reaches(Role.OPERATOR)


async def load_agent_page(console: ConsoleContext, request: gr.Request) -> list[Any]:
    """The page's head or list, and whether the form of a new agent, or the tabs of one, are shown."""
    query = dict(request.query_params)
    try:
        api = console.api(request)
        if "id" in query:
            return await _load_one_agent(console, api, agent_asked(request))
        if "new" in query and may_edit(api):
            about = ("Everything else is set afterwards. ", link_to("All agents", HERE))
            return [page_heading("New agent", about), gr.update(visible=True), gr.update(visible=False)]
        skip = query_int(query)
        body = await api.get("/api/agents", skip=skip, limit=PAGE)
        shown = agents_view(console, body, skip, PAGE, may_make=may_edit(api))
    except ApiProblem as problem:
        shown = problem_card(problem.told)
    return [shown, gr.update(visible=False), gr.update(visible=False)]


async def _load_one_agent(console: ConsoleContext, api: SessionApi, id_: str | None) -> list[Any]:
    hidden = gr.update(visible=False)
    if id_ is None:
        return [empty_state("There is no such agent.", link_to("All agents", HERE)), hidden, hidden]
    if may_edit(api):
        return ["", hidden, gr.update(visible=True)]
    agent = await api.get(f"/api/agents/{id_}")
    return [join_html(head_view(console, agent), read_only_view(agent)), hidden, hidden]


async def create_agent(console: ConsoleContext, request: gr.Request, wanted: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """The name's field, what was refused, and where to go on."""
    if not str(wanted["name"]).strip():
        return mark_wrong_fields(["name"], {"name": NAMELESS.title})[0], "", ""
    try:
        agent = await console.api(request).post("/api/agents", dict(wanted))
    except ApiProblem as problem:
        wrong = field_errors(problem.told.detail)
        return mark_wrong_fields(["name"], wrong)[0], problem_card(problem.told), ""
    return gr.skip(), "", address_of(agent["id"])


async def delete_agent(console: ConsoleContext, request: gr.Request, typed: str) -> tuple[Any, str]:
    """Delete the agent after its name was typed; gives the refusal, if any, and the next address."""
    id_ = agent_asked(request)
    try:
        api = console.api(request)
        agent = await api.get(f"/api/agents/{id_}")
        if typed.strip() != agent["name"]:
            return problem_card(OTHER_NAME), ""
        await api.delete(f"/api/agents/{id_}")
    except ApiProblem as problem:
        return problem_card(problem.told), ""
    return "", HERE


class AgentEditor:
    """The form of one agent. It remembers the agent as it was when it was shown: what differs from that is sent."""

    def __init__(self, console: ConsoleContext, fields: Mapping[str, Any], head: gr.HTML) -> None:
        """`fields` are the declared components by key; `head` stands above them."""
        self._console = console
        self.keys = [key for key in KEYS if key in fields]
        self.components = [fields[key] for key in self.keys]
        self.agent, self.head = gr.State(None), head
        self.inputs = [self.agent, *self.components]
        self.outputs = [self.agent, self.head, *self.components]

    async def load(self, request: gr.Request) -> list[Any]:
        """The agent in the address, its head, and its form filled in."""
        id_ = agent_asked(request)
        untouched = [gr.skip()] * len(self.components)
        if id_ is None:
            return [gr.skip(), gr.skip(), *untouched]
        try:
            api = self._console.api(request)
            if not may_edit(api):
                return [gr.skip(), gr.skip(), *untouched]
            agent, held, models = await asyncio.gather(
                api.get(f"/api/agents/{id_}"), api.get(f"/api/agents/{id_}/skills"), api.get("/api/llm-connections")
            )
        except ApiProblem as problem:
            return [gr.skip(), problem_card(problem.told), *untouched]
        connections = [(f"{one['name']} ({one['model']})", str(one["id"])) for one in models["items"]]
        known = {"agent": agent, "base": held["base"], "connections": connections}
        return [known, head_view(self._console, agent), *self._field_updates(known)]

    async def save(self, request: gr.Request, known: dict[str, Any] | None, *typed: Any) -> list[Any]:
        """Send what changed. Outputs: the agent as it is now, its head, what is said of it, and every field."""
        if known is None:
            return [gr.skip(), gr.skip(), "", *[gr.skip()] * len(self.keys)]
        agent = known["agent"]
        body = patch_body(agent, dict(zip(self.keys, typed, strict=True)), known["base"])
        if not body:
            return [gr.skip(), gr.skip(), status_line(NOTHING), *mark_wrong_fields(self.keys, {})]
        try:
            now = await self._console.api(request).patch(f"/api/agents/{agent['id']}", body)
        except ApiProblem as problem:
            wrong = field_errors(problem.told.detail)
            return [gr.skip(), gr.skip(), problem_card(problem.told), *mark_wrong_fields(self.keys, wrong)]
        config = body.pop("config", {})
        names = ", ".join(key.replace("_", " ") for key in (*body, *config))
        known = {**known, "agent": now}
        return [known, head_view(self._console, now), status_line(f"Saved: {names}."), *self._field_updates(known)]

    def _field_updates(self, known: Mapping[str, Any]) -> list[Any]:
        values = values_of(known["agent"], known["base"])
        return fill_fields(self.keys, values, known["connections"], known["base"])
