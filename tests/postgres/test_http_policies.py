"""Policies of data governance over HTTP: standards, versions, reach, the effect before one holds, and what it does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from cluster.basics.scope import Role
from pipelines.documents.privacy.policy_rules import PolicyBody, effective_action
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_generation
from tests.fakes.http import Api, Office
from tests.fakes.model_server import ModelServer, serve_model
from tests.fakes.model_wires import Say
from tests.fakes.workplace import Workplace, workplace

pytestmark = pytest.mark.postgres

POLICIES, REFERENCES = "/api/data-governance/policies", "/api/data-governance/references"
TEN = (
    *("ISO/IEC 27001", "ISO/IEC 27701", "NIST CSF", "NIST SP 800-53", "NIST AI RMF"),
    *("GDPR", "CCPA", "HIPAA", "PCI DSS", "SOC 2"),
)
MAIL = "ann@example.org"


@pytest.fixture
async def admin(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.ADMIN])


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with serve_model(Say("ok")) as served:
        yield served


def policy(**body: Any) -> dict[str, Any]:
    return {"name": "ours", "body": {"references": ["gdpr", "soc2"], **body}}


async def test_gv_02_ten_standards_have_their_full_title_and_scope(api: Api, office: Office) -> None:
    """GV-02, X-20, GW-17."""
    viewer = await api.sign_in(office.emails[Role.VIEWER])
    found = (await viewer.get(REFERENCES)).json()
    assert found["total"] == 10 and tuple(one["standard"] for one in found["items"]) == TEN
    assert all(len(one["title"]) > 30 and len(one["description"]) > 60 for one in found["items"])


async def test_gv_03_every_policy_resolves_its_references(api: Api, admin: httpx.AsyncClient) -> None:
    """GV-03, GV-01: those that are shipped too; a standard that nobody knows is refused by name."""
    made = await admin.post(POLICIES, json=policy(pii={"journals": "mask"}))
    assert made.status_code == 201, made.text
    listed = (await admin.get(POLICIES)).json()
    effective = {"documents": "none", "memory": "mask", "journals": "mask", "traces": "mask"}
    effective |= {"answers": "none", "search": "none"}
    assert (listed["total"], listed["effective"]) == (3, effective)
    for one in listed["items"]:
        assert len(one["references_resolved"]) == len(one["references"]) > 0
        assert all(set(each) == {"standard", "title", "description"} for each in one["references_resolved"])
    unknown = await admin.post(POLICIES, json={"name": "x", "body": {"references": ["iso9001"]}})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "unknown_reference")


@pytest.mark.parametrize(
    "body",
    [
        {"pii": {"memory": "none"}},
        {"pii": {"surfaces": "mask"}},
        {"pii": {"search": "mark"}},
        {"classes": [{"name": "secret", "rank": 1}, {"name": "secret", "rank": 2}]},
        {"classes": [{"name": "secret", "rank": -1}]},
        {"surprise": 1},
    ],
)
async def test_what_is_no_policy_is_refused_and_nothing_is_kept(admin: httpx.AsyncClient, body: Any) -> None:
    """Memory is masked whatever a policy says, and what nothing enforces cannot be promised."""
    answer = await admin.post(POLICIES, json=policy(**body))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_policy")
    assert (await admin.get(POLICIES)).json()["total"] == 2


async def test_gv_01_a_change_is_another_version_and_leaves_a_line(
    api: Api, admin: httpx.AsyncClient, office: Office
) -> None:
    """GV-01: of two changes to one version the second is refused; what is taken away stays on record."""
    id_ = (await admin.post(POLICIES, json=policy(pii={"journals": "mask"}))).json()["policy"]["id"]
    changed = await admin.put(f"{POLICIES}/{id_}", json={**policy(description="two"), "version": 1})
    assert changed.json()["policy"]["version"] == 2
    late = await admin.put(f"{POLICIES}/{id_}", json={**policy(description="three"), "version": 1})
    assert (late.status_code, late.json()["code"]) == (409, "policy_changed")
    versions = (await admin.get(f"{POLICIES}/{id_}/versions")).json()["items"]
    assert [(one["version"], one["description"]) for one in versions] == [(2, "two"), (1, "")]
    assert (await admin.delete(f"{POLICIES}/{id_}")).status_code == 204
    assert (await admin.delete(f"{POLICIES}/{id_}")).status_code == 404
    assert (await admin.get(POLICIES)).json()["total"] == 2
    lines = [one["action"] for one in (await admin.get("/api/audit")).json()["items"] if one["object"] == id_]
    assert sorted(lines) == ["policy.add", "policy.change", "policy.retire"]
    assert (await admin.put(f"{POLICIES}/{uuid4()}", json={**policy(), "version": 1})).status_code == 404


async def test_no_statement_of_the_application_changes_a_version(api: Api, admin: httpx.AsyncClient) -> None:
    await admin.post(POLICIES, json=policy())
    for statement in ("update governance_policies set name = 'x'", "delete from governance_policies"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            async with api.parts.database.transaction() as tx:
                await tx.run(statement)


async def test_gv_01_a_dry_run_tells_what_it_would_touch_and_changes_nothing(
    api: Api, admin: httpx.AsyncClient, office: Office, admin_dsn: str
) -> None:
    """GV-01: documents by class, pages and messages by kind, samples without content, also of what others read."""
    passages = [Passage(f"{word}: pay to DE89 3704 0044 0532 0130 00.", vector=hash_vector(word)) for word in "ab"]
    with psycopg.connect(admin_dsn) as connection:
        generation = open_generation(connection, office.scope)
        load(connection, office.scope, generation, [Book("bank.txt", passages, readers=("user:somebody@else",))])
        load(connection, office.scope, generation, [Book("plain.txt", [Passage("tolls", vector=hash_vector("t"))])])
    session = (await admin.post("/v1/agent/sessions", json={"session_id": "s"})).json()["id"]
    with psycopg.connect(admin_dsn) as connection:
        content = json.dumps({"text": "I am [email]", "findings": {"email": 1, "injection": 1}})
        keys = (session, office.scope.tenant, office.scope.workspace, content)
        connection.execute("insert into messages values (%s, 1, %s, %s, 'user', %s)", keys)
    classes = [{"name": "money", "rank": 2, "pii": ["iban"]}, {"name": "roads", "rank": 1, "keywords": ["Tolls"]}]
    wanted = policy(pii={"journals": "mask"}, classes=classes) | {"dry_run": True}
    answer = await admin.post(POLICIES, json=wanted)
    effect = answer.json()["effect"]
    assert answer.status_code == 200 and answer.json()["policy"] is None
    assert effect["classes"] == {"money": 1, "roads": 1} and effect["documents"] == 2 and effect["complete"]
    assert effect["page_finds"]["iban"] == 2 and effect["message_finds"] == {"email": 1}
    assert (effect["messages"], effect["runs"]) == (1, 0)
    assert "DE89" not in answer.text and "tolls" not in answer.text and len(effect["samples"]) >= 2
    assert (await admin.get(POLICIES)).json()["total"] == 2


async def test_a_workspace_is_only_stricter_than_its_tenant(api: Api, admin: httpx.AsyncClient, office: Office) -> None:
    """GV-01: the tenant's word counts in place of what is shipped; a workspace cannot weaken either."""
    weaker = policy(pii={"journals": "none"})
    await admin.post(POLICIES, json=weaker)
    assert (await admin.get(POLICIES)).json()["effective"]["journals"] == "mask"
    made = await admin.post(POLICIES, json=weaker | {"tenant_wide": True})
    assert made.json()["policy"]["reach"] == "tenant"
    assert (await admin.get(POLICIES)).json()["effective"]["journals"] == "none"
    none, mask = PolicyBody(pii={"journals": "none"}), PolicyBody(pii={"journals": "mask"})
    assert effective_action("journals", [mask], [none], [mask]) == "mask"
    assert effective_action("journals", [none], [none, mask], [none]) == "mask"
    assert effective_action("journals", [], [], []) == "none"


def kept_in(admin_dsn: str, at: Workplace) -> bool:
    with psycopg.connect(admin_dsn) as connection:
        sql = "select count(*) from runs where workspace_id = %s and input::text like %s"
        row: Any = connection.execute(sql, (at.ann.workspace, f"%{MAIL}%")).fetchone()
    return bool(row[0])


async def test_gv_04_whether_runs_are_masked_is_a_policy(
    app_dsn: str, admin_dsn: str, redis_url: str, tmp_path: Path, model: ModelServer
) -> None:
    """GV-04: from the next run on; a run stays as it began."""
    async with workplace(app_dsn, admin_dsn, redis_url, tmp_path, model) as at:
        boss, store = at.people[Role.ADMIN], at.base.governance.policies
        await at.tell(f"/chat I am {MAIL}.")
        assert not kept_in(admin_dsn, at)
        id_ = uuid4()
        async with at.base.database.transaction(boss) as tx:
            await store.add(tx, boss, id_, "plain", PolicyBody(pii={"journals": "none"}), tenant_wide=True)
        await at.tell(f"/chat I am {MAIL}.")
        assert kept_in(admin_dsn, at)
