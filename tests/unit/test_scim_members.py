"""Members of a group as sets: what the library makes of a PATCH, without comparing all with all."""

from random import Random
from typing import Any

import pytest
from scim2_models import Context, PatchOp

from serve_apps.http.scim.member_changes import MemberChange, apply_changes, split_patch
from serve_apps.http.scim.scim_models import POLICY, ScimGroup, ScimMember

PEOPLE = ["ann", "ben", "cleo", "dan", "eve"]
GroupPatch = PatchOp[ScimGroup]


def read(*operations: dict[str, Any]) -> Any:
    with POLICY:
        return GroupPatch.model_validate({"Operations": list(operations)}, scim_ctx=Context.RESOURCE_PATCH_REQUEST)


def some_operation(random: Random) -> dict[str, Any]:
    some = [{"value": one} for one in random.sample(PEOPLE, random.randint(1, 3))]
    return random.choice(
        [
            {"op": "Add", "path": "members", "value": some},
            {"op": "add", "value": {"members": some}},
            {"op": "replace", "path": "members", "value": some},
            {"op": "replace", "value": {"Members": some}},
            {"op": "remove", "path": "members", "value": some},
            {"op": "Remove", "path": f'members[value eq "{random.choice(PEOPLE)}"]'},
            {"op": "remove", "path": "members"},
        ]
    )


def test_as_sets_members_become_what_the_library_makes_of_them() -> None:
    random = Random(7)
    for _ in range(200):
        operations = [some_operation(random) for _ in range(random.randint(1, 5))]
        held = random.sample(PEOPLE, random.randint(0, 5))
        split = split_patch(read(*operations).operations)
        group = ScimGroup(display_name="g", members=[ScimMember(value=one) for one in held])
        with POLICY:
            read(*operations).patch(group)
        assert not split.whole and not split.rest
        assert set(apply_changes(held, split.members)) == {one.value for one in group.members or ()}, operations
        if split.named is not None:
            others = set(held) - split.named
            seen = apply_changes([one for one in held if one in split.named], split.members)
            assert set(seen) | others == set(apply_changes(held, split.members)), "others are as they were"


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "remove", "path": 'members[value eq "ann" or value eq "ben"]'},
        {"op": "remove", "path": 'members[type eq "User"]'},
        {"op": "replace", "path": 'members[value eq "ann"].type', "value": "User"},
        {"op": "replace", "value": {"members": [{"value": "ann"}], "displayName": "x"}},
        {"op": "replace", "value": {"urn:ietf:params:scim:schemas:core:2.0:Group:members": [{"value": "ann"}]}},
        {"op": "add", "path": "urn:ietf:params:scim:schemas:core:2.0:Group", "value": {"members": [{"value": "ann"}]}},
        {"op": "add", "path": "members", "value": [{"value": 5}]},
        {"op": "add", "path": "members", "value": ["ann"]},
        {"op": "add", "path": "members", "value": [{"value": "ann", "VALUE": "ben"}]},
    ],
)
def test_what_names_more_than_ids_is_left_to_the_library(operation: dict[str, Any]) -> None:
    """And is applied to all members: none of them may be overlooked."""
    split = split_patch(read({"op": "add", "path": "members", "value": [{"value": "dan"}]}, operation).operations)
    assert split.whole and split.named is None and len(split.rest) == 2 and split.members == ()


def test_what_is_no_matter_of_members_reads_none() -> None:
    split = split_patch(read({"op": "replace", "path": "displayName", "value": "x"}).operations)
    assert (split.named, split.members, len(split.rest), split.whole) == (set(), (), 1, False)
    assert apply_changes(["ann"], (MemberChange("replace", ()), MemberChange("add", ("ben",)))) == ["ben"]
