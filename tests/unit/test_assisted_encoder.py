"""An embedder with a helper: numpy answers until there is much to do, torch's process is never waited for, and ends."""

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from cluster.basics.errors import Unavailable
from cluster.basics.priority import ProcessPriority, gives_way, lower_thread_priority
from cluster.models.embedding.assisted_encoder import MUCH_TOKENS, AssistedEncoder
from cluster.models.embedding.sentence_tokens import Window
from cluster.models.ports import EmbedderFacts

FACTS = EmbedderFacts("m", 1, 256, "stamp")
SMALL: Sequence[Window] = [[1, 2, 3]]
LARGE: Sequence[Window] = [[0] * MUCH_TOKENS]
BY_NUMPY, BY_HELPER = 0.0, 1.0


class Own:
    facts, device = FACTS, "cpu"

    def windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return [[[1]] for _ in texts]

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        return np.full((len(windows), 1), BY_NUMPY, dtype=np.float32)


class Process:
    """It begins when it is let, and may die."""

    def __init__(self) -> None:
        self.begun = self.ended = 0
        self.may_begin, self.is_dead = threading.Event(), False
        self.is_asked, self.may_answer = threading.Event(), threading.Event()
        self.may_answer.set()

    def start(self) -> None:
        self.begun += 1
        assert self.may_begin.wait(20)
        if self.is_dead:
            raise Unavailable("ended at the start")

    def encode(self, windows: Sequence[Window]) -> NDArray[np.float32]:
        if self.is_dead:
            raise Unavailable("ended")
        self.is_asked.set()
        assert self.may_answer.wait(20)
        return np.full((len(windows), 1), BY_HELPER, dtype=np.float32)

    def close(self) -> None:
        self.ended += 1


class Bench:
    def __init__(self, rest: float = 1000.0) -> None:
        self.now = 0.0
        self.ahead, self.behind = Process(), Process()
        processes = {ProcessPriority.NORMAL: self.ahead, ProcessPriority.LOW: self.behind}
        self.encoder = AssistedEncoder(Own(), processes, lambda: self.now, rest)

    def who(self, windows: Sequence[Window] = SMALL) -> float:
        return float(self.encoder.encode(windows)[0, 0])

    def let_begin(self) -> None:
        self.who(LARGE)
        self.ahead.may_begin.set()
        until(lambda: self.who() == BY_HELPER)


def until(holds: Callable[[], bool]) -> None:
    for _ in range(1000):
        if holds():
            return
        time.sleep(0.02)
    raise TimeoutError


def test_questions_need_no_helper_and_much_work_does_not_wait_for_it() -> None:
    bench = Bench()
    for second in range(2000):  # a question a second has used more tokens by then than much work at once
        bench.now = float(second)
        assert bench.who() == BY_NUMPY
    assert bench.ahead.begun == 0
    assert bench.who(LARGE) == BY_NUMPY
    until(lambda: bench.ahead.begun == 1)
    assert bench.who(LARGE) == BY_NUMPY, "it is not there yet"
    bench.ahead.may_begin.set()
    until(lambda: bench.who() == BY_HELPER)
    assert bench.ahead.begun == 1 and bench.behind.begun == 0


def test_what_stands_behind_has_a_helper_of_its_own() -> None:
    bench = Bench()
    bench.behind.may_begin.set()

    def work() -> None:
        lower_thread_priority()
        assert gives_way()
        bench.who(LARGE)
        until(lambda: bench.who() == BY_HELPER)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert not gives_way() and bench.who() == BY_NUMPY
    assert (bench.ahead.begun, bench.behind.begun) == (0, 1)


def test_an_unused_helper_ends_and_comes_back() -> None:
    bench = Bench(rest=0.2)
    bench.let_begin()
    bench.now += 0.1
    assert bench.who() == BY_HELPER
    bench.now += 1
    until(lambda: bench.ahead.ended == 1)
    assert bench.who() == BY_NUMPY
    until(lambda: bench.who(LARGE) == BY_HELPER)
    assert bench.ahead.begun == 2


def test_a_helper_that_dies_is_missed_by_nobody(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(rest=0.2)
    bench.let_begin()
    bench.ahead.is_dead = True
    assert bench.who(LARGE) == BY_NUMPY and "goes on without its helper: ended" in caplog.text
    until(lambda: bench.ahead.ended == 1)
    assert bench.who(LARGE) == BY_NUMPY
    until(lambda: bench.ahead.ended == 2)
    assert "does not start" in caplog.text
    bench.ahead.is_dead = False
    until(lambda: bench.who(LARGE) == BY_HELPER)


def test_nothing_ends_beneath_a_long_call_and_nobody_waits_for_it() -> None:
    bench = Bench(rest=0.2)
    bench.let_begin()
    bench.ahead.is_asked.clear()
    bench.ahead.may_answer.clear()
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(bench.who()))
    thread.start()
    assert bench.ahead.is_asked.wait(20)
    bench.now += 1000
    time.sleep(0.2)  # ten looks at whether it rests
    assert bench.ahead.ended == 0
    assert bench.who() == BY_NUMPY, "who asks meanwhile is answered without it"
    bench.ahead.may_answer.set()
    thread.join(20)
    assert found == [BY_HELPER] and bench.who() == BY_HELPER
