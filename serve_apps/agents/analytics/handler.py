"""The ANALYTICS path: a message becomes a plan, the plan a template query, its figures an answer; no model anywhere."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from cluster.basics.scope import Scope
from serve_apps.agents.analytics.figures import Figures, doubt
from serve_apps.agents.analytics.metric_catalogue import Catalogue
from serve_apps.agents.analytics.query_plan import MetricPlan, Unanswerable, plan
from serve_apps.agents.analytics.vocabulary import answer, none_such
from serve_apps.agents.events import EventKind
from serve_apps.agents.intake.path_router import command_of, normalised
from serve_apps.agents.turn_ports import Journal, Json, Outcome, Turn

WORDS = 60  # of a message that are read, as by the router


class Source(Protocol):
    """Port that runs metric queries; `figures.Measures` implements it."""

    async def read(self, scope: Scope, asked: MetricPlan, *, fresh: bool = False) -> Figures:
        """The figures of a plan."""
        ...


class Analytics:
    """A `Handler`."""

    def __init__(self, catalogue: Catalogue, measures: Source, clock: Callable[[], datetime]) -> None:
        """`clock` gives the moment in UTC; it is asked once a turn and its answer is recorded."""
        self._catalogue, self._measures, self._clock = catalogue, measures, clock

    async def __call__(self, turn: Turn, journal: Journal) -> Outcome:
        """Answer from the metrics, or say which exist.

        Raises:
            Unavailable, Overloaded: of Postgres, as recorded.
        """
        moment = datetime.fromisoformat(await journal.step("clock", "now", None, self._now))
        _, question = command_of(turn.message)
        asked = plan(normalised(question, WORDS), self._catalogue, moment.date())
        if isinstance(asked, Unanswerable):
            text = none_such(asked.why, self._catalogue)
            journal.emit(EventKind.TEXT, text=text)
            return Outcome(text, confidence=0.5, trace=({"step": "metric", "outcome": "none", "why": asked.why},))
        title = self._catalogue.metrics[asked.metric].title
        journal.emit(EventKind.STEP_START, id="metric", label=title)
        figures, doubted = await self._checked(turn.scope, journal, asked)
        note = f"{figures.cached}; {doubted}, read again" if doubted else figures.cached
        journal.emit(EventKind.STEP_END, id="metric", outcome="SUCCESS", note=note)
        text = answer(asked, figures, doubted, self._catalogue)
        journal.emit(EventKind.TEXT, text=text)
        return Outcome(text, trace=({"step": "metric", "outcome": note, **asked.request},))

    async def _checked(self, scope: Scope, journal: Journal, asked: MetricPlan) -> tuple[Figures, str | None]:
        """The figures; doubtful ones are read once more, from the tables themselves."""
        request = dict(asked.request)
        first = await journal.step("metrics", asked.metric, request, self._read(scope, asked, fresh=False))
        figures = Figures.of(first)
        if doubt(figures, asked, self._catalogue) is None:
            return figures, None
        again = await journal.step(
            "metrics", asked.metric, request | {"again": True}, self._read(scope, asked, fresh=True)
        )
        figures = replace(Figures.of(again), cached=figures.cached)
        return figures, doubt(figures, asked, self._catalogue)

    def _read(self, scope: Scope, asked: MetricPlan, *, fresh: bool) -> Callable[[str], Awaitable[Json]]:
        async def perform(_: str) -> Json:
            return (await self._measures.read(scope, asked, fresh=fresh)).data

        return perform

    async def _now(self, _: str) -> Json:
        return self._clock().isoformat()
