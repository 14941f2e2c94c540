"""Garbage collection of Gradio's state of closed windows, which Gradio by itself keeps for good."""

import asyncio
import re
from collections import Counter
from typing import Final

import gradio as gr
from starlette.types import ASGIApp, Receive, Scope, Send

HEARTBEAT: Final = re.compile(r"/gradio_api/heartbeat/([^/]+)$")  # open as long as its window
LINGER_SECONDS: Final = 60.0  # a window that has lost its connection comes back within seconds
MOST: Final = 512  # windows, whether they have a heartbeat or not; each takes three quarters of a megabyte


class WindowStateCollector:
    """ASGI middleware in front of Gradio's routes that watches the heartbeats."""

    def __init__(self, app: ASGIApp, blocks: gr.Blocks, linger: float = LINGER_SECONDS) -> None:
        """`linger` in seconds."""
        self._app, self._blocks, self._linger = app, blocks, linger
        self._beating: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let everything through."""
        beat = HEARTBEAT.search(scope["path"]) if scope["type"] == "http" else None
        if beat is None:
            await self._app(scope, receive, send)
            return
        self._beating[beat[1]] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            asyncio.get_running_loop().call_later(self._linger, self._release_window, beat[1])

    def _release_window(self, window: str) -> None:
        self._beating[window] -= 1
        if self._beating[window] <= 0:
            del self._beating[window]
            kept = self._blocks.state_holder
            kept.session_data.pop(window, None)
            kept.time_last_used.pop(window, None)
