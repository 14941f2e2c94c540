"""Ports of search tools: to passages of documents, and to entities of their graph."""

from typing import Any, Protocol

from cluster.basics.scope import Scope


class PassageSource(Protocol):
    """Port to passages; whoever runs the tools binds it to the search."""

    async def find(self, scope: Scope, agent: str, query: str, limit: int, min_similarity: float | None) -> Any:
        """Passages of the agent's linked documents as JSON, best first; what is far below the best is left out.

        The scope's readers are checked. `min_similarity`: the least cosine to the query, -1 to 1; None for none.

        Raises Unavailable: the search cannot be reached.
        """


class EntitySource(Protocol):
    """Port to named entities and their relations; whoever runs the tools binds it to the graph."""

    async def find(self, scope: Scope, agent: str, query: str, limit: int) -> Any:
        """Entities that a name or a question names, and their relations with evidence, as JSON.

        They are of the agent's linked documents; the scope's readers are checked.

        Raises Unavailable: the graph cannot be reached.
        """
