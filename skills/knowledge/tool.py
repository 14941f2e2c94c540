"""`search_knowledge` and `semantic_search`: passages of the documents that are linked to the agent that asks."""

from typing import Any, Protocol

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope
from cluster.models.messages import ToolSpec
from skills.contract import Call, Effect

MOST = 20  # passages of one call


class Passages(Protocol):
    """Where passages come from; whoever runs the tools binds it to the search."""

    async def find(self, scope: Scope, agent: str, query: str, limit: int, min_similarity: float) -> Any:
        """Passages of the agent's linked documents as JSON, best first.

        Args:
            scope: whose documents; readers are checked.
            agent: only what is linked to it.
            query: in natural language.
            limit: most passages.
            min_similarity: least cosine similarity to the query, -1 to 1.

        Raises:
            Unavailable: the search cannot be reached.
        """
        ...


class KnowledgeTool:
    """A search with a least similarity of its own (X-24: search_knowledge 0.65, semantic_search 0.7)."""

    effect = Effect.READ

    def __init__(self, spec: ToolSpec, passages: Passages, min_similarity: float) -> None:
        """`min_similarity` is used where the call names none."""
        self.spec = spec
        self._passages, self._least = passages, min_similarity

    async def run(self, call: Call) -> Any:
        """What `Passages.find` gives.

        Raises:
            Invalid: nothing is asked, or no agent asks.
            Unavailable: the search cannot be reached.
        """
        query = str(call.arguments["query"]).strip()
        if not query:
            raise Invalid("the query is empty")
        if call.agent is None:
            raise Invalid("documents are linked to agents, and no agent asks")
        limit = int(call.arguments.get("top_k") or 5)
        least = call.arguments.get("min_similarity")
        return await self._passages.find(
            call.scope, call.agent, query, min(limit, MOST), self._least if least is None else float(least)
        )


def search_knowledge(passages: Passages) -> KnowledgeTool:
    """Passages for a question, by words and by meaning."""
    return KnowledgeTool(
        _spec("search_knowledge", "Search the linked documents for passages that answer a question.", 0.65),
        passages,
        0.65,
    )


def semantic_search(passages: Passages) -> KnowledgeTool:
    """Passages that mean something close to a text."""
    return KnowledgeTool(
        _spec("semantic_search", "Find passages of the linked documents whose meaning is close to a text.", 0.7),
        passages,
        0.7,
    )


def _spec(name: str, description: str, least: float) -> ToolSpec:
    properties = {
        "query": {"type": "string", "description": "What to look for, in natural language."},
        "top_k": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "Most passages; 5 by default."},
        "min_similarity": {
            "type": "number", "minimum": 0, "maximum": 1, "description": f"Least similarity; {least} by default.",
        },
    }  # fmt: skip
    return ToolSpec(
        name,
        description,
        {"type": "object", "properties": properties, "required": ["query"], "additionalProperties": False},
    )
