"""Puts the cache together from settings, in front of a search and of answers."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from redis.asyncio import Redis

from cluster.models.connections.configured import ConfiguredConnections
from cluster.models.ports import Embedder
from cluster.models.reranking import llm_judge
from cluster.models.reranking.configured_model import model_of
from cluster.state.db.postgres import Database
from configs.section import Section
from configs.sections import Settings
from serve_apps.retrieval.answers import generate
from serve_apps.retrieval.answers.answerer import CitedAnswer
from serve_apps.retrieval.cache.cache_scope import CorpusReader
from serve_apps.retrieval.cache.cached_search import AnswerPort, CachedAnswerer, CachedSearch, MaskPolicy, SearchPort
from serve_apps.retrieval.cache.calibration import RiskCalibration
from serve_apps.retrieval.cache.codec import EntryCodec
from serve_apps.retrieval.cache.redis_store import CacheStore
from serve_apps.retrieval.cache.semantic_cache import SemanticCache
from serve_apps.retrieval.search import expand
from serve_apps.retrieval.search.expansion_gate import ExpansionTechnique
from serve_apps.retrieval.search.query import SearchResults
from serve_apps.retrieval.text.lexicon import SynonymLexicon

ANSWERS = 8  # how answers are made of passages; with another number no earlier answer is given any more

# What results depend on, section by section.
FOUND_WITH = ("chunk", "embedding", "search", "enhance", "pack", "rerank", "models")
ANSWERED_WITH = (*FOUND_WITH, "llm")


@dataclass(frozen=True, slots=True)
class CachedRetrieval:
    """Search and answers that remember, and the cache itself."""

    search: SearchPort
    answerer: AnswerPort
    cache: SemanticCache[SearchResults]


@dataclass(frozen=True, slots=True)
class ModelHelpers:
    """Language models that help a search, beside what the workspace's own rows say."""

    assistant: str  # the name of the agent whose connections and money are used where none is asked
    declared: ConfiguredConnections  # the connections that every workspace has


@dataclass(frozen=True, slots=True)
class ClockSources:
    """Clocks, and a source of names."""

    now: Callable[[], float]  # seconds since the epoch, alike on all replicas
    monotonic: Callable[[], float]  # seconds that only grow
    token: Callable[[], str]  # a text that nobody else has


def build_caching(
    settings: Settings,
    database: Database,
    redis: Redis,
    embedder: Embedder,
    search: SearchPort,
    answerer: AnswerPort,
    moments: ClockSources,
    helpers: ModelHelpers,
    policy: MaskPolicy | None = None,
) -> CachedRetrieval:
    """Both with a cache in front, or as they are where it is switched off; `policy` as of `QuestionCache`."""
    store = CacheStore(redis, settings.cache, moments.monotonic)
    lexicon, table = SynonymLexicon.read(), RiskCalibration.read()
    found = SemanticCache(store, EntryCodec(SearchResults), settings.cache, lexicon, table, moments.now, moments.token)
    if not settings.cache.enabled:
        return CachedRetrieval(search, answerer, found)
    codec = EntryCodec(CitedAnswer)
    answered = SemanticCache(store, codec, settings.cache, lexicon, table, moments.now, moments.token)
    corpora = CorpusReader(database, helpers.assistant)
    judging = model_of(settings.rerank, alone=settings.ray.address is None)  # its weights may have come since
    of_models = repr((helpers.declared.connections, helpers.declared.default, judging))
    finding = (of_models, *search_prompts())
    answering = (*finding, repr(generate.answer_messages("", ())), str(ANSWERS))
    return CachedRetrieval(
        CachedSearch(search, corpora, found, embedder, lambda: made_with(settings, FOUND_WITH, *finding), policy),
        CachedAnswerer(
            answerer, corpora, answered, embedder, lambda: made_with(settings, ANSWERED_WITH, *answering), policy
        ),
        found,
    )


def search_prompts() -> tuple[str, str]:
    """Prompts of the models that help a search: another wording finds others."""
    return repr(expand.variation_request("", frozenset(ExpansionTechnique))), repr(llm_judge.judge_request("", ()))


def made_with(settings: Settings, sections: tuple[str, ...], *others: str) -> str:
    """A fingerprint of settings as they are now, secrets left out, and of what else results depend on."""
    told = [repr(other) for other in others]
    for name in sections:
        form = Settings.model_fields[name].annotation
        assert isinstance(form, type) and issubclass(form, Section)
        section = getattr(settings, name)
        told += [f"{name}.{key}={getattr(section, key)!r}" for key in form.model_fields if not form.is_secret(key)]
    return sha256("\n".join(told).encode()).hexdigest()
