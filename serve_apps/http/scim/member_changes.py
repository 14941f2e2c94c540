"""Changes of a group's members, told apart from a PATCH: as sets, since the library compares all with all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scim2_models import PatchOperation
from scim2_models.path import CompareOperator, Comparison


@dataclass(frozen=True, slots=True)
class MemberChange:
    """People who join, who leave, or who are all that belong to a group from now on."""

    kind: Literal["add", "remove", "replace"]
    users: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SplitPatch:
    """Operations of a PATCH of a group.

    Attributes:
        members: changes of its members, in order.
        rest: what the library applies; where `whole`, that includes members.
    """

    members: tuple[MemberChange, ...]
    rest: tuple[PatchOperation[Any], ...]
    whole: bool

    @property
    def named(self) -> set[str] | None:
        """Whom the changes name, so that a large group is not read for one person; None where it takes all members."""
        if self.whole or any(change.kind == "replace" for change in self.members):
            return None
        return {user for change in self.members for user in change.users}


def split_patch(operations: Sequence[PatchOperation[Any]]) -> SplitPatch:
    """The changes of members apart from the rest; all together where one of them takes more than ids."""
    changes: list[MemberChange] = []
    rest: list[PatchOperation[Any]] = []
    for operation in operations:
        if not _is_about_members(operation):
            rest.append(operation)
        elif (change := _member_change(operation)) is not None:
            changes.append(change)
        else:
            return SplitPatch((), tuple(operations), True)
    return SplitPatch(tuple(changes), tuple(rest), False)


def apply_changes(held: Iterable[str], changes: Sequence[MemberChange]) -> list[str]:
    """Who belongs to the group after the changes, each once."""
    members = dict.fromkeys(held)
    for change in changes:
        if change.kind == "replace":
            members = dict.fromkeys(change.users)
        for user in change.users:
            if change.kind == "remove":
                members.pop(user, None)
            else:
                members[user] = None
    return list(members)


def _is_about_members(operation: PatchOperation[Any]) -> bool:
    if operation.path is None:
        return isinstance(operation.value, dict) and any("members" in name.lower() for name in operation.value)
    binding = operation.path.resolve()
    return operation.path.model is not None or (binding is not None and binding.field_name == "members")


def _member_change(operation: PatchOperation[Any]) -> MemberChange | None:
    values: Any = operation.value
    kind: Literal["add", "remove", "replace"] = operation.op.value
    if operation.path is None:
        if len(values) != 1 or next(iter(values)).lower() != "members":
            return None
        values = next(iter(values.values()))
    else:
        binding, chosen = operation.path.resolve(), operation.path.value_filter
        if binding is None or binding.sub_field_name is not None:
            return None
        if chosen is not None:
            if kind != "remove" or not isinstance(chosen, Comparison) or chosen.op is not CompareOperator.eq:
                return None
            return _change_of(kind, [{chosen.attr_path.attr: chosen.value}])
        if kind == "remove" and values is None:
            return MemberChange("replace", ())
    return _change_of(kind, values if isinstance(values, list) else [values])


def _change_of(kind: Literal["add", "remove", "replace"], entries: list[Any]) -> MemberChange | None:
    """None where an entry is not somebody by their id; what else it tells of them is the service's own."""
    users = []
    for entry in entries:
        ids = [item for name, item in entry.items() if name.lower() == "value"] if isinstance(entry, dict) else []
        if len(ids) != 1 or not isinstance(ids[0], str):
            return None
        users.append(ids[0])
    return MemberChange(kind, tuple(users))
