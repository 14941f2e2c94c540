"""Puts the search together from settings; its models are asked as agents' are: by the router, for an agent's money."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing

import httpx2

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Scope
from cluster.models.messages import ChatRequest, ModelReply, ReplyDelta
from cluster.models.model_errors import NoModel
from cluster.models.ports import Embedder, Reranker
from cluster.models.reranking.remote import RemoteReranker
from cluster.models.routing.router import ConnectionSource, ModelRouter
from cluster.models.routing.tasks import Task
from cluster.state.agent_store import AgentStore
from cluster.state.db.postgres import Database
from configs.sections import Settings
from serve_apps.agents.intake.assistant import ASSISTANT
from serve_apps.agents.parsing.reasoning import split_reasoning, strip_tokens
from serve_apps.retrieval.search.expand import QueryEnhancer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query_writer import ModelSpend, QueryWriter, WriterReply
from serve_apps.retrieval.search.rerank import ServiceJudge, WriterJudge
from serve_apps.retrieval.search.retrievers import ClassRules


class RoutedWriter:
    """A `QueryWriter` with the agent's connections and budget, or those of the workspace's own assistant."""

    def __init__(self, router: ModelRouter, connections: ConnectionSource, agents: AgentStore) -> None:
        """`connections` tells whether there is any model, before an agent is looked for that would pay."""
        self._router, self._connections, self._agents = router, connections, agents

    async def write(
        self,
        scope: Scope,
        agent: str | None,
        task: Task,
        request: ChatRequest,
        listen: Callable[[str], None] | None = None,
    ) -> WriterReply:
        """See `QueryWriter`; no connection to the database is held while the model is asked."""
        offered, _ = await self._connections.offered(scope)
        if not any(connection.enabled for connection in offered):
            raise NoModel("no language model is configured")
        row = await self._agents.find(scope, agent or ASSISTANT.name)
        said = self._router.stream(scope, str(row["id"]), row["config"], task, request)
        async with aclosing(said) as items:
            async for item in items:
                if isinstance(item, ModelReply):
                    text = strip_tokens(split_reasoning(item.content)[1])
                    spend = ModelSpend(item.connection, item.usage, item.cost_usd)
                    return WriterReply(text, item.model, spend, item.fallbacks)
                if listen is not None and isinstance(item, ReplyDelta):
                    listen(item.text)
        raise Unavailable("the model's stream ended without a reply")


def search_of(
    settings: Settings,
    database: Database,
    embedder: Embedder,
    reranker: Reranker | None,
    writer: QueryWriter,
    client: httpx2.AsyncClient,
    class_rules: ClassRules,
) -> SearchPipeline:
    """The search of a process; nothing is asked yet. `reranker`: None where there are no weights for the cross-encoder;
    `writer` asks the workspace's language models, `client` a reranking service; `class_rules` as of `ChunkRetriever`.
    """
    return SearchPipeline(
        database,
        embedder,
        reranker,
        settings.search,
        settings.rerank,
        enhancer=QueryEnhancer(writer, settings.enhance),
        others=(
            ServiceJudge(RemoteReranker(settings.rerank, client, asyncio.sleep), settings.rerank),
            WriterJudge(writer, settings.rerank),
        ),
        packing=settings.pack,
        class_rules=class_rules,
    )
