"""Partition of the cache for a question: by caller, documents, options, and what the value is computed with."""

import json
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Literal

from cluster.basics.scope import Scope
from cluster.models.embedding.migration import VectorSpace, vector_space_of
from cluster.state.db.postgres import Database, load_queries
from serve_apps.retrieval.search.query import SearchQuery
from serve_apps.retrieval.search.retrievers import find_asked_literals

SQL = load_queries(Path(__file__).with_name("cache.sql"))
FORM = 1  # of entries; another number forgets all that there are
NO_AGENT = "-"
_NOT_ASKED = frozenset({"text", "fresh"})  # what does not change which answer is right

Sort = Literal["search", "answer"]


@dataclass(frozen=True, slots=True)
class CorpusState:
    """State of the documents that a question is asked of, as Postgres says at this moment."""

    # another one after every change of what can be found in the workspace, from the change's own transaction on; it
    # grows, and none comes twice
    version: int
    generation: int | None  # of the index that is asked; None where there is none
    made: VectorSpace | None  # what the generation's vectors can be compared with
    # those of the caller that documents of the workspace name; only they decide what is seen
    principals: tuple[str, ...]
    models: str  # a digest of which language models may have helped


@dataclass(frozen=True, slots=True)
class CachePartition:
    """A partition of the cache: entries of one place may stand for each other, those of two never."""

    workspace: str
    agent: str
    identity: str  # SHA-256 of all that parts it from others; each entry repeats it
    version: int  # of the corpus; entries of another one are dead
    embedder: str = ""  # name of the one that makes the questions' vectors

    @property
    def index(self) -> str:
        """The key of the list of its entries."""
        return f"rag_cache:{self.agent}:{self.identity[:32]}"

    @property
    def registry(self) -> str:
        """The key of the set of places that belong to its workspace."""
        return registry_of(self.workspace)

    def entry(self, name: str) -> str:
        """The key of an entry; `name` is `name_of` its question."""
        return f"{self.index}:{name}"


def registry_of(workspace: str) -> str:
    """The key of the set of a workspace's places."""
    return f"rag_cache:places:{workspace}"


def name_of(question: str) -> str:
    """16 hexadecimal digits for a question's text."""
    return sha256(question.encode("utf-8", "replace")).hexdigest()[:16]


def partition_of(sort: Sort, scope: Scope, query: SearchQuery, corpus: CorpusState, made_with: str) -> CachePartition:
    """Partition of the cache in which the answer to `query` belongs: every field but the text parts.

    The scope's principals count as far as the corpus names them; `made_with` is a fingerprint of settings and prompts.
    """
    asked, literals = asdict(query), find_asked_literals(query)
    told = {
        "form": FORM,
        "sort": sort,
        **scope.keys,
        "principals": corpus.principals,
        "generation": corpus.generation,
        "models": corpus.models,
        "quoted": (literals.phrases, literals.required),  # the same words without them ask something else
        "asked": {one.name: asked[one.name] for one in fields(query) if one.name not in _NOT_ASKED},
        "made_with": made_with,
    }
    made = corpus.made.name if corpus.made else ""
    identity = sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()
    return CachePartition(scope.workspace, query.agent_id or NO_AGENT, identity, corpus.version, made)


class CorpusReader:
    """Reads what questions are asked of."""

    def __init__(self, database: Database, assistant: str) -> None:
        """`assistant` is the name of the agent that pays for models where none is asked; queries are in cache.sql."""
        self._database, self._assistant = database, assistant

    async def of(self, scope: Scope, agent_id: str | None = None) -> CorpusState | None:
        """The corpus as it is now, for who asks an agent or none; None where the scope has no such workspace.

        Raises Unavailable, Overloaded of Postgres.
        """
        given = {"principals": list(scope.principals), "agent": agent_id, "assistant": self._assistant}
        rows = await self._database.read(scope, SQL["corpus"], **scope.keys, **given)
        if not rows:
            return None
        row = rows[0]
        made = None if row["generation"] is None else vector_space_of(row)
        return CorpusState(row["revision"], row["generation"], made, tuple(row["named"]), row["models"])
