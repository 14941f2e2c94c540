"""What is kept of a browser's window goes with it."""

import asyncio

import gradio as gr
from starlette.types import Message, Receive, Scope, Send

from serve_apps.ui.session_gc import WindowStateCollector

NEVER_MIND = 0.01  # seconds


class Held:
    """An application whose heartbeats last until they are told to end."""

    def __init__(self) -> None:
        self.end = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if "heartbeat" in scope["path"]:
            await self.end.wait()


async def _receive() -> Message:
    return {"type": "http.disconnect"}


async def _send(message: Message) -> None:
    raise AssertionError(message)


def asked(path: str) -> Scope:
    return {"type": "http", "path": path}


def drawn() -> gr.Blocks:
    with gr.Blocks() as blocks:
        gr.State(0)
    gr.routes.App.create_app(blocks)
    blocks.state_holder["w1"], blocks.state_holder["w2"]  # what the first event of each makes
    return blocks


async def test_a_window_that_is_closed_leaves_nothing() -> None:
    blocks, held = drawn(), Held()
    windows = WindowStateCollector(held, blocks, NEVER_MIND)
    beat = asyncio.create_task(windows(asked("/console/gradio_api/heartbeat/w1"), _receive, _send))
    await asyncio.sleep(5 * NEVER_MIND)
    assert set(blocks.state_holder.session_data) == {"w1", "w2"}
    held.end.set()
    await beat
    await asyncio.sleep(5 * NEVER_MIND)
    assert set(blocks.state_holder.session_data) == set(blocks.state_holder.time_last_used) == {"w2"}


async def test_a_window_that_comes_back_keeps_what_it_had() -> None:
    blocks, held = drawn(), Held()
    windows = WindowStateCollector(held, blocks, NEVER_MIND)
    lost = asyncio.create_task(windows(asked("/gradio_api/heartbeat/w1"), _receive, _send))
    await asyncio.sleep(0)
    held.end.set()
    await lost
    held.end = asyncio.Event()
    again = asyncio.create_task(windows(asked("/gradio_api/heartbeat/w1"), _receive, _send))
    await asyncio.sleep(5 * NEVER_MIND)
    assert "w1" in blocks.state_holder
    held.end.set()
    await again
    await windows(asked("/gradio_api/queue/join"), _receive, _send)
    await asyncio.sleep(5 * NEVER_MIND)
    assert "w1" not in blocks.state_holder
