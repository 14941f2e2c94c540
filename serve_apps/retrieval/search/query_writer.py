"""A language model's help with a search: what is asked of whoever asks it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cluster.basics.errors import Invalid, Transient
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest, ConnectionFallback, TokenUsage
from cluster.models.model_errors import NoModel, OverBudget
from cluster.models.routing.tasks import Task

LONGEST_REPLY = 20_000  # characters; a longer one is not read

# A model that cannot be asked: the search goes on without it and says so.
REFUSALS = (Transient, Invalid, NoModel, OverBudget, TimeoutError)


@dataclass(frozen=True, slots=True)
class ModelSpend:
    """Tokens and money that a reply took."""

    connection: str
    usage: TokenUsage
    cost_usd: float

    @property
    def figures(self) -> dict[str, str | int | float]:
        """The spend as it is told: connection, prompt_tokens, completion_tokens, cost_usd."""
        read, said = self.usage.prompt_tokens, self.usage.completion_tokens
        return {
            "connection": self.connection,
            "prompt_tokens": read,
            "completion_tokens": said,
            "cost_usd": self.cost_usd,
        }


@dataclass(frozen=True, slots=True)
class WriterReply:
    """Text that a model wrote without its reasoning, and the model's name."""

    text: str
    model: str
    spend: ModelSpend | None = None
    left: tuple[ConnectionFallback, ...] = ()  # connections that were asked before, and why they did not answer


class QueryWriter(Protocol):
    """Asks a language model on behalf of a search."""

    async def write(
        self,
        scope: Scope,
        agent: str | None,
        task: Task,
        request: ChatRequest,
        listen: Callable[[str], None] | None = None,
    ) -> WriterReply:
        """The whole reply, with an agent's connections and money, or those of the workspace's own assistant.

        `listen` is given the reply's text as it comes, reasoning in it included.

        Raises NoModel where none is configured, OverBudget where the agent or the tenant has spent its money, and the
        last connection's Unavailable, Overloaded, Unusable or Invalid.
        """


def refusal_reason(error: Exception, seconds: float) -> str:
    """Reason why a model could not be asked, in a line."""
    if isinstance(error, TimeoutError):
        return f"the model took longer than {seconds:g} s"
    return " ".join(str(error).split())[:300]
