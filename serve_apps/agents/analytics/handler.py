"""The ANALYTICS path: a message becomes a plan, the plan a template query, its figures an answer; no model anywhere."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from cluster.basics.scope import Scope
from serve_apps.agents.analytics.metric_catalogue import MetricCatalogue
from serve_apps.agents.analytics.metric_reader import MetricResult, find_anomaly
from serve_apps.agents.analytics.query_plan import MetricPlan, PlanRefusal, plan_metric_query
from serve_apps.agents.analytics.vocabulary import none_such, render_figures
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.path_router import command_of, normalise_words
from serve_apps.agents.turn_ports import Journal, Json, Turn, TurnOutcome

WORDS = 60  # of a message that are read, as by the router


class MetricSource(Protocol):
    """Port that runs metric queries; `figures.MetricReader` implements it."""

    async def read(self, scope: Scope, asked: MetricPlan, *, fresh: bool = False) -> MetricResult:
        """The figures of a plan."""


class AnalyticsHandler:
    """A `Handler`."""

    def __init__(self, catalogue: MetricCatalogue, measures: MetricSource, clock: Callable[[], datetime]) -> None:
        """`clock` gives the moment in UTC; it is asked once a turn and its answer is recorded."""
        self._catalogue, self._measures, self._clock = catalogue, measures, clock

    async def __call__(self, turn: Turn, journal: Journal) -> TurnOutcome:
        """Answer from the metrics, or say which exist; raises Unavailable, Overloaded of Postgres, as recorded."""
        moment = datetime.fromisoformat(await journal.step("clock", "now", None, self._read_clock))
        _, question = command_of(turn.message)
        asked = plan_metric_query(normalise_words(question, WORDS), self._catalogue, moment.date())
        if isinstance(asked, PlanRefusal):
            text = none_such(asked.why, self._catalogue)
            journal.emit(EventKind.TEXT, text=text)
            return TurnOutcome(text, confidence=0.5, trace=({"step": "metric", "outcome": "none", "why": asked.why},))
        title = self._catalogue.metrics[asked.metric].title
        journal.emit(EventKind.STEP_START, id="metric", label=title)
        figures, doubted = await self._read_verified(turn.scope, journal, asked)
        note = f"{figures.cached}; {doubted}, read again" if doubted else figures.cached
        journal.emit(EventKind.STEP_END, id="metric", outcome="SUCCESS", note=note)
        text = render_figures(asked, figures, doubted, self._catalogue)
        journal.emit(EventKind.TEXT, text=text)
        return TurnOutcome(text, trace=({"step": "metric", "outcome": note, **asked.request},))

    async def _read_verified(
        self, scope: Scope, journal: Journal, asked: MetricPlan
    ) -> tuple[MetricResult, str | None]:
        """The figures; doubtful ones are read once more, from the tables themselves."""
        request = dict(asked.request)
        first = await journal.step("metrics", asked.metric, request, self._metric_step(scope, asked, fresh=False))
        figures = MetricResult.of(first)
        if find_anomaly(figures, asked, self._catalogue) is None:
            return figures, None
        request = {**request, "again": True}
        again = await journal.step("metrics", asked.metric, request, self._metric_step(scope, asked, fresh=True))
        figures = replace(MetricResult.of(again), cached=figures.cached)
        return figures, find_anomaly(figures, asked, self._catalogue)

    def _metric_step(self, scope: Scope, asked: MetricPlan, *, fresh: bool) -> Callable[[str], Awaitable[Json]]:
        async def perform(_: str) -> Json:
            return (await self._measures.read(scope, asked, fresh=fresh)).data

        return perform

    async def _read_clock(self, _: str) -> Json:
        return self._clock().isoformat()
