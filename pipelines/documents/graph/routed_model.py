"""Asks the model that a document's agent has for a graph, in that agent's name and within its budget."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest, Delta, Fallback, Reply
from cluster.models.routing.tasks import Task
from pipelines.documents.graph import model_extraction
from pipelines.documents.graph.graph_rows import Payer
from pipelines.documents.graph.model import PageText


class Streams(Protocol):
    """Answers requests: cluster.models.routing.router.Router."""

    def stream(
        self, scope: Scope, agent: str, config: Mapping[str, Any], task: str, request: ChatRequest
    ) -> AsyncIterator[Delta | Fallback | Reply]:
        """See `Router.stream`."""
        ...


class RoutedReader:
    """Reads a document by model. That there is no model, or none that answers, is a reason and no error."""

    def __init__(self, router: Streams, seconds: float) -> None:
        """`seconds` is how long a whole answer may take, fallbacks included."""
        self._router, self._seconds = router, seconds

    async def read(self, scope: Scope, payer: Payer, pages: Sequence[PageText]) -> model_extraction.Read | str:
        """Entities and relations by the model, as far as the pages bear them out; else why there are none."""
        try:
            async with asyncio.timeout(self._seconds):
                reply = await self._reply(scope, payer, model_extraction.request(pages))
        except TimeoutError:
            return f"the model did not answer within {self._seconds:g} s"
        except AosError as error:
            return f"no model answered: {error.code}"
        return model_extraction.read(reply, pages) or "the model's reply was no JSON object"

    async def _reply(self, scope: Scope, payer: Payer, request: ChatRequest) -> str:
        content = ""
        async for piece in self._router.stream(scope, payer.agent, payer.config, Task.EXTRACT, request):
            if isinstance(piece, Reply):
                content = piece.content
        return content
