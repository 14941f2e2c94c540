"""Wait reasons of a job: pure rules over what the ledger says of it, of its lane and of its workers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cluster.basics.errors import AosError

ALIVE_SECONDS = 60.0  # a worker that told nothing for so long is none


class Wait(StrEnum):
    """The kind of thing that a job waits for."""

    NO_WORKER = "no_worker"
    DISK_FULL = "disk_full"
    MEMORY_SHORT = "memory_short"
    PART_AWAY = "part_away"  # a model, Ray or Postgres does not answer its worker
    SOURCE_AWAY = "source_away"  # what a sync reads from does not answer
    MACHINE_BUSY = "machine_busy"
    TENANT_SHARE = "tenant_share"
    OTHER_TENANTS = "other_tenants"
    BEHIND = "behind"
    NEXT = "next"
    QUOTA = "quota"


@dataclass(frozen=True, slots=True)
class WaitReason:
    """One thing that a job waits for: for a person, with what they can do about it, if anything."""

    reason: Wait
    detail: str
    fix: str = ""


_NAMED = (Wait.DISK_FULL, Wait.MEMORY_SHORT, Wait.SOURCE_AWAY)  # errors have these codes
_FIXES: Mapping[Wait, str] = {
    Wait.NO_WORKER: "`aos doctor` says whether the worker runs; `aos up` starts it.",
    Wait.DISK_FULL: "Free some space; it goes on by itself.",
    Wait.MEMORY_SHORT: "It goes on by itself; fewer readers (AOS_READ_READERS, AOS_WORKER_SMALL_JOBS) need less.",
    Wait.PART_AWAY: "`aos doctor` says what is wrong; it goes on by itself.",
    Wait.SOURCE_AWAY: "It goes on by itself when the source answers; `aos sources test NAME` says whether it does.",
    Wait.MACHINE_BUSY: "It goes on by itself; AOS_READ_FLOOR says what it has at least.",
    Wait.QUOTA: "Delete documents, or raise AOS_READ_TENANT_PAGES.",
}


def format_error_reason(error: AosError) -> str:
    """The text a worker writes down of an error that makes a job wait."""
    reason = next((one for one in _NAMED if one == error.code), Wait.PART_AWAY)
    return format_reason(reason, str(error))


def format_reason(reason: Wait, detail: str) -> str:
    """As `parse_reason` reads it."""
    return f"{reason}: {detail}"


def parse_reason(text: str | None) -> tuple[str, str]:
    """The reason and the detail of what `format_reason` wrote; empty where there is nothing."""
    reason, _, detail = (text or "").partition(": ")
    return reason, detail


def list_wait_reasons(place: Mapping[str, Any], quota: tuple[int, int] | None = None) -> list[WaitReason]:
    """The reasons that a job waits for, the most important first; empty where it gets on.

    Args:
        place: a row of `job_places`.
        quota: pages that the tenant has, and may have.
    """
    found = [_known_reason(place["waits_for"])]
    if place["state"] == "queued":
        found = _queued_reasons(place)
        if quota is not None and place["kind"] in ("scan", "upload", "sync") and quota[0] >= quota[1]:
            have, most = quota
            detail = f"this tenant has {have:,} of the {most:,} pages that it may have: no new page will be taken"
            found.append(WaitReason(Wait.QUOTA, detail, _FIXES[Wait.QUOTA]))
    return [one for one in found if one is not None]


def _queued_reasons(place: Mapping[str, Any]) -> list[WaitReason | None]:
    if not place["workers"]:
        detail = f"no worker has looked after this lane for {ALIVE_SECONDS:.0f} s"
        return [WaitReason(Wait.NO_WORKER, detail, _FIXES[Wait.NO_WORKER]), _known_reason(place["told"])]
    kept = [_known_reason(place["waits_for"])]
    if (own := _known_reason(place["told"])) is not None and own.reason not in {one.reason for one in kept if one}:
        kept.append(own)
    ahead, others, running = place["ahead"], place["others"], _running_text(place)
    if place["has_share"]:
        detail = f"this tenant's jobs have their share of the lane's places, what is left is for others; {running}"
        kept.append(WaitReason(Wait.TENANT_SHARE, detail))
    if others:
        detail = (
            f"{_count_jobs(others)} of other tenants, which had less of this lane's time, {_verb_come(others)} first"
        )
        kept.append(WaitReason(Wait.OTHER_TENANTS, detail))
    if ahead:
        last = f", job {place['behind']} just before it" if place["behind"] else ""
        detail = f"{_count_jobs(ahead)} of yours {_verb_come(ahead)} first{last}; {running}"
        kept.append(WaitReason(Wait.BEHIND, detail))
    if not (others or ahead or place["has_share"]) and place["running"]:
        kept.append(WaitReason(Wait.NEXT, f"it comes next and waits for a place; {running}"))
    return kept


def _running_text(place: Mapping[str, Any]) -> str:
    """How many are at work, and how many of them are other people's; never whose."""
    running, foreign = place["running"], place["foreign_running"]
    if not foreign:
        return f"{running} at work"
    return f"{running} at work, {'all' if foreign == running else foreign} of other tenants"


def _known_reason(text: str | None) -> WaitReason | None:
    reason, detail = parse_reason(text)
    if reason not in list(Wait):
        return None
    return WaitReason(Wait(reason), detail, _FIXES.get(Wait(reason), ""))


def _count_jobs(count: int) -> str:
    return f"{count} job" if count == 1 else f"{count} jobs"


def _verb_come(count: int) -> str:
    return "comes" if count == 1 else "come"
