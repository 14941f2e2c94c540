"""Servers that are silent, start, or are away: which are ended, and which are only reported; with a fake clock."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cluster.health_rounds import ROUND_SECONDS, LivenessRounds
from cluster.state.db.embedded import START_SECONDS
from cluster.watch.asking import LivenessCheck, LivenessState
from cluster.watch.hanging import LONGEST
from cluster.watch.servers import SILENCES, ServerProbe, ServerWatch
from configs.settings import load_settings

ANSWERED, UNREADY, SILENT, GONE = (
    LivenessCheck(reply, why="" if reply is LivenessState.ANSWERED else f"it is {reply}")
    for reply in (LivenessState.ANSWERED, LivenessState.UNREADY, LivenessState.SILENT, LivenessState.GONE)
)


@dataclass
class FakePart:
    """A server that gives the answers it is told to, and a watch over it by a clock that is set."""

    is_ours: bool = True
    is_busy: bool = False
    now: float = 0.0
    said: list[str] = field(default_factory=list)
    ended: int = 0

    def __post_init__(self) -> None:
        self.watch = ServerWatch(self.said.append, lambda: self.now, lambda pid: self.is_busy)

    def end(self) -> None:
        self.ended += 1

    def judge(self, *replies: LivenessCheck, every: float = 5.0) -> list[str]:
        """What follows from each reply, some seconds apart."""
        found = []
        for reply in replies:
            self.now += every
            probe = ServerProbe(
                "postgres", lambda reply=reply: reply, 7 if self.is_ours else 0, self.end if self.is_ours else None
            )
            found.append(self.watch.judge_reply(probe, probe.put()))
        return found


@pytest.mark.parametrize("reply", [SILENT, GONE])
def test_a_server_of_ours_that_never_answers_is_ended_with_the_reason(reply: LivenessCheck) -> None:
    part = FakePart()
    assert part.judge(*[reply] * SILENCES) == [""] * (SILENCES - 1) + ["postgres"]
    assert part.ended == 1 and len(part.said) == 1 and "process 7" in part.said[0] and reply.why in part.said[0]
    assert part.judge(reply) == [""], "the next one is counted anew"


def test_one_answer_between_silences_saves_it() -> None:
    part = FakePart()
    part.judge(*([SILENT] * (SILENCES - 1) + [ANSWERED]) * 3)
    assert part.ended == 0 and not part.said


def test_a_server_that_is_only_busy_is_ended_after_minutes() -> None:
    part = FakePart(is_busy=True)
    part.judge(*[SILENT] * 20)
    assert part.ended == 0 and part.now < LONGEST
    part.judge(*[SILENT] * 6)
    assert part.ended == 1


def test_a_postgres_that_starts_is_left_alone_as_long_as_a_start_may_take_and_longer_while_it_works() -> None:
    part = FakePart()
    part.judge(*[UNREADY] * int(START_SECONDS / 5))
    assert part.ended == 0
    part.is_busy = True
    part.judge(*[UNREADY] * 100)
    assert part.ended == 0, "a long recovery would begin again and again"
    part.is_busy = False
    part.judge(*[UNREADY] * SILENCES)
    assert part.ended == 1


def test_a_server_that_is_not_ours_is_reported_once_when_it_goes_and_when_it_is_back() -> None:
    part = FakePart(is_ours=False)
    assert part.judge(*[GONE] * 9) == [""] * 9
    assert part.watch.away == {"postgres": GONE.why}
    part.judge(ANSWERED)
    assert part.watch.away == {} and [GONE.why in part.said[0], part.said[1:]] == [True, ["postgres answers again"]]


def test_a_joined_cluster_that_was_begun_anew_has_lost_our_applications() -> None:
    part = FakePart(is_ours=False)
    assert part.judge(GONE, GONE, GONE, UNREADY, ANSWERED, UNREADY) == ["", "", "", "postgres", "", ""]


@contextmanager
def rounds_with(folder: Path, *probes: ServerProbe) -> Iterator[tuple[LivenessRounds, list[float], list[str]]]:
    """Rounds over these servers alone."""
    now, said = [0.0], list[str]()
    settings = load_settings({"AOS_STATE_DIR": str(folder), "AOS_RAY_ADDRESS": "127.0.0.1:6379"})
    with closing(LivenessRounds(settings, said.append, lambda: now[0], lambda: probes)) as rounds:
        yield rounds, now, said


def test_servers_are_asked_in_rounds_also_where_ray_is_not_ours(tmp_path: Path) -> None:
    ended: list[str] = []
    ours = ServerProbe("redis", lambda: SILENT, 0, lambda: ended.append("redis"))
    other = ServerProbe("the external postgres", lambda: GONE)
    with rounds_with(tmp_path, ours, other) as (rounds, now, said):
        assert rounds.postgres_answers and not rounds.away
        found = []
        for _ in range(SILENCES):
            found += [rounds.lost(), rounds.lost()]
            assert not rounds.postgres_answers, "nothing else is asked of it meanwhile"
            now[0] += ROUND_SECONDS
    assert [one for one in found if one] == ended == ["redis"]
    assert rounds.away == f"the external postgres does not answer: {GONE.why}" and len(said) == 2
