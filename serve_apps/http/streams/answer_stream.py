"""One answer as server-sent events: drafts while a model writes, then the checked answer, or the error, last."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from pydantic import BaseModel

from cluster.basics.cleanup import async_cleanup_on_error
from cluster.basics.errors import AosError
from serve_apps.http.streams.response import BUG, CancellingStreamResponse, error_event
from serve_apps.http.streams.sse import BEAT, encode_event
from serve_apps.retrieval.answers.draft import ShowDraft

# Works an answer out; calls the second once it has begun, after which no error can become a status any more.
AnswerWork = Callable[[ShowDraft, Callable[[], None]], Coroutine[Any, Any, BaseModel]]
_BEGUN = ""


async def stream_answer(work: AnswerWork, beat: float) -> CancellingStreamResponse:
    """The answer of `work` as events `draft` ({text}), and `answer` or `error` at the end.

    After `beat` seconds silence is interrupted by a comment; a reader who leaves cancels the work. Raises AosError:
    what `work` raised before it began.
    """
    drafted = DraftedAnswer(work)
    async with async_cleanup_on_error(drafted.aclose):  # whoever asked may be gone: the work has no reader then
        await drafted.begin()
    bug = encode_event(None, "error", dict(BUG.data))
    return CancellingStreamResponse(_answer_frames(drafted, beat), drafted, lambda: [bug])


class DraftedAnswer:
    """Work that writes drafts; closing it cancels the work."""

    def __init__(self, work: AnswerWork) -> None:
        """The work starts at once."""
        self._drafts: asyncio.Queue[str] = asyncio.Queue()  # bounded by how long a draft may become
        self._task = asyncio.create_task(work(self._drafts.put_nowait, lambda: self._drafts.put_nowait(_BEGUN)))

    async def begin(self) -> None:
        """Wait until the work has begun; raises what it raised before."""
        if await self.next_draft(None) is None and self._task.exception() is not None:
            await self._task

    async def next_draft(self, seconds: float | None) -> str | None:
        """The next part of the draft, None where the work is over; raises TimeoutError after so many seconds."""
        getting = asyncio.create_task(self._drafts.get())
        try:
            done, _ = await asyncio.wait({getting, self._task}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if getting in done:
                return getting.result()
            if not done:
                raise TimeoutError
            return None if self._drafts.empty() else self._drafts.get_nowait()
        finally:
            getting.cancel()

    async def answer(self) -> BaseModel:
        """The answer; raises what the work raised."""
        return await self._task

    async def aclose(self) -> None:
        """Stop the work, and wait until it is over."""
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled():
            self._task.exception()  # a reader who left is not told


async def _answer_frames(drafted: DraftedAnswer, beat: float) -> AsyncGenerator[str, None]:
    while True:
        try:
            draft = await drafted.next_draft(beat)
        except TimeoutError:
            yield BEAT
            continue
        if draft is None:
            break
        yield encode_event(None, "draft", {"text": draft})
    try:
        answer = await drafted.answer()
    except AosError as error:
        yield encode_event(None, "error", dict(error_event(0, error).data))
        return
    yield encode_event(None, "answer", answer.model_dump(mode="json"))
