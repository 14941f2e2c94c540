"""Backpressure of this machine on bulk work: full memory, and other work that leaves no CPU to it."""

from cluster.basics.crowd import CrowdWatch
from cluster.state.work.jobs import JobLane
from cluster.state.work.wait_reasons import Wait, format_reason
from cluster.watch.memory import use_now
from configs.sections import ReadSettings, Settings

MOST_OF_A_CORE = 0.5  # of the one reader that goes on where all others are behind


def strain_of(lane: JobLane, settings: Settings, crowd: CrowdWatch | None) -> str | None:
    """Backpressure of this machine on a lane: by the rules by which readers are ended, or held back."""
    if lane is not JobLane.BULK:
        return None
    use, high = use_now(), settings.ray.memory_high
    if use.share > high:
        return format_reason(
            Wait.MEMORY_SHORT, f"{use.share:.0%} of the memory is in use; above {high:.0%} readers are ended"
        )
    if crowd is not None and crowd.is_crowded:
        left = f"other work leaves {crowd.left:.1%} of this machine: it goes on at its floor, {crowd.share:.0%}"
        return format_reason(Wait.MACHINE_BUSY, left)
    return None


def share_of_a_core(read: ReadSettings, cores: int) -> float:
    """Limits of one reader where bulk work has no more than its floor."""
    return min(MOST_OF_A_CORE, read.floor * cores)
