"""`python -m serve_apps.integrity.deep_program`: the deep examination as JSON; with --apply it mends."""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime

import httpx
from redis.asyncio import Redis

from cluster.basics.errors import AosError, Unavailable
from cluster.state import supervised
from cluster.state.db import embedded
from cluster.state.db.postgres import Database
from cluster.state.settings.settings_rows import load_where_possible
from configs.sections import Settings
from serve_apps.integrity.deep_examination import DeepOptions, ExaminedPlaces, examine_deeply
from serve_apps.integrity.integrity_finding import IntegrityReport


@contextmanager
def running_servers(settings: Settings) -> Iterator[bool]:
    """The embedded servers, for as long as this takes where nobody has started them; yields whether that was so.

    Raises Unavailable: nothing was ever stored here.
    """
    if embedded.is_external(settings.postgres) or "postgres" in embedded.servers_by_name(settings.state_dir):
        yield False
        return
    if not (settings.state_dir / "postgres" / "PG_VERSION").exists():
        raise Unavailable(f"nothing is stored in {settings.state_dir}", fix="Run `aos up`.")
    os.umask(0o077)
    embedded.start_servers(settings)
    try:
        yield True
    finally:
        if supervised.find_supervisor(settings.state_dir) is None:  # else somebody has started it meanwhile
            embedded.stop_servers(settings.state_dir)


@asynccontextmanager
async def open_places(settings: Settings) -> AsyncIterator[ExaminedPlaces]:
    """By the settings of this machine."""
    application, owner = embedded.postgres_endpoints(settings)
    database = Database(application, size=1, timeout=10, fence=embedded.timeline_fence(settings))
    await database.open()
    redis: Redis | None = None
    with suppress(Unavailable):  # told as a note: the cache is not looked at
        redis = Redis.from_url(embedded.redis_endpoint(settings), socket_timeout=30)
    try:
        with httpx.Client() as client:
            yield ExaminedPlaces(owner, database, redis, client)
    finally:
        if redis is not None:
            await redis.aclose()
        await database.close()


async def run_examination(settings: Settings, options: DeepOptions) -> IntegrityReport:
    """Of this machine."""
    async with open_places(settings) as places:
        return await examine_deeply(settings, places, options, datetime.now(UTC), tell_progress)


def tell_progress(line: str) -> None:
    """For who waits; the report alone goes to stdout."""
    sys.stderr.write(f"  {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m serve_apps.integrity.deep_program")
    parser.add_argument("--apply", action="store_true")
    parser.add_argument("--every-hash", action="store_true")
    parser.add_argument("--hours", type=float, default=24.0)
    given = parser.parse_args()
    try:
        with running_servers(load_where_possible()) as started:
            asked = DeepOptions(given.apply, given.hours, given.every_hash, started)
            told = asyncio.run(run_examination(load_where_possible(), asked)).as_json()
    except AosError as error:
        told = {"error": {"code": error.code, "detail": str(error), "fix": error.hint}}
    sys.stdout.write(json.dumps(told))
