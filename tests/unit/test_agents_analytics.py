"""The ANALYTICS path: plans by rule, the gate, templates, doubts, answers; nothing of a message reaches a query."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from cluster.basics.errors import InvalidSettings, Unavailable
from cluster.basics.scope import Scope
from serve_apps.agents.analytics import ranges
from serve_apps.agents.analytics.handler import AnalyticsHandler
from serve_apps.agents.analytics.metric_catalogue import MetricCatalogue, read_catalogue
from serve_apps.agents.analytics.metric_reader import MetricResult, find_anomaly
from serve_apps.agents.analytics.query_plan import MetricPlan, PlanRefusal, plan_metric_query, validate_metric_plan
from serve_apps.agents.analytics.vocabulary import render_figures
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.path_router import normalise_words
from tests.fakes.agents import MemoryJournal, turn

CONFIGS = Path(__file__).resolve().parents[2] / "configs"
TODAY = date(2026, 11, 18)  # a Wednesday


@pytest.fixture(scope="module")
def catalogue() -> MetricCatalogue:
    return read_catalogue(CONFIGS / "metrics.yaml")


def read(text: str, catalogue: MetricCatalogue) -> MetricPlan | PlanRefusal:
    return plan_metric_query(normalise_words(text, 60), catalogue, TODAY)


@pytest.mark.parametrize(
    ("text", "metric", "by", "state", "since", "until"),
    [
        ("How many documents were uploaded last month?", "documents", None, None, "2026-10-01", "2026-11-01"),
        ("documents by status this week", "documents", "status", None, "2026-11-16", "2026-11-23"),
        ("failed jobs yesterday", "jobs", None, "failed", "2026-11-17", "2026-11-18"),
        ("pages read per day in the past 7 days", "pages", "day", None, "2026-11-12", "2026-11-19"),
        ("daily token usage in march", "tokens", "day", None, "2026-03-01", "2026-04-01"),
        ("cost by agent in december", "cost", "agent", None, "2025-12-01", "2026-01-01"),
        ("failures by reason since 2026-02-03", "failures", "reason", None, "2026-02-03", "9999-12-31"),
        ("pending approvals", "approvals", None, "pending", "2000-01-01", "2026-11-19"),
        ("ocr confidence by engine last quarter", "ocr_confidence", "engine", None, "2026-07-01", "2026-10-01"),
        ("runs per month", "runs", "month", None, "2025-12-01", "2026-12-01"),
        ("KPI: response time from 2026-01-01 to 2026-01-31", "run_seconds", None, None, "2026-01-01", "2026-02-01"),
        ("conversations each week last year", "sessions", "week", None, "2025-01-01", "2026-01-01"),
        ("documents uploaded q2 2025 by type", "documents", "type", None, "2025-04-01", "2025-07-01"),
        ("failed pages for each type", "failures", "type", None, "2000-01-01", "2026-11-19"),
    ],
)
def test_a_question_becomes_a_plan(
    catalogue: MetricCatalogue, text: str, metric: str, by: str | None, state: str | None, since: str, until: str
) -> None:
    """OR-02: metric, dimension, state and time range are read by rule."""
    assert isinstance(asked := read(text, catalogue), MetricPlan)
    assert dict(asked.request) == {"metric": metric, "by": by, "state": state, "since": since, "until": until}


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("today", "2026-11-18", "2026-11-19"),
        ("this month", "2026-11-01", "2026-12-01"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this year", "2026-01-01", "2027-01-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("this quarter", "2026-10-01", "2027-01-01"),
        ("last three days", "2026-11-16", "2026-11-19"),
        ("ytd", "2026-01-01", "2026-11-19"),
        ("on 2026-02-28", "2026-02-28", "2026-03-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("before 2026-02-28", "2000-01-01", "2026-02-28"),
        ("november 2025", "2025-11-01", "2025-12-01"),
        ("last day", "2026-11-17", "2026-11-18"),
        ("past month", "2026-10-20", "2026-11-19"),
    ],
)
def test_words_of_time(text: str, since: str, until: str) -> None:
    found = ranges.find_range(f" {text.replace('-', ' ')} ", TODAY)
    assert found is not None
    assert (str(found.since), str(found.until)) == (since, until)


@pytest.mark.parametrize(
    "text", ["on 2026-02-31", "on 0000-01-01", "in 9999999", "last banana", "", "may I", "past 0 days"]
)
def test_what_is_no_date_is_no_error(text: str) -> None:
    found = ranges.find_range(f" {text.replace('-', ' ')} ", TODAY)
    assert found is None or found.since < found.until


@pytest.mark.parametrize("moment", [date(2026, 1, 1), date(2024, 2, 29), date(2026, 12, 31), date(2026, 3, 1)])
def test_ranges_hold_at_the_edges_of_years_and_months(moment: date) -> None:
    for text in ("last month", "this month", "last quarter", "last week", "last year", "past 5 years", "yesterday"):
        found = ranges.find_range(f" {text} ", moment)
        assert found is not None
        assert found.since < found.until
        assert found.since <= moment


INJECTIONS = [
    "documents'; drop table documents; --",
    "metric documents by status or 1=1",
    "documents where tenant_id = 'x'",
    "documents by %(tenant)s",
    "documents by day; select * from users",
    "pages union select password_hash from users",
    "documents by status', 'x'); delete from runs; --",
    "documents since 2026-01-01' or '1'='1",
    "documents by {0.__class__}",
    "approvals \\x00 by agent",
    "documents limit 1000000",
    "documents by tenant",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_nothing_of_a_message_reaches_the_query(catalogue: MetricCatalogue, text: str) -> None:
    """OR-02: a plan holds names of the catalogue and dates, whatever the message says."""
    asked = read(text, catalogue)
    if isinstance(asked, MetricPlan):
        metric = catalogue.metrics[asked.metric]
        assert asked.by in (None, *metric.dimensions)
        assert asked.state in (None, *metric.states)
        assert type(asked.when.since) is type(asked.when.until) is date


def test_the_gate_lets_nothing_unknown_through(catalogue: MetricCatalogue) -> None:
    good = read("documents by status", catalogue)
    assert isinstance(good, MetricPlan)
    whole = good.when
    for forged in (
        MetricPlan("users", None, None, whole),
        MetricPlan("documents", "password", None, whole),
        MetricPlan("documents", "status; drop", None, whole),
        MetricPlan("documents", None, "' or 1=1", whole),
        MetricPlan("documents", None, None, ranges.DateRange(TODAY, TODAY, "")),
        MetricPlan("documents", None, None, ranges.DateRange(date(2027, 1, 1), date(2028, 1, 1), "")),
    ):
        assert isinstance(validate_metric_plan(forged, catalogue, TODAY), PlanRefusal)
    assert validate_metric_plan(good, catalogue, TODAY) == good


QUERY = "select 1 from t where %(tenant)s %(workspace)s %(since)s %(until)s %(state)s %(by)s %(times)s %(limit)s"
METRIC = "{name: m, title: M, unit: u, definition: d, synonyms: [m], dimensions: []}"


@pytest.mark.parametrize(
    "query",
    [
        QUERY.replace("%(tenant)s", "x"),
        QUERY.replace("%(workspace)s", "x"),
        QUERY + " %(free)s",
        QUERY + "; drop table x",
        "delete from t where" + QUERY[21:],
        QUERY.replace("from", "into y from"),
    ],
)
def test_a_template_without_its_filters_is_refused(tmp_path: Path, query: str) -> None:
    """OR-02: tenant, workspace and limits cannot be left out of a metric."""
    (tmp_path / "m.yaml").write_text(f"{{rows: 5, spike: 5, spike_points: 4, dimensions: {{}}, metrics: [{METRIC}]}}")
    (tmp_path / "m.sql").write_text(f"-- m: It.\n{QUERY};")
    assert read_catalogue(tmp_path / "m.yaml", tmp_path / "m.sql").metrics["m"].title == "M"
    (tmp_path / "m.sql").write_text(f"-- m: It.\n{query};")
    with pytest.raises(InvalidSettings, match="m: "):
        read_catalogue(tmp_path / "m.yaml", tmp_path / "m.sql")


class Scripted:
    """Figures in their order; remembers what was asked and whether from the tables themselves."""

    def __init__(self, *figures: MetricResult | Unavailable) -> None:
        self.figures, self.asked = list(figures), list[tuple[Scope, MetricPlan, bool]]()

    async def read(self, scope: Scope, asked: MetricPlan, *, fresh: bool = False) -> MetricResult:
        self.asked.append((scope, asked, fresh))
        given = self.figures.pop(0)
        if isinstance(given, Unavailable):
            raise given
        return given


def handler(catalogue: MetricCatalogue, *figures: MetricResult | Unavailable) -> tuple[AnalyticsHandler, Scripted]:
    source = Scripted(*figures)
    return AnalyticsHandler(catalogue, source, lambda: datetime(2026, 11, 18, 9, tzinfo=UTC)), source


async def test_an_answer_has_a_table_and_a_definition(catalogue: MetricCatalogue) -> None:
    """OR-02: the text comes from the figures alone, and says what was counted."""
    analytics, source = handler(catalogue, MetricResult(12, (("completed", 11), ("fai|led\n", 1)), cached="miss"))
    journal, asked = MemoryJournal(), turn("/metrics documents by status last month")
    outcome = await analytics(asked, journal)
    assert outcome.answer.splitlines()[:5] == [
        "**Documents uploaded**, 2026-10-01 to 2026-10-31: 12 documents.",
        "",
        "| status | documents |",
        "|---|---:|",
        "| completed | 11 |",
    ]
    assert "| fai\\|led | 1 |" in outcome.answer
    assert "Definition: Documents by the time of their upload" in outcome.answer
    assert journal.of(EventKind.TEXT) == [{"text": outcome.answer}]
    assert source.asked[0][0] == asked.scope
    assert (outcome.confidence, outcome.finish_reason) == (0.9, "stop")


async def test_a_resumed_turn_reads_neither_clock_nor_tables_again(catalogue: MetricCatalogue) -> None:
    analytics, source = handler(catalogue, MetricResult(3, (), cached="miss"))
    journal = MemoryJournal()
    outcome = await analytics(turn("pages read this week"), journal)
    walked = journal.again(replaying=True)
    other, _ = handler(catalogue)
    assert await other(turn("pages read this week"), walked) == outcome
    assert walked.events == journal.events
    assert len(source.asked) == 1


async def test_an_unknown_metric_names_those_that_exist(catalogue: MetricCatalogue) -> None:
    analytics, source = handler(catalogue)
    outcome = await analytics(turn("Show me the customer churn KPI"), MemoryJournal())
    assert all(metric.title in outcome.answer for metric in catalogue.metrics.values())
    assert outcome.confidence == 0.5
    assert source.asked == []


async def test_a_dimension_that_a_metric_lacks_is_named(catalogue: MetricCatalogue) -> None:
    analytics, _ = handler(catalogue)
    outcome = await analytics(turn("metric: storage by agent"), MemoryJournal())
    assert "cannot be split by agent, only by type, source" in outcome.answer


async def test_an_empty_result_is_read_once_more(catalogue: MetricCatalogue) -> None:
    """OR-02: what is doubtful is retried once, past the cache."""
    analytics, source = handler(catalogue, MetricResult(0, cached="hit"), MetricResult(4))
    outcome = await analytics(turn("jobs today"), MemoryJournal())
    assert "4 jobs" in outcome.answer
    assert [fresh for _, _, fresh in source.asked] == [False, True]
    analytics, source = handler(catalogue, MetricResult(0), MetricResult(0))
    assert "0 jobs" in (await analytics(turn("jobs today"), MemoryJournal())).answer
    assert len(source.asked) == 2


async def test_a_spike_is_confirmed_and_pointed_out(catalogue: MetricCatalogue) -> None:
    days = (("2026-11-15", 2.0), ("2026-11-16", 3.0), ("2026-11-17", 40.0), ("2026-11-18", 2.0))
    analytics, source = handler(catalogue, MetricResult(47, days), MetricResult(47, days))
    outcome = await analytics(turn("runs per day"), MemoryJournal())
    assert "Note: spike at 2026-11-17, confirmed by a second reading." in outcome.answer
    assert len(source.asked) == 2


def test_only_series_have_spikes(catalogue: MetricCatalogue) -> None:
    groups = (("a", 100.0), ("b", 1.0), ("c", 1.0), ("d", 1.0))
    by_agent, by_day = read("runs by agent", catalogue), read("runs by day", catalogue)
    assert isinstance(by_agent, MetricPlan)
    assert isinstance(by_day, MetricPlan)
    assert find_anomaly(MetricResult(103, groups), by_agent, catalogue) is None
    assert find_anomaly(MetricResult(103, groups), by_day, catalogue) == "spike at a"
    assert find_anomaly(MetricResult(2, groups[:2]), by_day, catalogue) is None
    assert find_anomaly(MetricResult(None), by_day, catalogue) == "empty"


async def test_a_database_that_is_away_is_an_error_with_a_name(catalogue: MetricCatalogue) -> None:
    analytics, _ = handler(catalogue, Unavailable("Postgres went away"))
    journal = MemoryJournal()
    with pytest.raises(Unavailable):
        await analytics(turn("jobs today"), journal)


def test_numbers_are_written_for_people(catalogue: MetricCatalogue) -> None:
    asked = read("cost by agent", catalogue)
    assert isinstance(asked, MetricPlan)
    text = render_figures(
        asked, MetricResult(1234.5, (("[a](http://x)", 1234.0), ("b", 0.5)), more=True), None, catalogue
    )
    assert "1,234.5 USD" in text
    assert "| \\[a\\]\\(http://x\\) | 1,234 |" in text
    assert "There are more; these are 2." in text
    assert "nothing was recorded" in render_figures(asked, MetricResult(None), "empty", catalogue)
