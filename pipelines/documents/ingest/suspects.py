"""Units that may have ended their worker: done apart from others, and given up after so many deaths."""

from collections.abc import Sequence

from cluster.state.work.jobs import WorkUnit
from configs.sections import ReadSettings
from pipelines.documents.document import Failure, FailureReason, Page, VersionId
from pipelines.documents.ingest.slices import ReadPage


def most_deaths(read: ReadSettings) -> int:
    """Attempts after which a unit is given up that ended its worker: `max_attempts` of them alone.

    Those beside other units prove nothing, and one alone may fall together with the end of a node or of all of Ray.
    """
    return 2 * read.max_attempts - 1


def suspects_apart(pending: Sequence[WorkUnit], read: ReadSettings) -> list[WorkUnit]:
    """The next units to do together: one that was tried before as often as is allowed beside others is done alone.

    Attempts are counted for a whole batch. Without this, three restarts would make every page that waited beside them
    look as if it had ended its worker.
    """
    left = [unit for unit in pending if unit.attempts < most_deaths(read)]
    suspects = [unit for unit in left if unit.attempts >= max(1, read.max_attempts - 1)]
    return suspects[:1] or left


def given_up_page(unit: WorkUnit) -> ReadPage:
    """A page whose worker died each time it was tried."""
    failure = Failure("read", FailureReason.CRASHED, f"reading this page ended its worker {unit.attempts} times")
    return ReadPage(VersionId(unit.subject), Page(int(unit.payload["number"]), "", engine="none", failure=failure))
