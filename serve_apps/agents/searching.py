"""Puts the search together from settings: with what enhances questions, who judges, and how contexts are packed."""

import asyncio
from collections.abc import Callable
from datetime import datetime

import httpx2

from cluster.models.ports import Embedder, Reranker
from cluster.models.rerank_remote import RemoteReranker
from cluster.models.router import Router
from cluster.models.spend import Spend
from cluster.models.switchboard import Switchboard
from cluster.state.postgres import Database
from configs.sections import Settings
from pipelines.documents.links import Links
from serve_apps.agents.writing import RoutedWriter
from serve_apps.retrieval.enhance import Enhancer
from serve_apps.retrieval.judge import ServiceJudge, WriterJudge
from serve_apps.retrieval.search import Search


def search_of(
    settings: Settings,
    database: Database,
    embedder: Embedder,
    reranker: Reranker | None,
    switchboard: Switchboard,
    links: Links,
    client: httpx2.AsyncClient,
    clock: Callable[[], datetime],
) -> Search:
    """The search of a process; nothing is asked yet.

    Args:
        settings: the whole, as this is where it is divided.
        database: where the index is.
        embedder: makes vectors of questions.
        reranker: the cross-encoder; None where there are no weights for one.
        switchboard: opens language models.
        links: knows the agents that pay for them.
        client: for a reranking service.
        clock: now, with a time zone.
    """
    router = Router(switchboard, Spend(database, clock), most=settings.models.max_fallbacks)
    writer = RoutedWriter(router, switchboard, links)
    return Search(
        database,
        embedder,
        reranker,
        settings.search,
        settings.rerank,
        enhancer=Enhancer(writer, settings.enhance),
        others=(
            ServiceJudge(RemoteReranker(settings.rerank, client, asyncio.sleep), settings.rerank),
            WriterJudge(writer, settings.rerank),
        ),
        packing=settings.pack,
    )
