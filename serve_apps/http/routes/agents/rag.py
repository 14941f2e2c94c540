"""Retrieval scope of an agent: the documents, chunks and index generation that it searches."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel

from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import READ
from serve_apps.http.fields import MOST_AGENT, Text
from serve_apps.http.routes.documents.document_shapes import Stats
from serve_apps.retrieval.search.inspect_chunks import sample_index

router = APIRouter(route_class=GuardedRoute, tags=["search"])

AgentInPath = Annotated[Text, Path(max_length=MOST_AGENT, description="An agent's UUID or its display name.")]


class SampleShape(BaseModel):
    """A chunk as it lies in the index; `text` is its beginning."""

    chunk_id: str
    document_id: str
    filename: str
    page: int
    chunk_index: int
    text: str
    characters: int
    embedded: bool


class Debug(BaseModel):
    """Searchable content of an agent, as far as the caller may see it."""

    agent_id: str
    collection: Stats
    chunk_count: int
    dimensions: int | None
    generation: dict[str, Any]
    sample_chunks: list[SampleShape]


@router.get("/api/rag/debug/{agent_id}", dependencies=[READ])
async def debug(
    agent_id: AgentInPath,
    me: Me,
    parts: Its,
    samples: Annotated[int, Query(ge=0, le=50, description="Chunks to show.")] = 5,
) -> Debug:
    """Collection, chunks, dimensions and generation behind an agent's searches, with some chunks."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    assert agent is not None
    stats = Stats(**await parts.library.stats(me.scope, agent))
    chunks = await sample_index(parts.database, me.scope, agent, samples)
    shown, size = [SampleShape(**asdict(one)) for one in chunks], stats.generation.get("dimension")
    known = {"collection": stats, "chunk_count": stats.chunks, "generation": stats.generation}
    return Debug(agent_id=agent, dimensions=size, sample_chunks=shown, **known)
