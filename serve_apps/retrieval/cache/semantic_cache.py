"""The semantic cache: what was worked out for a question is given to the same question again, in whatever words."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from configs.sections_retrieval import CacheSettings
from serve_apps.retrieval.cache.cache_scope import CachePartition, name_of
from serve_apps.retrieval.cache.calibration import RiskCalibration
from serve_apps.retrieval.cache.codec import EntryCodec, EntryHeader
from serve_apps.retrieval.cache.mirror import EntryHead, NearQuestion, Vector
from serve_apps.retrieval.cache.near_miss import same_question, same_words
from serve_apps.retrieval.cache.redis_store import CacheAway, CacheStore
from serve_apps.retrieval.search.query import CacheDecision
from serve_apps.retrieval.text.lexicon import SynonymLexicon

LOOKED_AT = 8  # nearest questions that are compared word by word
POLL_SECONDS = 0.02
NEAR = "near, but"  # how the reason of a miss begins that has a question near enough, which asks something else
REFUSED = "refused:"  # before what parted the two, in the names of counters

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class QuestionLookup(Generic[T]):
    """Result of a cache lookup: a value with a decision `hit`, or none and why not."""

    value: T | None
    decision: CacheDecision


@dataclass(frozen=True, slots=True)
class SemanticCacheStats:
    """Statistics of a workspace's cache, over all processes that share it: questions, by what the cache said."""

    entries: int
    places: int  # sets of documents, filters and options that have entries
    hits: int
    misses: int
    bypasses: int
    refused: int  # misses with a question near enough that asks something else
    shared: int  # questions that waited for the same one of somebody else
    stored: int
    garbage: int  # what was found and could not be read
    hit_rate: float | None  # hits among hits and misses; None before the first
    risk: float
    similarity_threshold: float | None  # of the embedder that was measured; None where only the same words are a hit
    ttl_seconds: int
    # what parted the questions of `refused` from those remembered, and how often
    refusals: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CacheClaim:
    """Claim on the computation of a question's value, held by one process."""

    mine: bool
    name: str
    token: str


class SemanticCache(Generic[T]):
    """Entries of one sort. Methods that ask Redis raise CacheAway where it cannot be reached."""

    def __init__(
        self,
        store: CacheStore,
        codec: EntryCodec[T],
        settings: CacheSettings,
        lexicon: SynonymLexicon,
        calibration: RiskCalibration,
        now: Callable[[], float],
        token: Callable[[], str],
    ) -> None:
        """`now` gives seconds since the epoch, `token` a text that nobody else has."""
        self._store, self._codec, self._settings = store, codec, settings
        self._lexicon, self._calibration, self._now, self._token = lexicon, calibration, now, token

    async def get(self, place: CachePartition, question: str, vector: Vector | None = None) -> QuestionLookup[T]:
        """Look up the value of the same question; without its vector only for the same text.

        `vector`: its embedding, of length 1, shape (dimension,).
        """
        name = name_of(question)
        guess = self._nearest_question(place, question, vector)[0]
        names = [name] if guess is None or guess.name == name else [name, guess.name]
        raws = dict(zip(names, await self._store.fetch(place, names), strict=True))
        found = await self._serve_entry(place, name, raws[name], NearQuestion(1.0, name, question), "the same words")
        if found is not None:
            return found
        if vector is None:
            return _miss_lookup("no such text")
        self._store.mirror(place).forget(name)
        refused: NearQuestion | None = None
        for _ in range(LOOKED_AT):
            chosen, refused, why = self._nearest_question(place, question, vector)
            if chosen is None:
                return _miss_lookup(why, refused)
            raw = raws.get(chosen.name) or (await self._store.fetch(place, [chosen.name]))[0]
            found = await self._serve_entry(place, chosen.name, raw, chosen, "the same question in other words")
            if found is not None:
                return found
            self._store.mirror(place).forget(chosen.name)  # it ran out, or was forgotten elsewhere
        return _miss_lookup("what was near is gone", refused)

    async def put(self, place: CachePartition, question: str, vector: Vector, value: T, summary: str = "") -> bool:
        """Keep what was worked out while the corpus was at the place's version; False where that is over."""
        at = self._now()
        header = EntryHeader(place.identity, place.version, question, at, summary)
        head = EntryHead(name_of(question), place.version, at, question, vector)
        kept = await self._store.put(place, head, self._codec.packed(header, value))
        if kept:
            self.count(place.workspace, "stored")
        return kept

    async def invalidate(self, workspace: str, agent_id: str | None = None) -> int:
        """Forget what was remembered in a workspace, or only for one agent; returns how many entries there were."""
        return await self._store.clear(workspace, agent_id)

    async def get_stats(self, workspace: str) -> SemanticCacheStats:
        """Statistics of a workspace's cache: entries, and outcomes of lookups."""
        counts, entries, places = await self._store.counts(workspace)
        asked = counts.get("hit", 0) + counts.get("miss", 0)
        return SemanticCacheStats(
            entries,
            places,
            counts.get("hit", 0),
            counts.get("miss", 0),
            counts.get("bypass", 0),
            counts.get("refused", 0),
            counts.get("shared", 0),
            counts.get("stored", 0),
            counts.get("garbage", 0),
            counts.get("hit", 0) / asked if asked else None,
            self._settings.risk,
            self._calibration.threshold(self._settings, self._calibration.embedder),
            self._settings.ttl_seconds,
            {what.removeprefix(REFUSED): count for what, count in counts.items() if what.startswith(REFUSED)},
        )

    def count(self, workspace: str, what: str) -> None:
        """One more of `what`."""
        self._store.count(workspace, what)

    async def turn(self, place: CachePartition, question: str) -> CacheClaim:
        """Claim on the computation of a question's value; `mine` unless another process has it."""
        token, name = self._token(), name_of(question)
        mine = await self._store.claim(place, name, token, max(self._settings.wait_seconds, POLL_SECONDS))
        return CacheClaim(mine, name, token)

    async def wait(self, place: CachePartition, question: str, turn: CacheClaim) -> QuestionLookup[T]:
        """Wait for the value that another process computes, unless it takes too long or fails.

        Whose turn it is looks once more: another process may have been done after this one had looked.
        """
        for _ in range(int(self._settings.wait_seconds / POLL_SECONDS)):
            raw, busy = await self._store.claimed(place, turn.name)
            why = "worked out elsewhere at the same moment"
            found = await self._serve_entry(place, turn.name, raw, NearQuestion(1.0, turn.name, question), why)
            if found is not None or turn.mine or not busy:
                return found or _miss_lookup("another process gave up")
            await asyncio.sleep(POLL_SECONDS)
        return _miss_lookup("another process takes too long")

    async def end(self, place: CachePartition, turn: CacheClaim) -> None:
        """Let others go ahead; where that cannot be said, the turn runs out by itself."""
        if turn.mine:
            with suppress(CacheAway):
                await self._store.release(place, turn.name, turn.token)

    def _nearest_question(
        self, place: CachePartition, question: str, vector: Vector | None
    ) -> tuple[NearQuestion | None, NearQuestion | None, str]:
        """The nearest question that asks the same; else the nearest that does not, and why."""
        mirror = self._store.mirror(place)
        if vector is None:
            return None, None, ""
        if mirror.version != place.version:
            return None, None, "the corpus changed at this moment"
        threshold = self._calibration.threshold(self._settings, place.embedder)
        refused, why = None, "nothing is remembered"
        for near in mirror.near(vector, LOOKED_AT):
            if threshold is None or near.similarity < threshold:
                if same_words(question, near.question):
                    return near, None, "the same words"
                if refused is None:
                    refused, why = (
                        near,
                        "nothing is near enough" if threshold is not None else "only the same words count",
                    )
                continue
            decision = same_question(question, near.question, self._lexicon)
            if decision.same:
                return near, None, decision.reason
            if refused is None:
                refused, why = near, f"{NEAR} {decision.reason}"
        return None, refused, why

    async def _serve_entry(
        self, place: CachePartition, name: str, raw: bytes | None, near: NearQuestion, why: str
    ) -> QuestionLookup[T] | None:
        """The entry, if it may be served; what cannot be read is dropped and counted."""
        if raw is None:
            return None
        header = self._codec.header(raw)
        if header is not None and (header.identity, header.question) == (place.identity, near.question):
            age = self._now() - header.at
            if header.version != place.version or age > self._settings.ttl_seconds:
                return None
            value = self._codec.value(raw)
            if value is not None:
                return QuestionLookup(value, CacheDecision("hit", why, near.similarity, max(age, 0.0), header.question))
        self.count(place.workspace, "garbage")
        await self._store.drop(place, name)
        return None


def _miss_lookup(why: str, near: NearQuestion | None = None) -> QuestionLookup[T]:
    if near is None:
        return QuestionLookup(None, CacheDecision("miss", why))
    return QuestionLookup(None, CacheDecision("miss", why, near.similarity, None, near.question))
