"""A language model's help with a search: what is asked of whoever asks it, and how its JSON is read."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from cluster.basics.errors import Invalid, Transient
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest
from cluster.models.model_errors import NoModel, OverBudget
from cluster.models.routing.tasks import Task

LONGEST_REPLY = 20_000  # characters; a longer one is not read
TRIES = 8  # places at which an object may begin

# A model that cannot be asked: the search goes on without it and says so.
REFUSALS = (Transient, Invalid, NoModel, OverBudget, TimeoutError)


@dataclass(frozen=True, slots=True)
class WriterReply:
    """Text that a model wrote, and the model's name."""

    text: str
    model: str


class QueryWriter(Protocol):
    """Asks a language model on behalf of a search."""

    async def write(self, scope: Scope, agent: str | None, task: Task, request: ChatRequest) -> WriterReply:
        """The whole reply, with an agent's connections and money, or those of the workspace's own assistant.

        Raises:
            NoModel: none is configured.
            OverBudget: the agent or the tenant has spent its money.
            Unavailable, Overloaded, Unusable, Invalid: the last connection's error.
        """
        ...


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in a reply, whatever was written around them; none where it is too long."""
    decoder, at = json.JSONDecoder(), -1
    if len(text) > LONGEST_REPLY:
        return
    for _ in range(TRIES):
        if (at := text.find("{", at + 1)) < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found
        at = end - 1


def refusal_reason(error: Exception, seconds: float) -> str:
    """Reason why a model could not be asked, in a line."""
    if isinstance(error, TimeoutError):
        return f"the model took longer than {seconds:g} s"
    return " ".join(str(error).split())[:300]
