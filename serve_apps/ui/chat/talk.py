"""Talking: a message is sent and its answer heard as it is written; what was broken off or decided goes on."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import quote

from serve_apps.ui.chat.chat_events import TurnProgress, fold_stream, load_stored_turn
from serve_apps.ui.chat.conversations import ChatExchange
from serve_apps.ui.chat.turn_view import COMMAND
from serve_apps.ui.kit.api import SessionApi, StreamEvent
from serve_apps.ui.kit.problem import ApiProblem

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
                if not turn.piece or time.monotonic() - drawn >= PACE:
                    drawn = time.monotonic()
                    yield
    except ApiProblem as problem:
        turn.error, turn.state = problem.told, turn.state if turn.run else "failed"
        yield
