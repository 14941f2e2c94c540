"""A language model's help with a search: what is asked of whoever asks it."""

from dataclasses import dataclass
from typing import Protocol

from cluster.basics.errors import Invalid, Transient
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest
from cluster.models.model_errors import NoModel, OverBudget
from cluster.models.routing.tasks import Task

LONGEST_REPLY = 20_000  # characters; a longer one is not read

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

        Raises NoModel where none is configured, OverBudget where the agent or the tenant has spent its money, and the
        last connection's Unavailable, Overloaded, Unusable or Invalid.
        """


def refusal_reason(error: Exception, seconds: float) -> str:
    """Reason why a model could not be asked, in a line."""
    if isinstance(error, TimeoutError):
        return f"the model took longer than {seconds:g} s"
    return " ".join(str(error).split())[:300]
