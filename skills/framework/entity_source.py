"""Port to the knowledge graph of the documents, for the graph tool."""

from typing import Any, Protocol

from cluster.basics.scope import Scope


class EntitySource(Protocol):
    """Port to named entities and their relations; whoever runs the tools binds it to the graph."""

    async def find(self, scope: Scope, agent: str, query: str, limit: int) -> Any:
        """Entities that a question names, and their relations with evidence, as JSON.

        Args:
            scope: whose documents; readers are checked.
            agent: only what is linked to it.
            query: a name, or a question.
            limit: most entities.

        Raises:
            Unavailable: the graph cannot be reached.
        """
        ...
