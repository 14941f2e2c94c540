"""Make a state by the code of an earlier commit: `python -m tests.fakes.older_states.make_states COMMIT`.

The commit is unpacked into a folder of its own, and fills an empty database with what its own tests fill theirs; the
rows are written beside this file. Only for a new predecessor: what is there is kept as it was made.
"""

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[3]
FOLDER = "@FOLDER@"  # in the rows, where the files of half-read uploads lie
BOOKS, HALF, PAGES, ITEMS = 12, 6, 4, 9


def book(number: int) -> str:
    """The text of an upload, page by page."""
    return "\f".join(
        f"Book {number} page {page} tells of harbour {number * 10 + page}." for page in range(1, PAGES + 1)
    )


async def fill(owner: str, application: str, folder: Path) -> dict[str, Any]:
    """With whatever code is on the path: documents, half a job, waiting approvals, pending webhooks, a source."""
    from cluster.state.db.migrate import apply_migrations
    from tests.fakes.ledger import bench, new_workspace

    await apply_migrations(owner)
    facts: dict[str, Any] = {}
    async with bench(application, folder / "bench") as ledger:
        scope = await new_workspace(owner)
        facts["documents"] = {"tenant": scope.tenant, "workspace": scope.workspace}
        await _upload(ledger, scope, folder, range(BOOKS))
        await ledger.run(_small())
        facts["half"] = await _half_read(ledger, scope, folder)
        facts["source"] = await _source(ledger, await new_workspace(owner))
    facts["runs"] = await _waiting_runs(application, owner)
    facts["webhook"] = await _pending_webhook(application, owner)
    return facts


def _small() -> Any:
    from cluster.state.work.jobs import JobLane

    return JobLane.SMALL


async def _upload(ledger: Any, scope: Any, folder: Path, numbers: range) -> str:
    files = []
    for number in numbers:
        (folder / f"{number}.txt").write_text(book(number), encoding="utf-8")
        file = {"origin": f"upload:{number}.txt", "filename": f"{number}.txt"}
        files.append({**file, "location": f"file:{folder}/{number}.txt"})
    return str(await ledger.enqueue(scope, "upload", {"files": files}, _small()))


async def _half_read(ledger: Any, scope: Any, folder: Path) -> dict[str, Any]:
    """A job whose worker is killed in its middle."""
    from tests.fakes.reading import WorkerKilled

    job = await _upload(ledger, scope, folder, range(BOOKS, BOOKS + HALF))
    ledger.reader.readings.clear()
    ledger.reader.die_before = lambda name, number: name == f"{BOOKS + HALF - 1}.txt" and number == PAGES - 1
    with contextlib.suppress(WorkerKilled):
        await ledger.run(_small())
    return {"job": job, "pages_read": sum(ledger.reader.readings.values())}


async def _source(ledger: Any, scope: Any) -> dict[str, Any]:
    """A shelf that was listed and read once."""
    from tests.fakes.shelves import Shelf, shelf_kind, sync_bench

    shelf = Shelf()
    for number in range(ITEMS):
        shelf.put(f"i{number}", f"Item {number} tells of lighthouse {number}.")
    sources = sync_bench(ledger, scope, None, shelf_kind(shelf))
    id_ = await sources.add()
    counts = await sources.sync(id_)
    return {"tenant": scope.tenant, "workspace": scope.workspace, "id": id_, "counts": counts}


async def _waiting_runs(application: str, owner: str) -> dict[str, Any]:
    from tests.fakes.runs import Outside, acting, stage

    async with stage(application, owner) as made:
        turns = [await made.begin(message) for message in ("b", "c", "d")]
        outside = Outside()
        for turn in turns:
            await made.carry(turn, acting(outside))
        assert not outside.acted
        scope = {"tenant": made.scope.tenant, "workspace": made.scope.workspace, "user": made.scope.user}
        return {"ids": [turn.run for turn in turns], "scope": scope, "agent": made.agent, "session": made.session}


async def _pending_webhook(application: str, owner: str) -> dict[str, Any]:
    """Nobody listens, and the sender was there."""
    from cluster.state.db.postgres import Database
    from tests.fakes.http import open_office
    from tests.fakes.webhook_desk import WebhookDesk, until
    from tests.fakes.webhook_receiver import receiving

    database = Database(application, size=6, timeout=10)
    await database.open()
    with receiving() as receiver:
        office = open_office(owner)
        desk = WebhookDesk(application, owner, database, office, receiver)
        webhook = await desk.add("job.*")
        receiver.stop()
        await desk.open()
        jobs = await desk.jobs(5)
        await until(lambda: desk.states() == {"pending": 10} and desk.sql("select failures from webhooks")[0][0] >= 1)
        await desk.close()
    await database.close()
    emails = {str(role): email for role, email in office.emails.items()}
    found = {"id": webhook, "jobs": jobs, "secret": receiver.secrets[0], "port": receiver.port}
    return {**found, "office": {"name": office.name, "emails": emails, **_named(office.scope)}}


def _named(scope: Any) -> dict[str, str]:
    return {"tenant": scope.tenant, "workspace": scope.workspace}


def make_state(commit: str) -> None:
    """Write the rows and facts of a state that this commit's code makes."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    from cluster.state.db import embedded
    from configs.settings import load_settings
    from tests.fakes.older_state import empty_database

    with tempfile.TemporaryDirectory(prefix="aos-old-") as name:
        folder = Path(name)
        (folder / "code").mkdir()
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", str(folder / "code")], input=archive, check=True)
        state = folder / "state"
        endpoints = embedded.start_servers(load_settings({"AOS_STATE_DIR": str(state)}))
        try:
            with empty_database(endpoints) as (owner, application):
                told = [sys.executable, str(HERE), "fill", owner, application, str(folder)]
                environment = os.environ | {"PYTHONPATH": str(folder / "code")}
                done = subprocess.run(
                    told, cwd=folder / "code", env=environment, stdout=subprocess.PIPE, text=True, check=True
                )
                facts = json.loads(done.stdout.splitlines()[-1])
                with psycopg.connect(owner) as connection:
                    facts |= _read_facts(connection)
                rows = _dump_rows(conninfo_to_dict(owner), embedded.postgres_programs())
        finally:
            embedded.stop_servers(state)
        text = re.sub(
            r"^(\\(un)?restrict .*|SET \w+ = .*;|SELECT pg_catalog\.set_config.*)\n", "", rows, flags=re.MULTILINE
        )
        last = max(facts["migrations"])[:4]
        (HERE.parent / f"{last}.sql").write_text(text.replace(str(folder), FOLDER), encoding="utf-8")
        facts |= {"commit": commit, "last": last}
        (HERE.parent / f"{last}.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def _dump_rows(where: Any, programs: Path) -> str:
    """Every row but those of `schema_migrations`, as statements."""
    program = [str(programs / "pg_dump"), "--data-only", "--inserts", "--rows-per-insert=40"]
    place = ["-h", str(where["host"]), "-U", "postgres", str(where["dbname"])]
    told = [*program, "--exclude-table=schema_migrations", *place]
    return subprocess.run(told, capture_output=True, text=True, check=True).stdout


def _read_facts(connection: Any) -> dict[str, Any]:
    tables = connection.execute(
        "select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
        " and relname <> 'schema_migrations' order by 1"
    ).fetchall()
    counts = {name: connection.execute(f"select count(*) from {name}".encode()).fetchone()[0] for (name,) in tables}
    ((at,),) = connection.execute("select clock_timestamp()").fetchall()
    applied = dict(connection.execute("select name, hash from schema_migrations order by name").fetchall())
    return {"migrations": applied, "counts": {name: n for name, n in counts.items() if n}, "at": at.isoformat()}


if __name__ == "__main__":
    if sys.argv[1:2] == ["fill"]:
        print(json.dumps(asyncio.run(fill(sys.argv[2], sys.argv[3], Path(sys.argv[4])))))
    else:
        make_state(sys.argv[1])
