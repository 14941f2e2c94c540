"""Ports of the API: the cache of answers, the agents' tools and replays."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cluster.basics.scope import Scope
from cluster.models.messages import ToolSpec
from serve_apps.retrieval.cache.semantic_cache import SemanticCacheStats


class CachePort(Protocol):
    """Semantic cache of searches and answers: serve_apps.retrieval.cache.semantic_cache.SemanticCache."""

    async def get_stats(self, workspace: str) -> SemanticCacheStats:
        """Count entries, hits and misses. Raises Unavailable: it cannot be reached."""
        ...

    async def invalidate(self, workspace: str, agent_id: str | None = None) -> int:
        """Forget a workspace's entries, or only those of one agent; returns how many there were.

        Raises Unavailable: it cannot be reached.
        """
        ...


class ToolboxPort(Protocol):
    """The tools that agents have: skills.framework.catalogue.ToolCatalog."""

    def specs(self) -> Sequence[ToolSpec]:
        """All of them, with their schemas."""
        ...


class ReplaysPort(Protocol):
    """Walks recorded runs again: serve_apps.agents.durable.replay."""

    async def replay(
        self, scope: Scope, run: str, *, model: str | None = None, prompt: str | None = None
    ) -> Mapping[str, Any]:
        """Result of the replay as JSON; `diverged` is null or the first step that differs.

        Raises NotFound: no such run.
        """
        ...

    async def unmasked_answer(self, scope: Scope, run: str) -> str | None:
        """The answer of a run before the policies on answers masked it; None where they did not, or it is gone.

        Raises NotFound: no such run.
        """
        ...
