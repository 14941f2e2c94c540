"""Events on their way to one reader: whole ones wait for as long as it takes, pieces only while the reader keeps up."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import replace

from serve_apps.agents.events import Event, EventKind

PIECES = 256  # that wait; a text behind them comes whole


class EventQueue:
    """Never blocks who puts in. After a piece was dropped, the text it belongs to goes on with the whole TEXT event."""

    def __init__(self, pieces: int = PIECES) -> None:
        """`pieces`: most that wait for the reader."""
        self._most, self._waiting = pieces, 0
        self._events: deque[Event] = deque()
        self._news = asyncio.Event()
        self._closed = False
        self._passed = 0  # characters of the text that is being shown
        self._gap = False

    def put(self, event: Event) -> None:
        """Take an event for the reader."""
        if self._closed:
            return
        if event.kind is EventKind.DRAFT:
            if self._waiting < self._most:  # the checked text brings what is left out here
                self._waiting += 1
                self._events.append(event)
                self._news.set()
            return
        if event.piece:
            if event.sent == 0:
                self._passed, self._gap = 0, False
            if self._gap or self._waiting >= self._most:
                self._gap = True
                return
            self._waiting += 1
            self._passed += len(event.data["text"])
        elif event.kind is EventKind.TEXT:
            event = replace(event, sent=min(event.sent, self._passed))
            self._passed, self._gap = 0, False
        self._events.append(event)
        self._news.set()

    def close(self) -> None:
        """Nothing more comes."""
        self._closed = True
        self._news.set()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """All events, until it is closed and empty."""
        while True:
            while self._events:
                event = self._events.popleft()
                self._waiting -= event.piece
                yield event
            if self._closed:
                return
            self._news.clear()
            await self._news.wait()
