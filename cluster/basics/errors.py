"""The errors by name: permanent or transient, each with its code, its HTTP status and its fix."""

from typing import ClassVar


class AosError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500
    fix: ClassVar[str] = ""

    def __init__(self, detail: str = "", *, fix: str | None = None) -> None:
        """`detail`: what happened, safe to show to the caller; `fix`: what to do, more exactly than the class says."""
        self.detail, self.hint = detail, self.fix if fix is None else fix
        super().__init__(detail or self.title)

    @property
    def title(self) -> str:
        """The first line of the class's docstring."""
        return (type(self).__doc__ or self.code).strip().splitlines()[0]


class Permanent(AosError):
    """Trying again will not help."""

    status = 422


class Transient(AosError):
    """Trying again may help."""

    status = 503
    # Whoever raised it has tried as often as makes sense: nobody above tries again, or attempts would multiply.
    tried_again = False


class InvalidSettings(Permanent):
    """The configuration is not valid."""

    code = "invalid_settings"


class NotFound(Permanent):
    """There is no such object here."""

    code, status = "not_found", 404


class Conflict(Permanent):
    """The object is not in a state that allows this."""

    code, status = "conflict", 409


class LegalHold(Conflict):
    """A legal hold keeps this from being deleted, erased or overwritten."""

    code = "legal_hold"
    fix = "A tenant administrator sees who holds it (GET /api/legal-holds), and may release the hold."


class Unauthenticated(Permanent):
    """Sign in first."""

    code, status = "unauthenticated", 401
    fix = "Send a bearer token from POST /api/auth/login, or an API key."


class Forbidden(Permanent):
    """Your role does not allow this."""

    code, status = "forbidden", 403


class Invalid(Permanent):
    """The request is not valid."""

    code, status = "invalid", 422


class TooLarge(Permanent):
    """The request is larger than allowed."""

    code, status = "too_large", 413


class LeaseLost(Permanent):
    """Another worker owns this job now; the write was refused."""

    code, status = "lease_lost", 409


class Unavailable(Transient):
    """A part of the system cannot be reached."""

    code = "unavailable"


class Stalled(Unavailable):
    """Nothing was done for a long time."""


class DiskFull(Transient):
    """There is no room left on the disk."""

    code, status = "disk_full", 507
    fix = "Free some space; AOS_STATE_DIR moves what is stored to another disk, TMPDIR what is only passing through."


class MemoryShort(Transient):
    """The machine has too little memory for this now."""

    code = "memory_short"
    fix = "It goes on once there is more; fewer readers (AOS_READ_READERS) need less."


class Overloaded(Transient):
    """Too much work is waiting; try again in a moment."""

    code, status = "overloaded", 429
