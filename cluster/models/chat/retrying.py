"""Asking again: four attempts with growing waits, and only as long as nothing of the answer has been shown."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing

from cluster.basics.errors import AosError, Invalid, Transient, Unavailable
from cluster.basics.retry import MODEL_WAITS
from cluster.basics.retry_after import asked_seconds, http_date
from cluster.models.messages import ChatRequest, ModelReply, ReplyDelta
from cluster.models.model_errors import Busy, Unusable
from cluster.models.ports import ChatModel

LONGEST_WAIT = 15.0  # seconds; a server that asks for more is better left for another
SPREAD = 0.25  # of a wait, either way: clients that failed together must not come back together
LONGEST_DETAIL = 300  # characters of what a server says about its refusal


class RetryingChatModel:
    """A model that is asked again after errors that may pass."""

    def __init__(
        self,
        model: ChatModel,
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
        waits: Sequence[float] = MODEL_WAITS,
    ) -> None:
        """`chance` gives numbers from 0 to 1; `waits` are seconds between attempts, none for a single one."""
        self._model, self._sleep, self._chance, self._waits = model, sleep, chance, waits

    async def stream(self, request: ChatRequest) -> AsyncIterator[ReplyDelta | ModelReply]:
        """As the model's own; an error after the first piece rises at once, for pieces cannot be taken back."""
        for wait in (*self._waits, None):
            shown = False
            try:
                async with aclosing(self._model.stream(request)) as said:  # type: ignore[type-var]
                    async for item in said:
                        shown = True
                        yield item
                return
            except Transient as error:
                seconds = None if wait is None or shown else retry_pause(wait, error, self._chance())
                if seconds is None:
                    raise
            await self._sleep(seconds)


def retry_pause(wait: float, error: Transient, chance: float) -> float | None:
    """Seconds until the next attempt: the wait with jitter, or longer if the server asks; None for giving up."""
    asked = error.retry_after if isinstance(error, Busy) else 0.0
    if asked > LONGEST_WAIT:
        return None
    return max(min(wait * (1 + SPREAD * (2 * chance - 1)), LONGEST_WAIT), asked)


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds that a server asks to wait; a date counts from the server's own. 0 where it asks for nothing."""
    return asked_seconds(headers.get("retry-after"), http_date(headers.get("date", ""))) or 0.0


def of_status(status: int, message: str, headers: Mapping[str, str]) -> AosError:
    """The error that an HTTP status stands for; `message` is the server's own, without the key."""
    said = f": {message[:LONGEST_DETAIL]}" if message else ""
    if status == 429 and "insufficient_quota" in message:
        return Unusable(f"the account at the model's server has no credit left{said}")
    if status in (429, 529) or (status == 503 and "retry-after" in headers):
        return Busy(f"the model has too much to do ({status}{said})", retry_after=retry_after(headers))
    if status in (408, 409, 425) or status >= 500:
        return Unavailable(f"the model's server failed with {status}{said}")
    if status in (401, 403, 404):
        return Unusable(f"the model's server answered {status}{said}")
    if status < 400:
        return Unusable(f"the model's server answered {status}: redirects are not followed")
    return Invalid(f"the model's server refused the call with {status}{said}")
