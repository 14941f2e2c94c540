"""Ports of search tools: to passages of documents, to their tables and fields, and to entities of their graph."""

from collections.abc import Mapping
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


class FieldSource(Protocol):
    """Port to extraction; whoever runs the tools binds it to the documents."""

    async def extract(self, scope: Scope, agent: str, document: str, schema: Mapping[str, Any]) -> Any:
        """Values of one of the agent's linked documents, named by its id or file name, in the form of a JSON schema.

        As JSON: data, the fields in doubt with their reasons, and passages to quote. The scope's readers are checked.

        Raises Permanent: by name, with what to do; Unavailable: it cannot be reached.
        """


class TableSource(Protocol):
    """Port to tables of documents; whoever runs the tools binds it to them."""

    async def list_tables(self, scope: Scope, agent: str, question: str) -> Any:
        """Tables of the agent's linked documents that may answer a question, as JSON: names, columns, a sample.

        The scope's readers are checked. Raises Unavailable: they cannot be reached.
        """

    async def query(self, scope: Scope, agent: str, sql: str) -> Any:
        """Rows of one SELECT over tables by their names, each with its places, as JSON.

        Raises Permanent: by name, with what to do; Unavailable: they cannot be reached.
        """

    async def find_insights(self, scope: Scope, agent: str, table: str) -> Any:
        """What stands out in a table, each with the query that shows it, as JSON.

        Raises Permanent: by name, with what to do; Unavailable: it cannot be reached.
        """
