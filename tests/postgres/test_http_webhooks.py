"""Webhooks by HTTP: made with a secret that is shown once, tested, changed, replayed; events of the product itself."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from standardwebhooks.webhooks import Webhook

from cluster.basics.scope import Role
from configs.sections_events import WebhookSettings
from tests.fakes.corpus import open_agent
from tests.fakes.event_parts import webhook_sender
from tests.fakes.http import Api, Office, make_parts, serve
from tests.fakes.webhook_desk import FAST, until
from tests.fakes.webhook_receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path, receiver: Receiver) -> AsyncIterator[Api]:
    parts = make_parts(app_dsn, tmp_path)
    settings = WebhookSettings(hosts=(f"127.0.0.1:{receiver.port}",), **FAST)
    sender = webhook_sender(parts.database, settings)
    async with serve(replace(parts, webhooks=sender, openers=(sender.open,), closers=(sender.close,))) as made:
        yield made


async def test_a_webhook_is_made_tested_changed_and_taken_away(
    api: Api, office: Office, receiver: Receiver, admin_dsn: str
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    wanted = {"name": "crm", "url": receiver.url, "topics": ["job.*", "document.*"]}
    made = await admin.post("/api/webhooks", json=wanted)
    assert made.status_code == 201, made.text
    path, secret = f"/api/webhooks/{made.json()['id']}", made.json()["secret"]
    receiver.secrets.append(secret)
    shown = await admin.get("/api/webhooks")
    assert secret not in shown.text and shown.json()["items"][0]["owner"] == office.emails[Role.ADMIN]
    assert (await admin.post("/api/webhooks", json=wanted)).status_code == 409
    pinged = (await admin.post(f"{path}/ping")).json()
    assert pinged["accepted"] and pinged["status"] == 200 and receiver.got[0].type == "webhook.ping"
    receiver.status = 500
    assert "500" in (await admin.post(f"{path}/ping")).json()["error"]
    receiver.status = 200

    uploaded = await admin.post("/api/documents/upload", files={"file": ("n.txt", b"A note of the harbour.")})
    await until(lambda: len(receiver.got) == 2)
    assert receiver.got[1].type == "job.queued" and receiver.got[1].data["job_id"] == uploaded.json()["job_id"]
    deleted = await admin.delete(f"/api/documents/{uploaded.json()['document_id']}")
    assert deleted.is_success
    await until(lambda: any(one.type == "document.deleted" for one in receiver.got))

    # The receiver has an event a moment before the sender has noted that it does.
    async with asyncio.timeout(20):
        while (sent := (await admin.get(f"{path}/deliveries", params={"state": "delivered"})).json())["total"] < 2:
            await asyncio.sleep(0.02)
    assert sent["total"] == len(sent["items"])
    event = sent["items"][0]["event_id"]
    assert event in receiver.ids
    replayed = await admin.post(f"{path}/replay", json={"event_id": event})
    assert replayed.status_code == 202 and replayed.json()["replayed"] == 1
    await until(lambda: receiver.ids.count(event) == 2)
    assert (await admin.post(f"{path}/replay", json={})).status_code == 422
    dead = await admin.post(f"{path}/replay", json={"failed_only": True})
    assert dead.status_code == 202 and dead.json()["replayed"] == 0, "nothing was given up"
    twice = {"event_id": event, "since": "2026-01-01T00:00:00Z", "failed_only": True}
    assert (await admin.post(f"{path}/replay", json=twice)).status_code == 422
    assert (await admin.post(f"{path}/replay", json={"event_id": "evt_no"})).status_code == 404

    rotated = (await admin.post(f"{path}/secret", json={"overlap_hours": 1})).json()
    assert rotated["secrets"] == 2 and rotated["secret"] != secret
    await admin.post(f"{path}/ping")
    last = receiver.got[-1]
    for key in (secret, rotated["secret"]):
        Webhook(key).verify(last.body, dict(last.headers))
    receiver.secrets = [rotated["secret"]]
    assert (await admin.post(f"{path}/secret", json={"overlap_hours": 0})).json()["secrets"] == 1

    off = await admin.patch(path, json={"enabled": False, "topics": ["approval.*"]})
    assert (off.json()["enabled"], off.json()["topics"]) == (False, ["approval.*"])
    assert (await admin.delete(path)).status_code == 204 and (await admin.get(path)).status_code == 404
    with psycopg.connect(admin_dsn) as owner:
        trail = owner.execute(
            "select action, detail::text from audit where action like 'webhook.%' order by seq"
        ).fetchall()
    assert [action for action, _ in trail][:1] == ["webhook.add"] and trail[-1][0] == "webhook.delete"
    replays = [json.loads(detail)["failed_only"] for action, detail in trail if action == "webhook.replay"]
    assert replays == [False, True]
    assert all(secret not in detail and "/hook" not in detail for _, detail in trail)


async def test_addresses_that_are_not_allowed_and_roles_above_ones_own_are_refused(
    api: Api, office: Office, receiver: Receiver, admin_dsn: str
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    for url in ("http://127.0.0.1:9/x", "https://10.0.0.1/x", "https://hooks.example.com/x"):
        refused = await admin.post("/api/webhooks", json={"name": "x", "url": url, "topics": ["*"]})
        assert refused.status_code == 403 and refused.json()["code"] == "receiver_not_allowed"
    for body in ({"topics": ["nothing"]}, {"topics": []}, {"url": "no url", "topics": ["*"]}):
        answer = await admin.post("/api/webhooks", json={"name": "x", "url": receiver.url, **body})
        assert answer.status_code == 422
    for role in (Role.OPERATOR, Role.DEVELOPER, Role.VIEWER):
        other = await api.sign_in(office.emails[role])
        assert (await other.get("/api/webhooks")).status_code == 403


async def test_only_its_owner_moves_a_webhook_and_others_see_what_they_may(
    api: Api, office: Office, receiver: Receiver, admin_dsn: str
) -> None:
    """It tells what its owner may see; another administrator may switch it off, and not have it sent elsewhere."""
    admin = await api.sign_in(office.emails[Role.ADMIN])
    wanted = {"name": "crm", "url": receiver.url, "topics": ["document.*"]}
    made = (await admin.post("/api/webhooks", json=wanted)).json()
    receiver.secrets.append(made["secret"])
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        owner.execute("update memberships set role = 'admin'")
        for name, readers in (("d1", [f"user:{office.emails[Role.ADMIN]}"]), ("d2", [])):
            owner.execute(
                "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, readers,"
                " status) values (%s, %s, %s, %s, 'f', 'text', 'upload', %s, 'completed')",
                (name * 16, office.scope.tenant, office.scope.workspace, name, readers),
            )
    await until(lambda: len(receiver.got) == 2)
    other = await api.sign_in(office.emails[Role.OPERATOR])
    path = f"/api/webhooks/{made['id']}"
    assert (await other.patch(path, json={"url": receiver.url})).status_code == 403
    assert (await other.patch(path, json={"topics": ["*"]})).status_code == 403
    assert (await admin.get(f"{path}/deliveries")).json()["total"] == 2
    seen = (await other.get(f"{path}/deliveries")).json()
    assert [one["data"]["document_id"] for one in seen["items"]] == ["d2" * 16] and seen["total"] == 1
    assert (await other.patch(path, json={"enabled": False})).json()["enabled"] is False


async def test_approvals_feedback_and_policies_are_announced(
    api: Api, office: Office, receiver: Receiver, admin_dsn: str
) -> None:
    admin = await api.sign_in(office.emails[Role.ADMIN])
    for name, role in (("all", None), ("viewers", "viewer")):
        wanted = {"name": name, "url": receiver.url, "topics": ["*"], "role": role}
        receiver.secrets.append((await admin.post("/api/webhooks", json=wanted)).json()["secret"])
    made = await admin.post("/api/data-governance/policies", json={"name": "p", "body": {}, "tenant_wide": True})
    assert made.is_success
    keys = {"t": office.scope.tenant, "w": office.scope.workspace}
    with psycopg.connect(admin_dsn, autocommit=True) as owner:
        row = owner.execute("select user_id from memberships where workspace_id = %(w)s", keys).fetchone()
        assert row is not None
        agent = open_agent(owner, office.scope, "keeper")
        ids = keys | {"u": row[0], "r": "11111111-1111-1111-1111-111111111111", "a": agent}
        for statement in (
            "insert into sessions (id, tenant_id, workspace_id, user_id) values (%(r)s, %(t)s, %(w)s, %(u)s)",
            "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed)"
            " values (%(r)s, %(t)s, %(w)s, %(r)s, %(a)s, %(u)s, 'general', 'waiting', '{}', 1)",
            "insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by,"
            " tool, arguments, digest, expires_at)"
            " values (%(r)s, %(t)s, %(w)s, %(r)s, 1, %(r)s, %(a)s, %(u)s, 'http_post', "
            "'{\"secret\": \"words\"}', 'd', now() + interval '1 day')",
            "update approvals set state = 'approved', reviewer = %(u)s where id = %(r)s",
            "insert into run_feedback (run_id, user_id, tenant_id, workspace_id, thumb, word)"
            " values (%(r)s, %(u)s, %(t)s, %(w)s, 'down', 'secret words')",
        ):
            owner.execute(statement.encode(), ids)
    assert (await admin.put("/api/retention", json={"class": "messages", "days": 30})).is_success
    await until(lambda: len(receiver.got) >= 4)
    types = sorted(one.type for one in receiver.got)
    assert types == ["approval.asked", "approval.decided", "feedback.given", "policy.changed"]
    assert all(b"words" not in one.body for one in receiver.got)
    (decided,) = [one for one in receiver.got if one.type == "approval.decided"]
    assert decided.data["state"] == "approved" and decided.data["tool"] == "http_post"
