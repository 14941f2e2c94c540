"""Plans a sync: lists the source, compares that with what is known, and writes the units of what is to be done."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from cluster.basics.errors import LeaseLost, Permanent, TooLarge, Transient
from cluster.state.work.jobs import ClaimedJob, JobLease, JobLedger, WorkUnit
from pipelines.documents.sources.source_port import ListingFault, Source, SourceItem
from pipelines.documents.sources.sync_plan import Listing, RemovalGuard, SyncPlan, plan_sync
from pipelines.documents.sync.listing_watch import ListingStopped, ListingWatch
from pipelines.documents.sync.rights_pass import AMEND, Amendments, PassBasis, RightsPasses
from pipelines.documents.sync.source_opener import SourceOpener
from pipelines.documents.sync.source_store import KnownItems, SourceDefinition, SourceStore
from pipelines.documents.sync.start_sync import RIGHTS_ONLY
from pipelines.documents.sync.sync_units import (
    ALTER,
    ERASE,
    FETCH,
    LEAVE,
    alter_unit,
    erase_unit,
    fetch_unit,
    leave_unit,
)

UNITS_A_WRITE: Final = 1000
ERASED_A_SYNC: Final = 10_000
SAMPLES: Final = 10  # paths that are told of each sort
FAULTS: Final = 1000  # of a listing that are kept; more are counted


@dataclass(frozen=True, slots=True)
class ListingBounds:
    """`most_items` of one source: more is an error, never a silent cut. A listing from which nothing more comes for
    `quiet_seconds` is ended, and begun again later: others wait for its place.
    """

    most_items: int
    quiet_seconds: float


class SyncPlanner:
    """What one listing means. A plan that was cut off is made again from its beginning."""

    def __init__(
        self,
        jobs: JobLedger,
        store: SourceStore,
        passes: RightsPasses,
        opener: SourceOpener,
        clock: Callable[[], datetime],
        bounds: ListingBounds,
    ) -> None:
        """Nothing is listed yet."""
        self._jobs, self._store, self._passes, self._opener = jobs, store, passes, opener
        self._clock, self._bounds = clock, bounds

    async def plan(self, job: ClaimedJob, ended: Callable[[], bool] = bool) -> Mapping[str, Any] | None:
        """Write the units; what the job is to remember of the listing. None where its worker is to stop before that.

        Raises:
            NotFound: the source was removed.
            SourceRefused, SourceInvalid, SourceAway: it cannot be listed; the source's row says so, too.
        """
        lease = job.lease
        source = await self._store.definition(lease.scope, str(job.payload["source"]))
        async with self._jobs.writing(lease) as tx:
            await self._store.drop_units(tx, lease.scope, lease.job)
        basis = await self._passes.basis(lease, source.id) if job.payload.get(RIGHTS_ONLY) else None
        if basis is None and source.job != lease.job and not job.payload.get("dry_run"):
            return {}  # a newer one was started before this one was resumed; a dry run is nobody's rival
        if job.payload.get("remove"):
            keep = bool(job.payload.get("keep"))
            rows = await (self._store.gone_items if keep else self._store.every_item)(lease.scope, source.id)
            await self._write_units(lease, ERASE, [erase_unit(row, left=keep) for row in rows])
            return {}
        if not job.payload.get("dry_run"):
            async with self._jobs.writing(lease) as tx:
                await self._store.begin_listing(tx, lease.scope, source.id, lease.job)
        listed_at = self._clock()
        try:
            opened = await self._opener.open(lease.scope, source.kind, source.settings, source.credential)
            try:
                watch = ListingWatch(ended, self._bounds.quiet_seconds)
                since = source.cursor if basis is None else basis.cursor
                listing, cursor = await watch.run(self._collect(opened, watch, since))
                if basis is not None:
                    return await self._carry_rights(job, source, basis, opened, listing, listed_at)
                return await self._carry(job, source, opened, listing, cursor, listed_at)
            finally:
                await opened.close()
        except ListingStopped:
            return None
        except LeaseLost:
            raise
        except (Permanent, Transient) as error:
            await self._store.set_error(lease.scope, source.id, describe_error(error, self._clock()))
            raise

    async def _collect(self, opened: Source, watch: ListingWatch, cursor: str | None) -> tuple[Listing, str | None]:
        items: dict[str, SourceItem] = {}
        removed: list[str] = []
        faults: list[ListingFault] = []
        notes: list[ListingFault] = []
        full, last, more_faults, more_notes = True, cursor, 0, 0
        async with aclosing(watch.pages(opened, cursor)) as pages:
            async for page in pages:
                for id_ in page.removed:  # it went while it was listed: what a later page says counts
                    items.pop(id_, None)
                for item in page.items:
                    items[item.id] = item
                removed += page.removed
                more_faults += _keep(faults, page.faults)
                more_notes += _keep(notes, page.notes)
                full, last = page.full, page.cursor or last
                if len(items) > self._bounds.most_items:
                    raise TooLarge(
                        f"the source holds more than {self._bounds.most_items} items",
                        fix="Make a source of each part of it, or raise AOS_SOURCES_MOST_ITEMS.",
                    )
        return Listing(list(items.values()), removed, faults, full, notes, more_faults, more_notes), last

    async def _carry(
        self,
        job: ClaimedJob,
        source: SourceDefinition,
        opened: Source,
        listing: Listing,
        cursor: str | None,
        listed_at: datetime,
    ) -> Mapping[str, Any]:
        lease, dry_run = job.lease, bool(job.payload.get("dry_run"))
        known = await self._store.known(lease.scope, source.id)
        guard = RemovalGuard(source.max_removed_percent / 100, _approved(known, job.payload), source.waited_for)
        plan = plan_sync(known.items, listing, await self._store.rules(lease.scope, source), guard)
        told = {"job": lease.job, "dry_run": dry_run, "at": listed_at.isoformat(), **describe_plan(plan, listing)}
        if not dry_run:
            await self._write_units(lease, ALTER, [alter_unit(one, opened) for one in plan.alterations])
            await self._write_units(lease, LEAVE, [leave_unit(one) for one in plan.removals])
            await self._write_units(lease, FETCH, [fetch_unit(one, source.prefix, lease.job) for one in plan.fetches])
            here = {item.id for item in listing.items}
            due = await self._store.due_to_erase(lease.scope, source, ERASED_A_SYNC)
            left = [erase_unit(row, left=True) for row in due if row["item_id"] not in here]
            await self._write_units(lease, ERASE, left)
        async with self._jobs.writing(lease) as tx:
            if dry_run:
                await self._store.set_last_plan(tx, lease.scope, source.id, told)
            else:
                await self._store.set_waiting(tx, lease.scope, source.id, plan, told)
        whole = listing.complete
        return {"plan": told, "cursor": cursor, "listed_at": listed_at.isoformat() if whole else None}

    async def _carry_rights(
        self,
        job: ClaimedJob,
        source: SourceDefinition,
        basis: PassBasis,
        opened: Source,
        listing: Listing,
        listed_at: datetime,
    ) -> Mapping[str, Any]:
        """What concerns rights and removals alone; the next whole sync sees the rest of it again.

        What is still to be fetched is amended first: nothing comes with readers of the older listing, or comes back.
        """
        lease, share = job.lease, source.max_removed_percent / 100
        known = await self._store.known(lease.scope, source.id)
        rules = await self._store.rules(lease.scope, source)
        plan = plan_sync(known.items, listing, rules, RemovalGuard(share, waited_for=source.waited_for))
        told = {"job": lease.job, "dry_run": False, "at": listed_at.isoformat(), **describe_plan(plan, listing)}
        planned = {one.item.id: one.readers for one in plan.fetches}
        documents = [one.id for one in known.items if one.document is not None]
        amendments = Amendments(listing, rules, planned, basis.sync, documents)
        async for unread in self._passes.unread(lease.scope, basis):
            await self._write_units(lease, AMEND, amendments.of(unread))
        here = sum(one.is_here for one in known.items)
        await self._write_units(lease, AMEND, amendments.removals(here, share))
        await self._write_units(lease, ALTER, [alter_unit(one, opened) for one in plan.alterations])
        await self._write_units(lease, LEAVE, [leave_unit(one) for one in plan.removals])
        async with self._jobs.writing(lease) as tx:
            await self._store.set_waiting(tx, lease.scope, source.id, plan, told, whole=False)
        return {"plan": told, "listed_at": listed_at.isoformat() if listing.complete else None}

    async def _write_units(self, lease: JobLease, stage: str, units: Sequence[WorkUnit]) -> None:
        for start in range(0, len(units), UNITS_A_WRITE):
            async with self._jobs.writing(lease) as tx:
                await self._jobs.expect(tx, lease, stage, units[start : start + UNITS_A_WRITE])


def describe_error(error: Permanent | Transient, at: datetime) -> dict[str, Any]:
    """An error as a source's row tells it."""
    return {"code": error.code, "detail": str(error), "fix": error.hint, "at": at.isoformat()}


def describe_plan(plan: SyncPlan, listing: Listing) -> dict[str, Any]:
    """What people are told of a plan: counts, why something waits, and some paths of each sort."""
    sorts = {
        "added": [one.item.path for one in plan.fetches if one.known is None],
        "changed": [one.item.path for one in plan.fetches if one.known is not None],
        "altered": [one.item.path for one in plan.alterations],
        "removed": [one.path for one in plan.removals if one.is_here],
        "waiting": [one.path for one in plan.waiting],
        "faults": [f"{one.path}: {one.why}" for one in listing.faults],
        "passed": [f"{one.path}: {one.why}" for one in listing.notes],
    }
    return {
        "counts": {
            **plan.counts,
            "faults": len(listing.faults) + listing.more_faults,
            "passed": len(listing.notes) + listing.more_notes,
        },
        "reason": plan.reason,
        "samples": {name: paths[:SAMPLES] for name, paths in sorts.items() if paths},
    }


def _keep(kept: list[ListingFault], more: Sequence[ListingFault]) -> int:
    """Add what there is room for; how many there was none for."""
    fit = more[: max(0, FAULTS - len(kept))]
    kept += fit
    return len(more) - len(fit)


def _approved(known: KnownItems, payload: Mapping[str, Any]) -> frozenset[str]:
    """Removals that waited when a person said that they may go: what has come to wait since is not among them."""
    if (at := payload.get("approved_at")) is None:
        return frozenset()
    moment = datetime.fromisoformat(at)
    return frozenset(id_ for id_, since in known.awaiting.items() if since <= moment)
