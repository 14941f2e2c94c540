"""Talking: a message is sent and its answer heard as it is written; what was broken off or decided goes on."""

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final
from urllib.parse import quote

from serve_apps.ui.chat.chat_events import Heard, listen, remembered
from serve_apps.ui.chat.conversations import Exchange
from serve_apps.ui.chat.turn_view import COMMAND
from serve_apps.ui.kit.api import Api, Told
from serve_apps.ui.kit.problem import Problem

PACE: Final = 0.15  # seconds between two pictures of an answer while it is written
NO_MODEL: Final = "no_model"
WITHOUT_MODEL: Final = "No language model is connected, so this was answered from the documents, word for word."


async def spoken(api: Api, exchange: Exchange, session: str) -> AsyncIterator[None]:
    """Send the message; a step is a picture to be drawn. Where no model is there, the documents are asked."""
    body: dict[str, Any] = {"message": exchange.question, "session_id": session, "stream": True, "verbose": "debug"}
    body |= {"document_ids": list(exchange.files)} if exchange.files else {}
    path = f"/api/chat/{quote(exchange.agent, safe='')}"
    async for _ in heard(api.stream("POST", path, json=body), exchange.turn):
        yield
    error = exchange.turn.error
    if error is None or error.code != NO_MODEL or exchange.question.startswith(COMMAND):
        return
    exchange.question, exchange.notice = COMMAND + exchange.question, WITHOUT_MODEL
    exchange.turn = Heard(session=session)
    async for _ in heard(api.stream("POST", path, json=body | {"message": exchange.question}), exchange.turn):
        yield


async def followed(api: Api, exchange: Exchange) -> AsyncIterator[None]:
    """Stream the run's events after the last one known."""
    path, turn = f"/api/runs/{exchange.turn.run}/events", exchange.turn
    async for _ in heard(api.stream("GET", path, last=turn.last, params={"verbose": "debug"}), turn):
        yield


async def resumed(api: Api, exchange: Exchange) -> AsyncIterator[None]:
    """Go on with what was broken off: its events come from the first, and those that only operators read at the end."""
    run = exchange.turn.run
    exchange.turn = Heard(run=run)
    async for _ in heard(api.stream("POST", f"/api/runs/{run}/resume", params={"stream": True}), exchange.turn):
        yield
    if exchange.turn.over and exchange.turn.error is None:
        exchange.turn = await remembered(api, run)


async def heard(stream: AsyncIterator[Told], turn: Heard) -> AsyncIterator[None]:
    """A step where there is something new to draw, not more often than anybody sees. A problem is the turn's error."""
    drawn = 0.0
    try:
        async with aclosing(listen(stream, turn)) as told:
            async for _ in told:
                if not turn.piece or time.monotonic() - drawn >= PACE:
                    drawn = time.monotonic()
                    yield
    except Problem as problem:
        turn.error, turn.state = problem.told, turn.state if turn.run else "failed"
        yield
