"""Puts the search together from settings: with what enhances questions, who judges, and how contexts are packed."""

import asyncio

import httpx2

from cluster.models.ports import Embedder, Reranker
from cluster.models.reranking.remote import RemoteReranker
from cluster.state.db.postgres import Database
from configs.sections import Settings
from serve_apps.retrieval.search.expand import QueryEnhancer
from serve_apps.retrieval.search.pipeline import SearchPipeline
from serve_apps.retrieval.search.query_writer import QueryWriter
from serve_apps.retrieval.search.rerank import ServiceJudge, WriterJudge


def search_of(
    settings: Settings,
    database: Database,
    embedder: Embedder,
    reranker: Reranker | None,
    writer: QueryWriter,
    client: httpx2.AsyncClient,
) -> SearchPipeline:
    """The search of a process; nothing is asked yet.

    Args:
        settings: the whole, as this is where it is divided.
        database: where the index is.
        embedder: makes vectors of questions.
        reranker: the cross-encoder; None where there are no weights for one.
        writer: asks the workspace's language models.
        client: for a reranking service.
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
    )
