"""The journal of a run that is carried out: what is on record answers, the rest is performed once and recorded."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from cluster.basics.errors import AosError, Conflict
from cluster.models.messages import ChatRequest, ConnectionFallback, ModelReply
from cluster.state.approvals import ApprovalCategory, ApprovalRequest, ReconcileVerdict
from cluster.state.canonical_json import action_digest, normalize_json
from cluster.state.work.run_record import RunStep, StepState
from serve_apps.agents.durable.message_codec import reply_to_json
from serve_apps.agents.durable.recorder import ApprovalDecision, ApprovalGrant, RunRecorder
from serve_apps.agents.durable.replay_cursor import (
    ASKED,
    MODEL,
    ReplayCursor,
    error_of,
    error_to_json,
    model_request,
    said_within,
    spent_within,
    usage_of,
)
from serve_apps.agents.durable.traced import TurnTracer
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.inquiries.inquiry import NAME as INQUIRY
from serve_apps.agents.inquiries.pending_questions import answered, asked, wanted_of
from serve_apps.agents.streams.cancellation import closing_stream, run_to_completion
from serve_apps.agents.turn_errors import ActionRejected, ApprovalPending, ReplayDiverged, error_from_record
from serve_apps.agents.turn_ports import Json, Perform, RedoPolicy, RunId, Said, Saying

TOOL = "tool"


class LiveJournal(ReplayCursor):
    """Performs what is not on record. It is used by one handler at a time, one step after the other."""

    def __init__(
        self,
        run: RunId,
        seed: int,
        steps: Sequence[RunStep],
        stored: int,
        *,
        recorder: RunRecorder,
        show: Callable[[Event], None],
        clock: Callable[[], float],
        now: Callable[[], datetime],
        patience: timedelta,
        tracer: TurnTracer,
    ) -> None:
        """`stored`: number of the last event that is stored. `show`: takes events at once; it must not block. `clock`,
        `now`: seconds that only grow, and the moment. `patience`: how long a request waits for a decision. `tracer`:
        makes a span of each effect that is performed.
        """
        super().__init__(run, seed, steps)
        self._stored, self._recorder, self._sink = stored, recorder, show
        self._clock, self._now, self._patience, self._tracer = clock, now, patience, tracer
        self._pending: list[Event] = []
        self._grant: ApprovalGrant | None = None

    def _same(self, known: RunStep, wanted: RunStep) -> bool:
        """Compares acting steps strictly; others by name: prompts and settings may have changed since."""
        if known.kind in (*ASKED, TOOL) or known.state is StepState.STARTED:
            return super()._same(known, wanted)
        return (known.kind, known.name) == (wanted.kind, wanted.name)

    def last(self, kind: EventKind, **data: Json) -> Event:
        """The event that ends the run or its stream, not told before it is stored; it comes after all that is."""
        self._events = max(self._events, self._stored)  # a walk that is refused ends before what was told once
        event = self._number(kind, data)
        self._pending.append(event)
        return event

    @property
    def pending(self) -> Sequence[Event]:
        """Events that are not stored yet."""
        return tuple(self._pending)

    async def step(
        self, kind: str, name: str, request: Json, perform: Perform, *, redo: RedoPolicy = RedoPolicy.REPEAT
    ) -> Json:
        """See `Journal.step`. The request of a `tool` step is the tool's arguments: a grant is bound to them."""
        step, known = self._next(kind, name, request)
        grant = self._use_grant(step)
        if step.state is not StepState.STARTED:
            return self._answer(step)
        if known:
            self._repeat(step)
        if known and redo is RedoPolicy.RECONCILE:
            step, ended = await self._reconcile_step(step, grant)
            if ended:
                return self._step_result(step)
        elif not known and (redo is RedoPolicy.RECONCILE or grant):
            await self._record_begin(step, grant)
        carried = self._perform_step(step, grant, perform)
        return self._step_result(await (run_to_completion(carried) if redo is RedoPolicy.RECONCILE else carried))

    async def stream(
        self, name: str, request: ChatRequest, saying: Saying, *, about: Json = None
    ) -> AsyncIterator[Said]:
        """See `Journal.stream`. Fallbacks come once they are on record: another walk may leave no connection."""
        step, _ = self._next(MODEL, name, model_request(request, about))
        self._grant = None
        if step.state is not StepState.STARTED:
            async for item in self._resay(step):
                yield item
            return
        self._open = step.seq
        began, left = self._clock(), list[ConnectionFallback]()
        reply: ModelReply | None = None
        error: AosError | None = None
        try:
            with self._tracer.trace_model_call(name, request) as seen:
                async with closing_stream(saying()) as said:
                    async for item in said:
                        seen(item)
                        if isinstance(item, ModelReply):
                            reply = item
                            break
                        if isinstance(item, ConnectionFallback):
                            left.append(item)
                            self._restart_text()  # what the one that was left has said is said anew
                            continue
                        yield item
        except AosError as raised:
            error = raised
        if reply is None and error is None:
            raise RuntimeError(f"the model of step {step.seq} ended without a reply")
        ended = self._ended_step(step, began, ok=reply and reply_to_json(reply), error=error, fallbacks=left)
        await self._record_end(ended if reply is None else replace(ended, **usage_of(reply)), None)
        self._open = None
        for fallback in left:
            yield fallback
        if error is not None:
            raise error
        assert reply is not None, "without one there was an error"
        yield reply

    async def ask(self, tool: str, arguments: Mapping[str, Json], reason: str) -> Mapping[str, Json]:
        """See `Journal.ask`."""
        found = await self._decided(tool, arguments, reason, ApprovalCategory.APPROVAL)
        self._grant = ApprovalGrant(found["approval"], tool, found["digest"])
        approved: Mapping[str, Json] = found["arguments"]
        return approved

    async def inquire(self, question: Mapping[str, Json]) -> str:
        """See `Journal.inquire`."""
        found = await self._decided(INQUIRY, question, "", ApprovalCategory.INPUT)
        return str(found["arguments"]["reply"])

    async def _decided(self, tool: str, arguments: Mapping[str, Json], reason: str, category: ApprovalCategory) -> Json:
        step, known = self._next(str(category), tool, {"arguments": arguments, "reason": reason})
        if step.state is not StepState.STARTED:
            return self._answer(step)
        wanted = wanted_of(self._run, step, arguments, reason, self._now() + self._patience, category)
        if known:
            self._repeat(step)
        decided = await self._recorder.decided(wanted.id) if known else None
        if decided is None or decided.state == "pending":
            raise await self._put_before_a_person(step, wanted, None, fresh=decided is None)
        return self._step_result(await self._record_decision(step, wanted, decided))

    async def _perform_step(self, step: RunStep, grant: ApprovalGrant | None, perform: Perform) -> RunStep:
        began = self._clock()
        try:
            with self._tracer.trace_step(step.kind, step.name, step.request, self._key(step)) as ended:
                value = await perform(self._key(step))
                ended(value)
            value = normalize_json(value)
        except (ApprovalPending, ReplayDiverged) as error:
            raise self._halt(error) from None
        except AosError as error:
            await self._record_end(self._ended_step(step, began, error=error), grant)
            raise
        ended_step = self._ended_step(step, began, ok=value)
        return await self._record_end(replace(ended_step, **spent_within(value)), grant)

    async def _record_decision(self, step: RunStep, wanted: ApprovalRequest, decided: ApprovalDecision) -> RunStep:
        """Record a decision as the end of the step that asked for it."""
        arguments = normalize_json(decided.arguments if decided.arguments is not None else wanted.arguments)
        said = self._told_decision(step, wanted, decided, arguments)
        if decided.state != "approved":
            reply = {"said": said, "error": error_to_json(ActionRejected(decided.state.upper()))}
            return await self._record_end(replace(step, state=StepState.FAILED, reply=reply), None)
        ok = {"approval": wanted.id, "digest": action_digest(wanted.tool, arguments), "arguments": arguments}
        return await self._record_end(replace(step, state=StepState.DONE, reply={"said": said, "ok": ok}), None)

    async def _reconcile_step(self, step: RunStep, grant: ApprovalGrant | None) -> tuple[RunStep, bool]:
        """The step as a person says it stands, and whether that is its end; raises ApprovalPending before."""
        why = "it was begun, and nobody recorded whether it happened"
        wanted = wanted_of(self._run, step, step.request, why, None, ApprovalCategory.RECONCILE)
        decided = await self._recorder.decided(wanted.id)
        if decided is None or decided.state == "pending" or decided.begun:
            fresh = decided is None or decided.state != "pending" or not step.reply
            raise await self._put_before_a_person(step, wanted, grant, fresh=fresh)
        answer = decided.arguments or {}
        found = ReconcileVerdict(answer["found"])
        step = replace(step, reply={"said": self._told_decision(step, wanted, decided, {"found": found})})
        if found is ReconcileVerdict.HAPPENED:
            ended = {**step.reply, "ok": answer.get("result")}
            return await self._record_end(replace(step, state=StepState.DONE, reply=ended), grant), True
        if found is ReconcileVerdict.GIVE_UP:
            error = error_to_json(error_from_record("given_up", "nobody knows whether it happened", False))
            ended = {**step.reply, "error": error}
            return await self._record_end(replace(step, state=StepState.FAILED, reply=ended), grant), True
        await self._record_begin(step, ApprovalGrant(wanted.id, step.name, ""))
        return step, False

    async def _put_before_a_person(
        self, step: RunStep, wanted: ApprovalRequest, grant: ApprovalGrant | None, *, fresh: bool
    ) -> AosError:
        """Ask, wait, and tell once the request can be decided; one that is there already was told when it was made."""
        asking: list[Event] = []
        if fresh:
            asking += [self.last(kind, **data) for kind, data in asked(wanted)]
            step = replace(step, reply={"said": [*said_within(step), *([str(one.kind), one.data] for one in asking)]})

        async def put() -> None:
            async with self._recording_events() as events:
                await self._recorder.ask(step, events, wanted, None if grant is None else grant.approval)
            self._halt(ApprovalPending(wanted.id))  # before it is told: a reader may leave with that
            for event in asking:
                self._sink(event)

        await run_to_completion(put())
        return ApprovalPending(wanted.id)

    def _told_decision(
        self, step: RunStep, wanted: ApprovalRequest, decided: ApprovalDecision, arguments: Mapping[str, Json]
    ) -> list[Json]:
        kind, data = answered(wanted, decided, arguments)
        said = self._say(step, kind, **data)
        return self._say(replace(step, reply={"said": said}), EventKind.STATUS, state="resumed")

    def _say(self, step: RunStep, kind: EventKind, **data: Json) -> list[Json]:
        """Tell something within a step, and what was told within it so far."""
        event = self.emit(kind, **data)
        return [*said_within(step), [str(kind), event.data]]

    def _use_grant(self, step: RunStep) -> ApprovalGrant | None:
        """The approval that this action uses up: one is good for the very next step and nothing else.

        Raises Conflict where the tool was approved, but not with these arguments.
        """
        grant, self._grant = self._grant, None
        if grant is None or (step.kind, step.name) != (TOOL, grant.tool):
            return None
        if grant.digest != action_digest(step.name, step.request):
            raise self._halt(Conflict(f"{step.name} was not approved with these arguments"))
        return grant

    def _ended_step(
        self,
        step: RunStep,
        began: float,
        *,
        ok: Json = None,
        error: AosError | None = None,
        fallbacks: Sequence[ConnectionFallback] = (),
    ) -> RunStep:
        """The step as it ended; its time begins now to count."""
        reply = dict(step.reply or {}) | ({"fallbacks": [*map(asdict, fallbacks)]} if fallbacks else {})
        reply |= {"ok": ok} if error is None else {"error": error_to_json(error)}
        state = StepState.DONE if error is None else StepState.FAILED
        return replace(step, state=state, reply=normalize_json(reply), ms=max(0, round((self._clock() - began) * 1000)))

    async def _record_begin(self, step: RunStep, grant: ApprovalGrant | None) -> None:
        async with self._recording_events() as events:
            await self._recorder.begin(step, events, *((grant.approval, grant.digest) if grant else (None, "")))

    async def _record_end(self, step: RunStep, grant: ApprovalGrant | None) -> RunStep:
        async with self._recording_events() as events:
            await run_to_completion(self._recorder.end(step, events, None if grant is None else grant.approval))
        self._count(step)
        return step

    def _step_result(self, step: RunStep) -> Json:
        """Result of a step that has just ended; raises its error if it failed."""
        if step.state is StepState.FAILED:
            raise error_of(step)
        return step.reply["ok"]

    @asynccontextmanager
    async def _recording_events(self) -> AsyncIterator[Sequence[Event]]:
        """Events told so far go with what is recorded; what cannot be recorded ends the walk."""
        events = tuple(self._pending)
        try:
            yield events
        except AosError as error:
            raise self._halt(error) from None
        del self._pending[: len(events)]
        self._stored += len(events)

    def _tell(self, event: Event) -> None:
        if event.seq > self._stored + len(self._pending):
            self._pending.append(event)
        self._sink(event)

    def _show(self, piece: Event) -> None:
        self._sink(piece)
