"""Readers of an exported workspace as those of another: people by e-mail address, groups by name; unknown is nobody."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pipelines.documents.sources.item_rights import GONE, NOBODY, STALE


@dataclass
class ReaderNames:
    """Maps readers; `unknown` collects those that nobody is here.

    Attributes:
        people: e-mail address to the id of the account, of the tenant.
        groups: names of its groups.
    """

    people: dict[str, str]
    groups: frozenset[str]
    unknown: set[str] = field(default_factory=set)

    def map(self, readers: Iterable[str]) -> list[str]:
        """Never empty where it was not: no reader at all would be everybody."""
        named = list(readers)
        known = [one for one in named if self._is_known(one)]
        self.unknown.update(set(named) - set(known))
        return known or ([NOBODY] if named else [])

    def account(self, email: str | None) -> str | None:
        """The id of an account; None where nobody has that address here."""
        return None if email is None else self.people.get(email)

    def _is_known(self, reader: str) -> bool:
        kind, _, name = reader.partition(":")
        if kind == "user":
            return name in self.people
        return name in self.groups if kind == "group" else kind == "role" or reader == NOBODY


def joined_readers(there: Sequence[str], brought: Sequence[str]) -> list[str]:
    """Both; where one of them is everybody, those that are there stay: nothing is opened to all.

    What a source hides here (its item is gone, or nobody confirms its rights) stays hidden.
    """
    is_hidden = any(one in (NOBODY, GONE, STALE) for one in there)
    return list(dict.fromkeys([*there, *brought])) if there and brought and not is_hidden else list(there)
