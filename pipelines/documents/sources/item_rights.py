"""Rights of a source's items as readers of ours: people by e-mail address, groups by name; who is unknown is nobody."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pipelines.documents.sources.source_port import ItemRights

NOBODY: Final = "source:nobody"
"""A reader that nobody is: an empty list of readers would be everybody of the workspace."""
GONE: Final = "source:gone"
STALE: Final = "source:stale"


@dataclass(frozen=True, slots=True)
class ReaderRules:
    """How a source's rights become readers.

    Attributes:
        has_rights: whether the source's items say who may see them.
        readers: of all items, where they do not; empty is the workspace.
        people: e-mail addresses of the accounts there are, in lower case.
        groups: names of the groups there are, in lower case.
        group_names: the source's names of groups to ours; a group without an entry has its own name.
    """

    has_rights: bool = False
    readers: tuple[str, ...] = ()
    people: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    group_names: Mapping[str, str] | None = None

    def readers_of(self, rights: ItemRights | None) -> tuple[str, ...]:
        """Readers of an item with these rights, in order."""
        if not self.has_rights:
            return self.readers
        if rights is None:
            return (NOBODY,)
        people = {f"user:{one.lower()}" for one in rights.users if one.lower() in self.people}
        ours = {self._name_here(one) for one in rights.groups}
        return tuple(sorted(people | {f"group:{one}" for one in ours if one in self.groups})) or (NOBODY,)

    def unknown_of(self, rights: ItemRights | None) -> ItemRights:
        """Whom an item names and nobody here is: people without an account, groups without one of that name."""
        if rights is None:
            return ItemRights()
        users = {one.lower() for one in rights.users} - self.people
        groups = {one.lower() for one in rights.groups if self._name_here(one) not in self.groups}
        return ItemRights(tuple(sorted(users)), tuple(sorted(groups)))

    def _name_here(self, group: str) -> str:
        named = {name.lower(): ours.lower() for name, ours in (self.group_names or {}).items()}
        return named.get(group.lower(), group.lower())
