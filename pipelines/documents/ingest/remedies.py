"""Remedies for failures: each reason in people's words, and what they can do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.documents.document import FailureReason


@dataclass(frozen=True, slots=True)
class FailureRemedy:
    """A reason in a few words, and what mends it."""

    title: str
    fix: str


REMEDIES: Final[Mapping[FailureReason, FailureRemedy]] = {
    FailureReason.ENCRYPTED: FailureRemedy(
        "Locked with a password", "Save a copy without the password, and upload or scan that."
    ),
    FailureReason.CORRUPT: FailureRemedy(
        "Damaged, or not what its name says", "Open it in its own program, save it again, and ingest the new file."
    ),
    FailureReason.EMPTY: FailureRemedy(
        "Nothing in it", "Nothing to do, unless the file should have content: then get it again."
    ),
    FailureReason.UNSUPPORTED: FailureRemedy(
        "Of a kind that cannot be read", "Convert it to PDF, an office format, text or a picture, and ingest that."
    ),
    FailureReason.TOO_LARGE: FailureRemedy(
        "Larger than the limits allow", "Split it, or let an administrator raise the limits of reading."
    ),
    FailureReason.TIMEOUT: FailureRemedy(
        "Took too long", "Retry when the machine is less busy; split the file if it comes again."
    ),
    FailureReason.BOMB: FailureRemedy(
        "Unpacks to far more than it should", "Do not trust this file; ask where it comes from, and get a plain one."
    ),
    FailureReason.CHANGED: FailureRemedy("Changed or gone since it was listed", "Scan its folder again."),
    FailureReason.CRASHED: FailureRemedy(
        "Its reader ended unexpectedly", "Retry once; if it comes again, convert the file to PDF and ingest that."
    ),
    FailureReason.HELD: FailureRemedy(
        "Kept by a legal hold", "It stays as it was read before, until a tenant administrator releases the hold."
    ),
    FailureReason.ABANDONED: FailureRemedy("Its job ended before it was done", "Resume or retry the job."),
}
UNKNOWN: Final = FailureRemedy("Failed", "Retry what failed; the logs of the worker tell more.")


def find_remedy(reason: str | None) -> FailureRemedy:
    """For a stored reason, whatever it is."""
    return next((found for known, found in REMEDIES.items() if known == reason), UNKNOWN)
