"""The plan of a sync: what a listing means for what is known, and what is never deleted by it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.documents.sources.item_rights import NOBODY, STALE, ReaderRules
from pipelines.documents.sources.source_port import ItemRights, ListingFault, SourceItem
from pipelines.documents.sources.sync_plan import KnownItem, Listing, RemovalGuard, SyncPlan, WaitReason, plan_sync

OPEN = ReaderRules()
ANYTHING = RemovalGuard(share=1.0)


def item(name: str, version: str = "1", **more: object) -> SourceItem:
    return SourceItem(name, version, str(more.pop("path", name)), **more)  # type: ignore[arg-type]


def known(name: str, version: str = "1", **more: object) -> KnownItem:
    values = {"path": name, "document": f"d-{name}"} | more
    return KnownItem(name, version=version, **values)  # type: ignore[arg-type]


def plan(
    before: list[KnownItem],
    listed: list[SourceItem],
    rules: ReaderRules = OPEN,
    guard: RemovalGuard = ANYTHING,
    **listing: object,
) -> SyncPlan:
    return plan_sync(before, Listing(listed, **listing), rules, guard)  # type: ignore[arg-type]


def fetched(made: SyncPlan) -> list[tuple[str, bool]]:
    return [(one.item.id, one.known is None) for one in made.fetches]


def told(made: SyncPlan) -> dict[str, int]:
    return {name: count for name, count in made.counts.items() if count}


def test_what_is_new_or_changed_is_read_and_nothing_else() -> None:
    made = plan([known("a"), known("b")], [item("a"), item("b", "2"), item("c")])
    assert sorted(fetched(made)) == [("b", False), ("c", True)]
    assert told(made) == {"listed": 3, "added": 1, "changed": 1, "unchanged": 1}
    assert not made.alterations and not made.removals and not made.waiting


def test_what_could_not_be_read_the_last_time_is_read_again() -> None:
    made = plan([known("a", failed=True), known("b", document=None, version="")], [item("a"), item("b")])
    assert fetched(made) == [("a", False), ("b", True)]


def test_another_path_of_the_same_id_is_the_same_document() -> None:
    made = plan([known("7", path="old/a.txt")], [item("7", path="new/b.txt")])
    (one,) = made.alterations
    assert (one.known.document, one.item.path) == ("d-7", "new/b.txt") and not made.fetches
    assert told(made) == {"listed": 1, "moved": 1}


def test_a_missing_item_that_is_at_another_place_by_its_fingerprint_was_moved() -> None:
    made = plan([known("a", fingerprint="inode-7")], [item("b", fingerprint="inode-7")])
    (one,) = made.alterations
    assert (one.known.id, one.item.id) == ("a", "b")
    assert not made.fetches and not made.removals


def test_two_items_with_one_fingerprint_are_no_move() -> None:
    before = [known("a", fingerprint="x"), known("b", fingerprint="x")]
    made = plan(before, [item("c", fingerprint="x")])
    assert fetched(made) == [("c", True)] and {one.id for one in made.removals} == {"a", "b"}


def test_a_move_cannot_be_told_in_half_a_listing_and_nothing_is_doubled() -> None:
    fault = ListingFault("there", "permission denied")
    made = plan([known("a", fingerprint="x")], [item("b", fingerprint="x"), item("c")], faults=[fault])
    assert fetched(made) == [("c", True)] and not made.removals
    assert told(made) == {"listed": 2, "added": 1, "held": 1, "waiting": 1}


def test_what_left_leaves_and_is_forgotten_where_it_never_came() -> None:
    made = plan([known("a"), known("b", document=None), known("c")], [item("c")])
    assert [one.id for one in made.removals] == ["a", "b"] and made.counts["removed"] == 1


def test_what_comes_back_is_the_same_document_and_is_read_only_where_it_changed() -> None:
    before = [known("a", gone=True, readers=("source:gone",)), known("b", gone=True, readers=("source:gone",))]
    made = plan(before, [item("a"), item("b", "2")])
    assert [(one.known.id, one.readers) for one in made.alterations] == [("a", ())], "b shows with its new bytes"
    (one,) = made.fetches
    assert (one.item.id, one.known, one.readers) == ("b", before[1], ()) and made.counts["returned"] == 2


@pytest.mark.parametrize("version", ["1", "2"])
def test_readers_by_hand_come_back_with_the_document(version: str) -> None:
    made = plan([known("a", gone=True, kept=("group:legal",), readers=("source:gone",))], [item("a", version)])
    (one,) = made.alterations or made.fetches
    assert one.readers == ("group:legal",) and one.by_hand
    made = plan([known("a", gone=True, kept=("group:legal",))], [item("a", version)], RIGHTS)
    (one,) = made.alterations or made.fetches
    assert one.readers == (NOBODY,) and not one.by_hand


def test_what_is_back_and_could_not_be_fetched_is_tried_again_until_it_leaves() -> None:
    back = known("a", gone=True, failed=True, returning=True, fingerprint="f")
    assert fetched(plan([back], [], full=False)) == [("a", False)]
    assert [one.id for one in plan([back], [], full=False, removed=["a"]).removals] == ["a"]
    made = plan([back], [item("b", fingerprint="f")])
    assert fetched(made) == [("b", True)] and [one.id for one in made.removals] == ["a"], "it was nowhere to move from"


def test_what_a_person_has_deleted_stays_away_whatever_its_version() -> None:
    made = plan([known("a", excluded=True)], [item("a", "2")])
    assert not (made.fetches or made.alterations or made.removals or made.waiting)
    assert told(made) == {"listed": 1, "excluded": 1}


@pytest.mark.parametrize(
    ("gone", "listing", "reason"),
    [
        (3, {}, WaitReason.MANY),
        (10, {}, WaitReason.EMPTY),
        (1, {"faults": [ListingFault("x", "broken")]}, WaitReason.INCOMPLETE),
    ],
)
def test_a_source_that_may_lie_deletes_nothing(gone: int, listing: dict[str, object], reason: WaitReason) -> None:
    names = [f"n{n}" for n in range(10)]
    left = [item(name) for name in names[gone:]]
    made = plan([known(name) for name in names], left, guard=RemovalGuard(), **listing)
    assert not made.removals and made.reason is reason
    assert [one.id for one in made.waiting] == names[:gone]


def test_a_fifth_goes_without_a_question() -> None:
    names = [f"n{n}" for n in range(10)]
    made = plan([known(name) for name in names], [item(name) for name in names[2:]], guard=RemovalGuard())
    assert [one.id for one in made.removals] == ["n0", "n1"] and made.reason is None


def test_an_approval_is_of_what_was_seen_and_no_more() -> None:
    names = [f"n{n}" for n in range(10)]
    seen = RemovalGuard(approved=frozenset(names[:5]))
    before, listed = [known(name) for name in names], [item(name) for name in ("n0", *names[8:])]
    made = plan(before, listed, guard=seen)
    assert [one.id for one in made.removals] == ["n1", "n2", "n3", "n4"], "what is back stays"
    assert [one.id for one in made.waiting] == ["n5", "n6", "n7"] and made.reason is WaitReason.MANY


def test_a_list_of_changes_says_itself_what_is_gone() -> None:
    made = plan([known("a"), known("b"), known("c", failed=True)], [], full=False, removed=["a", "x"])
    assert [one.id for one in made.removals] == ["a"]
    assert fetched(made) == [("c", False)], "what failed is tried again, though nothing tells of it"


def in_ten(*awaiting: str) -> list[KnownItem]:
    names = [f"n{n}" for n in range(10)]
    return [known(name, awaiting=name in awaiting) for name in names]


def test_a_removal_that_waits_waits_on_though_changes_name_it_once() -> None:
    guard = RemovalGuard(waited_for=WaitReason.MANY)
    made = plan(in_ten("n0", "n1", "n2"), [item("n1")], guard=replace(guard, share=0.1), full=False)
    assert [one.id for one in made.waiting] == ["n0", "n2"] and made.reason is WaitReason.MANY
    assert not made.removals and told(made) == {"listed": 1, "unchanged": 8, "waiting": 2}
    made = plan(in_ten("n0", "n1", "n2"), [], guard=replace(guard, approved=frozenset({"n0", "n2"})), full=False)
    assert [one.id for one in made.removals] == ["n0", "n1", "n2"], "the one that is left is not too many"


def test_what_a_doubtful_listing_left_out_waits_for_a_person_while_changes_say_nothing_of_it() -> None:
    guard = RemovalGuard(waited_for=WaitReason.INCOMPLETE)
    made = plan(in_ten("n0"), [], guard=guard, full=False, removed=["n1"])
    assert [one.id for one in made.removals] == ["n1"] and [one.id for one in made.waiting] == ["n0"]
    assert made.reason is WaitReason.INCOMPLETE
    made = plan(in_ten("n0"), [], guard=guard, full=False, removed=["n0"])
    assert [one.id for one in made.removals] == ["n0"] and made.reason is None
    many = plan(in_ten("n0"), [], guard=guard, full=False, removed=["n1", "n2"])
    assert len(many.waiting) == 3 and not many.removals and many.reason is WaitReason.INCOMPLETE
    deleted = [replace(one, excluded=True) if one.awaiting else one for one in in_ten("n0")]
    assert not plan(deleted, [], guard=guard, full=False).removals, "it would come back with the next whole listing"


def test_changes_that_name_a_removal_are_believed_though_something_else_could_not_be_told() -> None:
    fault = ListingFault("x", "its permissions cannot be read")
    before = [*in_ten(), known("never", document=None)]
    made = plan(before, [], guard=RemovalGuard(), full=False, removed=["n0", "never"], faults=[fault])
    assert [one.id for one in made.removals] == ["n0", "never"] and not made.waiting
    made = plan(before, [], guard=RemovalGuard(), full=False, removed=["n0", "n1", "n2", "never"])
    assert [one.id for one in made.removals] == ["never"] and made.reason is WaitReason.MANY


RIGHTS = ReaderRules(
    has_rights=True,
    people=frozenset({"ann@x.example"}),
    groups=frozenset({"legal", "staff"}),
    group_names={"Rechtsabteilung": "legal"},
)


@pytest.mark.parametrize(
    ("rights", "readers"),
    [
        (ItemRights(("Ann@X.example", "eve@elsewhere.example"), ()), ("user:ann@x.example",)),
        (ItemRights((), ("RECHTSABTEILUNG", "Staff", "unknown")), ("group:legal", "group:staff")),
        (ItemRights(("eve@elsewhere.example",), ("unknown",)), (NOBODY,)),
        (ItemRights(), (NOBODY,)),
        (None, (NOBODY,)),
    ],
)
def test_rights_are_people_and_groups_of_ours_and_who_is_unknown_is_nobody(
    rights: ItemRights | None, readers: tuple[str, ...]
) -> None:
    assert RIGHTS.readers_of(rights) == readers


def test_other_rights_alone_read_nothing() -> None:
    ann = ItemRights(("ann@x.example",))
    made = plan([known("a", readers=("group:staff",))], [item("a", rights=ann)], RIGHTS)
    assert made.alterations[0].readers == ("user:ann@x.example",) and not made.fetches


def test_rights_narrow_before_the_new_version_is_read() -> None:
    made = plan([known("a", readers=("group:staff",))], [item("a", "2", rights=ItemRights())], RIGHTS)
    assert made.alterations[0].readers == (NOBODY,) and fetched(made) == [("a", False)]


def test_whoever_is_new_here_is_given_what_the_source_gave_them_before() -> None:
    before = known("a", readers=(NOBODY,), rights=ItemRights(("ann@x.example",)))
    made = plan([before], [], RIGHTS, full=False)
    assert made.alterations[0].readers == ("user:ann@x.example",)


@pytest.mark.parametrize("now", [ItemRights(("new@x.example",)), ItemRights()], ids=["given", "withdrawn"])
def test_rights_of_somebody_without_an_account_are_kept_though_no_reader_changes(now: ItemRights) -> None:
    before = known("a", readers=(NOBODY,), rights=ItemRights(("eve@x.example",)))
    made = plan([before], [item("a", rights=now)], RIGHTS, full=False)
    (one,) = made.alterations
    assert (one.item.rights, one.readers) == (now, (NOBODY,)) and not made.fetches
    assert told(made) == {"listed": 1, "unchanged": 1}


def test_changes_that_could_not_all_be_told_show_nothing_again_but_what_they_name() -> None:
    rights, fault = ItemRights(("ann@x.example",)), ListingFault("x", "its permissions cannot be read")
    before = [known(name, readers=(STALE,), rights=rights) for name in "ab"]
    made = plan(before, [item("a", rights=rights)], RIGHTS, full=False, faults=[fault])
    assert [one.known.id for one in made.alterations] == ["a"] and told(made) == {"listed": 1, "rights": 1, "held": 1}
    assert len(plan(before, [], RIGHTS, full=False).alterations) == 2


def test_readers_by_hand_stay_where_the_source_has_no_rights_and_not_where_it_has() -> None:
    by_hand = known("a", readers=("user:eve@x.example",), by_hand=True)
    assert not plan([by_hand], [item("a")]).alterations
    assert plan([by_hand], [item("a", rights=ItemRights())], RIGHTS).alterations


def test_what_is_still_being_written_is_there_and_stays_as_it_was() -> None:
    made = plan([known("a"), known("b", gone=True)], [item(name, "2", settled=False) for name in "abc"])
    assert told(made) == {"listed": 3, "held": 3}
    assert not made.fetches and not made.alterations and not made.removals


def test_one_that_was_moved_and_is_being_written_leaves_nothing_behind() -> None:
    made = plan([known("a", fingerprint="f")], [item("b", fingerprint="f", settled=False)])
    assert told(made) == {"listed": 1, "held": 1} and not made.removals and not made.waiting


NAMES = st.sampled_from([f"n{n}" for n in range(8)])


@given(
    here=st.dictionaries(NAMES, st.sampled_from(["1", "2"])),
    listed=st.dictionaries(NAMES, st.sampled_from(["1", "2"])),
    marks=st.booleans(),
)
def test_every_item_has_exactly_one_document_afterwards(
    here: dict[str, str], listed: dict[str, str], marks: bool
) -> None:
    """Carried out as planned, what is here is what was listed: nothing lost, nothing doubled."""
    before = [known(name, version, fingerprint=f"f{name}" if marks else None) for name, version in here.items()]
    now = [item(name, version, fingerprint=f"f{name}" if marks else None) for name, version in listed.items()]
    made = plan(before, now)
    documents = {one.id: str(one.document) for one in before}
    for one in made.removals:
        documents.pop(one.id)
    for change in made.alterations:
        documents[change.item.id] = documents.pop(change.known.id)
    for fetch in made.fetches:
        documents.setdefault(fetch.item.id, "new")
    waits = {one.id for one in made.waiting}
    assert set(documents) - waits == set(listed)
    again = [replace(known(name, version), document=documents[name]) for name, version in listed.items()]
    assert not plan(again, now).fetches, "the second time nothing is left to do"
