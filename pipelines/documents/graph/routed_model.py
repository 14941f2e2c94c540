"""Asks the model that a document's agent has for a graph, in that agent's name and within its budget."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Protocol

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelReply, ReplyDelta
from cluster.models.routing.tasks import Task
from pipelines.documents.graph import model_extraction
from pipelines.documents.graph.graph_rows import PayingAgent
from pipelines.documents.graph.model import GraphPage


class StreamingRouter(Protocol):
    """Answers requests: cluster.models.routing.router.ModelRouter."""

    def stream(
        self, scope: Scope, agent: str, config: Mapping[str, Any], task: str, request: ChatRequest
    ) -> AsyncIterator[ReplyDelta | ConnectionFallback | ModelReply]:
        """See `ModelRouter.stream`."""
        ...


class RoutedReader:
    """Reads a document by model. That there is no model, or none that answers, is a reason and no error."""

    def __init__(self, router: StreamingRouter, seconds: float) -> None:
        """`seconds` is how long a whole answer may take, fallbacks included."""
        self._router, self._seconds = router, seconds

    async def read(
        self, scope: Scope, payer: PayingAgent, pages: Sequence[GraphPage]
    ) -> model_extraction.ModelExtraction | str:
        """Entities and relations by the model, as far as the pages bear them out; else why there are none."""
        try:
            async with asyncio.timeout(self._seconds):
                reply = await self._stream_reply(scope, payer, model_extraction.graph_request(pages))
        except TimeoutError:
            return f"the model did not answer within {self._seconds:g} s"
        except AosError as error:
            return f"no model answered: {error.code}"
        return model_extraction.parse_reply(reply, pages) or "the model's reply was no JSON object"

    async def _stream_reply(self, scope: Scope, payer: PayingAgent, request: ChatRequest) -> str:
        content = ""
        async for piece in self._router.stream(scope, payer.agent, payer.config, Task.EXTRACT, request):
            if isinstance(piece, ModelReply):
                content = piece.content
        return content
