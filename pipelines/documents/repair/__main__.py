"""`python -m pipelines.documents.repair`: orphans of uploads as JSON; with --apply they are removed."""

import argparse
import asyncio
import json
import sys
from dataclasses import replace
from datetime import UTC, datetime

import httpx

from cluster.basics.errors import AosError
from cluster.state.db import embedded
from cluster.state.db.postgres import Database
from cluster.state.settings.settings_rows import load_where_possible
from pipelines.documents.repair.storage_repair import RepairReport, limit_of, places_of, repair_storage


async def run_repair(hours: float, *, apply: bool) -> RepairReport:
    """By the settings of this machine. Raises Unavailable: Postgres, which knows what is somebody's, is away."""
    configured, now = load_where_possible(), datetime.now(UTC)  # of this run alone: no worker reads them
    application, fence = embedded.postgres_endpoints(configured)[0], embedded.timeline_fence(configured)
    database = Database(application, size=1, timeout=10, fence=fence)
    await database.open()
    try:
        with httpx.Client() as client:
            places, notes = places_of(configured, database, client, now)
            report = await repair_storage(places, limit_of(configured.uploads, now, hours), apply=apply)
    finally:
        await database.close()
    return replace(report, notes=notes)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m pipelines.documents.repair")
    parser.add_argument("--apply", action="store_true")
    parser.add_argument("--hours", type=float, default=24.0)
    given = parser.parse_args()
    try:
        told = asyncio.run(run_repair(given.hours, apply=given.apply)).as_json()
    except AosError as error:
        told = {"error": {"code": error.code, "detail": str(error), "fix": error.hint}}
    sys.stdout.write(json.dumps(told))
