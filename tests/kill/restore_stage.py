"""What drills of a restore share: the instance that is backed up, machines it is put back on, and changes to it."""

import io
import json
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg

from cluster.basics.scope import Scope
from cluster.cli import run_command
from cluster.state.backup.destination import Destination
from cluster.state.db import embedded
from configs.sections import Settings
from tests.evals.report import Report

GOAL = (
    "Restore drill: a filled state (3 tenants, 5,000 pages, two generations, runs waiting for approval) under load,"
    " backup, 500 more changes, point in time, empty machine: row hashes equal at that time, golden questions answer"
    " with the same ids and scores, waiting approvals execute once; RPO ≤ 60 s, RTO printed (aim ≤ 10 min per million"
    " pages, extrapolated)."
)


@dataclass
class Drill:
    """An instance, where its backups go, and the folder that other machines are made in."""

    report: Report
    folder: Path
    settings: Settings

    @property
    def place(self) -> Destination:
        """Where backups go."""
        return Destination.of(self.settings.backup.url or "", self.settings.blobs)

    def beside(self, name: str) -> "Drill":
        """The same for another instance, in a folder below."""
        folder = self.folder / name
        backup = self.settings.backup.model_copy(update={"url": str(folder / "to")})
        there = self.settings.model_copy(update={"state_dir": folder / "a", "backup": backup})
        return Drill(self.report, folder, there)

    def at(self, name: str) -> Settings:
        """The settings of a machine that is another one."""
        return self.settings.model_copy(update={"state_dir": self.folder / name})

    def restore(self, name: str, to_time: datetime | None = None) -> dict[str, float]:
        """Seconds of each part, the start of its server included, and of all."""
        words, told = ["restore", "--state-dir", str(self.folder / name), "--json"], io.StringIO()
        words += ["--from", self.place.name, *([] if to_time is None else ["--to-time", to_time.isoformat()])]
        began = time.monotonic()
        with redirect_stdout(told):
            assert run_command(words) == 0
        found: dict[str, float] = json.loads(told.getvalue())["seconds"]
        restored = time.monotonic()
        embedded.start_servers(self.at(name))
        return found | {"start": time.monotonic() - restored, "all": time.monotonic() - began}


def owner_of(settings: Settings) -> str:
    """The connection of the schema's owner."""
    return embedded.postgres_endpoints(settings)[1] or ""


def change(connection: psycopg.Connection[Any], scope: Scope, number: int) -> None:
    """One of many: words of a page, a name, a removal."""
    mine = {"t": scope.tenant, "w": scope.workspace, "n": number}
    if number % 10 == 9:
        pick = "(select id from documents where workspace_id = %(w)s order by id desc limit 1)"
        connection.execute(f"delete from documents where id = {pick}".encode(), mine)
        return
    pick = "(select version_id, number from pages where workspace_id = %(w)s offset %(n)s limit 1)"
    connection.execute(f"update pages set text = text || ' more' where (version_id, number) in {pick}".encode(), mine)
