"""The chunking strategy of a workspace."""

from fastapi import APIRouter
from pydantic import BaseModel

from configs.sections import ChunkStrategy
from pipelines.documents.store.chunk_strategies import ChunkStrategies
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.fields import ChunkStrategyField, RequestBody

router = APIRouter(route_class=GuardedRoute, tags=["documents"])


class ChunkingRequest(RequestBody):
    """A strategy for the workspace; null takes that of the settings."""

    strategy: ChunkStrategyField | None


class Chunking(BaseModel):
    """`strategy` is the workspace's own, null where it takes the settings' (`default`)."""

    strategy: ChunkStrategy | None
    default: ChunkStrategy


@router.get("/api/documents/chunking", dependencies=[READ])
async def chunking(me: Me, parts: Its) -> Chunking:
    """Show the workspace's chunking strategy."""
    strategy = await ChunkStrategies(parts.database).of_workspace(me.scope)
    return Chunking(strategy=strategy, default=parts.chunk.strategy)


@router.put("/api/documents/chunking", dependencies=[OPERATE])
async def change_chunking(body: ChunkingRequest, me: Me, parts: Its) -> Chunking:
    """Cut the workspace's documents by this strategy from now on, or set one back that was tried.

    Where its index was made by another one, new documents are refused until it is made again: `POST
    /api/documents/reindex-all` with the `strategy` does both.
    """
    async with parts.database.transaction(me.scope) as tx:
        await ChunkStrategies(parts.database).change_workspace(tx, me.scope, body.strategy)
        detail = {"strategy": body.strategy}
        await parts.audit.record(tx, me.scope, "documents.chunking", me.scope.workspace, detail=detail)
    return Chunking(strategy=body.strategy, default=parts.chunk.strategy)
