"""Chat Studio's events: opening, sending and following, deciding, stopping, judging, renaming, deleting."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import quote

import gradio as gr

from serve_apps.ui.chat.chat_events import TurnProgress, fold_stream, load_stored_turn
from serve_apps.ui.chat.conversations import ALIVE, LISTED, MESSAGES, ChatExchange, conversation_list, load_conversation
from serve_apps.ui.chat.room import AUTO, DOCUMENTS, ChatComponents
from serve_apps.ui.chat.turn_view import COMMAND
from serve_apps.ui.kit.api import SessionApi, StreamEvent
from serve_apps.ui.kit.blocks import problem_card
from serve_apps.ui.kit.decision_form import Updates, send_decision
from serve_apps.ui.kit.page import QUIET, ConsoleContext, ConsolePage, query_int
from serve_apps.ui.kit.problem import ApiProblem
from serve_apps.ui.kit.rating import thanks_notice
from serve_apps.ui.sessions import Role

PACE: Final = 0.15  # seconds between two pictures of an answer while it is written
NO_MODEL: Final = "no_model"
WITHOUT_MODEL: Final = "No language model is connected, so this was answered from the documents, word for word."


async def send_message(api: SessionApi, exchange: ChatExchange, session: str) -> AsyncIterator[None]:
    """Send the message; a step is a picture to be drawn. Where no model is there, the documents are asked."""
    body: dict[str, Any] = {"message": exchange.question, "session_id": session, "stream": True, "verbose": "debug"}
    body |= {"document_ids": list(exchange.files)} if exchange.files else {}
    path = f"/api/chat/{quote(exchange.agent, safe='')}"
    async for _ in stream_steps(api.stream("POST", path, json=body), exchange.turn):
        yield
    error = exchange.turn.error
    if error is None or error.code != NO_MODEL or exchange.question.startswith(COMMAND):
        return
    exchange.question, exchange.notice = COMMAND + exchange.question, WITHOUT_MODEL
    exchange.turn = TurnProgress(session=session)
    async for _ in stream_steps(api.stream("POST", path, json=body | {"message": exchange.question}), exchange.turn):
        yield


async def follow_run_events(api: SessionApi, exchange: ChatExchange) -> AsyncIterator[None]:
    """Stream the run's events after the last one known."""
    path, turn = f"/api/runs/{exchange.turn.run}/events", exchange.turn
    async for _ in stream_steps(api.stream("GET", path, last=turn.last, params={"verbose": "debug"}), turn):
        yield


async def continue_run(api: SessionApi, exchange: ChatExchange) -> AsyncIterator[None]:
    """Go on with what was broken off: its events come from the first, and those that only operators read at the end."""
    run = exchange.turn.run
    exchange.turn = TurnProgress(run=run)
    async for _ in stream_steps(api.stream("POST", f"/api/runs/{run}/resume", params={"stream": True}), exchange.turn):
        yield
    if exchange.turn.over and exchange.turn.error is None:
        exchange.turn = await load_stored_turn(api, run)


async def stream_steps(stream: AsyncIterator[StreamEvent], turn: TurnProgress) -> AsyncIterator[None]:
    """A step where there is something new to draw, not more often than anybody sees. A problem is the turn's error."""
    drawn = 0.0
    try:
        async with aclosing(fold_stream(stream, turn)) as told:
            async for _ in told:
                if not (turn.piece or turn.draft) or time.monotonic() - drawn >= PACE:
                    drawn = time.monotonic()
                    yield
    except ApiProblem as problem:
        turn.error, turn.state = problem.told, turn.state if turn.run else "failed"
        yield


FIRST_AGENT: Final = "assistant"
FILES: Final = 200  # that can be chosen from
TO_URL: Final = """(id) => { if (id) { const url = new URL(location); url.searchParams.set("session", id);
    history.replaceState(null, "", url); } }"""
TO_LAST: Final = """() => requestAnimationFrame(() =>
    [...document.querySelectorAll(".aos-spoken")].at(-1)?.scrollIntoView({ block: "start" }))"""
HOME: Final = "(said) => { if (!said) location.assign('/console/chat'); }"


def draw_chat_page(console: ConsoleContext, blocks: gr.Blocks) -> None:
    """The room and what happens in it."""
    room = ChatComponents.declare()
    studio = ChatHandlers(console, room)
    entered = blocks.load(studio.enter, None, room.all, **QUIET)
    entered.then(None, None, None, js=TO_LAST, **QUIET)
    given = [room.message, room.agent, room.source, room.files, room.session, room.exchanges]
    sent = gr.on([room.message.submit, room.send.click], studio.begin, given, room.all, **QUIET)
    sent.success(None, room.session, None, js=TO_URL, **QUIET)
    sent.success(None, None, None, js=TO_LAST, **QUIET)
    spoken = sent.success(studio.speak, [room.exchanges, room.session], room.all, **QUIET)
    spoken.then(studio.conversations, room.session, [room.others, room.about, room.title], **QUIET)
    room.stop.click(studio.stop, room.run, None, **QUIET)
    room.resume.click(studio.resume, room.exchanges, room.all, **QUIET)
    for choice, button in room.form.choices.items():
        told = [gr.State(choice), room.form.asked, room.exchanges, room.form.notes, *room.form.fields]
        button.click(studio.decided, told, room.all, **QUIET)
    for thumb, button in (("up", room.up), ("down", room.down)):
        button.click(studio.judged, [gr.State(thumb), room.run, room.word], [room.thanks, room.word], **QUIET)
    room.rename.click(studio.renamed, [room.session, room.title], [room.done, room.others], **QUIET)
    room.delete.click(lambda: gr.update(visible=True), None, room.sure, **QUIET)
    gone = room.sure.click(studio.deleted, room.session, room.done, **QUIET)
    gone.success(None, room.done, None, js=HOME, **QUIET)


class ChatHandlers:
    """The events; what is remembered between them stands in the browser's state or in the API."""

    def __init__(self, console: ConsoleContext, room: ChatComponents) -> None:
        """One for all people: nothing of anybody is kept here."""
        self._console, self._room = console, room

    async def enter(self, request: gr.Request) -> AsyncIterator[Updates]:
        """The page as its address says: a conversation as it stands, or a new one."""
        query, room = dict(request.query_params), self._room
        try:
            api = self._console.api(request)
            agents = (await api.get("/api/agents", limit=1000))["items"]
            files = (await api.get("/api/documents/", limit=FILES))["items"]
            names = {str(one["id"]): str(one["name"]) for one in agents}
            session = await api.get(f"/api/sessions/{query['session']}") if query.get("session") else None
            exchanges: list[ChatExchange] = []
            wanted = query.get("agent")
            if session is not None:  # the last messages, unless the address asks for earlier ones
                last = max(0, int(session["messages"]) - MESSAGES)
                after = query_int(query, "after") if "after" in query else last
                exchanges = await load_conversation(api, session, names, after)
                wanted = names.get(str(session["agent_id"]))
            known = list(names.values())
            chosen = next((one for one in (wanted, FIRST_AGENT, *known) if one in known), None)
            yield {
                room.agent: gr.update(choices=known, value=chosen),
                room.files: gr.update(choices=[(str(one["filename"]), str(one["id"])) for one in files], value=[]),
                room.session: query.get("session", ""),
                room.message: gr.update(value=query["message"]) if "message" in query else gr.skip(),
                **await self._list_updates(api, query.get("session", ""), query_int(query), session),
                **room.rested(self._console, exchanges, _may_decide(api)),
            }
        except ApiProblem as problem:
            yield {room.past: problem_card(problem.told)}
            return
        if exchanges and exchanges[-1].turn.state in ALIVE:
            async for updates in self._stream_updates(api, exchanges, follow_run_events(api, exchanges[-1])):
                yield updates

    async def begin(
        self,
        request: gr.Request,
        message: str,
        agent: str,
        source: str,
        files: list[str] | None,
        session: str,
        exchanges: list[ChatExchange],
    ) -> Updates:
        """Show the message at once, and give it a conversation that can be come back to."""
        room, text = self._room, (message or "").strip()
        if not text or not agent:
            raise gr.Error("Write a message and choose an agent first.", print_exception=False)
        answers = bool(exchanges) and exchanges[-1].turn.asked is not None
        question = text if source == AUTO or answers or text.startswith("/") else COMMAND + text
        asked = ChatExchange(question, agent, files=() if answers else tuple(files or ()))
        try:
            if not session:
                api = self._console.api(request)
                session = (await api.post("/v1/agent/sessions", {"agent_id": agent}))["id"]
        except ApiProblem as problem:
            raise gr.Error(f"{problem} {problem.told.fix}", print_exception=False) from problem
        return {**room.asked(self._console, [*exchanges, asked]), room.session: session}

    async def speak(self, request: gr.Request, exchanges: list[ChatExchange], session: str) -> AsyncIterator[Updates]:
        """Ask, and show the answer while it is written."""
        api = self._console.api(request)
        async for updates in self._stream_updates(api, exchanges, send_message(api, exchanges[-1], session)):
            yield updates
        if exchanges[-1].notice == WITHOUT_MODEL:
            yield {self._room.source: DOCUMENTS}

    async def resume(self, request: gr.Request, exchanges: list[ChatExchange]) -> AsyncIterator[Updates]:
        """Go on with an answer that was broken off."""
        api = self._console.api(request)
        yield self._room.asked(self._console, exchanges)
        async for updates in self._stream_updates(api, exchanges, continue_run(api, exchanges[-1])):
            yield updates

    async def decided(
        self, request: gr.Request, choice: str, asked: Any, exchanges: list[ChatExchange], notes: str, *texts: str
    ) -> AsyncIterator[Updates]:
        """Send a decision, and hear what comes of it."""
        api, room = self._console.api(request), self._room
        if not asked:
            return
        try:
            await send_decision(api, asked, choice, texts, notes or "")
        except ApiProblem as problem:
            yield room.form.opened(asked, _may_decide(api), problem_card(problem.told))
            return
        turn = exchanges[-1].turn
        turn.approval, turn.state = None, "running"
        yield room.asked(self._console, exchanges)
        async for updates in self._stream_updates(api, exchanges, follow_run_events(api, exchanges[-1])):
            yield updates

    async def _stream_updates(
        self, api: SessionApi, exchanges: list[ChatExchange], steps: AsyncIterator[None]
    ) -> AsyncIterator[Updates]:
        async for _ in steps:
            yield self._room.writing(self._console, exchanges)
        yield self._room.rested(self._console, exchanges, _may_decide(api))

    async def stop(self, request: gr.Request, run: str) -> None:
        """Cancel the run; its stream then tells its end."""
        if not run:
            return
        try:
            await self._console.api(request).post(f"/api/runs/{run}/cancel")
        except ApiProblem as problem:
            gr.Warning(str(problem))

    async def judged(self, request: gr.Request, thumb: str, run: str, word: str) -> tuple[Any, str]:
        """Keep what the person thinks of the answer."""
        try:
            await self._console.api(request).post(f"/api/runs/{run}/feedback", {"thumb": thumb, "word": word or ""})
        except ApiProblem as problem:
            return problem_card(problem.told), word
        return thanks_notice("Thank you, it stands beside this run."), ""

    async def conversations(self, request: gr.Request, session: str) -> Updates:
        """The list anew, as there is a message more."""
        try:
            api = self._console.api(request)
            shown = await api.get(f"/api/sessions/{session}") if session else None
            return await self._list_updates(api, session, 0, shown)
        except ApiProblem as problem:
            return {self._room.others: problem_card(problem.told)}

    async def renamed(self, request: gr.Request, session: str, title: str) -> Updates:
        """Another title."""
        room = self._room
        try:
            api = self._console.api(request)
            await api.patch(f"/api/sessions/{session}", {"title": title})
            return {room.done: thanks_notice("Renamed."), **await self._list_updates(api, session, 0, None)}
        except ApiProblem as problem:
            return {room.done: problem_card(problem.told)}

    async def deleted(self, request: gr.Request, session: str) -> Any:
        """Delete it with all its runs."""
        try:
            await self._console.api(request).delete(f"/api/sessions/{session}")
        except ApiProblem as problem:
            return problem_card(problem.told)
        return ""

    async def _list_updates(self, api: SessionApi, session: str, skip: int, shown: Any) -> Updates:
        body, room = await api.get("/api/sessions", skip=skip, limit=LISTED), self._room
        found: Updates = {room.others: conversation_list(self._console, body, session, skip)}
        if shown is not None:
            found |= {room.about: gr.update(visible=True), room.title: shown["title"]}
        return found


def _may_decide(api: SessionApi) -> bool:
    return api.session.role.reaches(Role.OPERATOR)


PAGE = ConsolePage("chat", "Chat Studio", Role.VIEWER, draw_chat_page, "M4 5h16v11H9l-5 4z")
