"""Remedies for failures: each reason in people's words, and what they can do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.documents.document import Reason


@dataclass(frozen=True, slots=True)
class Remedy:
    """A reason in a few words, and what mends it."""

    title: str
    fix: str


REMEDIES: Final[Mapping[Reason, Remedy]] = {
    Reason.ENCRYPTED: Remedy("Locked with a password", "Save a copy without the password, and upload or scan that."),
    Reason.CORRUPT: Remedy(
        "Damaged, or not what its name says", "Open it in its own program, save it again, and ingest the new file."
    ),
    Reason.EMPTY: Remedy("Nothing in it", "Nothing to do, unless the file should have content: then get it again."),
    Reason.UNSUPPORTED: Remedy(
        "Of a kind that cannot be read", "Convert it to PDF, an office format, text or a picture, and ingest that."
    ),
    Reason.TOO_LARGE: Remedy(
        "Larger than the limits allow", "Split it, or let an administrator raise the limits of reading."
    ),
    Reason.TIMEOUT: Remedy("Took too long", "Retry when the machine is less busy; split the file if it comes again."),
    Reason.BOMB: Remedy(
        "Unpacks to far more than it should", "Do not trust this file; ask where it comes from, and get a plain one."
    ),
    Reason.CHANGED: Remedy("Changed or gone since it was listed", "Scan its folder again."),
    Reason.CRASHED: Remedy(
        "Its reader ended unexpectedly", "Retry once; if it comes again, convert the file to PDF and ingest that."
    ),
    Reason.ABANDONED: Remedy("Its job ended before it was done", "Resume or retry the job."),
}
UNKNOWN: Final = Remedy("Failed", "Retry what failed; the logs of the worker tell more.")


def remedy(reason: str | None) -> Remedy:
    """For a stored reason, whatever it is."""
    return next((found for known, found in REMEDIES.items() if known == reason), UNKNOWN)
