"""A recorded run walked again: offline byte for byte, or with another model or prompt to the first other decision."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Protocol

from cluster.basics.errors import AosError
from cluster.basics.scope import Scope
from cluster.basics.telemetry import Telemetry
from cluster.models.messages import ChatRequest, ModelReply, ToolSpec
from cluster.state.canonical_json import dump_canonical
from cluster.state.work.run_queries import RunRecording
from cluster.state.work.run_record import RunState, RunStep, StepState
from serve_apps.agents.durable.message_codec import reply_from_json
from serve_apps.agents.durable.replay_cursor import ASK, ASKED, INPUT, MODEL, ReplayCursor, model_request
from serve_apps.agents.durable.run_loop import carried_out, done_data, error_data
from serve_apps.agents.durable.traced import TurnTracer
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import NAME as INQUIRY
from serve_apps.agents.intake.toolset import recorded_specs
from serve_apps.agents.intake.turn import load_turn
from serve_apps.agents.parsing.parse_reply import parse_reply
from serve_apps.agents.streams.cancellation import closing_stream
from serve_apps.agents.streams.masked_answer import mask_of_turn
from serve_apps.agents.turn_errors import ApprovalPending, ReplayDiverged
from serve_apps.agents.turn_ports import (
    Json,
    Perform,
    RedoPolicy,
    RunId,
    Said,
    Saying,
    Turn,
    TurnHandler,
    TurnOutcome,
    TurnPath,
)

_BOUND = ASKED | {"tool"}  # compared also where another model is asked: they are what it decides


@dataclass(frozen=True, slots=True)
class ReplayDivergence:
    """First difference between a replay and the recorded run: a step, or the number of an event."""

    step: int | None
    event: int | None
    name: str
    recorded: Json
    now: Json


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """Result of a replay; `events` counts those emitted again."""

    run: str
    state: str
    events: int
    steps: int
    diverged: ReplayDivergence | None

    @property
    def same(self) -> bool:
        """Nothing differed."""
        return self.diverged is None

    def json(self) -> dict[str, Any]:
        """As it is shown."""
        shown = asdict(self)
        return {"run_id": shown.pop("run"), "same": self.same, **shown}


class RecordingSource(Protocol):
    """Source of recorded runs: the run queries, or a file."""

    async def recording(self, scope: Scope, run: str) -> RunRecording:
        """A whole run; raises NotFound where there is none such in this scope."""


class ReplayJournal(ReplayCursor):
    """Performs nothing: every answer is on record, and where the record ends the walk waits for ever."""

    def __init__(self, run: RunId, seed: int, steps: Sequence[RunStep]) -> None:
        """`events` and `divergence` are what came of the walk."""
        super().__init__(run, seed, steps)
        self.events: list[Event] = []
        self.divergence: ReplayDivergence | None = None

    @property
    def steps_replayed(self) -> int:
        """Number of steps replayed."""
        return self._at

    async def step(
        self, kind: str, name: str, request: Json, perform: Perform, *, redo: RedoPolicy = RedoPolicy.REPEAT
    ) -> Json:
        """See `Journal.step`; `perform` is not called."""
        return self._answer(self._recorded_step(kind, name, request))

    async def stream(
        self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None
    ) -> AsyncIterator[Said]:
        """See `Journal.stream`; `saying` is not called."""
        async for item in self._resay(self._recorded_step(MODEL, name, model_request(request, about))):
            yield item

    async def ask(self, tool: str, arguments: Mapping[str, Json], reason: str) -> Mapping[str, Json]:
        """See `Journal.ask`; nobody is asked."""
        found = self._answer(self._recorded_step(ASK, tool, {"arguments": arguments, "reason": reason}))
        approved: Mapping[str, Json] = found["arguments"]
        return approved

    async def inquire(self, question: Mapping[str, Json]) -> str:
        """See `Journal.inquire`; nobody is asked."""
        found = self._answer(self._recorded_step(INPUT, INQUIRY, {"arguments": question, "reason": ""}))
        return str(found["arguments"]["reply"])

    def _recorded_step(self, kind: str, name: str, request: Json) -> RunStep:
        step, known = self._next(kind, name, request)
        if not known or step.state is StepState.STARTED:
            self._repeat(step)
            raise self._halt(ApprovalPending("", "the recording ends here"))
        return step

    def _other(self, known: RunStep, wanted: RunStep) -> AosError:
        self.divergence = ReplayDivergence(
            known.seq,
            None,
            wanted.name,
            {"kind": known.kind, "name": known.name, "request": known.request},
            {"kind": wanted.kind, "name": wanted.name, "request": wanted.request},
        )
        return super()._other(known, wanted)

    def _tell(self, event: Event) -> None:
        self.events.append(event)

    def _show(self, piece: Event) -> None:
        """Nobody watches."""


class ComparingJournal(ReplayJournal):
    """Models are asked in earnest, and what they decide is compared; everything goes on as it was recorded."""

    def __init__(self, run: RunId, seed: int, steps: Sequence[RunStep], tools: Sequence[ToolSpec]) -> None:
        """`tools` are those that a reply may call in its text."""
        super().__init__(run, seed, steps)
        self._tools = tools

    async def stream(
        self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None
    ) -> AsyncIterator[Said]:
        """See `Journal.stream`."""
        step = self._recorded_step(MODEL, name, model_request(request, about))
        if step.state is StepState.DONE:
            tools = request.tools or self._tools
            before = reply_decision(reply_from_json(step.reply["ok"]), tools)
            now = reply_decision(await self._read_reply(saying), tools)
            if before != now:
                self.divergence = ReplayDivergence(step.seq, None, name, before, now)
                raise self._halt(ReplayDiverged(f"step {step.seq}: another decision"))
        async for item in self._resay(step):
            yield item

    async def _read_reply(self, saying: Saying) -> ModelReply:
        try:
            async with closing_stream(saying()) as said:
                async for item in said:
                    if isinstance(item, ModelReply):
                        return item
        except AosError as error:
            raise self._halt(error) from None
        raise RuntimeError("a model ended without a reply")

    def _same(self, known: RunStep, wanted: RunStep) -> bool:
        """Compares acting steps strictly; requests to models may differ, as the replay tries them out."""
        if known.kind in _BOUND:
            return super()._same(known, wanted)
        return (known.kind, known.name) == (wanted.kind, wanted.name)


class Replayer:
    """Walks recorded runs again."""

    def __init__(
        self, recordings: RecordingSource, handlers: Mapping[TurnPath, TurnHandler], tools: Sequence[ToolSpec] = ()
    ) -> None:
        """The handlers are those that carried the runs out; `tools` are those that every agent has."""
        self._recordings, self._handlers, self._tools = recordings, handlers, tools

    async def replay(
        self, scope: Scope, run: str, *, model: str | None = None, prompt: str | None = None
    ) -> dict[str, Any]:
        """Walk a run again. With a model (a connection's id or name) or a system prompt, models are asked in earnest.

        Raises NotFound where there is no such run, AosError where the other model cannot be asked.
        """
        recording = await self._recordings.recording(scope, run)
        turn = load_turn(recording.input)
        if model is None and prompt is None:
            return (await _shown(await replay_recording(recording, self._handlers[turn.path]), turn)).json()
        tools = (*self._tools, *recorded_specs(recording))
        journal = ComparingJournal(turn.run, recording.seed, recording.steps, tools)
        error, _ = await _replay_turn(_override_turn(turn, model, prompt), journal, self._handlers[turn.path])
        if journal.divergence is None and isinstance(error, AosError) and not isinstance(error, ApprovalPending):
            raise error
        state = str(recording.state)
        report = ReplayReport(run, state, len(journal.events), journal.steps_replayed, journal.divergence)
        return (await _shown(report, turn)).json()

    async def unmasked_answer(self, scope: Scope, run: str) -> str | None:
        """The answer of a run before anything was masked in it, from its journal.

        None where nothing was to be masked, or the journal does not tell any more. Raises NotFound: no such run.
        """
        recording = await self._recordings.recording(scope, run)
        turn = load_turn(recording.input)
        if mask_of_turn(turn) is None or recording.state is not RunState.COMPLETED:
            return None
        journal = ReplayJournal(turn.run, recording.seed, recording.steps)
        _, outcome = await _replay_turn(turn, journal, self._handlers[turn.path])
        return None if outcome is None else outcome.answer


async def replay_recording(recording: RunRecording, handler: TurnHandler) -> ReplayReport:
    """Walk a run again with nothing but its record: every event must come out byte for byte."""
    turn = load_turn(recording.input)
    journal = ReplayJournal(turn.run, recording.seed, recording.steps)
    error, outcome = await _replay_turn(turn, journal, handler)
    if journal.divergence is None:
        _emit_last_event(recording, journal, error, outcome)
    told = [[event.seq, event.kind, event.data] for event in journal.events]
    kept = [[event.seq, event.type, event.payload] for event in recording.events]
    diverged = journal.divergence or _first_difference(recording.state, kept, told)
    return ReplayReport(turn.run, str(recording.state), len(told), journal.steps_replayed, diverged)


async def _shown(report: ReplayReport, turn: Turn) -> ReplayReport:
    """The report as the policies that the turn began with let its reader see: a step has what nobody was shown."""
    mask, found = mask_of_turn(turn), report.diverged
    if mask is None or found is None:
        return report
    shown = partial(mask.json, unknown=True, foreign=True)
    recorded, now = await asyncio.to_thread(lambda: (shown(found.recorded), shown(found.now)))
    return replace(report, diverged=replace(found, recorded=recorded, now=now))


def reply_decision(reply: ModelReply, tools: Sequence[ToolSpec]) -> Json:
    """Decision of a reply: its tool calls, or `answer`."""
    calls = parse_reply(reply, tools, "").calls
    return [[call.name, call.arguments] for call in calls] or "answer"


async def _replay_turn(
    turn: Turn, journal: ReplayJournal, handler: TurnHandler
) -> tuple[BaseException | None, TurnOutcome | None]:
    """Replays a turn through its handler; returns the error it ended with, or its outcome."""
    journal.mask_answer(turn)
    task = asyncio.create_task(carried_out(handler, turn, journal, TurnTracer(Telemetry.off())))
    await asyncio.wait({task})
    raised = task.exception()  # looked at in any case, or asyncio complains of it
    error = journal.halted or raised
    return error, None if error is not None else task.result()


def _emit_last_event(
    recording: RunRecording, journal: ReplayJournal, error: BaseException | None, outcome: TurnOutcome | None
) -> None:
    if outcome is not None and recording.state is RunState.COMPLETED:
        # Of which class its documents were is no decision of the turn.
        known = recording.events[-1].payload.get("classification") if recording.events else None
        shown = replace(journal.shown_outcome(outcome), classification=known)
        journal.emit(EventKind.DONE, **done_data(shown, journal))
    elif outcome is not None and recording.state is RunState.FAILED and recording.events:
        # Its conversation refused the answer: that is no decision of the turn.
        journal.emit(EventKind.ERROR, **recording.events[-1].payload)
    elif error is not None and not isinstance(error, ApprovalPending):
        journal.emit(EventKind.ERROR, **error_data(error, f"{recording.run}.{recording.fence}"))


def _first_difference(state: RunState, kept: list[list[Any]], told: list[list[Any]]) -> ReplayDivergence | None:
    """The first event that differs; a run that was broken off told more than it could store, and then its end."""
    whole = state in (RunState.COMPLETED, RunState.FAILED, RunState.WAITING)
    if state is RunState.CANCELLED:
        kept = kept[:-1]
    for number in range(max(len(kept), len(told)) if whole else len(kept)):
        before = kept[number] if number < len(kept) else None
        now = told[number] if number < len(told) else None
        if dump_canonical(before) != dump_canonical(now):
            return ReplayDivergence(None, number + 1, str((before or now or ["", ""])[1]), before, now)
    return None


def _override_turn(turn: Turn, model: str | None, prompt: str | None) -> Turn:
    agent = turn.agent
    if model is not None:
        agent = replace(agent, config={**agent.config, "llm_routing": {"primary_connection_id": model}})
    if prompt is not None:
        agent = replace(agent, system_prompt=prompt)
    return replace(turn, agent=agent)
