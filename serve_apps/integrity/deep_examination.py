"""The deep examination: every check there is, one after the other; one that fails is told, and the next still runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx
import psycopg
from redis.asyncio import Redis

from cluster.basics.errors import AosError, InvalidSettings
from cluster.state.db.postgres import Database
from cluster.state.objects.bucket import Bucket
from configs.sections import Settings
from pipelines.documents.repair.storage_repair import limit_of, places_of
from pipelines.documents.store.choose_store import open_blobs
from serve_apps.integrity.blob_checks import BlobListing, BucketListing, FolderListing, LostBlobs, UnknownBlobs
from serve_apps.integrity.cache_checks import RULES, CacheKeys
from serve_apps.integrity.examination import LIVE, Examination, IntegrityCheck, Tell, open_examination
from serve_apps.integrity.index_checks import InvalidIndexes, KeywordIndex, PartitionIndexes
from serve_apps.integrity.integrity_finding import IntegrityFinding, IntegrityReport
from serve_apps.integrity.record_checks import record_checks
from serve_apps.integrity.reference_checks import reference_checks
from serve_apps.integrity.table_catalogue import Catalogue, read_catalogue
from serve_apps.integrity.upload_checks import UploadLeftovers


@dataclass(frozen=True, slots=True)
class DeepOptions:
    """What somebody asked for.

    Attributes:
        hours: since something was written, below which it may be live work.
        every_hash: read every uploaded file.
        fresh: Postgres was started just for this.
    """

    apply: bool = False
    hours: float = 24.0
    every_hash: bool = False
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class ExaminedPlaces:
    """The connections of an examination; without Redis the cache is left out."""

    owner: str | None  # of the schema, as libpq has it
    database: Database
    redis: Redis | None
    client: httpx.Client


async def examine_deeply(
    settings: Settings, places: ExaminedPlaces, options: DeepOptions, now: datetime, tell: Tell
) -> IntegrityReport:
    """Look at everything; with `options.apply` mend what is safe.

    Raises InvalidSettings, Conflict, Unavailable as `open_examination`.
    """
    before = now - timedelta(hours=options.hours)
    async with open_examination(places.owner, places.database.fence, now, before, tell, apply=options.apply) as work:
        if options.apply and not work.first_tenant:
            raise InvalidSettings("there is no tenant yet, and nothing to mend", fix="Run `aos up` once.")
        checks, notes = _all_checks(settings, places, options, now, await read_catalogue(work))
        findings, failed = await _run_checks(work, checks)
    return IntegrityReport(findings, len(checks), failed, notes)


async def _run_checks(work: Examination, checks: Sequence[IntegrityCheck]) -> tuple[list[IntegrityFinding], list[str]]:
    findings, failed, family = list[IntegrityFinding](), list[str](), None
    for number, check in enumerate(checks, 1):
        if check.family is not family:
            family = check.family
            work.tell(f"{family} (check {number} of {len(checks)})")
        try:
            findings += await check.examine(work)
        except LIVE:  # operational errors, too, but nothing went away
            failed.append(f"{check.name}: somebody is at work there; run it again")
        except psycopg.OperationalError:
            raise  # the next would fail alike
        except (AosError, OSError, psycopg.Error) as error:
            failed.append(f"{check.name}: {' '.join(str(error).split())[:300]}")
    return findings, failed


def _all_checks(
    settings: Settings, places: ExaminedPlaces, options: DeepOptions, now: datetime, catalogue: Catalogue
) -> tuple[list[IntegrityCheck], list[str]]:
    """The table of checks; what goes with a row that is mended is looked at after it."""
    store, before = open_blobs(settings), limit_of(settings.uploads, now, options.hours)
    root = settings.state_dir / "blobs"
    listing: BlobListing = FolderListing(root)
    if settings.blobs.url is not None:
        listing = BucketListing(Bucket.of(settings.blobs))
    leftovers, notes = places_of(settings, places.database, places.client, now)
    if places.redis is None:
        notes.append("the cache was not looked at: Redis does not run")
    checks: list[IntegrityCheck] = [
        *reference_checks(catalogue),
        *record_checks(catalogue),
        InvalidIndexes(),
        KeywordIndex(options.fresh),
        PartitionIndexes(settings.search.exact_scope),
        *(CacheKeys(rule, places.redis) for rule in RULES if places.redis is not None),
        UnknownBlobs(listing, store, before),
        LostBlobs(store, options.every_hash),
        *(UploadLeftovers(place, before) for place in leftovers),
    ]
    return checks, notes
