"""The configuration over HTTP: grouped and masked, checked as a whole, written as rows, taken up or waited for."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from cluster.basics.errors import InvalidSettings
from cluster.basics.scope import Role
from cluster.state.db.embedded import resolve_endpoints
from cluster.state.db.postgres import Database
from cluster.state.db.primary import patient_conninfo
from cluster.state.process_services import ProcessServices
from cluster.state.settings.restart_requests import RestartLedger
from cluster.state.settings.settings_rows import SettingsRows, load_with_rows
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.state.vault import Vault, VaultKey
from configs.sections import Settings
from configs.settings import load_settings
from serve_apps.http.operator_deps import NoCluster
from serve_apps.http.routes.operations.config import MASK
from tests.fakes.http import Api, Office, make_parts, open_office, serve

KEY = "a2" * 22
VAULT = Vault([VaultKey(b"k" * 32)])


class Strict(NoCluster):
    """A cluster that has two logical CPUs."""

    def check(self, settings: Settings) -> None:
        if settings.worker.replicas > 2:
            raise InvalidSettings("too many workers")


def environment(folder: Path) -> dict[str, str]:
    return {"AOS_STATE_DIR": str(folder), "RAG_CHUNK_OVERLAP": "250"}


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    env = environment(tmp_path)
    snapshots = SettingsSnapshots(load_settings(env))
    plain = make_parts(app_dsn, tmp_path)
    upkeep = ProcessServices.of(plain.database, VAULT, None, snapshots, env)
    operating = replace(plain.operating, upkeep=upkeep, cluster=Strict())
    async with serve(replace(plain, operating=operating, http=snapshots.view().http)) as made:
        yield made


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


def by_key(body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {key["key"]: key for group in body["groups"] for key in group["keys"]}


async def put(client: httpx.AsyncClient, values: dict[str, Any], version: int | None = None) -> httpx.Response:
    if version is None:
        version = (await client.get("/api/admin/config")).json()["version"]
    return await client.put("/api/admin/config", json={"version": version, "values": values})


async def test_ad_01_ad_02_gw_18_the_configuration_is_grouped_and_masked(
    api: Api, admin: httpx.AsyncClient, admin_dsn: str
) -> None:
    """AD-01, AD-02, GW-18: four coloured groups; a secret shows as eight bullets, sent back masked it stays."""
    body = (await admin.get("/api/admin/config")).json()
    coloured = {group["colour"]: [key["name"] for key in group["keys"]] for group in body["groups"][:4]}
    assert list(coloured) == ["blue", "green", "amber", "purple"]
    assert coloured["green"][-2:] == ["VECTOR_DB_URL", "VECTOR_DB_COLLECTION"]
    assert by_key(body)["llm.api_key"]["value"] is None, "nothing is set, so nothing is masked"
    done = await put(admin, {"LLM_API_KEY": "sk-very-secret-1", "llm.model": "m-1"})
    assert done.status_code == 200, done.text
    assert "sk-very" not in done.text and done.json()["changed"] == ["llm.api_key", "llm.model"]
    shown = by_key(done.json())
    assert shown["llm.api_key"]["value"] == MASK == "•" * 8 and shown["llm.api_key"]["source"] == "row"
    again = (await put(admin, {"llm.api_key": MASK, "llm.model": "m-1"})).json()
    assert again["changed"] == [] and again["version"] == done.json()["version"]
    with psycopg.connect(admin_dsn) as owner:
        stored = owner.execute("select value::text from system_settings where key = 'llm.api_key'").fetchone()
        trail = owner.execute("select actor, detail from audit where action = 'settings.change'").fetchall()
    assert stored is not None and "sealed" in stored[0] and "sk-very" not in stored[0]
    assert [detail for _, detail in trail] == [{"keys": ["llm.api_key", "llm.model"], "removed": []}]
    assert (await api.parts.operating.upkeep.rows.kept()).values["llm.api_key"] == "sk-very-secret-1"


async def test_ad_04_the_whole_is_checked_before_anything_is_written(admin: httpx.AsyncClient) -> None:
    """AD-04: one value that is not valid, or a plan that does not hold, and none is written."""
    for values, status, told in (
        ({"chunk.size": 900, "search.fetch": 0}, 422, "search.fetch"),
        ({"chunk.size": 900, "ocr.strategy": "guess"}, 422, "ocr.strategy (OCR_STRATEGY)"),
        ({"chunk.size": 900, "nobody.knows": 1}, 422, "nobody.knows"),
        ({"chunk.size": 900, "worker.replicas": 3}, 422, "too many workers"),
        ({"chunk.size": 900, "auth.secret_key": "short"}, 422, "32 bytes"),
        ({"chunk.size": 900, "auth.secret_key": "changeme"}, 422, "published default"),
        ({"chunk.size": 900, "redis.url": "nonsense"}, 422, "redis"),
        ({"chunk.size": 900, "postgres.host": "db"}, 409, "before Postgres"),
        ({"chunk.size": 900, "skills.shell_allow": ["/bin/sh"]}, 409, "on this machine"),
        ({"chunk.size": 900, "chunk.overlap": 100}, 409, "RAG_CHUNK_OVERLAP"),
    ):
        refused = await put(admin, values)
        assert refused.status_code == status and told in refused.json()["detail"], refused.text
    shown = by_key((await admin.get("/api/admin/config")).json())
    assert (shown["chunk.size"]["value"], shown["chunk.size"]["source"]) == (1500, "yaml")
    fixed = shown["chunk.overlap"]
    assert (fixed["source"], fixed["editable"], fixed["value"]) == ("environment", False, 250)
    assert not shown["postgres.host"]["editable"] and shown["postgres.host"]["why"]


async def test_re_27_null_gives_the_value_below_back(admin: httpx.AsyncClient, admin_dsn: str) -> None:
    """RE-27: rows are dynamic, and have a reset; only what differs is written."""
    body = (await put(admin, {"chunk.size": 900, "search.rrf_k": 60, "ocr.languages": ["eng", "deu"]})).json()
    assert body["changed"] == ["chunk.size", "ocr.languages"], "60 is what it is already"
    shown = by_key(body)
    assert (shown["chunk.size"]["value"], shown["chunk.size"]["source"]) == (900, "row")
    assert shown["ocr.languages"]["value"] == ["eng", "deu"] and shown["chunk.size"]["changed_at"]
    with psycopg.connect(admin_dsn) as owner:
        rows = owner.execute("select key from system_settings order by 1").fetchall()
    assert rows == [("chunk.size",), ("ocr.languages",)]
    body = (await put(admin, {"chunk.size": None, "search.fetch": None})).json()
    assert body["changed"] == ["chunk.size"]
    assert by_key(body)["chunk.size"]["value"] == 1500


async def test_who_changes_what_somebody_else_changed_is_told(admin: httpx.AsyncClient) -> None:
    version = (await admin.get("/api/admin/config")).json()["version"]
    assert (await put(admin, {"search.rrf_k": 10}, version)).status_code == 200
    late = await put(admin, {"search.rrf_k": 11}, version)
    assert (late.status_code, late.json()["code"]) == (409, "settings_changed")
    assert by_key((await admin.get("/api/admin/config")).json())["search.rrf_k"]["value"] == 10


async def test_ad_06_what_is_live_counts_at_once_and_the_rest_waits_for_a_restart(
    api: Api, admin: httpx.AsyncClient, app_dsn: str
) -> None:
    """AD-06: a change says what has to be restarted; a live one is taken up by the running program."""
    body = (await put(admin, {"http.max_body_bytes": 500, "ocr.dpi": 200, "redis.host": "cache"})).json()
    waits = {need["part"]: need["keys"] for need in body["needs_restart"]}
    assert waits == {"gateway": ["ocr.dpi"], "worker": ["ocr.dpi"], "whole": ["redis.host"]}
    assert by_key(body)["http.max_body_bytes"]["live"] == ["gateway"]
    too_large = await admin.post("/api/documents/search", json={"query": "x" * 600})
    assert too_large.status_code == 413, "the running application has the new limit"
    assert api.parts.operating.upkeep.snapshots.now.ocr.dpi == 200
    assert api.parts.operating.upkeep.snapshots.view().ocr.dpi == 300, "it began with 300"
    waits = (await put(admin, {"ocr.psm": 6})).json()["needs_restart"]
    assert waits[0]["keys"] == ["ocr.dpi", "ocr.psm"]
    hint = (await admin.post("/api/admin/restart-hint")).json()
    assert hint["state"] == "asked" and hint["restart"]["parts"] == ["gateway", "worker"], "nobody took it up here"
    assert hint["command"] == "aos down && aos up" and "everything" in hint["detail"]
    ledger = RestartLedger(app_dsn)
    assert ledger.take() == {hint["restart"]["id"]: ("gateway", "worker")} and not ledger.take(), "taken once"
    assert ledger.marks() == dict.fromkeys(("gateway", "orchestrator", "executor", "worker"), hint["restart"]["id"])
    ledger.done([hint["restart"]["id"]], ["gateway", "worker"], ledger.now())
    (shown,) = (await admin.get("/api/admin/restarts")).json()["items"]
    assert shown["taken_at"] and shown["done_at"] and shown["error"] is None
    left = (await admin.get("/api/admin/config")).json()["needs_restart"]
    assert [need["part"] for need in left] == ["whole"]
    only = (await admin.post("/api/admin/restart-hint", json={"parts": ["whole"]})).json()
    assert (only["state"], only["restart"], only["command"]) == ("by_hand", None, "aos down && aos up")
    ledger.all_done(ledger.now())
    nothing = (await admin.post("/api/admin/restart-hint")).json()
    assert (nothing["state"], nothing["command"]) == ("nothing", None)


async def test_a_change_that_came_after_the_restart_was_begun_still_waits(
    admin: httpx.AsyncClient, app_dsn: str
) -> None:
    ledger = RestartLedger(app_dsn)
    await put(admin, {"ocr.dpi": 200})
    began = ledger.now()
    await put(admin, {"ocr.psm": 6})
    ledger.done([], ["gateway", "worker"], began)
    needs = (await admin.get("/api/admin/config")).json()["needs_restart"]
    assert {need["part"] for need in needs} == {"gateway", "worker"}
    ledger.done([], ["gateway"], ledger.now(), error="it did not start")
    assert len((await admin.get("/api/admin/config")).json()["needs_restart"]) == 2, "a restart that failed is none"


async def test_only_the_first_tenant_runs_the_system(api: Api, office: Office, admin_dsn: str, app_dsn: str) -> None:
    """Administrators of tenants below may not; and where a route forgot to ask, Postgres does not."""
    below = open_office(admin_dsn)
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("update tenants set parent_id = %s where id = %s", (office.scope.tenant, below.scope.tenant))
    chief = await api.sign_in(below.emails[Role.ADMIN])
    for method, path in (
        ("GET", "/api/admin/config"),
        ("PUT", "/api/admin/config"),
        ("POST", "/api/admin/restart-hint"),
        ("GET", "/api/admin/restarts"),
        ("GET", "/api/admin/health"),
        ("GET", "/metrics"),
    ):
        assert (await chief.request(method, path, json={})).status_code == 403, path
    assert (await chief.get("/api/admin/now")).status_code == 200
    database = Database(app_dsn)
    await database.open()
    try:
        rows = SettingsRows(database, VAULT)
        version = await rows.version()
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction(below.scope) as tx:
                await rows.write(tx, version, {"search.rrf_k": 1})
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction(below.scope) as tx:
                await tx.run("insert into restarts (parts) values ('{gateway}')")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with database.transaction(office.scope) as tx:
                await tx.run("update settings_version set version = 1")
    finally:
        await database.close()
    with psycopg.connect(admin_dsn) as owner:
        assert owner.execute("select count(*) from system_settings").fetchone() == (0,)


async def test_another_workspaces_default_connection_is_nobodys_business(
    office: Office, admin_dsn: str, app_dsn: str
) -> None:
    other = open_office(admin_dsn)
    name = f"default_llm_connection_id:{other.scope.workspace}"
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("insert into system_settings (key, value) values (%s, '1')", (name,))
    database = Database(app_dsn)
    await database.open()
    try:
        async with database.transaction(office.scope) as tx:
            assert await tx.all("select key from system_settings") == []
            assert await tx.run("delete from system_settings") == 0
        async with database.transaction(other.scope) as tx:
            assert [row["key"] for row in await tx.all("select key from system_settings")] == [name]
    finally:
        await database.close()


async def test_programs_that_start_begin_with_the_rows(
    api: Api, admin: httpx.AsyncClient, app_dsn: str, tmp_path: Path, admin_dsn: str
) -> None:
    """RE-27: what is stored beats the files, the environment beats it, and a stray row keeps nothing from starting."""
    await put(admin, {"chunk.size": 900, "ocr.dpi": 200})
    with psycopg.connect(admin_dsn) as owner:
        owner.execute("""insert into system_settings (key, value) values ('search.fetch', '"many"'), ('x.y', '1')""")
    env = environment(tmp_path) | {"DATABASE_URL": app_dsn, "REDIS_URL": "redis://c", "OCR_DPI": "150"}
    started = load_with_rows(env)
    assert (started.chunk.size, started.ocr.dpi, started.search.fetch) == (900, 150, 100)
    assert resolve_endpoints(started).postgres == patient_conninfo(app_dsn)
    left_out = (await admin.get("/api/admin/config")).json()["left_out"]
    assert left_out.keys() == {"search.fetch", "x.y"}
    gone = await put(admin, {"x.y": None, "search.fetch": None})
    assert gone.status_code == 200 and gone.json()["left_out"] == {}, gone.text
    assert load_with_rows({"AOS_STATE_DIR": str(tmp_path / "empty")}) == load_settings(
        {"AOS_STATE_DIR": str(tmp_path / "empty")}
    ), "where nothing was ever started, there is nothing to ask"
