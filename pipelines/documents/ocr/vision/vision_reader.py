"""Asks a multimodal model about pages that OCR read badly: within a budget, behind a breaker, not believed blindly."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol, cast

from cluster.basics.errors import AosError, Transient
from cluster.basics.scope import Scope
from cluster.models.messages import ModelReply, ReplyDelta
from cluster.models.ports import ChatModel
from configs.sections_reading import VisionSettings
from pipelines.documents.document import Caveat, CaveatKind, EngineAttempt, Page
from pipelines.documents.ocr.vision.agreement import count_comparable, measure_agreement
from pipelines.documents.ocr.vision.circuit_breaker import CircuitBreaker
from pipelines.documents.ocr.vision.transcription import (
    ENGINE,
    parse_transcription,
    shrink_picture,
    transcribed_page,
    transcription_request,
)


class VisionBudget(Protocol):
    """How many pages may still be looked at; shared by all workers."""

    async def take(self, scope: Scope, job: str, pixels: int) -> str:
        """Take one page of the budget; why there is none left, or "" where it was taken."""


OpenModel = Callable[[Scope], Awaitable[ChatModel]]
"""Opens the model of the connection that is set. Raises AosError: there is none of that name, or its key is lost."""

Draw = Callable[[], Awaitable[bytes]]
"""Draws the page. Raises Unreadable, which its caller knows."""


class VisionReader:
    """One for each process: its breaker is shared by all who read there."""

    def __init__(
        self,
        settings: VisionSettings,
        open_model: OpenModel,
        budget: VisionBudget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is opened yet."""
        self._settings, self._open_model, self._budget, self._clock = settings, open_model, budget, clock
        self.breaker = CircuitBreaker(settings.failures, settings.rest_seconds, clock)

    async def look(self, scope: Scope, job: str, page: Page, png: bytes) -> Page:
        """The page as the model reads its picture, where OCR's words bear that out; else as it was, and why.

        A model that is away, slow or over its budget leaves the page with a caveat: it may be read again.
        """
        began = self._clock()
        try:
            picture, pixels = await asyncio.to_thread(shrink_picture, png, self._settings.max_pixels)
        except OSError as error:
            return self._doubt(page, f"its picture cannot be sent: {error}"[:200])
        if not self.breaker.admit():
            return self._doubt(page, "the model for it failed several times and is left alone for a while")
        try:
            async with asyncio.timeout(self._settings.seconds):
                # Before anything is taken: a wrong name of a connection is to cost no page of the budget.
                model = await self._open_model(scope)
                if refused := await self._budget.take(scope, job, pixels):
                    self.breaker.release()
                    return self._doubt(page, refused)
                reply = await _ask_model(model, picture)
        except asyncio.CancelledError:
            self.breaker.release()
            raise
        except TimeoutError:
            self.breaker.record_failure()
            return self._doubt(page, f"the model for it did not answer within {self._settings.seconds:g} s")
        except AosError as error:
            # A wrong name or key stays wrong: it is told on each page, and nobody is kept waiting for it.
            self.breaker.record_failure() if isinstance(error, Transient) else self.breaker.release()
            return self._doubt(page, f"no model answered for it: {error.code} {error.detail}"[:200])
        self.breaker.record_success()
        # Thousands of words are compared with thousands: meanwhile the process has other work.
        return await asyncio.to_thread(self._judge, page, reply, round(1000 * (self._clock() - began)))

    def _judge(self, page: Page, reply: ModelReply, ms: int) -> Page:
        name = reply.model or "a model"
        text = parse_transcription(reply)
        if text == "" and not count_comparable(page.words):
            note = f"{name}: it saw no words, as OCR"
            return replace(page, attempts=(*page.attempts, EngineAttempt(ENGINE, 0.0, ms, False, note)))
        if not text:
            why = "its reply was no JSON object with a text" if text is None else "it saw no words"
            return self._refuse(page, EngineAttempt(ENGINE, 0.0, ms, False, f"{name}: {why}"), why)
        agreement = measure_agreement(page.words, text)
        score, objection = round(agreement.score, 4), agreement.objection
        shares = f"{agreement.recall:.0%} and {agreement.precision:.0%} of the words agree with OCR's"
        if objection:
            return self._refuse(page, EngineAttempt(ENGINE, score, ms, False, f"{name}: {objection}"), objection)
        return transcribed_page(page, text, agreement, EngineAttempt(ENGINE, score, ms, True, f"{name}: {shares}"))

    def _refuse(self, page: Page, attempt: EngineAttempt, why: str) -> Page:
        page = replace(page, attempts=(*page.attempts, attempt))
        return self._doubt(page, f"what a model read on it was refused: {why}")

    def _doubt(self, page: Page, why: str) -> Page:
        return with_doubt(page, why, self._settings.below)


async def _ask_model(model: ChatModel, picture: bytes) -> ModelReply:
    stream = cast(AsyncGenerator[ReplyDelta | ModelReply], model.stream(transcription_request(picture)))
    async with aclosing(stream):
        async for piece in stream:
            if isinstance(piece, ModelReply):
                return piece
    raise Transient("the model's stream ended without a reply")


def with_doubt(page: Page, why: str, below: float) -> Page:
    """The page as OCR read it, with the reason for which nothing better was got.

    One that OCR reads with a mean confidence of `below` or more is no worse for that: it stays as it is.
    """
    if page.confidence is not None and page.confidence >= below:
        return page
    sure = "badly" if page.confidence is None else f"badly ({page.confidence:.2f})"
    detail = f"OCR reads this page {sure}, and {why}. Have it read again later: aos jobs retry JOB --degraded."
    return replace(page, caveats=(*page.caveats, Caveat(CaveatKind.READING_WEAK, detail)))
