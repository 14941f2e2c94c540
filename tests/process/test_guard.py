"""The guarded child: deadlines, deaths, memory, and nothing left behind."""

import contextlib
import gc
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cluster.basics.errors import DiskFull
from pipelines.documents.cpu_pulses import GENTLE_SECONDS, PacedSlot, SharedPace, cpu_seconds_of
from pipelines.documents.document import FailureReason, Unreadable
from pipelines.documents.guarded_child import CallTimeout, ChildDied, GuardedChild, TookTooMuch
from tests.fakes.apart import apart
from tests.fakes.target import Target


@pytest.fixture
def guard() -> Iterator[GuardedChild]:
    with GuardedChild(Target) as guard:
        yield guard


def gone(pid: int) -> bool:
    """Whether the process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def eventually(fact: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not fact() and time.monotonic() < end:
        time.sleep(0.005)
    return fact()


def test_one_child_and_its_object_serve_all_calls(guard: GuardedChild) -> None:
    assert guard.pid is None
    assert [guard.call("count", seconds=5) for _ in range(3)] == [1, 2, 3]


def test_a_child_that_has_done_nothing_for_a_while_is_ended_and_the_next_call_has_another(guard: GuardedChild) -> None:
    assert not guard.end_unused(0), "there is none"
    guard.warm_up()
    assert not guard.end_unused(0), "it waits for its first call"
    assert guard.call("count", seconds=5) == 1
    first = guard.pid
    assert not guard.end_unused(60) and guard.pid == first
    assert guard.end_unused(0) and guard.pid is None
    assert first is not None and eventually(lambda: gone(first))
    assert guard.call("count", seconds=5) == 1


def test_a_child_at_work_is_not_taken_for_one_that_nobody_uses(guard: GuardedChild) -> None:
    guard.call("count", seconds=5)
    with ThreadPoolExecutor(1) as pool:
        working = pool.submit(guard.call, "sleep", 1.0, seconds=20)
        time.sleep(0.3)
        assert not guard.end_unused(0)
        working.result()


def test_threads_that_call_at_once_each_have_their_own_answer(guard: GuardedChild) -> None:
    """Crossed answers would give a page the text of another one."""
    sizes = range(1, 200)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda size: guard.call("grow", size, seconds=30), sizes)) == list(sizes)


def test_a_call_that_overruns_takes_its_child_and_the_programs_it_started_along(
    guard: GuardedChild, tmp_path: Path
) -> None:
    guard.call("count", seconds=5)
    child, note = guard.pid, tmp_path / "pid"
    assert child is not None
    with pytest.raises(CallTimeout):
        guard.call("helper_then_sleep", str(note), seconds=0.4)
    assert gone(child)
    assert eventually(lambda: gone(int(note.read_text())))
    assert guard.call("count", seconds=5) == 1  # a fresh child


def test_a_refusal_arrives_as_it_was_raised_and_the_child_lives_on(guard: GuardedChild) -> None:
    with pytest.raises(Unreadable) as refused:
        guard.call("refuse", seconds=5)
    assert (refused.value.reason, refused.value.detail, refused.value.retryable) == (
        FailureReason.TIMEOUT,
        "one line",
        True,
    )
    assert guard.pid is not None


def test_a_defect_ends_the_child_and_says_what_it_was(guard: GuardedChild) -> None:
    with pytest.raises(ChildDied) as died:
        guard.call("surprise", seconds=5)
    assert died.value.cause == "LookupError: a defect in a parser"
    assert guard.call("count", seconds=5) == 1


@pytest.mark.parametrize("wrapped", ["", "unreadable", "defect"])
def test_a_disk_without_room_is_no_fault_of_the_file(guard: GuardedChild, wrapped: str) -> None:
    with pytest.raises(DiskFull) as full:
        guard.call("fill", wrapped, seconds=5)
    assert "TMPDIR" in full.value.hint and "free at" in full.value.detail
    assert guard.call("count", seconds=5) == 1


def cpu_of(pid: int | None) -> float:
    assert pid is not None
    return cpu_seconds_of(pid, True)


@pytest.mark.parametrize("method", ["spin", "spin_in_a_guard"])
def test_a_child_that_is_held_has_its_share_of_a_core_with_what_it_starts(method: str) -> None:
    with GuardedChild(Target, share=0.2) as guard:
        guard.call("count", seconds=30)
        guard.call(method, 0.01, seconds=60)  # everything has started
        before, began = cpu_of(guard.pid), time.monotonic()
        guard.call(method, 0.4, seconds=60)
        used, took = cpu_of(guard.pid) - before, time.monotonic() - began
        assert used / took < 0.45, "a fifth, and what the clocks are coarse"
        assert guard.call("count", seconds=5) == 2, "it is not left stopped"


def test_a_held_child_that_overruns_is_ended(tmp_path: Path) -> None:
    with GuardedChild(Target, share=0.1) as guard:
        guard.call("count", seconds=30)
        child = guard.pid
        with pytest.raises(CallTimeout):
            guard.call("spin", 60, seconds=0.5)
        assert child is not None and gone(child)


def test_a_signal_ends_the_child_without_a_cause(guard: GuardedChild) -> None:
    for number in (signal.SIGKILL, signal.SIGSEGV):
        with pytest.raises(ChildDied) as died:
            guard.call("kill_itself", int(number), seconds=5)
        assert (died.value.cause, died.value.code) == ("", -number)


def test_a_child_killed_between_calls_is_noticed(guard: GuardedChild) -> None:
    guard.call("count", seconds=5)
    assert guard.pid is not None
    os.kill(guard.pid, signal.SIGKILL)
    with pytest.raises(ChildDied) as died:
        guard.call("count", seconds=5)
    assert died.value.code == -signal.SIGKILL


def test_a_child_that_gets_no_memory_ends_and_says_so(guard: GuardedChild) -> None:
    with pytest.raises(ChildDied) as died:
        guard.call("grow", 2**40, seconds=5)
    assert (died.value.starved, died.value.fresh) == (True, True)
    assert guard.call("count", seconds=5) == 1
    with pytest.raises(ChildDied) as died:
        guard.call("grow", 2**40, seconds=5)
    assert (died.value.starved, died.value.fresh) == (True, False)


@apart
def test_a_library_that_aborts_for_want_of_memory_starved_and_one_that_aborts_without_did_not() -> None:
    with GuardedChild(Target, memory_bytes=256 * 2**20) as guard:
        with pytest.raises(ChildDied) as died:
            guard.call("abort_holding", 200 * 2**20, seconds=20)
        assert (died.value.code, died.value.starved) == (-signal.SIGABRT, True)
        with pytest.raises(ChildDied) as died:
            guard.call("abort_holding", 0, seconds=20)
        assert (died.value.code, died.value.starved) == (-signal.SIGABRT, False)


@apart
def test_what_the_starter_held_is_not_taken_for_what_the_child_held() -> None:
    ballast = b"1" * (300 * 2**20)  # Linux counts it as the child's most
    with GuardedChild(Target, memory_bytes=256 * 2**20) as guard:
        with pytest.raises(ChildDied) as died:
            guard.call("abort_holding", 0, seconds=20)
        assert ballast and (died.value.code, died.value.starved) == (-signal.SIGABRT, False)


def test_more_memory_is_for_a_while_and_for_what_the_child_starts() -> None:
    with GuardedChild(Target, memory_bytes=256 * 2**20) as guard:
        assert guard.call("grow_with_more", 400 * 2**20, seconds=20) == 400 * 2**20
        with pytest.raises(ChildDied):
            guard.call("grow", 400 * 2**20, seconds=20)
        assert guard.call("grow_in_a_guard", 400 * 2**20, seconds=60) == 400 * 2**20


def test_cpu_is_limited_by_what_was_used_and_not_by_the_clock(guard: GuardedChild) -> None:
    guard.call("count", seconds=5)
    guard.call("sleep", 1.2, seconds=20, cpu_seconds=0.3)
    guard.call("spin", 0.2, seconds=20, cpu_seconds=5)
    with pytest.raises(TookTooMuch):
        guard.call("spin", 60, seconds=50, cpu_seconds=0.3)
    guard.call("spin", 0.2, seconds=20, cpu_seconds=0.5)  # what was used before does not count


@pytest.mark.parametrize("method", ["spin", "spin_in_a_guard"])
def test_who_is_stopped_most_of_the_time_is_not_taken_for_one_that_hangs(method: str) -> None:
    with GuardedChild(Target, share=0.1) as guard:
        guard.call(method, 0.01, seconds=60)  # everything has started
        began = time.monotonic()
        guard.call(method, 0.3, seconds=1.5, cpu_seconds=5)
        assert time.monotonic() - began > 1.5
        with pytest.raises(CallTimeout) as hung:
            guard.call("sleep", 60, seconds=1, cpu_seconds=5)
        assert not isinstance(hung.value, TookTooMuch)


@pytest.mark.parametrize("helpers", [True, False])
def test_cpu_of_programs_that_run_beside_the_child_counts_where_asked(helpers: bool) -> None:
    with GuardedChild(Target, helpers=helpers) as guard:
        began = time.monotonic()
        with pytest.raises(CallTimeout) as over:
            guard.call("helper_that_spins", seconds=3, cpu_seconds=0.3)
        assert isinstance(over.value, TookTooMuch) is helpers
        assert helpers or time.monotonic() - began >= 3


def running_slots(pace: SharedPace, stack: contextlib.ExitStack, *tenants: str) -> list[PacedSlot]:
    """A call of each of these tenants, beside each other."""
    slots = [pace.slot() for _ in tenants]
    for slot, tenant in zip(slots, tenants, strict=True):
        slot.tenant = tenant
        stack.enter_context(slot.running())
    return slots


def test_where_every_slot_is_taken_and_somebody_waits_a_costly_call_ends_early() -> None:
    pace = SharedPace(slots=2, cores=2, hurried_seconds=0.3)
    with GuardedChild(Target, pace=pace.slot()) as guard:
        guard.warm_up()
        with pace.slot().running():
            guard.call("spin", 0.6, seconds=20, cpu_seconds=5)  # nobody waits
            pace.others_wait = True
            with pytest.raises(TookTooMuch, match=r"0\.3 s of CPU"):
                guard.call("spin", 60, seconds=50, cpu_seconds=5)
        guard.call("spin", 0.6, seconds=20, cpu_seconds=5)  # a fresh child, and a slot is free


def test_the_costliest_call_ends_alone() -> None:
    pace = SharedPace(slots=2, cores=2, hurried_seconds=4)
    pace.others_wait = True
    with contextlib.ExitStack() as calls:
        one, other = running_slots(pace, calls, "a", "a")
        assert pace.is_full and one.limits(3)[0] == other.limits(3.5)[0] == math.inf
        assert one.limits(9)[0] == 4 and not pace.is_full
        assert other.limits(6)[0] == math.inf, "one has ended for who waits"


def test_costly_calls_have_half_of_the_machine_beside_those_that_are_not() -> None:
    pace = SharedPace(slots=8, cores=2, hurried_seconds=4)
    with contextlib.ExitStack() as calls:
        (alone,) = running_slots(pace, calls, "a")
        assert alone.limits(GENTLE_SECONDS + 1) == (math.inf, 1.0)
        first, second, quick = running_slots(pace, calls, "a", "a", "a")
        assert alone.limits(GENTLE_SECONDS - 0.1)[1] == alone.limits(GENTLE_SECONDS + 1)[1] == 1.0, "one of two cores"
        assert [one.limits(GENTLE_SECONDS)[1] for one in (first, second)] == [1 / 2, 1 / 3]
        assert quick.limits(0.1)[1] == 1.0


def test_where_all_calls_are_costly_none_gives_way_within_a_tenant() -> None:
    pace = SharedPace(slots=8, cores=2, hurried_seconds=4)
    with contextlib.ExitStack() as calls:
        slots = running_slots(pace, calls, *"aaaa")
        for _ in range(2):
            shares = [slot.limits(GENTLE_SECONDS)[1] for slot in slots]
        assert shares == [1.0] * 4, "half of the machine would stand still"


def test_costly_calls_of_tenants_share_the_machine_whoever_has_more_of_them() -> None:
    pace = SharedPace(slots=8, cores=2, hurried_seconds=4)
    with contextlib.ExitStack() as calls:
        slots = running_slots(pace, calls, *"aaab")
        for _ in range(2):
            shares = [slot.limits(GENTLE_SECONDS)[1] for slot in slots]
        assert shares == [1 / 3, 1 / 3, 1 / 3, 1.0], "a core each"
        quick = running_slots(pace, calls, "c")
        assert [slot.limits(GENTLE_SECONDS)[1] for slot in slots] == [1 / 6, 1 / 6, 1 / 6, 1 / 2]
        assert quick[0].limits(0.1)[1] == 1.0


def test_a_child_that_gives_way_has_a_part_of_a_core() -> None:
    pace = SharedPace(slots=8, cores=1, hurried_seconds=60)
    slot = pace.slot()
    slot.tenant = "a"
    with GuardedChild(Target, pace=slot) as guard, contextlib.ExitStack() as others:
        for one in running_slots(pace, others, "a", "a", "b"):
            one.limits(GENTLE_SECONDS)
        guard.warm_up()
        began = time.monotonic()
        guard.call("spin", GENTLE_SECONDS + 0.5, seconds=60, cpu_seconds=30)
        assert time.monotonic() - began > GENTLE_SECONDS + 1.0, "a third of half a core for the rest"


def test_a_forgotten_guard_leaves_no_process() -> None:
    guard = GuardedChild(Target)
    guard.call("count", seconds=5)
    pid = guard.pid
    assert pid is not None
    del guard
    gc.collect()
    assert eventually(lambda: gone(pid))


def test_kill_9_of_the_parent_ends_child_and_grandchild_even_in_the_middle_of_a_call(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    program = (
        "from pipelines.documents.guarded_child import GuardedChild; from tests.fakes.target import Target\n"
        "guard = GuardedChild(Target); guard.call('count', seconds=9); print(guard.pid, flush=True)\n"
        f"guard.call('helper_then_sleep', {str(note)!r}, seconds=600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert eventually(lambda: note.exists() and note.read_text() != "")
    parent.kill()
    parent.communicate()
    assert eventually(lambda: gone(child))
    assert eventually(lambda: gone(int(note.read_text())))
