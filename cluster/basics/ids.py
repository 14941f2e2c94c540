"""Ids as they come in from outside: a UUID in its one spelling, or nothing."""

from uuid import UUID

from cluster.basics.errors import NotFound
from cluster.basics.scope import Scope


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


def scoped_id(scope: Scope, noun: str, text: str) -> dict[str, str]:
    """The id of a row within its scope, as queries name it. Raises NotFound: what is no UUID names nothing."""
    return {noun: uuid_of(text, noun), **scope.keys}
