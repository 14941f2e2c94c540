"""A source's rights as they are understood: items that each reader gets, and people and groups that are unknown."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pipelines.documents.sources.item_rights import NOBODY, ReaderRules
from pipelines.documents.sources.source_port import ItemRights


@dataclass(frozen=True, slots=True)
class RightsSummary:
    """Counts are of items; names are in lower case.

    Attributes:
        unsaid: items of a source with rights for which it says none.
        nobody: items that nobody sees, those among them.
        readers: by reader of ours; empty where all are for the whole workspace.
    """

    items: int
    unsaid: int
    nobody: int
    readers: Mapping[str, int]
    unknown_users: Mapping[str, int]
    unknown_groups: Mapping[str, int]


def summarize_rights(counted: Iterable[tuple[ItemRights | None, int]], rules: ReaderRules) -> RightsSummary:
    """Of rights with the number of items that have them."""
    items = unsaid = nobody = 0
    readers, users, groups = Counter[str](), Counter[str](), Counter[str]()
    for rights, count in counted:
        items += count
        understood = rules.readers_of(rights)
        if understood == (NOBODY,):
            nobody += count
        else:
            readers.update(dict.fromkeys(understood, count))
        if not rules.has_rights:
            continue
        unsaid += count if rights is None else 0
        unknown = rules.unknown_of(rights)
        users.update(dict.fromkeys(unknown.users, count))
        groups.update(dict.fromkeys(unknown.groups, count))
    return RightsSummary(items, unsaid, nobody, readers, users, groups)
