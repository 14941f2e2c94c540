"""Limits of a turn: rounds and time, shared with whatever it delegates, and the errors that end it at once."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from cluster.basics.errors import LeaseLost, Permanent
from serve_apps.agents.turn_errors import ApprovalPending, ReplayDiverged
from serve_apps.agents.turn_ports import AgentSnapshot, Journal

Item = TypeVar("Item")

# Never an observation: they end the walk through the journal, whatever was being done.
ENDINGS = (ApprovalPending, ReplayDiverged, LeaseLost)


class OutOfTime(Permanent):
    """The time of this turn is spent."""

    code, status = "out_of_time", 504
    fix = "Raise timeout_seconds of the agent, or ask for less at once."


@dataclass(slots=True)
class TurnAllowance:
    """Remaining rounds and time of a turn and all turns below it."""

    rounds: int  # model replies that may still be asked for
    ends_ms: int  # when the journal's `spent_ms` reaches it, time is up; waiting for people does not count
    payer: AgentSnapshot  # whose budget pays: the agent that the user talks to

    def seconds(self, journal: Journal) -> float:
        """Left, 0 or more."""
        return max(0, self.ends_ms - journal.spent_ms) / 1000

    def narrowed(self, rounds: int, seconds: float, journal: Journal) -> "TurnAllowance":
        """Allowance of a turn below: no more than is left, and no more than its own agent is allowed."""
        ends_ms = min(self.ends_ms, journal.spent_ms + round(seconds * 1000))
        return TurnAllowance(min(self.rounds, rounds), ends_ms, self.payer)


def agent_limit(config: Mapping[str, Any], name: str, otherwise: float) -> float:
    """An agent's own limit, never above the settings' one; a value that makes no sense is passed over."""
    own: Any = config.get(name)
    known = isinstance(own, int | float) and not isinstance(own, bool) and own > 0
    return min(float(own), otherwise) if known else otherwise


async def stream_in_time(items: AsyncIterator[Item], seconds: float) -> AsyncGenerator[Item]:
    """The same items, as long as they come before the time is up; the source is closed at the end in any case.

    Raises OutOfTime: they did not.
    """
    ends = asyncio.get_running_loop().time() + seconds
    async with aclosing(cast(AsyncGenerator[Item], items)) as source:
        while True:
            try:
                async with asyncio.timeout_at(ends) as limit:
                    item = await anext(source)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if limit.expired():
                    raise OutOfTime(f"a model did not end within the {seconds:.0f} s that were left") from None
                raise
            yield item


async def in_time(work: Awaitable[Item], seconds: float, what: str) -> Item:
    """The result, if it comes in time. Raises OutOfTime: it did not, and was cancelled."""
    try:
        async with asyncio.timeout(seconds) as limit:
            return await work
    except TimeoutError:
        if limit.expired():
            raise OutOfTime(f"{what} did not end within the {seconds:.0f} s that were left") from None
        raise
