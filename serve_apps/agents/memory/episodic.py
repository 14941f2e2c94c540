"""Earlier conversations and facts, found by meaning and by words; without vectors by words alone."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.models.embedding.migration import pin_embedder
from cluster.models.embedding.prefixes import embed_passages, embed_queries
from cluster.models.embedding.vectors_cache import with_workspace_cache
from cluster.models.ports import Embedder, EmbeddingLane
from cluster.state.conversations import ConversationSession, SessionFact
from cluster.state.db.postgres import Database
from cluster.state.episodes import EpisodeSource, EpisodeStore, MemoryVector, PastEpisode, UnembeddedMemory
from configs.sections import MemorySettings
from serve_apps.agents.memory.session_tasks import SessionTasks
from serve_apps.agents.turn_ports import Turn
from serve_apps.retrieval.text.words import STOP, word_tokens

log = logging.getLogger(__name__)

CHARS = 2_000  # of an episode; the newest of it is kept
SAID = 40  # messages that are looked at for it
LOOKED_AT = 200  # episodes among which those that share words are looked for
NEAR_FACTS = 20
BATCH, BATCHES = 32, 8  # texts that are embedded at once, and times behind one turn
SECONDS = 60.0  # longest behind one turn
AT_ONCE = 2  # conversations of this process
LEAST_WORDS = 2  # that a message and an episode share, or all that the message has
MEANING, WORDS = 0.7, 0.3  # weights of the two


@dataclass(frozen=True, slots=True)
class Remembered:
    """Context from memory, beside the conversation itself."""

    episodes: tuple[PastEpisode, ...] = ()  # of earlier conversations, what fits best first
    # those that are near to what is asked, and how near (-1 to 1)
    facts: Mapping[SessionFact, float] = field(default_factory=dict)
    line: Mapping[str, Any] | None = None  # for the trace; None where there was nothing to look among


class EpisodicMemory:
    """Reads before a turn, writes behind it. Vectors of another embedder than today's are made anew, not compared."""

    def __init__(
        self, database: Database, episodes: EpisodeStore, embedder: Embedder, settings: MemorySettings
    ) -> None:
        """`embedder`: that of questions; texts of memory go through its bulk lane."""
        self._db, self._episodes, self._embedder, self._settings = database, episodes, embedder, settings
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._tasks = SessionTasks()

    async def recall(
        self, scope: Scope, session: ConversationSession, message: str, known: Sequence[SessionFact]
    ) -> Remembered:
        """Episodes of earlier conversations with this agent that fit a message; `known` are the user's facts.

        Nothing is embedded where there is nothing to compare with.
        """
        if not self._settings.episodes:
            return Remembered()
        async with self._db.transaction(scope) as tx:
            past = await self._episodes.past(tx, scope, session, None, LOOKED_AT)
        if not past and not known:
            return Remembered()
        point, why = await self._point(scope, message)
        near: list[tuple[SessionFact, float]] = []
        if point is not None:
            async with self._db.transaction(scope) as tx:
                past = await self._episodes.past(tx, scope, session, point, LOOKED_AT)
                near = await self._episodes.near_facts(tx, scope, session, point, NEAR_FACTS)
        least = self._settings.episode_similarity
        facts = {fact: similarity for fact, similarity in near if similarity >= least}
        chosen = choose(past, message, least)[: self._settings.episodes]
        line = {"step": "memory", "episodes": len(chosen), "by": "words" if point is None else "meaning and words"}
        return Remembered(tuple(chosen), facts, line | ({"why": why} if why else {}))

    def begin(self, turn: Turn) -> None:
        """Keep up with what a turn has said, behind it; returns at once. What is not done now is done with the next."""
        if not self._settings.episodes or turn.depth or turn.session in self._tasks.running:
            return
        self._tasks.start(turn.session, self._behind(turn))

    async def close(self) -> None:
        """Stop what runs; it is done with the next turn."""
        await self._tasks.close()

    async def keep_up(self, scope: Scope, session: str) -> int:
        """Write a session's episode and make the vectors that are missing of the user; returns how many were made.

        Raises AosError where the embedder is silent; the episode is written, and found by its words.
        """
        async with self._db.transaction(scope) as tx:
            told = await self._episodes.told(tx, scope, session, SAID)
            if told is not None and told.upto > told.known and (text := episode_of(told)):
                await self._episodes.write(tx, scope, session, told.upto, text)
        facts, made = await self._embedder.facts(), 0
        for _ in range(BATCHES):
            async with self._db.transaction(scope) as tx:
                missing = await self._episodes.unembedded(tx, scope, facts.fingerprint, BATCH)
            if not missing:
                break
            pinned = pin_embedder(self._embedder, facts)
            vectors = await embed_passages(pinned, [one.text for one in missing], EmbeddingLane.BULK)
            points: list[tuple[UnembeddedMemory, MemoryVector]] = [
                (one, MemoryVector(vector.tolist(), facts.fingerprint))
                for one, vector in zip(missing, vectors, strict=True)
            ]
            async with self._db.transaction(scope) as tx:
                await self._episodes.embed(tx, scope, points)
            made += len(points)
        return made

    async def _behind(self, turn: Turn) -> None:
        try:
            async with self._slots, asyncio.timeout(SECONDS):
                await self.keep_up(turn.scope, turn.session)
        except (AosError, TimeoutError) as error:
            log.warning("episode of session %s: put off, %s: %s", turn.session, type(error).__name__, error)

    async def _point(self, scope: Scope, message: str) -> tuple[MemoryVector | None, str]:
        """The message's vector; else why there is none."""
        try:
            facts = await self._embedder.facts()
            pinned = pin_embedder(with_workspace_cache(self._embedder, scope), facts)
            vectors = await embed_queries(pinned, [message[:CHARS]])
        except AosError as error:
            return None, f"{error.code}: {error.title}"
        return MemoryVector(vectors[0].tolist(), facts.fingerprint), ""


def episode_of(told: EpisodeSource) -> str:
    """The text of a conversation as an episode: its summary, then its later messages, cut from the oldest on."""
    taken: list[str] = []
    left = CHARS - len(told.summary[:CHARS])
    for text in told.said:
        left -= len(text) + 1
        if left < 0:
            if not taken and not told.summary:
                taken.append(text[:CHARS])
            break
        taken.append(text)
    return "\n".join(filter(None, (told.summary[:CHARS], *reversed(taken)))).strip()


def choose(past: Sequence[PastEpisode], message: str, least: float) -> list[PastEpisode]:
    """Episodes that are near enough or share enough words, what fits best first."""
    asked = _words(message)

    def shared(one: PastEpisode) -> int:
        return len(_words(one.text) & asked)

    def worth(one: PastEpisode) -> float:
        return MEANING * max(0.0, one.similarity or 0.0) + WORDS * shared(one) / max(1, len(asked))

    def fits(one: PastEpisode) -> bool:
        near = one.similarity is not None and one.similarity >= least
        return near or (bool(asked) and shared(one) >= min(LEAST_WORDS, len(asked)))

    return sorted(filter(fits, past), key=lambda one: (-worth(one), one.session))


def _words(text: str) -> set[str]:
    return {token.word for token in word_tokens(text) if len(token.word) > 1} - STOP
