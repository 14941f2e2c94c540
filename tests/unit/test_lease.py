"""Leases without a database: a heartbeat that fails, a cancel, a stop, and a sweep that has so much room."""

import asyncio
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import pytest

from cluster.basics.errors import LeaseLost, Unavailable
from cluster.basics.scope import Scope, TenantId, WorkspaceId
from cluster.state.work.lease import Heartbeat, LeaseSweep
from cluster.state.work.run_record import RunLease

LEASE = RunLease("r", Scope(TenantId("t"), WorkspaceId("w")), 3)


@dataclass
class Record:
    """What the heartbeats meet, one after the other; the last of it for ever."""

    answers: list[bool | Exception]
    beats: int = 0

    async def heartbeat(self, lease: RunLease, lease_seconds: float) -> bool:
        self.beats += 1
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def keeping(self, lease_seconds: float = 60) -> Heartbeat[RunLease]:
        return Heartbeat(self.heartbeat, LEASE, lease_seconds, 0.01)


async def work() -> None:
    await asyncio.sleep(60)


async def test_work_that_ends_is_told_and_the_heart_stops() -> None:
    record = Record([False])
    heartbeat = record.keeping()

    async def slow() -> str:
        while record.beats < 3:  # noqa: ASYNC110 - however busy the machine is
            await asyncio.sleep(0.01)
        return "done"

    assert await (await heartbeat.run(slow(), asyncio.Event())) == "done"
    beats = record.beats
    await asyncio.sleep(0.05)
    assert not heartbeat.over and record.beats == beats


async def test_a_cancel_and_a_loss_cut_the_work_off() -> None:
    for answer, lost in ((True, False), (LeaseLost("taken"), True)):
        heartbeat = Record([False, answer]).keeping()
        cut = await heartbeat.run(work(), asyncio.Event())
        assert cut.cancelled() and (heartbeat.cancelled, heartbeat.lost) == (not lost, lost)


async def test_a_lease_is_lost_to_silence_only_once_it_has_run_out() -> None:
    record = Record([Unavailable("away"), Unavailable("away"), False, Unavailable("away")])
    heartbeat = record.keeping(0.2)
    began = asyncio.get_running_loop().time()
    cut = await heartbeat.run(work(), asyncio.Event())
    assert cut.cancelled() and heartbeat.lost and record.beats >= 4
    assert asyncio.get_running_loop().time() - began >= 0.2, "the third beat has kept it for as long again"


async def test_a_process_that_stops_waits_for_work_that_cleans_up_but_not_for_ever() -> None:
    stop, cleaned = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()
            await asyncio.sleep(60)

    heartbeat = Record([False]).keeping()
    running = asyncio.create_task(heartbeat.run(stubborn(), stop, grace=0.05))
    await asyncio.sleep(0.02)
    stop.set()
    async with asyncio.timeout(5):
        await running
    assert cleaned.is_set() and not heartbeat.over


@dataclass
class Queue:
    """Leases to claim; the first look fails."""

    left: int
    at_once: int = 0
    most: int = 0
    asked: list[int] = field(default_factory=list)

    async def claim(self, room: int) -> Sequence[RunLease]:
        self.asked.append(room)
        if len(self.asked) == 1:
            raise Unavailable("away")
        taken = min(room, self.left)
        self.left -= taken
        return [replace(LEASE, fence=self.left + n) for n in range(taken)]

    async def carry(self, lease: RunLease, stop: asyncio.Event) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        if lease.fence % 2:
            raise Unavailable("it is left for the next claim")


async def test_a_sweep_carries_what_it_has_room_for_and_outlives_what_fails() -> None:
    queue, stop = Queue(7), asyncio.Event()
    sweeping = asyncio.create_task(LeaseSweep(queue.claim, queue.carry, 3, lambda: 0.01).run(stop))
    while queue.left:  # noqa: ASYNC110 - however busy the machine is
        await asyncio.sleep(0.01)
    stop.set()
    await sweeping
    assert (queue.left, queue.at_once, queue.most) == (0, 0, 3) and 0 not in queue.asked


async def test_a_sweep_that_was_opened_says_when_it_ended_by_itself_and_is_over_when_closed() -> None:
    queue = Queue(2)
    sweep = LeaseSweep(queue.claim, queue.carry, 3, lambda: 0.01)
    sweep.open()
    sweep.require_running("nothing is sent")
    while queue.left:  # noqa: ASYNC110 - however busy the machine is
        await asyncio.sleep(0.01)
    await sweep.close()
    assert queue.at_once == 0 and not sweep.carried
    sweep.require_running("nothing is sent")  # it was told to

    async def broken(_: int) -> Sequence[RunLease]:
        raise ZeroDivisionError

    other = LeaseSweep(broken, queue.carry, 3, lambda: 0.01)
    other.open()
    await asyncio.sleep(0.05)
    with pytest.raises(Unavailable, match="nothing is sent: ZeroDivisionError"):
        other.require_running("nothing is sent")
    await other.close()


@pytest.mark.parametrize(("lost", "fails"), [(False, False), (True, False), (False, True)])
async def test_a_lease_is_given_back_unless_it_was_lost_or_its_work_failed(lost: bool, fails: bool) -> None:
    given: list[RunLease] = []

    async def send(lease: RunLease, seconds: float) -> bool:
        raise LeaseLost(str(lease))

    async def work() -> None:
        await asyncio.sleep(0.05)
        if fails:
            raise Unavailable("away")

    async def release(lease: RunLease) -> None:
        given.append(lease)

    heartbeat = Heartbeat(send, LEASE, 10.0, 0.0 if lost else 10.0)
    with pytest.raises(Unavailable) if fails else nullcontext():
        await heartbeat.run_and_release(work(), asyncio.Event(), release)
    assert given == ([] if lost or fails else [LEASE])
