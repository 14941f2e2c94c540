"""The chain verified in slices by the server, and from an exported file alone; both agree on every odd value."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from cluster.basics.errors import LeaseLost
from cluster.basics.scope import Role
from cluster.state.audit import Outcome
from cluster.state.audit_export.cursors import AuditCursors
from cluster.state.audit_export.exporter import AuditExporter, PlacedSink
from cluster.state.audit_export.file_sink import FileCollector
from cluster.state.audit_export.verify import verify_lines
from configs.audit_sinks import FileSink
from configs.sections_audit import AuditSettings
from tests.fakes.http import Api, Office, make_parts, open_office, serve

ODD: list[Any] = [
    {},
    {"": "", " ": None, "é": "Ünïcödé", "日本": "語", "\u2028": "\u2029", "emoji": "👩‍🔬", "rtl": "\u202eabc"},
    {
        "tab": "\t",
        "nl": "\n\r",
        "bs": "\b\f",
        "quote": '"',
        "back": "\\",
        "slash": "/",
        "del": "\x7f",
        "c1": "\x85\x1f",
    },
    {"a": {"bb": {"ccc": [1, [2, [3, {"d": None}]]]}}, "aa": [True, False, None], "B": [], "b": {}},
    {"f": 1.1, "g": 1.0, "h": 0.1 + 0.2, "i": 1e-9, "j": 1e21, "k": -0.0, "l": 123456789012345678901234567890},
    {"m": -1.5e-300, "n": 1.7976931348623157e308, "o": 5e-324, "p": 0, "q": -7, "r": 2**63},
    {"zz": 1, "z": 2, "zzz": 3, "é": 4, "ab": 5, "aé": 6},
    {"long": "x" * 20_000, "<&>": "<script>&amp;"},
]
RAW = ('{"n": 1.10, "e": 1E+3, "d": 1.000000000000000000000000001, "t": 100000000.00}', '{"\\u0061": "\\u00e9\\u007f"}')


async def fill(api: Api, office: Office, count: int = 0) -> int:
    """Odd entries, and so many plain ones; how many there are then."""
    scope = replace(office.scope)
    async with api.parts.database.transaction(scope) as tx:
        for number, detail in enumerate(ODD):
            for outcome in Outcome:
                await api.parts.audit.record(tx, scope, f"odd.{number}", f"o\t{number} “é”", outcome, detail)
        for raw in RAW:
            await tx.one("select append_audit('a', 'raw.number', 'o', 'done', %(raw)s::jsonb)", raw=raw)
        for number in range(count):
            await api.parts.audit.record(tx, scope, "plain.entry", str(number))
    return await api.parts.audit.newest(scope)


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/St_Johns"])
async def test_at_01_the_hash_in_python_is_the_hash_in_postgres_on_odd_values(
    api: Api, office: Office, admin_dsn: str, zone: str
) -> None:
    """AT-01: unicode, nested JSON, floats, nulls, moments of every time zone and with every number of decimals."""
    newest = await fill(api, office)
    moments = [datetime(2026, 11, 28, 23, 59, 59, micros, UTC) for micros in (0, 1, 10, 100_000, 999_999)]
    moments += [datetime(1969, 12, 31, 23, 0, 0, 5, UTC), datetime(2100, 1, 1, tzinfo=timezone(timedelta(hours=13)))]
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(f"set time zone '{zone}'")
        for number, moment in enumerate(moments, newest + 1):
            values = ("", number, moment, "a", "b", "c", "done", Jsonb({"at": 1}))
            row = owner.execute("select audit_hash(%s, %s, %s, %s, %s, %s, %s, %s)", values).fetchone()
            insert = "insert into audit values (%s, %s, %s, 'a', 'b', 'c', 'done', %s, '', %s)"
            assert row is not None
            owner.execute(insert, (office.scope.tenant, number, moment, Jsonb({"at": 1}), row[0]))
    entries = await api.parts.exporter.cursors.entries(office.scope, after=0, limit=1_000)
    assert len(entries) == newest + len(moments) >= 33
    assert [entry.seq for entry in entries if entry.computed != entry.hash] == []
    assert {entry.seq for entry in entries if replace(entry, actor="x").computed == entry.hash} == set()


async def test_at_02_an_export_verifies_without_a_server_and_shows_every_change(
    api: Api, office: Office, admin: httpx.AsyncClient
) -> None:
    """AT-02: both formats; an altered, removed, moved, added or forged line is found."""
    await fill(api, office, 40)
    for form in ("ocsf", "jsonl"):
        answer = await admin.get("/api/audit/export", params={"format": form})
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        lines = answer.text.splitlines()
        report = verify_lines(lines)
        assert (report.flaws, report.entries, report.repeated) == ([], len(lines), 0)
        assert answer.content.isascii()
        broken = {
            "altered": [*lines[:9], lines[9].replace("odd.", "even."), *lines[10:]],
            "removed": [*lines[:9], *lines[10:]],
            "moved": [*lines[:9], lines[10], lines[9], *lines[11:]],
            "beheaded": [*lines[1:4], lines[0], *lines[4:]],
            "forged": [*lines[:10], lines[9].replace('"outcome":"', '"outcome":"x'), *lines[10:]],
            "nonsense": [*lines[:9], "{]", "[]", "null", '{"seq":1}', *lines[9:]],
        }
        for how, changed in broken.items():
            assert not verify_lines(changed).intact, (form, how)
        again = verify_lines([*lines[:9], *lines[5:]])
        assert (again.intact, again.repeated) == (True, 4), "the same entry once more does no harm"
        assert verify_lines(lines[5:]).intact, "a part of the trail is a chain, too"
    event = json.loads((await admin.get("/api/audit/export")).text.splitlines()[0])
    event["actor"]["user"]["uid"] = "somebody else"
    assert "something else" in verify_lines([json.dumps(event)]).flaws[0]
    acts = [one["action"] for one in (await admin.get("/api/audit", params={"action": "audit"})).json()["items"]]
    assert acts == ["audit.export"] * 3, "that the trail was taken out is in it"


async def test_at_02_an_export_has_the_moments_that_were_asked_for(
    api: Api, office: Office, admin: httpx.AsyncClient
) -> None:
    await fill(api, office)
    middle = (await admin.get("/api/audit", params={"limit": 1, "skip": 10})).json()["items"][0]
    asked = {"from": middle["at"]}
    since = verify_lines((await admin.get("/api/audit/export", params=asked)).text.splitlines())
    (chain,) = since.chains.values()
    assert (since.intact, chain.first) == (True, middle["seq"])
    until = verify_lines((await admin.get("/api/audit/export", params={"to": middle["at"]})).text.splitlines())
    (chain,) = until.chains.values()
    assert (chain.first, chain.last) == (1, middle["seq"])
    nothing = await admin.get("/api/audit/export", params={"from": "2199-01-01T00:00:00Z"})
    assert (nothing.status_code, nothing.text) == (200, "")


async def test_at_02_the_chain_is_verified_in_slices_that_go_on_where_the_last_ended(
    api: Api, office: Office, admin: httpx.AsyncClient, admin_dsn: str
) -> None:
    newest = await fill(api, office, 100)
    asked, checked, progress = 1, 0, [0.0]
    while asked is not None:
        found = (await admin.get("/api/audit/verify", params={"from": asked, "limit": 30})).json()
        assert found["intact"] and found["first_broken"] is None and found["newest"] == newest
        checked, asked = checked + found["checked"], found["next"]
        progress.append(found["progress"])
    assert checked == newest and progress == sorted(progress) and progress[-1] == 1
    part = (await admin.get("/api/audit/verify", params={"from": 10, "to": 19})).json()
    assert (part["checked"], part["reached"], part["next"]) == (10, 19, None)
    beyond = (await admin.get("/api/audit/verify", params={"from": newest + 1})).json()
    assert (beyond["checked"], beyond["next"], beyond["intact"]) == (0, None, True)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("alter table audit disable trigger audit_is_append_only")
        owner.execute("delete from audit where seq = 61 and tenant_id = %s", (office.scope.tenant,))
    # The gap lies between two slices: the second sees that what it follows is missing.
    assert (await admin.get("/api/audit/verify", params={"from": 31, "to": 60})).json()["intact"]
    found = (await admin.get("/api/audit/verify", params={"from": 61, "limit": 30})).json()
    assert (found["intact"], found["first_broken"]) == (False, 62)
    assert (await admin.get("/api/audit?verify=chain")).json()["first_broken"] == 62


async def test_at_02_nobody_but_the_tenants_administrators_sees_any_of_it(api: Api, office: Office) -> None:
    await fill(api, office)
    for role in (Role.VIEWER, Role.DEVELOPER, Role.OPERATOR):
        client = await api.sign_in(office.emails[role])
        for path in ("verify", "export", "sinks"):
            assert (await client.get(f"/api/audit/{path}")).status_code == 403


@pytest.fixture
async def filed(app_dsn: str, tmp_path: Path) -> AsyncIterator[tuple[Api, Path]]:
    folder = tmp_path / "trail"
    settings = AuditSettings(poll_seconds=0.05, batch=10, retry_seconds=1)
    sink = FileCollector(
        FileSink(name="archive", kind="file", folder=folder, max_bytes=2**16), lambda: datetime.now(UTC)
    )
    parts = make_parts(app_dsn, tmp_path)
    placed = {"archive": PlacedSink(sink, "file")}
    exporter = AuditExporter(AuditCursors(parts.database), placed, settings, owner="t")
    made = replace(parts, exporter=exporter, openers=(exporter.open,), closers=(exporter.close,))
    async with serve(made) as api:
        yield api, folder


async def test_at_01_sinks_tell_how_far_they_are_by_tenant_and_in_metrics_and_health(
    filed: tuple[Api, Path], admin_dsn: str
) -> None:
    """AT-01: GET /api/audit/sinks, /metrics and /health?deep=1; files that end in the middle of a line are mended."""
    api, folder = filed
    office, other = open_office(admin_dsn), open_office(admin_dsn)
    admin, stranger = [await api.sign_in(one.emails[Role.ADMIN]) for one in (office, other)]
    await fill(api, office, 50)

    async def settled(client: httpx.AsyncClient) -> dict[str, Any]:
        async with asyncio.timeout(20):
            while True:
                (one,) = (await client.get("/api/audit/sinks")).json()["items"]
                if not one["lag_entries"]:
                    return dict(one)
                await asyncio.sleep(0.05)

    told = await settled(admin)
    assert (told["name"], told["kind"], told["failures"], told["error"]) == ("archive", "file", 0, None)
    assert told["seq"] == await api.parts.audit.newest(office.scope)
    assert (await settled(stranger))["seq"] == 1
    files = sorted((folder / office.scope.tenant).iterdir())
    assert len(files) >= 2 and all(one.stat().st_mode & 0o077 == 0 for one in files)
    with files[-1].open("ab") as torn:
        torn.write(b'{"torn')
    with psycopg.connect(admin_dsn) as owner:  # a confirmation that was lost: the cursor is behind what was written
        owner.execute("update audit_cursors set seq = seq - 7 where tenant_id = %s", (office.scope.tenant,))
    await fill(api, office, 20)
    told = await settled(admin)
    lines = [line for one in sorted((folder / office.scope.tenant).iterdir()) for line in one.read_text().splitlines()]
    report = verify_lines(lines)
    assert (report.flaws, report.repeated, report.entries) == ([], 0, told["seq"])
    health = (await api.client.get("/health?deep=1")).json()
    assert (health["status"], health["parts"]["audit sink archive"]) == ("ok", "ok")
    with psycopg.connect(admin_dsn) as owner:
        owner.execute(
            "update audit_cursors set seq = 1, failures = 3, error = 'full', next_at = now() + interval '1 hour'"
            " where tenant_id = %s",
            (office.scope.tenant,),
        )
        owner.execute("alter table audit disable trigger audit_is_append_only")
        owner.execute("update audit set at = at - interval '1 hour' where tenant_id = %s", (office.scope.tenant,))
    (late,) = (await admin.get("/api/audit/sinks")).json()["items"]
    assert (late["failures"], late["error"], late["lag_seconds"] > 3_000) == (3, "full", True)
    health = (await api.client.get("/health?deep=1")).json()
    assert health["status"] == "degraded" and "behind" in health["parts"]["audit sink archive"]
    assert "full" not in str(health), "what went wrong is the administrators' to read"
    rows = {row["sink"]: row for row in await api.parts.exporter.cursors.lag()}
    assert (rows["archive"]["failing"], rows["archive"]["entries"]) == (1, late["lag_entries"])
    assert (await settled(stranger))["error"] is None


async def test_the_last_entries_of_a_deleted_tenant_are_still_sent(api: Api, admin_dsn: str) -> None:
    office = open_office(admin_dsn)
    newest = await fill(api, office)
    cursors = AuditCursors(api.parts.database)
    (lease,) = await cursors.claim("siem", [office.scope.tenant], "one", 60)
    await cursors.confirm(lease, 3)
    await cursors.release(lease)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("delete from tenants where id = %s", (office.scope.tenant,))
    (lease,) = await cursors.claim("siem", None, "one", 60)
    assert [entry.seq for entry in await cursors.waiting(lease, 1_000)] == list(range(4, newest + 1))


async def test_exporters_in_two_processes_never_send_the_same_at_once(
    api: Api, office: Office, admin: httpx.AsyncClient
) -> None:
    """One lease for each collector and tenant; who has lost it can confirm nothing."""
    cursors = AuditCursors(api.parts.database)
    first = await cursors.claim("siem", None, "one", 60)
    assert len(first) == 1 and await cursors.claim("siem", None, "two", 60) == []
    assert len(await cursors.claim("other", None, "two", 60)) == 1, "each collector has a cursor of its own"
    assert await cursors.claim("third", ["00000000-0000-0000-0000-000000000001"], "two", 60) == []
    async with api.parts.database.transaction(first[0].scope) as tx:
        await tx.run("update audit_cursors set lease_until = clock_timestamp() - interval '1 second'")
    (second,) = await cursors.claim("siem", None, "two", 60)
    assert second.fence == first[0].fence + 1
    for late in (cursors.confirm(first[0], 1), cursors.fail(first[0], "x", 1), cursors.waiting(first[0], 1)):
        with pytest.raises(LeaseLost):
            await late
    await cursors.confirm(second, 1)
    assert await cursors.waiting(second, 10) == []
