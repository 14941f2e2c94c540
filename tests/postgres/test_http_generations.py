"""Generations over HTTP: listed, rolled back by one call, switched to by force; and what is embedded afterwards."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import psycopg

from cluster.basics.errors import Unavailable
from cluster.basics.scope import Role
from cluster.models.ports import EmbedderFacts
from cluster.state.work.jobs import JobLane
from tests.fakes.bent import WordEmbedder, constant
from tests.fakes.http import Office, make_parts, serve
from tests.fakes.ledger import Bench


async def ingest(client: httpx.AsyncClient, worker: Bench, name: str, text: str) -> None:
    sent = await client.post("/api/documents/upload", files={"file": (name, text.encode())})
    assert sent.status_code == 202, sent.text
    await worker.run(JobLane.SMALL)


async def reindex(client: httpx.AsyncClient, worker: Bench, **params: Any) -> dict[str, Any]:
    started = await client.post("/api/documents/reindex-all", params=params)
    assert started.status_code == 202, started.text
    await worker.run()
    shown: dict[str, Any] = (await client.get(f"/api/jobs/{started.json()['job_id']}")).json()
    return shown


async def shelves(client: httpx.AsyncClient, worker: Bench) -> None:
    """Enough passages for the gate to judge."""
    for number in range(8):
        await ingest(client, worker, f"{number}.txt", " ".join(f"word{number}x{n}" for n in range(40)))


async def test_the_generations_are_listed_and_rolled_back_by_one_call(
    app_dsn: str, tmp_path: Path, office: Office, worker: Bench
) -> None:
    """GW-15: with what made them, what they hold and what the gate said; the way back is audited."""
    embedder = WordEmbedder()
    worker.embedder = embedder  # type: ignore[assignment]
    async with serve(make_parts(app_dsn, tmp_path, embedder=embedder)) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        await shelves(operator, worker)
        assert (await operator.post("/api/generations/rollback")).status_code == 409
        assert (await reindex(operator, worker))["state"] == "completed"
        await ingest(operator, worker, "late.txt", "A late note about the harbour.")
        told = (await operator.get("/api/generations")).json()
        assert [row["role"] for row in told["items"]] == ["live", "previous"]
        live, previous = told["items"]
        assert (live["documents"], live["embedded"], previous["documents"]) == (9, 9, 8)
        assert live["report"]["verdict"] == "passed" and told["configured"]["embedder"] == "words"
        made = (await operator.post("/api/generations/rollback")).json()
        assert (made["generation"], made["previous"], made["carried"]) == (previous["id"], live["id"], 1)
        assert made["note"] is None and made["job_id"] is not None
        await worker.run()
        shown = (await operator.get(f"/api/jobs/{made['job_id']}")).json()
        assert (shown["state"], shown["documents"]["done"]) == ("completed", 1)
        again = (await operator.get("/api/generations")).json()
        assert (again["live"], again["previous"]) == (previous["id"], live["id"])
        assert next(row for row in again["items"] if row["role"] == "live")["embedded"] == 9
        admin = await api.sign_in(office.emails[Role.ADMIN])
        actions = [row["action"] for row in (await admin.get("/api/audit")).json()["items"]]
        assert "generation.rollback" in actions


async def test_a_refused_generation_is_switched_to_by_force_only(
    app_dsn: str, tmp_path: Path, office: Office, worker: Bench
) -> None:
    embedder = WordEmbedder()
    worker.embedder = embedder  # type: ignore[assignment]
    async with serve(make_parts(app_dsn, tmp_path, embedder=embedder)) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        await shelves(operator, worker)
        worker.embedder = WordEmbedder("bad", constant)  # type: ignore[assignment]
        job = await reindex(operator, worker)
        assert job["state"] == "failed" and "the gate refused" in job["error"]
        refused = (await operator.get("/api/generations")).json()["items"][0]
        assert refused["role"] == "refused" and refused["report"]["reasons"]
        path = f"/api/generations/{refused['id']}/switch"
        answer = await operator.post(path)
        assert answer.status_code == 409 and "force=true" in answer.text
        made = (await operator.post(path, params={"force": True})).json()
        assert made["generation"] == refused["id"] and "EMBEDDING_MODEL" in made["note"] and made["job_id"] is None
        shown = (await operator.get("/api/generations")).json()["items"][0]
        assert shown["role"] == "live" and shown["forced_by"] is not None
        developer = await api.sign_in(office.emails[Role.DEVELOPER])
        assert (await developer.post("/api/generations/rollback")).status_code == 403
        assert (await operator.post("/api/generations/424242/switch")).status_code == 404
        await operator.post("/api/agents", json={"name": "Clerk"})
        agent = {"agent_id": "Clerk", "hold": True}
        assert (await operator.post("/api/documents/reindex-all", params=agent)).status_code == 422


class Away(WordEmbedder):
    """Cannot even be asked what it is."""

    async def facts(self) -> EmbedderFacts:
        raise Unavailable("away")


async def test_the_way_back_needs_no_embedder_and_takes_along_what_its_caller_may_not_see(
    app_dsn: str, admin_dsn: str, tmp_path: Path, office: Office, worker: Bench
) -> None:
    """An operator rolls back for everybody; the counts that they are shown are of what they see."""
    worker.embedder = WordEmbedder()  # type: ignore[assignment]
    async with serve(make_parts(app_dsn, tmp_path, embedder=Away())) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        await shelves(operator, worker)
        await reindex(operator, worker, hold=True)
        await ingest(operator, worker, "secret.txt", "A secret note about the harbour and the ledger.")
        with psycopg.connect(admin_dsn) as connection:
            for table in ("documents", "document_chunks", "embeddings"):
                where = (
                    "filename = 'secret.txt'"
                    if table == "documents"
                    else ("document_id = (select id from documents where filename = 'secret.txt')")
                )
                connection.execute(f"update {table} set readers = '{{user:x@y.org}}' where {where}".encode())
        ready = (await operator.get("/api/generations")).json()
        assert ready["configured"] is None and ready["items"][0]["role"] == "ready"
        made = (await operator.post(f"/api/generations/{ready['items'][0]['id']}/switch")).json()
        assert made["carried"] == 1 and "the embedder is away" in made["note"]
        live = (await operator.get("/api/generations")).json()["items"][0]
        assert (live["role"], live["documents"]) == ("live", 8)
        with psycopg.connect(admin_dsn) as connection:
            row = connection.execute(
                "select count(*), bool_and(e.readers = '{user:x@y.org}') from embeddings e join documents d"
                " on d.id = e.document_id where d.filename = 'secret.txt' and e.generation_id = %s",
                (live["id"],),
            ).fetchone()
        assert row == (1, True)


async def test_two_rollbacks_at_once_are_one_after_the_other(
    app_dsn: str, tmp_path: Path, office: Office, worker: Bench
) -> None:
    embedder = WordEmbedder()
    worker.embedder = embedder  # type: ignore[assignment]
    async with serve(make_parts(app_dsn, tmp_path, embedder=embedder)) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        await shelves(operator, worker)
        await reindex(operator, worker)
        before = (await operator.get("/api/generations")).json()
        answers = await asyncio.gather(*(operator.post("/api/generations/rollback") for _ in range(4)))
        assert [answer.status_code for answer in answers] == [200] * 4
        after = (await operator.get("/api/generations")).json()
        assert (after["live"], after["previous"]) == (before["live"], before["previous"])


async def test_a_reindex_ends_the_one_before_it(app_dsn: str, tmp_path: Path, office: Office, worker: Bench) -> None:
    """Whoever changes the embedder twice waits for one; a request that is repeated by its key ends nothing."""
    worker.embedder = WordEmbedder()  # type: ignore[assignment]
    async with serve(make_parts(app_dsn, tmp_path, embedder=WordEmbedder())) as api:
        operator = await api.sign_in(office.emails[Role.OPERATOR])
        await shelves(operator, worker)
        key = {"Idempotency-Key": "once"}
        first = (await operator.post("/api/documents/reindex-all", headers=key)).json()["job_id"]
        assert (await operator.post("/api/documents/reindex-all", headers=key)).json()["job_id"] == first
        assert (await operator.get(f"/api/jobs/{first}")).json()["state"] == "queued"
        second = (await operator.post("/api/documents/reindex-all")).json()["job_id"]
        shown = (await operator.get(f"/api/jobs/{first}")).json()
        assert shown["state"] == "cancelled" and second in shown["error"]
        await worker.run()
        assert (await operator.get(f"/api/jobs/{second}")).json()["state"] == "completed"
