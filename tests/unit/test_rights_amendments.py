"""What a newer listing means for items that a sync is still to fetch."""

from collections.abc import Sequence

import pytest

from pipelines.documents.sources.item_rights import NOBODY, ReaderRules
from pipelines.documents.sources.source_port import ItemRights, ListingFault, SourceItem
from pipelines.documents.sources.sync_plan import Listing
from pipelines.documents.sync.rights_pass import Amendments, UnreadItem

ANN, EVE = "ann@x.example", "eve@x.example"
RULES = ReaderRules(True, people=frozenset({ANN}))


def item(id_: str, *users: str, version: str = "1", path: str = "", settled: bool = True) -> SourceItem:
    return SourceItem(id_, version, path or f"{id_}.txt", rights=ItemRights(users), settled=settled)


def unread(*ids: str) -> list[UnreadItem]:
    return [UnreadItem(item(one, ANN), (f"user:{ANN}",)) for one in ids]


def amended(listed: Sequence[SourceItem], *, full: bool = True, removed: Sequence[str] = ()) -> Amendments:
    return Amendments(Listing(listed, removed, full=full), RULES, {}, "sync-1")


def test_only_what_concerns_rights_place_or_presence_is_amended() -> None:
    made = amended([item("a", ANN), item("b", EVE), item("c", ANN, path="d.txt"), item("e", ANN, version="2")])
    units = {unit.key: unit.payload for unit in made.of(unread(*"abcef"))}
    assert sorted(units) == ["b", "c"] and made.gone == ["f"]
    assert units["b"]["readers"] == [NOBODY] and units["c"]["item"]["path"] == "d.txt"
    assert [one.payload for one in made.removals(0, 0.2)] == [{"sync": "sync-1", "left": True}]


def test_a_list_of_changes_leaves_what_it_does_not_name_but_for_who_is_who_by_now() -> None:
    made = Amendments(Listing([], ["b"], full=False), ReaderRules(True), {}, "sync-1")
    (unit,) = made.of(unread("a", "b"))
    assert (unit.key, unit.payload["readers"], made.gone) == ("a", [NOBODY], ["b"])


def test_what_is_back_is_fetched_again_and_what_is_still_written_waits() -> None:
    made = amended([item("a", ANN), item("b", EVE, settled=False)])
    left = [UnreadItem(item("a", ANN), (f"user:{ANN}",), left=True), UnreadItem(item("z", ANN), (), left=True)]
    (unit,) = made.of([*left, *unread("b")])
    assert (unit.key, unit.payload["left"], made.gone) == ("a", False, [])


@pytest.mark.parametrize(
    "listing",
    [
        Listing([], faults=[ListingFault("x", "broken")], full=False, removed=["a"]),
        Listing([]),
        Listing([item("d", ANN), item("e", ANN)]),
    ],
    ids=["broken", "empty", "many"],
)
def test_nothing_is_given_up_by_a_listing_that_may_be_wrong(listing: Listing) -> None:
    made = Amendments(listing, RULES, {}, "sync-1")
    made.of(unread(*"abcde"))
    assert made.gone and made.removals(0, 0.2) == []


def test_readers_of_a_source_without_rights_are_left_as_they_are() -> None:
    made = Amendments(Listing([item("a", EVE)]), ReaderRules(readers=("group:x",)), {}, "sync-1")
    (unit,) = made.of(unread("a"))
    assert unit.payload["readers"] == [f"user:{ANN}"]
