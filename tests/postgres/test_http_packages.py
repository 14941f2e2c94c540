"""`.skill` packages over HTTP: skills, scripts and documents come in whole or not at all, and out again as they are."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.archive import FileBundle, pack_zip
from cluster.basics.scope import Role
from cluster.basics.signature import new_key, sign_bundle
from cluster.state.work.jobs import JobLane
from configs.sections_skills import SandboxSettings, SkillSettings
from skills.framework.package import read_package
from skills.sandbox.fence import Sandbox
from skills.sandbox.layers import IsolationLayer
from tests.fakes.ground import ground
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench

ROOT = Path(__file__).parents[2] / "skills" / "packs"
SKILL = b"---\nname: harbour-agent\ndescription: Knows the harbour.\n---\n# Prompt\n\nYou know the harbour.\n"
ABOUT = (
    b"---\nname: berth_fee\ndescription: What a berth costs.\nparameters: {type: object, properties: {m: {}}}\n---\n"
)
CODE = b"def run(payload):\n    return {'fee': 3 * payload['m']}\n"
TIDES = b"# Tides\n\nThe spring tide at the outer wall stands at 7.3 metres above datum.\n"
BERTHS = b"# Berths\n\nBerth twelve takes ships of up to 90 metres.\n"
FILES = {
    "SKILL.md": SKILL,
    "references/tides.md": TIDES,
    "references/rules/berths.md": BERTHS,
    "scripts/fee.md": ABOUT,
    "scripts/fee.py": CODE,
}


def package(files: dict[str, bytes] | None = None, name: str = "harbour-agent") -> bytes:
    return pack_zip(FileBundle(name, FILES if files is None else files))


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    # On a machine whose kernel forbids a layer the script still runs: what is tested here is not the wall.
    async with Sandbox(SandboxSettings(warm=0, untrusted_without=tuple(IsolationLayer))) as sandbox:
        on = ground(settings=SkillSettings(off=("shell",)), scripts=sandbox)
        async with serve(make_parts(app_dsn, tmp_path, ground=on)) as made:
            yield made


@pytest.fixture
async def client(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.OPERATOR])


@pytest.fixture
async def agent(client: httpx.AsyncClient) -> str:
    return str((await client.post("/api/agents", json={"name": "pilot"})).json()["id"])


async def send(
    client: httpx.AsyncClient, data: bytes, agent: str = "", kind: str = "universal-agents"
) -> httpx.Response:
    path = f"/api/{kind}/{agent}/import-skill-pack" if agent else "/api/skills/import-package"
    return await client.post(path, files={"file": ("harbour-agent.skill", data)})


def counted(admin_dsn: str) -> dict[str, int]:
    """The rows of every table that an import writes."""
    tables = (
        "skills",
        "agent_skills",
        "documents",
        "document_versions",
        "document_agent_links",
        "jobs",
        "units",
        "audit",
    )
    with psycopg.connect(admin_dsn) as connection:
        rows = {table: connection.execute(f"select count(*) from {table}".encode()).fetchone() for table in tables}
    return {table: row[0] for table, row in rows.items() if row is not None}


def below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def blobs(folder: Path) -> list[Path]:
    return [path for path in (folder / "blobs").rglob("*") if path.is_file()]


async def test_sk_07_an_import_registers_attaches_and_lets_the_references_be_read(
    client: httpx.AsyncClient, agent: str, worker: Bench, office: Office, admin_dsn: str
) -> None:
    """SK-07, GW-07, AC-03: 202 with the documents and their job; afterwards the agent finds what stands in them."""
    answer = await send(client, package(), agent)
    assert answer.status_code == 202, answer.text
    body = answer.json()
    assert (body["skill"]["name"], body["skill"]["type"], body["trust"]) == ("harbour-agent", "internal", "unsigned")
    assert [one["name"] for one in body["scripts"]] == ["berth_fee"] and body["scripts"][0]["sandbox"]
    assert body["created"] == body["attached"] == ["harbour-agent", "berth_fee"] and body["ignored"] == []
    assert {(one["path"], one["change"]) for one in body["documents"]} == {
        ("rules/berths.md", "new"),
        ("tides.md", "new"),
    }
    assert await worker.run(JobLane.SMALL) == body["job_id"]
    for one in body["documents"]:
        shown = (await client.get(f"/api/documents/{one['document_id']}")).json()
        assert (shown["status"], shown["tags"]) == ("completed", ["skill:harbour-agent"])
        assert [linked["name"] for linked in shown["agents"]] == ["pilot"]
    found = await worker.rows(
        office.scope,
        "select c.text, e.chunk_id from document_chunks c join embeddings e on e.chunk_id = c.id"
        " join document_agent_links l on l.document_id = c.document_id where l.agent_id = %(agent)s",
        agent=agent,
    )
    assert any("7.3 metres" in row["text"] for row in found) and any("Berth twelve" in row["text"] for row in found)
    text = (await client.get("/api/skills/harbour-agent")).json()["versions"][0]["text"]
    assert text == "# Prompt\n\nYou know the harbour."
    with psycopg.connect(admin_dsn) as connection:
        acts = [
            row[0] for row in connection.execute("select action from audit where action like 'skill.%' order by seq")
        ]
    assert acts == ["skill.import"], "one request, one line"


async def test_sk_07_the_same_package_again_changes_nothing_and_a_changed_reference_is_a_version(
    client: httpx.AsyncClient, agent: str, worker: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    """SK-07, X-13: both paths are one; what waits for its job is not read twice either."""
    first = (await send(client, package(), agent)).json()
    waiting = await send(client, package(), agent, "agents")
    assert (waiting.status_code, waiting.json()["job_id"]) == (202, first["job_id"])
    assert {one["change"] for one in waiting.json()["documents"]} == {"arriving"} and waiting.json()["created"] == []
    assert len(blobs(tmp_path)) == 2
    await worker.run(JobLane.SMALL)
    before = counted(admin_dsn)
    again = await send(client, package(), agent)
    assert (again.status_code, again.json()["job_id"], again.json()["attached"]) == (200, None, [])
    assert {one["change"] for one in again.json()["documents"]} == {"unchanged"}
    assert counted(admin_dsn) == {**before, "audit": before["audit"] + 1} and len(blobs(tmp_path)) == 2
    newer = await send(client, package({**FILES, "references/tides.md": TIDES.replace(b"7.3", b"7.9")}), agent)
    changes = {one["path"]: (one["change"], one["document_id"]) for one in newer.json()["documents"]}
    assert (newer.status_code, changes["tides.md"][0], changes["rules/berths.md"][0]) == (202, "changed", "unchanged")
    await worker.run(JobLane.SMALL)
    after = counted(admin_dsn)
    assert after["documents"] == before["documents"] and after["document_versions"] == before["document_versions"] + 1
    content = (await client.get(f"/api/documents/{changes['tides.md'][1]}/content")).text
    assert "7.9 metres" in content and "7.3 metres" not in content


async def test_gw_07_without_an_agent_a_package_belongs_to_the_workspace(
    client: httpx.AsyncClient, agent: str, admin_dsn: str
) -> None:
    """GW-07: registered and read; an agent may be named by its display name."""
    answer = await send(client, package())
    assert (answer.status_code, answer.json()["agent_id"], answer.json()["attached"]) == (202, None, [])
    assert counted(admin_dsn)["document_agent_links"] == counted(admin_dsn)["agent_skills"] == 0
    files = {"file": ("x.skill", package())}
    named = await client.post("/api/skills/import-package", files=files, params={"agent_id": "pilot"})
    assert (named.json()["agent_id"], named.json()["created"]) == (agent, [])
    assert counted(admin_dsn)["document_agent_links"] == counted(admin_dsn)["agent_skills"] == 2


@pytest.mark.parametrize(
    ("files", "status", "code"),
    [
        ({**FILES, "references/tides.exe": b"MZ\x90\0" + bytes(range(256)) * 9}, 415, "unsupported_file"),
        ({**FILES, "references/zzz.pdf": b"no PDF"}, 415, "unsupported_file"),
        ({**FILES, "references/empty.md": b""}, 422, "unreadable_file"),
        ({**FILES, "scripts/fee.py": b"def run(payload:\n"}, 422, "sample_failed"),
        ({**FILES, "scripts/fee.py": b"import os\n" + CODE}, 422, "sample_failed"),
        ({**FILES, "scripts/fee.md": ABOUT.replace(b"berth_fee", b"calculator")}, 409, "conflict"),
        ({**FILES, "SKILL.md": SKILL.replace(b"---\n# P", b"type: shell\n---\n# P")}, 403, "skill_disabled"),
        ({**FILES, "SKILL.md": SKILL.replace(b"---\n# P", b"risk: low\n---\n# P")}, 422, "bad_manifest"),
        ({**FILES, "SKILL.md": b"---\nname: harbour-agent\ndescription: d\n---\n"}, 422, "bad_manifest"),
        ({**FILES, "references/big.md": bytes(range(32, 127)) * 600}, 202, None),
        ({"references/a.md": b"x"}, 422, "bad_package"),
        (None, 413, "package_too_large"),
    ],
)
async def test_sk_06_what_is_refused_leaves_nothing(
    client: httpx.AsyncClient,
    agent: str,
    tmp_path: Path,
    admin_dsn: str,
    files: dict[str, bytes] | None,
    status: int,
    code: str | None,
) -> None:
    """SK-06, SK-07: by name, and neither a row nor a file stays behind, but for the trail's line of code that ran."""
    before = counted(admin_dsn)
    data = package(files) if files is not None else b"PK\x03\x04" + b"x" * 200_001
    answer = await send(client, data, agent)
    assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
    if status != 202:
        assert answer.headers["content-type"] == "application/problem+json"
        tried = before["audit"] + (code == "sample_failed")
        assert counted(admin_dsn) == {**before, "audit": tried} and blobs(tmp_path) == []


async def test_a_hostile_package_leaves_nothing(client: httpx.AsyncClient, tmp_path: Path, admin_dsn: str) -> None:
    """SK-06: the whole table of attacks is in tests/unit; some of each sort here, through the whole way."""
    from tests.unit.test_skills_package import ATTACKS

    before, outside = counted(admin_dsn), below(tmp_path)
    for name, (make, error) in ATTACKS.items():
        data = make()
        answer = await send(client, data)
        assert answer.status_code in (413, 422), f"{name}: {answer.status_code} {answer.text}"
        if len(data) <= 200_000:
            assert answer.json()["code"] in (error.code, "invalid"), name  # type: ignore[attr-defined]
    assert counted(admin_dsn) == before and below(tmp_path) == outside


async def test_mt_02_an_agent_of_another_workspace_is_none(
    api: Api, client: httpx.AsyncClient, agent: str, tmp_path: Path, admin_dsn: str
) -> None:
    """MT-02: 404 and nothing written; the same package is another one there."""
    await send(client, package(), agent)
    before = counted(admin_dsn)
    stranger = await api.sign_in(open_office(admin_dsn).emails[Role.ADMIN])
    for path in (agent, str(uuid4())):
        assert (await send(stranger, package(), path)).status_code == 404
    assert counted(admin_dsn) == {**before, "audit": counted(admin_dsn)["audit"]} and len(blobs(tmp_path)) == 2
    assert (await stranger.get("/api/skills/harbour-agent/package")).status_code == 404
    other = (await send(stranger, package())).json()
    mine = (await send(client, package())).json()
    assert {one["change"] for one in other["documents"]} == {"new"}
    assert not {one["document_id"] for one in other["documents"]} & {one["document_id"] for one in mine["documents"]}


async def test_who_may_not_register_skills_may_not_import_them(api: Api, office: Office, agent: str) -> None:
    for role in (Role.VIEWER, Role.DEVELOPER):
        reader = await api.sign_in(office.emails[role])
        assert (await send(reader, package(), agent)).status_code == (await send(reader, package())).status_code == 403


async def test_sk_06_only_signed_packages_where_the_settings_say_so(
    api: Api, client: httpx.AsyncClient, agent: str
) -> None:
    """SK-06: the answer says by whom; unsigned, foreign and altered ones are refused."""
    pem, public = new_key()
    signed, _ = sign_bundle(FileBundle("harbour-agent", FILES), pem)
    strict = SkillSettings(signers=(public,), signed_only=True)
    api.app.state.parts = replace(api.parts, ground=replace(api.parts.ground, settings=strict))
    for data, code in (
        (package(), "package_untrusted"),
        (pack_zip(sign_bundle(signed, new_key()[0])[0]), "package_untrusted"),
        (package({**signed.files, "references/tides.md": b"Other."}), "bad_signature"),
    ):
        answer = await send(client, data, agent)
        assert (answer.status_code, answer.json()["code"]) == (422 if code == "bad_signature" else 403, code)
    body = (await send(client, pack_zip(signed), agent)).json()
    assert (body["trust"], body["signed_by"]) == ("trusted", public)


async def test_gw_07_a_skill_goes_out_as_the_package_it_came_in(
    client: httpx.AsyncClient, agent: str, worker: Bench
) -> None:
    """GW-07, SK-06: with its scripts and its documents as they are now; imported again it changes nothing."""
    await send(client, package(), agent)
    await worker.run(JobLane.SMALL)
    answer = await client.get("/api/skills/harbour-agent/package")
    assert (
        answer.headers["content-type"] == "application/zip"
        and "harbour-agent.skill" in answer.headers["content-disposition"]
    )
    found: Any = read_package(answer.content)
    assert dict(found.references) == {"tides.md": TIDES, "rules/berths.md": BERTHS}
    assert [(one.name, one.code) for one in found.scripts] == [("berth_fee", CODE.decode())]
    again = await send(client, answer.content, agent)
    assert (again.status_code, again.json()["created"], again.json()["job_id"]) == (200, [], None)
    assert read_package((await client.get("/api/skills/calculator/package")).content).manifest.name == "calculator"


@pytest.mark.parametrize("track", ["presales", "finance", "infrastructure", "legal"])
async def test_sk_08_a_package_that_ships_is_imported_and_read(
    client: httpx.AsyncClient, agent: str, worker: Bench, track: str
) -> None:
    """SK-08, AC-03: each of its references is a document of the agent, complete, and with vectors."""
    (folder,) = (path.parent for path in (ROOT / track).glob("*/SKILL.md"))
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.md")}
    answer = await send(client, package(files, folder.name), agent)
    assert (answer.status_code, answer.json()["ignored"]) == (202, []), answer.text
    await worker.run(JobLane.SMALL)
    shown = [(await client.get(f"/api/documents/{one['document_id']}")).json() for one in answer.json()["documents"]]
    assert len(shown) == len(files) - 1
    assert all(one["status"] == "completed" and one["has_embeddings"] for one in shown)


async def test_a_package_takes_no_name_from_another_skill_unless_it_is_told_to(
    client: httpx.AsyncClient, admin_dsn: str
) -> None:
    """SK-07: neither a skill that was written here nor a script of another package; nothing of it comes in."""
    own = {"name": "berth_fee", "description": "Ours.", "type": "internal", "text": "Ours."}
    assert (await client.post("/api/skills", json=own)).status_code < 300
    before = counted(admin_dsn)
    refused = await send(client, package())
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict"), refused.text
    assert "berth_fee" in refused.text and "replace=true" in refused.text
    assert counted(admin_dsn) == before
    path, file = "/api/skills/import-package?replace=true", ("harbour-agent.skill", package())
    assert (await client.post(path, files={"file": file})).json()["created"] == ["harbour-agent", "berth_fee"]
    changed = FILES | {"scripts/fee.py": CODE.replace(b"3", b"4")}
    assert (await send(client, package(changed))).json()["created"] == ["berth_fee"], "its own goes on"
    other = changed | {"SKILL.md": SKILL.replace(b"harbour-agent", b"port-agent"), "scripts/fee.py": CODE}
    refused = await send(client, package(other, "port-agent"))
    assert refused.status_code == 409 and "came from the package harbour-agent" in refused.text
