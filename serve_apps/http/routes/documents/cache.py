"""Semantic cache of searches and answers: its statistics, and how to invalidate it."""

from dataclasses import asdict

from fastapi import APIRouter
from pydantic import BaseModel, Field

from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.fields import Name

router = APIRouter(route_class=GuardedRoute, tags=["search"])


class CacheStats(BaseModel):
    """A workspace's cache, over all replicas; `refused` are misses beside a question that asks something else."""

    entries: int
    places: int = Field(description="Sets of documents, filters and options that have entries.")
    hits: int
    misses: int
    bypasses: int
    refused: int
    shared: int = Field(description="Questions that waited for the same one of somebody else.")
    stored: int
    garbage: int
    hit_rate: float | None
    similarity_threshold: float
    ttl_seconds: int
    refusals: dict[str, int] = Field(default={}, description="What parted those questions, and how often.")


class Forgotten(BaseModel):
    """Number of entries that were invalidated."""

    forgotten: int
    agent_id: str | None


@router.get("/api/rag/cache/stats")
async def cache_stats(me: Me, parts: Its) -> CacheStats:
    """Statistics of the workspace's cache; 503 where it cannot be reached."""
    return CacheStats(**asdict(await parts.cache.get_stats(me.workspace)))


@router.delete("/api/rag/cache")
async def forget(me: Me, parts: Its, agent_id: Name | None = None) -> Forgotten:
    """Forget what was remembered in the workspace, or only for one agent, by its id or display name."""
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    forgotten = await parts.cache.invalidate(me.workspace, agent)
    async with parts.database.transaction(me.scope) as tx:
        detail = {"agent": agent, "forgotten": forgotten}
        await parts.audit.record(tx, me.scope, "cache.clear", agent or me.workspace, detail=detail)
    return Forgotten(forgotten=forgotten, agent_id=agent)
