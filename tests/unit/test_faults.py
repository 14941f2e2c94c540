"""`aos chaos`, its pure parts: the plan by a seed, kinds, chats brought to an end, and the verdict."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import Conflict, Invalid
from cluster.faults.chats import ChatChoice, ChatOutcome, ChatsBeside
from cluster.faults.generated_pages import forget_pages, generate_pages
from cluster.faults.kinds import BY_NAME, KINDS, FaultAction, choose_kinds
from cluster.faults.plan import plan_faults
from cluster.faults.targets import (
    NO_EXECUTOR,
    SHARED_DISK,
    has_own_disk,
    is_whole_disk,
    left_out,
    require_own_instance,
    scannable_folder,
)
from cluster.faults.verdict import Evidence, FaultOutcome, JobOutcome, as_body, is_proved, prove
from cluster.faults.workspace_result import WorkspaceResult
from configs.settings import load_settings
from tests.fakes.chat_api import ChatApi

CALM = WorkspaceResult(documents=2, pages=8, pages_twice=0, chunks=16, chunks_twice=0, vectors=16, hash="a" * 64)
JOB = JobOutcome("job", "completed", expected=8, done=8)


def evidence(**changes: Any) -> Evidence:
    planned = plan_faults(7, 4, choose_kinds(["kill-reader", "cut-postgres"]))
    faults = tuple(FaultOutcome(one.number, one.kind.name, "4711", at=3, back=12.0) for one in planned)
    whole = Evidence(planned, 60, faults, (JOB, CALM), (JOB, CALM), (ChatOutcome(1, "completed"),), generated=8)
    return replace(whole, **changes)


def broken_lines(**changes: Any) -> set[str]:
    return {line.name for line in prove(evidence(**changes)) if not line.holds}


def test_the_same_seed_plans_the_same_faults_and_another_seed_others() -> None:
    assert plan_faults(7, 50, KINDS) == plan_faults(7, 50, KINDS)
    assert [one.kind for one in plan_faults(7, 50, KINDS)] != [one.kind for one in plan_faults(8, 50, KINDS)]


def test_every_kind_is_planned_as_often_as_the_others_and_early_enough_that_work_is_left() -> None:
    planned = plan_faults(7, 50, KINDS)
    counts = Counter(one.kind.name for one in planned)
    assert len(planned) == 50 and len(counts) == len(KINDS) >= 10 and max(counts.values()) - min(counts.values()) <= 1
    shares = [one.share for one in planned]
    assert shares == sorted(shares) and shares[0] > 0 and shares[-1] < 0.9
    assert [one.number for one in planned] == list(range(1, 51))


def test_kinds_have_one_name_each_and_every_action_is_there() -> None:
    assert len(BY_NAME) == len(KINDS) and {kind.action for kind in KINDS} == set(FaultAction)
    assert [one.name for one in choose_kinds(["stop-worker", "kill-gcs"])] == ["kill-gcs", "stop-worker"]
    assert choose_kinds([]) == KINDS
    with pytest.raises(Invalid) as raised:
        choose_kinds(["kill-cat"])
    assert "kill-cat" in raised.value.detail and "kill-gateway" in raised.value.hint


@pytest.mark.parametrize("foreign", ["DATABASE_URL", "REDIS_URL", "RAY_ADDRESS"])
def test_what_is_not_ours_is_refused(foreign: str, tmp_path: Path) -> None:
    url = {"DATABASE_URL": "postgresql://db/aos", "REDIS_URL": "redis://cache/0", "RAY_ADDRESS": "10.0.0.7:6379"}
    with pytest.raises(Conflict, match="has not started it"):
        require_own_instance(load_settings({"AOS_STATE_DIR": str(tmp_path), foreign: url[foreign]}))


def test_what_cannot_be_done_here_is_left_out_with_the_reason(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "AOS_AGENTS_PLACEMENT": "inproc"})
    found = left_out(settings, KINDS)
    assert found["fill-disk"] == SHARED_DISK and found["kill-executor"] == NO_EXECUTOR and "kill-supervisor" in found
    assert "cut-proxy" in found and not has_own_disk(tmp_path) and not has_own_disk(Path("/"))


MOUNT = "{number} 27 {device} {root} {place} rw,relatime shared:1 - {kind} /dev/sdb rw"


def mount(place: str, root: str = "/", kind: str = "ext4", device: str = "8:16") -> str:
    return MOUNT.format(number=40, device=device, root=root, place=place, kind=kind)


@pytest.mark.parametrize(
    ("mounts", "is_whole"),
    [
        ([mount("/srv/aos")], True),
        ([mount("/", device="8:1"), mount("/srv/aos", kind="xfs")], True),
        ([mount("/srv/aos", device="8:1", root="/var/lib/docker/volumes/aos/_data")], False),  # a container's
        ([mount("/srv/aos", kind="btrfs", root="/@aos")], False),
        ([mount("/srv/aos", kind="nfs4")], False),
        ([mount("/srv/aos"), mount("/home")], False),  # one disk at two places
        ([mount("/srv/aos"), mount("/srv/aos", device="0:9", kind="zfs")], False),  # the later covers the earlier
        ([mount("/srv")], False),
        ([], False),
    ],
)
def test_only_a_disk_that_is_mounted_here_alone_and_wholly_may_be_filled(mounts: list[str], is_whole: bool) -> None:
    assert is_whole_disk(Path("/srv/aos"), "\n".join(mounts)) is is_whole
    assert not is_whole_disk(Path("/"), mount("/"))


def test_of_a_folder_that_held_something_else_only_the_generated_pages_go(tmp_path: Path) -> None:
    place = tmp_path / "pages"
    assert generate_pages(place, 5, 7) == 5 and len(list(place.iterdir())) == 2
    letters = [place / name for name in ("letter.pdf", "chaos-theory.pdf")]
    for letter in letters:
        letter.write_bytes(b"somebody's")
    forget_pages(place)
    assert sorted(place.iterdir()) == sorted(letters)
    for letter in letters:
        letter.unlink()
    forget_pages(place)
    assert not place.exists()


def test_a_folder_that_the_server_may_not_read_is_refused_before_any_harm(tmp_path: Path) -> None:
    base = tmp_path / "scans"
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path / "state"), "NFS_BASE_PATH": str(base)})
    assert scannable_folder(settings, base / "sample", None, "pages") == base / "sample"
    assert scannable_folder(settings, None, base, "pages") == base / "pages"
    for folder, option in ((tmp_path / "elsewhere", "--folder"), (None, "--generate-in")):
        with pytest.raises(Invalid) as raised:
            scannable_folder(settings, folder, None, "pages")
        assert option in raised.value.hint
    with pytest.raises(Invalid, match="not set"):
        scannable_folder(load_settings({"AOS_STATE_DIR": str(tmp_path)}), base, None, "pages")


def test_a_campaign_without_a_difference_is_proved() -> None:
    assert broken_lines() == set() and is_proved(prove(evidence()))
    assert as_body(evidence(), {"fill-disk": SHARED_DISK}, 7)["proved"] is True


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"faulted": (JOB, replace(CALM, hash="b" * 64))}, "hash of all pages and chunks"),
        ({"faulted": (JOB, replace(CALM, pages=7))}, "pages"),
        ({"generated": 9}, "pages"),
        ({"faulted": (JOB, replace(CALM, pages_twice=1))}, "pages doubled"),
        ({"faulted": (JOB, replace(CALM, chunks_twice=1))}, "chunks doubled"),
        ({"faulted": (JOB, replace(CALM, vectors=15))}, "chunks with a vector"),
        ({"faulted": (replace(JOB, state="partial"), CALM)}, "job"),
        ({"faulted": (replace(JOB, done=7), CALM)}, "pages that the job counts as done"),
        ({"faulted": None}, "the same folder read twice, once under faults"),
        ({"faults": ()}, "faults done while the job ran"),
        ({"chats": ()}, "chats answered"),
        ({"chats": (ChatOutcome(1, "open"),)}, "chats answered"),
        (
            {"chats": (ChatOutcome(1, "completed", approved=1, executions=2),)},
            "chats whose approvals were executed exactly once",
        ),
        (
            {"chats": (ChatOutcome(1, "completed", approved=1, executions=0),)},
            "chats whose approvals were executed exactly once",
        ),
        ({"approves": True}, "chats whose approvals were executed exactly once"),  # none was given
        ({"chats": (ChatOutcome(1, "completed", approved=1, executions=1, doubts=1),)}, "approved actions in doubt"),
    ],
)
def test_each_difference_breaks_its_line(changes: dict[str, Any], line: str) -> None:
    assert line in broken_lines(**changes)
    assert not is_proved(prove(evidence(**changes)))


@pytest.mark.parametrize("back", [None, 60.5])
def test_a_fault_after_which_all_was_not_well_in_time_breaks_the_proof(back: float | None) -> None:
    late = (*evidence().faults[:3], replace(evidence().faults[3], back=back))
    assert "faults after which all was well in time" in broken_lines(faults=late)


def test_a_fault_that_found_nothing_to_hit_was_not_done() -> None:
    missed = (*evidence().faults[:3], replace(evidence().faults[3], hit="", back=None))
    assert "faults done while the job ran" in broken_lines(faults=missed)


def chat(api: ChatApi, approve: str | None = "record_*") -> ChatOutcome:
    choice = ChatChoice("Please act: keyed-{n} now.", approve=approve)
    return ChatsBeside(api, choice, "7", sleep=lambda seconds: None).chat_once(3)


@pytest.mark.parametrize("broken", range(8))
@pytest.mark.parametrize("when", ["before", "after"])
def test_whichever_call_of_a_chat_breaks_it_is_sent_once_and_approved_once(broken: int, when: str) -> None:
    api = ChatApi(breaks=[*[""] * broken, when])
    outcome = chat(api)
    assert (outcome.state, outcome.runs, outcome.approved, outcome.executions) == ("completed", 1, 1, 1)
    assert api.messages == ["Please act: keyed-3 now."] and api.decisions == ["approve"]


def test_an_interrupted_run_is_resumed_and_what_nobody_wanted_is_rejected() -> None:
    api = ChatApi(states=["interrupted", "waiting", "completed"], tool="shell")
    outcome = chat(api)
    assert api.resumed == 1 and api.decisions == ["reject"]
    assert (outcome.state, outcome.approved, outcome.rejected) == ("completed", 0, 1)


def test_a_call_in_doubt_is_left_to_a_person_and_ends_the_chat() -> None:
    api = ChatApi(category="reconcile")
    outcome = chat(api)
    assert (outcome.state, outcome.doubts) == ("in doubt", 1) and api.decisions == []


def test_a_call_that_was_executed_twice_is_counted_twice() -> None:
    assert chat(ChatApi(executions=2)).executions == 2


def test_a_chat_that_ends_by_an_error_of_its_own_counts_as_unanswered() -> None:
    class Broken(ChatApi):
        def request(self, method: str, path: str, **options: Any) -> dict[str, Any]:
            raise KeyError(path)

    chats = ChatsBeside(Broken(), ChatChoice("Hello"), "7")
    with pytest.raises(KeyError):
        chats.chat_on()
    assert chats.outcomes == [ChatOutcome(1)] and "chats answered" in broken_lines(chats=tuple(chats.outcomes))
