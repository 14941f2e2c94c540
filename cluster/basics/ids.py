"""Ids as they come in from outside: a UUID in its one spelling, or nothing."""

from uuid import UUID

from cluster.basics.errors import NotFound


def as_uuid(text: str) -> str | None:
    """The UUID in lower case with hyphens, as Postgres writes it; None where the text is none."""
    try:
        return str(UUID(text))
    except ValueError:
        return None


def uuid_of(text: str, what: str) -> str:
    """As `as_uuid`, for an id that has to name something. Raises NotFound: it is no UUID, so no `what` has it."""
    found = as_uuid(text)
    if found is None:
        raise NotFound(f"{what} {text}")
    return found
