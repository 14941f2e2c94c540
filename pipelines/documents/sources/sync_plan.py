"""The plan of a sync: what a listing means for what is known of a source. Pure: it reads nothing and writes nothing."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pipelines.documents.sources.item_rights import STALE, ReaderRules
from pipelines.documents.sources.source_port import ItemRights, ListingFault, SourceItem


@dataclass(frozen=True, slots=True)
class KnownItem:
    """An item as it was seen last, with the document that it is.

    Attributes:
        document: None where it could never be fetched, or was erased after it had left.
        readers: of its document now.
        by_hand: a person gave the document these readers.
        kept: readers by hand from before it left.
        gone: it left the source, and its document is hidden.
        failed: it could not be fetched or read to the end: it is taken again, whatever its version is.
        excluded: a person has deleted its document: it stays away.
        awaiting: its removal waits for a person.
        returning: it is gone here, and back in the source, from where it could not be fetched yet.
    """

    id: str
    path: str
    version: str
    fingerprint: str | None = None
    document: str | None = None
    rights: ItemRights | None = None
    readers: tuple[str, ...] = ()
    by_hand: bool = False
    kept: tuple[str, ...] | None = None
    gone: bool = False
    failed: bool = False
    excluded: bool = False
    awaiting: bool = False
    returning: bool = False

    @property
    def is_here(self) -> bool:
        """True if its document is there and can be seen."""
        return self.document is not None and not self.gone and not self.excluded


@dataclass(frozen=True, slots=True)
class Listing:
    """A whole listing; see `ListingPage`. `complete` is False where it broke off or could not look everywhere.

    Attributes:
        more_faults: how many there were beyond those that are kept.
        more_notes: likewise.
    """

    items: Sequence[SourceItem]
    removed: Collection[str] = ()
    faults: Sequence[ListingFault] = ()
    full: bool = True
    notes: Sequence[ListingFault] = ()
    more_faults: int = 0
    more_notes: int = 0

    @property
    def complete(self) -> bool:
        """True if nothing of it is missing."""
        return not self.faults


class WaitReason(StrEnum):
    """The reason for which removals wait for a person."""

    INCOMPLETE = "incomplete"  # the listing has errors
    EMPTY = "empty"  # it names nothing where there was something
    MANY = "many"  # more are gone than may go without a question


@dataclass(frozen=True, slots=True)
class Fetch:
    """An item whose bytes are read; `known` is None for one that is new. `by_hand`: a person gave these readers."""

    item: SourceItem
    known: KnownItem | None
    readers: tuple[str, ...]
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class Alteration:
    """A document that gets another path, another id, other rights or readers, or comes back; nothing is read."""

    known: KnownItem
    item: SourceItem
    readers: tuple[str, ...]
    by_hand: bool = False


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """What a sync is to do.

    Attributes:
        removals: documents that leave, and items without one that are forgotten.
        waiting: those that would leave, and wait for a person because of `reason`.
        counts: listed, added, changed, moved, returned, rights, unchanged, excluded, held, removed, waiting.
    """

    fetches: Sequence[Fetch] = ()
    alterations: Sequence[Alteration] = ()
    removals: Sequence[KnownItem] = ()
    waiting: Sequence[KnownItem] = ()
    reason: WaitReason | None = None
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RemovalGuard:
    """How much may go without a question.

    Attributes:
        approved: ids that a person has said may go.
        waited_for: why the removals wait that do.
    """

    share: float = 0.2
    approved: frozenset[str] = frozenset()
    waited_for: WaitReason | None = None


COUNTED = ("listed", "added", "changed", "moved", "returned", "rights", "unchanged", "excluded", "held")


def plan_sync(known: Sequence[KnownItem], listing: Listing, rules: ReaderRules, guard: RemovalGuard) -> SyncPlan:
    """Compare a listing with what is known.

    An item that is as it was is not read. One that is new and has the fingerprint of one that is missing was moved;
    where the listing is not complete that cannot be told, and it is `held` until one is. A document that a person has
    deleted stays away for as long as its item is there. One that is still being written is `held`, too, and stays as it
    was until it is not; so is one that is hidden because its rights are too old, and is not confirmed.
    """
    listed = {item.id: item for item in listing.items}
    before = {one.id: one for one in known}
    missing = _missing_items(known, listed, listing)
    fresh = [item for item in listed.values() if item.id not in before]
    moved, held = _match_moves(fresh, missing, listing.complete)
    work = _Comparison(rules, Counter({**dict.fromkeys(COUNTED, 0), "listed": len(listed)}))
    for item in fresh:
        if item.id in held or not item.settled:
            work.counts["held"] += 1
        elif (one := moved.get(item.id)) is not None:
            work.compare(item, one)
        else:
            work.add(item, rules.readers_of(item.rights))
    for item in listed.values():
        if item.id in before and not item.settled:
            work.counts["held"] += 1
        elif item.id in before:
            work.compare(item, before[item.id])
    leaving = {one.id for one in missing} - {one.id for one in moved.values()}
    if not listing.full:  # whatever a list of changes does not name is as it was, but for who is who by now
        for one in known:
            if one.id in listed or one.id in leaving or (one.gone and not one.returning):
                continue
            if STALE in one.readers and not listing.complete:  # that confirms nothing but what it names
                work.counts["held"] += 1
            else:
                work.compare(SourceItem(one.id, one.version, one.path, None, one.fingerprint, one.rights), one)
    missing = [one for one in missing if one.id in leaving]
    removals, waiting, reason = _guard_removals(known, missing, listing, guard)
    work.counts.update(removed=sum(one.is_here for one in removals), waiting=len(waiting))
    return SyncPlan(work.fetches, work.alterations, removals, waiting, reason, dict(work.counts))


@dataclass(slots=True)
class _Comparison:
    """What there is to do for items that are there, one after another."""

    rules: ReaderRules
    counts: Counter[str]
    fetches: list[Fetch] = field(default_factory=list)
    alterations: list[Alteration] = field(default_factory=list)

    def add(self, item: SourceItem, readers: tuple[str, ...]) -> None:
        self.counts["added"] += 1
        self.fetches.append(Fetch(item, None, readers))

    def compare(self, item: SourceItem, one: KnownItem) -> None:
        if one.excluded:
            self.counts["excluded"] += 1
            return
        readers = _wanted_readers(item, one, self.rules)
        if one.document is None:
            self.add(item, readers)
            return
        stale = item.version != one.version or one.failed
        place = item.path != one.path or item.id != one.id
        by_hand = one.gone and one.kept is not None and not self.rules.has_rights
        # Rights that come to the same readers are kept, too: who is who may be another tomorrow, with nothing listed.
        differs = place or one.gone or readers != one.readers or item.rights != one.rights
        if differs and not (one.gone and stale):  # what is back and changed is shown once its new bytes are here
            self.alterations.append(Alteration(one, item, readers, by_hand))
        if stale:
            self.fetches.append(Fetch(item, one, readers, by_hand))
        self.counts[_change_of(one, stale=stale, place=place, rights=readers != one.readers)] += 1


def _missing_items(known: Iterable[KnownItem], listed: Collection[str], listing: Listing) -> list[KnownItem]:
    """Items that are not there any more: left out of a full listing, or said to be gone by a list of changes.

    Such a list names a removal once: one that waits for a person is missing until its item is listed.
    """
    missing = [one for one in known if (not one.gone or one.returning) and one.id not in listed]
    if listing.full:
        return missing
    removed = set(listing.removed)
    return [one for one in missing if one.awaiting or one.id in removed]


def _match_moves(
    fresh: Sequence[SourceItem], missing: Sequence[KnownItem], complete: bool
) -> tuple[dict[str, KnownItem], set[str]]:
    """New items by id that are missing ones at another place; and those that may be, and wait for a whole listing."""
    missing = [one for one in missing if not one.gone]
    one_each = Counter(one.fingerprint for one in missing)
    one_each.update(item.fingerprint for item in fresh)
    there = {one.fingerprint: one for one in missing if one.fingerprint is not None and one_each[one.fingerprint] == 2}
    found = {item.id: there[item.fingerprint] for item in fresh if item.fingerprint in there}
    return (found, set()) if complete else ({}, set(found))


def _wanted_readers(item: SourceItem, one: KnownItem, rules: ReaderRules) -> tuple[str, ...]:
    """The source decides where it has rights; else whoever has changed them by hand."""
    if not rules.has_rights:
        if one.gone:
            return rules.readers if one.kept is None else one.kept
        if one.by_hand:
            return one.readers
    return rules.readers_of(item.rights)


def _change_of(one: KnownItem, *, stale: bool, place: bool, rights: bool) -> str:
    if one.gone:
        return "returned"
    return "changed" if stale else "moved" if place else "rights" if rights else "unchanged"


def _guard_removals(
    known: Sequence[KnownItem], missing: Sequence[KnownItem], listing: Listing, guard: RemovalGuard
) -> tuple[list[KnownItem], list[KnownItem], WaitReason | None]:
    """What goes, what waits for a person, and why."""
    here = sum(one.is_here for one in known)
    asked = [one for one in missing if one.is_here and one.id not in guard.approved]
    many = len(asked) > guard.share * here
    if not listing.full:
        return _guard_changes(missing, asked, frozenset(listing.removed), guard, many=many)
    reason = None
    if not listing.complete:
        reason = WaitReason.INCOMPLETE
    elif not listing.items and here:
        reason = WaitReason.EMPTY
    elif many:
        reason = WaitReason.MANY
    if not asked or reason is None:
        # What was never fetched, or deleted by a person, is only forgotten; not where the listing may be wrong.
        return ([one for one in missing if one.is_here or reason is None], [], None)
    return [one for one in missing if one.id in guard.approved], asked, reason


def _guard_changes(
    missing: Sequence[KnownItem], asked: Sequence[KnownItem], said: Collection[str], guard: RemovalGuard, *, many: bool
) -> tuple[list[KnownItem], list[KnownItem], WaitReason | None]:
    """The same of a list of changes: it says itself what is gone, and what it cannot tell says nothing against that.

    What came to wait because a whole listing was doubtful waits on: no list of changes says whether it is there.
    """
    doubted = guard.waited_for in (WaitReason.INCOMPLETE, WaitReason.EMPTY)
    kept = [one for one in asked if doubted and one.id not in said]
    waiting = list(asked) if many else kept
    waits = {one.id for one in waiting}
    removals = [one for one in missing if one.id not in waits and (one.is_here or one.id in said)]
    return removals, waiting, guard.waited_for if kept else WaitReason.MANY if waiting else None
