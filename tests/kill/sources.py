"""`make test-sources`: sources, uploads and events under changes, lies and kills; nothing may be lost or doubled."""

import argparse
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from tests.evals.report import Report
from tests.kill import event_delivery, large_upload, revocations, source_syncs
from tests.kill.source_sites import SITES
from tests.kill.sync_desk import sync_desk

MINUTES = 30
GOAL_TIME = "≤ 30 min on 2 cores"
PARTS = (*SITES, "revocation", "webhooks", "events", "upload")


def measure_sites(report: Report, chosen: list[str], options: argparse.Namespace) -> None:
    """Each kind of source by itself."""
    with sync_desk() as desk:
        for kind in SITES:
            if kind in chosen:
                how = {"items": options.items, "kills": options.kills, "seed": options.seed}
                guarded(report, kind, partial(source_syncs.measure, desk, report, kind, SITES[kind], **how))


def measure_revocation(report: Report) -> None:
    """In a workspace of its own: nothing else is like what is looked for."""
    with sync_desk() as desk:
        revocations.measure(desk, report)


def guarded(report: Report, name: str, measure: Callable[[], None]) -> None:
    """A part that breaks off has failed, and the next one runs."""
    try:
        measure()
    except (AssertionError, OSError, TimeoutError, ValueError, RuntimeError) as error:
        report.figure(f"{name}: it broke off", f"{type(error).__name__}: {error}"[:300], goal="it ends", holds=False)


def main() -> int:
    """Run the parts that are asked for; a missing one is not the whole."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="python -m tests.kill.sources --only s3,folder    python -m tests.kill.sources --only webhooks --quick",
    )
    parser.add_argument("--only", help=f"some of {', '.join(PARTS)}, with commas")
    parser.add_argument("--items", type=int, default=2000, help="of each source")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--mib", type=int, default=1024, help="of the large upload")
    parser.add_argument("--quick", action="store_true", help="the receiver of webhooks is away for 60 s only")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # whoever is told to go ends what it has begun
    chosen = options.only.split(",") if options.only else list(PARTS)
    if unknown := set(chosen) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    whole = set(chosen) == set(PARTS) and options.items >= 2000 and options.kills >= 10 and options.mib >= 1024
    report, began = Report("test-sources", part=not whole or options.quick), time.monotonic()
    away = 60.0 if options.quick else 600.0
    waiting = event_delivery.start_outage(report, away) if "webhooks" in chosen else None
    if set(SITES) & set(chosen):
        guarded(report, "sources", lambda: measure_sites(report, chosen, options))
    if "revocation" in chosen:
        guarded(report, "revocation", lambda: measure_revocation(report))
    if "events" in chosen:
        guarded(report, "events", lambda: event_delivery.measure_events(report, options.seed))
    if "upload" in chosen:
        guarded(report, "upload", lambda: large_upload.measure(report, options.mib, options.seed))
    if waiting is not None:
        guarded(report, "webhooks", waiting)
    minutes = (time.monotonic() - began) / 60
    report.figure("time", minutes, unit="min", reference=MINUTES, goal=GOAL_TIME, holds=minutes <= MINUTES)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
