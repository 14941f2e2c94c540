"""The path router: a table of sentences, whole words, fixed order, and a cache that may be dead or lie."""

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisGone

from cluster.basics.errors import InvalidSettings
from serve_apps.agents.intake.path_router import PathRules, command_of, normalise_words, read_rules, route_message
from serve_apps.agents.intake.route_cache import TTL_SECONDS, CachedRouter
from serve_apps.agents.turn_ports import TurnPath as Way

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
A, D, G = Way.ANALYTICS, Way.DOCUMENTS, Way.GENERAL

SENTENCES = [
    # ANALYTICS
    ("Show me the KPIs of this month", A, "kpi"),
    ("KPI?", A, "kpi"),
    ("key performance indicators please", A, "kpi"),
    ("Which metrics do you have?", A, "metric"),
    ("metric: tokens per agent", A, "metric"),
    ("Open the dashboard", A, "dashboard"),
    ("DASHBOARD!", A, "dashboard"),
    ("chart of pages read by day", A, "chart"),
    ("Show the charts for approvals", A, "chart"),
    ("How many pages were read last week?", A, "count_of_own_things"),
    ("How many jobs failed yesterday", A, "count_of_own_things"),
    ("number of approvals pending", A, "count_of_own_things"),
    ("How many documents do we have?", A, "count_of_own_things"),
    ("token usage by agent", A, "own_costs"),
    ("How much was spent on models this month", A, "own_costs"),
    ("jobs by status", A, "own_costs"),
    ("failures by reason", A, "own_costs"),
    ("Plot the runs per day", A, "chart_of_own_figures"),
    # Both kinds of words: the order decides.
    ("How many documents were uploaded last month?", A, "count_of_own_things"),
    ("Chart the documents by status", A, "chart"),
    ("search the metrics", A, "metric"),
    ("Is there a document about our KPIs?", A, "kpi"),
    ("OCR confidence by engine", A, "own_costs"),
    ("dashboard of document uploads", A, "dashboard"),
    # DOCUMENTS
    ("What does the document say about termination?", D, "document"),
    ("Summarise these documents", D, "document"),
    ("search for the notice period", D, "search"),
    ("Search: liability cap", D, "search"),
    ("find file lease.pdf", D, "find_file"),
    ("Please find the signed rental contract", D, "find_file"),
    ("locate the invoices from Acme", D, "find_file"),
    ("I am looking for the maintenance manual", D, "find_file"),
    ("Which files mention asbestos?", D, "find_file"),
    ("According to our agreements, who pays for repairs?", D, "find_file"),
    ("What did the OCR read on page 3?", D, "ocr"),
    ("run optical character recognition again", D, "ocr"),
    ("Who signed the PDF?", D, "document"),
    ("Was ist im Document Ümläut.pdf?", D, "document"),
    ("Does the contract allow subletting?", D, "find_file"),
    # GENERAL: words that merely contain a trigger, other meanings, other wishes
    ("What is a documentary?", G, "none"),
    ("The metrically spaced grid", G, "none"),
    ("I did some research on birds", G, "none"),
    ("Who charted this course?", G, "none"),
    ("uncharted territory", G, "none"),
    ("a mediocre film", G, "none"),
    ("profile of my colleague", G, "none"),
    ("Convert 3 miles to metric units", G, "none"),
    ("How heavy is a metric ton?", G, "none"),
    ("What does the plus sign mean on my dashboard", G, "none"),
    ("A light on the dashboard of my car is on", G, "none"),
    ("Write a document about whales", G, "none"),
    ("create a dashboard in Python", G, "none"),
    ("make a chart of all tennis scores", G, "none"),
    ("Which documents do I need for the identity check?", G, "none"),
    ("search the web for cheap flights", G, "none"),
    ("search restaurants near me", G, "none"),
    ("Do not search, just guess", G, "none"),
    ("Tell me a joke without the documents", G, "none"),
    ("how do I file my taxes", G, "none"),
    ("what's my name on file", G, "none"),
    ("can you find out how to report a damaged card", G, "none"),
    ("How many pages does a book have?", G, "none"),
    ("how much did i spend on groceries last month", G, "none"),
    ("clear my search history", G, "none"),
    ("Hello", G, "none"),
    ("", G, "none"),
    ("🦆🦆🦆", G, "none"),
    # Commands
    ("/search anything at all", D, "command"),
    ("/metrics documents by status", A, "command"),
    ("/plan search the documents, then chart them", G, "command"),
    ("  /CHAT show me the dashboard", G, "command"),
    ("/unknown document", D, "document"),
]


@pytest.fixture(scope="module")
def rules() -> PathRules:
    return read_rules(CONFIGS / "routing.yaml")


@pytest.mark.parametrize(("message", "path", "rule"), SENTENCES, ids=[one[0][:40] for one in SENTENCES])
def test_each_sentence_takes_its_path(rules: PathRules, message: str, path: Way, rule: str) -> None:
    """OR-01, OR-03, OR-04: rules alone decide; the first that matches wins."""
    found = route_message(message, rules)
    assert (found.path, found.rule) == (path, rule)


def test_the_words_of_the_table_of_s0_each_decide(rules: PathRules) -> None:
    """OR-02."""
    for word in ("KPI", "metric", "dashboard", "chart"):
        assert route_message(word, rules).path is A
    for word in ("document", "search", "find file", "OCR"):
        assert route_message(word, rules).path is D


def test_a_word_within_a_word_is_none(rules: PathRules) -> None:
    """OR-01: whole words only (X-35), whatever letters stand around."""
    for word in ("kpi", "metric", "dashboard", "chart", "document", "search", "ocr"):
        for inside in (f"x{word}", f"{word}x", f"pre{word}post", f"1{word}1"):
            assert route_message(f"tell me about {inside} now", rules).path is G
        for around in (f"({word})", f'"{word}"', f"{word},", f"*{word}*", f"{word.upper()}!"):
            assert route_message(around, rules).path is not G


def test_only_the_beginning_decides_and_nothing_is_slow(rules: PathRules) -> None:
    assert route_message("Translate this: " + "word " * 70 + "document", rules).path is G
    hostile = [
        "find " * 20_000,
        "how many " * 5_000 + "documents",
        "\u0301" * 100_000,
        "a" * 1_000_000,
        "search not " * 9,
    ]
    began = time.perf_counter()
    for message in hostile:
        route_message(message, rules)
    assert time.perf_counter() - began < 1


def test_the_same_message_takes_the_same_path(rules: PathRules) -> None:
    chance = random.Random(3)
    words = " ".join(sentence for sentence, _, _ in SENTENCES).split()
    for _ in range(300):
        message = " ".join(chance.choices(words, k=12))
        assert (
            route_message(message, rules)
            == route_message(message, rules)
            == route_message(f"  {message.upper()} ", rules)
        )


def test_commands_and_normal_form() -> None:
    assert command_of("/Docs  lease") == ("docs", "lease")
    assert command_of("a /docs") == ("", "a /docs")
    assert normalise_words("  Ünïcode-Fïle's\n№1", 60) == " unicode file s no1 "


@pytest.mark.parametrize(
    "broken",
    [
        "first_words: 60",
        "{first_words: 60, gap: 2, rules: [{name: a, path: nowhere, all: [[x]]}]}",
        "{first_words: 60, gap: 2, rules: [{name: a, path: general, all: [[<no>]]}]}",
        "{first_words: 60, gap: 2, rules: [{name: a, path: general, all: [['~ x']]}]}",
        "{first_words: 60, gap: 2, rules: [{name: a, path: general, all: [['a.*']]}]}",
        "{first_words: 60, gap: 2, extra: 1, rules: []}",
        "[",
    ],
)
def test_a_broken_table_is_refused(tmp_path: Path, broken: str) -> None:
    file = tmp_path / "routing.yaml"
    file.write_text(broken)
    with pytest.raises(InvalidSettings, match=r"routing\.yaml"):
        read_rules(file)


class Store:
    """Redis as far as the cache needs it; `dead` raises, `hangs` never answers."""

    def __init__(self, *, dead: bool = False, hangs: bool = False) -> None:
        self.values: dict[str, Any] = {}
        self.lifetimes: dict[str, int] = {}
        self.dead, self.hangs, self.asked = dead, hangs, 0

    async def get(self, key: str) -> Any:
        self.asked += 1
        if self.hangs:
            await asyncio.sleep(60)
        if self.dead:
            raise RedisGone("refused")
        return self.values.get(key)

    async def set(self, key: str, value: str, ex: int) -> None:
        if self.dead:
            raise RedisGone("refused")
        self.values[key], self.lifetimes[key] = value, ex


class Seconds:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def cached(rules: PathRules, store: Store | None, clock: Seconds | None = None) -> CachedRouter:
    redis: Redis | None = store  # type: ignore[assignment]
    return CachedRouter(rules, redis, clock or Seconds())


async def test_a_decision_is_remembered_and_traced(rules: PathRules) -> None:
    """OR-05, OB-04: a repetition comes from Redis with the same path, rule and words, and the trace says so."""
    store = Store()
    router = cached(rules, store)
    first, second = await router.route("Show the KPIs"), await router.route("show the  kpis!")
    assert (first.cached, second.cached) == ("miss", "hit")
    assert first.routed == second.routed == route_message("Show the KPIs", rules)
    assert second.data == {"path": "analytics", "rule": "kpi", "words": ["kpis"], "cached": "hit"}
    assert set(store.lifetimes.values()) == {TTL_SECONDS}
    assert not any("kpi" in key for key in store.values)


async def test_a_command_is_not_mistaken_for_the_same_words_without_it(rules: PathRules) -> None:
    router = cached(rules, Store())
    assert (await router.route("/chat the document")).routed.path is G
    assert (await router.route("chat the document")).routed.path is D
    assert (await router.route("/chat the document")).routed.path is G


async def test_other_rules_have_another_memory(rules: PathRules, tmp_path: Path) -> None:
    store = Store()
    await cached(rules, store).route("quokka")
    file = tmp_path / "routing.yaml"
    file.write_text("{first_words: 60, gap: 2, rules: [{name: q, path: documents, all: [[quokka]]}]}")
    assert (await cached(read_rules(file), store).route("quokka")).routed.path is D


@pytest.mark.parametrize(
    "lie",
    [
        "{",
        "[]",
        '{"path": "root", "rule": "kpi", "words": []}',
        "null",
        '"x"',
        '{"path": "general", "rule": "unheard", "words": []}',
    ],
)
async def test_garbage_in_redis_is_not_believed(rules: PathRules, lie: str) -> None:
    store = Store()
    router = cached(rules, store)
    await router.route("the dashboard")
    store.values = dict.fromkeys(store.values, lie)
    assert (await router.route("the dashboard")).routed.path is A
    assert (await router.route("the dashboard")).cached == "hit"


async def test_a_dead_redis_is_shown_and_left_alone_for_a_while(rules: PathRules) -> None:
    """OR-05: nothing fails without Redis; the trace says that it was not asked."""
    store, clock = Store(dead=True), Seconds()
    router = cached(rules, store, clock)
    for _ in range(3):
        traced = await router.route("the dashboard")
        assert traced.routed.path is A
        assert traced.cached.startswith("off: Redis is away")
    assert store.asked == 1
    store.dead, clock.now = False, 6.0
    assert (await router.route("the dashboard")).cached == "miss"


async def test_a_redis_that_hangs_costs_a_fifth_of_a_second_once(rules: PathRules) -> None:
    router = cached(rules, Store(hangs=True))
    began = time.perf_counter()
    for _ in range(5):
        assert (await router.route("the dashboard")).cached.startswith("off")
    assert time.perf_counter() - began < 0.6


async def test_without_redis_it_routes_as_well(rules: PathRules) -> None:
    assert (await cached(rules, None).route("OCR")).data["cached"] == "off: no Redis is configured"
