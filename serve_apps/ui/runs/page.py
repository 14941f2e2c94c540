"""Runs' events: the list, one run, deciding, replaying, going on with it, stopping it, and saying what one thinks."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, fields
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import loading_notice, problem_card
from serve_apps.ui.kit.decision_form import DecisionForm, Updates, send_decision
from serve_apps.ui.kit.html import join_html
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, html_part, query_int
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.rating import rating_buttons, thanks_notice
from serve_apps.ui.runs.listed import (
    WAITING,
    filter_form,
    list_heading,
    load_pending_approvals,
    runs_view,
    waiting_view,
)
from serve_apps.ui.runs.one import ALIVE, load_run, replay_report_card, run_body, run_head
from serve_apps.ui.sessions import Role

SECONDS: Final = 5.0
RESTING: Final = frozenset({"completed", "failed", "cancelled", "interrupted"})


@dataclass(frozen=True, slots=True)
class RunBoard:
    """The page's components; which of them are seen depends on the address."""

    head: gr.HTML
    form: DecisionForm
    actions: gr.Row
    resume: gr.Button
    replay: gr.Button
    cancel: gr.Button
    outcome: gr.HTML
    other: gr.Accordion
    model: gr.Textbox
    prompt: gr.Textbox
    compare: gr.Button
    body: gr.HTML
    judge: gr.Row
    up: gr.Button
    down: gr.Button
    word: gr.Textbox
    moving: gr.State  # whether a run is shown that is not over

    @classmethod
    def declare(cls) -> "RunBoard":
        """From the head of the page to its end."""
        found: dict[str, Any] = {"head": html_part(loading_notice()), "form": DecisionForm.declare()}
        with gr.Row(visible=False, elem_classes="aos-buttons") as found["actions"]:
            found["resume"] = gr.Button("Go on with it", variant="primary", size="md", min_width=120, scale=0)
            found["replay"] = gr.Button("Replay it", size="md", min_width=120, scale=0)
            found["cancel"] = gr.Button("Stop it", variant="stop", size="md", min_width=120, scale=0)
        found["outcome"] = html_part()
        with gr.Accordion("Replay with another model or prompt", open=False, visible=False) as found["other"]:
            found["model"] = gr.Textbox(label="Connection (its name; empty: the agent's own)", max_lines=1)
            found["prompt"] = gr.Textbox(label="System prompt (empty: the agent's own)", lines=3, max_length=20_000)
            found["compare"] = gr.Button("Compare; models are asked in earnest", size="md")
        found["body"], found["moving"] = html_part(), gr.State(False)
        return cls(**found, **rating_buttons())

    @property
    def all(self) -> list[Any]:
        """Outputs of an event that changes anything."""
        return [*(getattr(self, one.name) for one in fields(self) if one.name != "form"), *self.form.all]


def draw_runs_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """The board and what happens on it."""
    board = RunBoard.declare()
    ledger = RunPageEvents(console, board)
    blocks.load(ledger.show, None, board.all, **QUIET)
    gr.Timer(SECONDS).tick(ledger.again, board.moving, board.all, **QUIET)
    for choice, button in board.form.choices.items():
        told = [gr.State(choice), board.form.asked, board.form.notes, *board.form.fields]
        button.click(ledger.decided, told, board.all, **QUIET)
    board.replay.click(ledger.replayed, None, board.outcome, **QUIET)
    board.compare.click(ledger.replayed, [board.model, board.prompt], board.outcome, **QUIET)
    board.resume.click(ledger.resumed, None, board.all, **QUIET)
    board.cancel.click(ledger.cancelled, None, board.all, **QUIET)
    for thumb, button in (("up", board.up), ("down", board.down)):
        button.click(ledger.judged, [gr.State(thumb), board.word], board.all, **QUIET)


class RunPageEvents:
    """The events; which run is meant stands in the address."""

    def __init__(self, console: ConsoleContext, board: RunBoard) -> None:
        """One for all people: nothing of anybody is kept here."""
        self._console, self._board = console, board

    async def show(self, request: gr.Request) -> Updates:
        """Updates for the view that the address names: the list, approvals, or one run."""
        query, board = dict(request.query_params), self._board
        try:
            api = self._console.api(request)
            if query.get("id"):
                return await self._run_updates(api, query["id"])
            if query.get("state") == WAITING and _is_operator(api):
                return await self._waiting_updates(api, query)
            agents = (await api.get("/api/agents", limit=1000))["items"]
            above = join_html(list_heading(query), filter_form(query, agents, _is_operator(api)))
            return {board.head: above, board.body: await runs_view(self._console, api, query)}
        except ApiProblem as problem:
            return {board.head: problem_card(problem.told), board.body: ""}

    async def again(self, request: gr.Request, moving: bool) -> Updates:
        """Refresh the list, or a run until it ends; a finished run is not redrawn, so open details stay open."""
        query, board = dict(request.query_params), self._board
        rests: Updates = {board.head: gr.skip()}
        if query.get("state") == WAITING or query.get("skip") or (query.get("id") and not moving):
            return rests
        try:
            api = self._console.api(request)
            if not query.get("id"):
                return {board.body: await runs_view(self._console, api, query)}
            return await self._run_updates(api, query["id"])
        except ApiProblem:
            return rests  # the next tick tries again; what is shown stays

    async def _run_updates(self, api: SessionApi, id_: str) -> Updates:
        seen, board = await load_run(api, id_), self._board
        asked, state = seen.pending, seen.run["state"]
        form = board.form.closed() if asked is None else board.form.opened(asked, _is_operator(api))
        over = state in RESTING and seen.readable
        return {
            board.head: run_head(self._console, seen),
            board.body: run_body(self._console, seen),
            board.actions: gr.update(visible=True),
            board.resume: gr.update(visible=state == "interrupted" and seen.readable),
            board.replay: gr.update(visible=over),
            board.cancel: gr.update(visible=state not in RESTING),
            board.other: gr.update(visible=over and _is_operator(api)),
            board.judge: gr.update(visible=state == "completed" and seen.readable),
            board.moving: state in ALIVE,
            **form,
        }

    async def _waiting_updates(self, api: SessionApi, query: dict[str, str]) -> Updates:
        board, skip = self._board, query_int(query)
        items, total = await load_pending_approvals(api, query)
        chosen = next((one for one in items if one["id"] == query.get("approval")), items[0] if items else None)
        form = board.form.closed() if chosen is None else board.form.opened(chosen, True)
        shown = waiting_view(self._console, items, total, chosen["id"] if chosen else "", skip)
        everything = filter_form(query, (await api.get("/api/agents", limit=1000))["items"], True)
        return {board.head: join_html(list_heading(query), everything), board.body: shown, **form}

    async def decided(self, request: gr.Request, choice: str, asked: Any, notes: str, *texts: str) -> Updates:
        """Send a decision and show what is then."""
        api, board = self._console.api(request), self._board
        if not asked:
            return {board.outcome: ""}
        try:
            await send_decision(api, asked, choice, texts, notes or "")
        except ApiProblem as problem:
            return board.form.opened(asked, _is_operator(api), problem_card(problem.told))
        return {**await self.show(request), board.outcome: thanks_notice("Decided; the run goes on by itself.")}

    async def replayed(self, request: gr.Request, model: str = "", prompt: str = "") -> AsyncIterator[Any]:
        """Walk it again, and say whether it came out the same."""
        yield loading_notice("Walking the run again …")
        changes = {name: value.strip() for name, value in (("model", model), ("prompt", prompt)) if value.strip()}
        try:
            path = f"/api/runs/{request.query_params['id']}/replay"
            yield replay_report_card(await self._console.api(request).post(path, changes), bool(changes))
        except ApiProblem as problem:
            yield problem_card(problem.told)

    async def resumed(self, request: gr.Request) -> AsyncIterator[Updates]:
        """Go on with it, and tell how far it is."""
        board, id_ = self._board, request.query_params["id"]
        yield {board.outcome: loading_notice("It goes on …"), board.resume: gr.update(visible=False)}
        try:
            stream = self._console.api(request).stream("POST", f"/api/runs/{id_}/resume", params={"stream": True})
            async for told in stream:
                yield {board.outcome: loading_notice(f"It goes on: {told.name.replace('_', ' ')} …")}
        except ApiProblem as problem:
            yield {board.outcome: problem_card(problem.told), board.resume: gr.update(visible=True)}
            return
        yield {**await self.show(request), board.outcome: ""}

    async def cancelled(self, request: gr.Request) -> Updates:
        """Ask it to end."""
        try:
            await self._console.api(request).post(f"/api/runs/{request.query_params['id']}/cancel")
        except ApiProblem as problem:
            return {self._board.outcome: problem_card(problem.told)}
        return {**await self.show(request), self._board.outcome: thanks_notice("It was asked to end.")}

    async def judged(self, request: gr.Request, thumb: str, word: str) -> Updates:
        """Keep what the person thinks of the answer."""
        path, board = f"/api/runs/{request.query_params['id']}/feedback", self._board
        try:
            await self._console.api(request).post(path, {"thumb": thumb, "word": word or ""})
        except ApiProblem as problem:
            return {board.outcome: problem_card(problem.told)}
        return {**await self.show(request), board.word: "", board.outcome: thanks_notice("Thank you, it stands below.")}


def _is_operator(api: SessionApi) -> bool:
    return api.session.role.reaches(Role.OPERATOR)


PAGE = ConsolePage("runs", "Runs", Role.VIEWER, draw_runs_page, "M4 6h16M4 12h10M4 18h13")
