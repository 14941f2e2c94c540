"""Episodes: what past conversations were about, found by vectors and by words in later ones of the same person."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cluster.basics.scope import Scope
from cluster.state.conversations import ConversationSession, SessionFact, read_fact
from cluster.state.db.postgres import Transaction, load_queries


@dataclass(frozen=True, slots=True)
class PastEpisode:
    """A conversation that was; `similarity` to what is asked now is None where no vector can be compared."""

    session: str
    text: str
    at: datetime
    similarity: float | None


@dataclass(frozen=True, slots=True)
class EpisodeSource:
    """The source texts of an episode.

    Attributes:
        upto: number of the session's last message.
        known: up to which message its episode reaches.
        said: what the user said after the summary, the newest first.
    """

    upto: int
    known: int
    title: str
    summary: str
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnembeddedMemory:
    """A memory without a vector of the embedder of now; `kind` is `episode` or `fact`."""

    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class MemoryVector:
    """A text's vector, and the fingerprint of the embedder that made it: only those of the same one are compared."""

    vector: Sequence[float]
    made: str


class EpisodeStore:
    """Every statement about episodes and the vectors of facts; each is about the scope's own user."""

    def __init__(self) -> None:
        """Queries are read from episodes.sql beside this file."""
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def told(self, tx: Transaction, scope: Scope, session: str, most: int) -> EpisodeSource | None:
        """The source of a session's episode, with at most so many messages; None where the session is not theirs."""
        row = await tx.one(self._sql["told"], session=session, most=most, **_user_values(scope))
        if row is None:
            return None
        return EpisodeSource(row["upto"], row["known"], row["title"], row["summary"], tuple(row["said"]))

    async def write(self, tx: Transaction, scope: Scope, session: str, upto: int, text: str) -> None:
        """Keep a session's episode, unless one that reaches further is there."""
        await tx.run(self._sql["write"], session=session, upto=upto, text=text, **_user_values(scope))

    async def unembedded(self, tx: Transaction, scope: Scope, made: str, limit: int) -> list[UnembeddedMemory]:
        """Memories of the user that this embedder has made no vector of."""
        rows = await tx.all(self._sql["unembedded"], made=made, limit=limit, **_user_values(scope))
        return [UnembeddedMemory(row["kind"], str(row["id"]), row["text"]) for row in rows]

    async def embed(
        self, tx: Transaction, scope: Scope, found: Sequence[tuple[UnembeddedMemory, MemoryVector]]
    ) -> None:
        """Keep vectors; of a text that is another one by now none is kept."""
        groups = defaultdict[tuple[str, str], list[tuple[UnembeddedMemory, MemoryVector]]](list)
        for one, point in found:
            groups[one.kind, point.made].append((one, point))
        for (kind, made), those in groups.items():
            await tx.run(
                self._sql[f"embed_{kind}s"],
                made=made,
                ids=[one.id for one, _ in those],
                texts=[one.text for one, _ in those],
                vectors=[_format_vector(point.vector) for _, point in those],
                **scope.keys,
            )

    async def past(
        self, tx: Transaction, scope: Scope, session: ConversationSession, point: MemoryVector | None, limit: int
    ) -> list[PastEpisode]:
        """The user's other conversations with the session's agent, the nearest first, then the newest."""
        rows = await tx.all(self._sql["past"], limit=limit, **_similarity_values(session, point), **_user_values(scope))
        return [PastEpisode(str(row["session_id"]), row["text"], row["updated_at"], row["similarity"]) for row in rows]

    async def near_facts(
        self, tx: Transaction, scope: Scope, session: ConversationSession, point: MemoryVector, limit: int
    ) -> list[tuple[SessionFact, float]]:
        """The user's facts that are nearest, with their similarities."""
        values = _similarity_values(session, point) | _user_values(scope)
        rows = await tx.all(self._sql["near_facts"], limit=limit, **values)
        return [(read_fact(row), float(row["similarity"])) for row in rows]


def _similarity_values(session: ConversationSession, point: MemoryVector | None) -> dict[str, Any]:
    vector, made = (None, "") if point is None else (_format_vector(point.vector), point.made)
    return {"session": session.id, "agent": session.agent, "vector": vector, "made": made}


def _user_values(scope: Scope) -> dict[str, Any]:
    return {**scope.keys, "user": scope.user}


def _format_vector(vector: Sequence[float]) -> str:
    """As pgvector reads it."""
    return "[" + ",".join(f"{value:.7g}" for value in vector) + "]"
