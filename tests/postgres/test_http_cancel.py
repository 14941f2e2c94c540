"""A job that is cancelled while it waits: its documents say so, whoever may see them, and can be taken up again."""

from pathlib import Path
from typing import Any

import httpx
import psycopg

from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench

Standing = dict[str, tuple[str, str | None]]


async def upload(client: httpx.AsyncClient, name: str, content: bytes, **form: str) -> dict[str, Any]:
    sent = await client.post("/api/documents/upload", files={"file": (name, content)}, data=form)
    assert sent.status_code == 202, sent.text
    return dict(sent.json())


def standing(admin_dsn: str) -> Standing:
    """Every document's name with its status and the reason of its failure."""
    with psycopg.connect(admin_dsn) as connection:
        found = connection.execute("select filename, status, failure->>'reason' from documents").fetchall()
    return {name: (status, reason) for name, status, reason in found}


async def test_an_upload_cancelled_before_a_worker_claims_it_is_abandoned_and_can_be_resumed(
    operator: httpx.AsyncClient, worker: Bench, admin_dsn: str
) -> None:
    sent = await upload(operator, "lease.txt", b"The lease ends in May.")
    other = await upload(operator, "other.txt", b"Another matter.")
    cancelled = (await operator.post(f"/api/jobs/{sent['job_id']}/cancel")).json()
    assert (cancelled["state"], cancelled["documents"]["expected"]) == ("cancelled", 1)
    shown = (await operator.get(f"/api/documents/{sent['document_id']}")).json()
    assert shown["failure"] == {
        "stage": "job",
        "reason": "abandoned",
        "detail": "the job was cancelled",
        "retryable": True,
    }
    assert standing(admin_dsn) == {"lease.txt": ("failed", "abandoned"), "other.txt": ("pending", None)}
    assert (await operator.post(f"/api/jobs/{sent['job_id']}/resume")).json()["state"] == "queued"
    assert {await worker.run(JobLane.SMALL), await worker.run(JobLane.SMALL)} == {sent["job_id"], other["job_id"]}
    assert standing(admin_dsn) == {"lease.txt": ("completed", None), "other.txt": ("completed", None)}
    done = (await operator.get(f"/api/jobs/{sent['job_id']}")).json()
    assert done["documents"] == {"expected": 1, "done": 1, "failed": 0, "unchanged": 0}


async def test_a_document_that_the_canceller_may_not_see_is_abandoned_with_its_job(
    api: Api, office: Office, operator: httpx.AsyncClient, admin_dsn: str
) -> None:
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    sent = await upload(developer, "private.txt", b"For one reader.", readers="user:boss@x.example")
    assert (await operator.get(f"/api/documents/{sent['document_id']}")).status_code == 404
    assert (await operator.post(f"/api/jobs/{sent['job_id']}/cancel")).json()["state"] == "cancelled"
    assert standing(admin_dsn) == {"private.txt": ("failed", "abandoned")}
    with psycopg.connect(admin_dsn) as connection:
        actors = connection.execute("select actor from audit where action = 'job.cancel'").fetchall()
        users = connection.execute("select id::text from users where email = %s", (office.emails[Role.OPERATOR],))
        assert actors == users.fetchall()


async def test_a_scan_cancelled_between_two_turns_abandons_what_it_has_begun_and_keeps_what_is_done(
    operator: httpx.AsyncClient, worker: Bench, tmp_path: Path, admin_dsn: str
) -> None:
    for name in "abc":
        (tmp_path / "scans" / f"{name}.txt").write_text(f"{name} one\f{name} two")
    worker.read = worker.read.model_copy(update={"batch_pages": 2})
    job = (await operator.post("/api/documents/batch-scan", json={"path": "."})).json()["job_id"]
    claimed = await worker.claim()
    await worker.runner().turn(claimed, await worker.recipe(), lambda: False)
    await worker.jobs.release(claimed.lease)  # another tenant has its turn; the job waits again
    before = standing(admin_dsn)
    assert sorted(before.values()) == [("completed", None), ("processing", None), ("processing", None)]
    assert (await operator.post(f"/api/jobs/{job}/cancel")).json()["state"] == "cancelled"
    assert standing(admin_dsn) == {
        name: ("failed", "abandoned") if was == ("processing", None) else was for name, was in before.items()
    }
    await operator.post(f"/api/jobs/{job}/resume")
    await worker.run()
    assert set(standing(admin_dsn).values()) == {("completed", None)}


async def test_a_scan_cancelled_before_it_is_planned_leaves_no_document_waiting(
    operator: httpx.AsyncClient, tmp_path: Path, admin_dsn: str
) -> None:
    (tmp_path / "scans" / "a.txt").write_text("a")
    job = (await operator.post("/api/documents/batch-scan", json={"path": "."})).json()["job_id"]
    assert (await operator.post(f"/api/jobs/{job}/cancel")).json()["state"] == "cancelled"
    assert standing(admin_dsn) == {}


async def test_a_running_job_keeps_its_documents_until_its_worker_stops(
    operator: httpx.AsyncClient, worker: Bench, admin_dsn: str
) -> None:
    sent = await upload(operator, "lease.txt", b"The lease ends in May.")
    claimed = await worker.claim(lane=JobLane.SMALL)
    asked = (await operator.post(f"/api/jobs/{sent['job_id']}/cancel")).json()
    assert (asked["state"], asked["cancel_requested"]) == ("running", True)
    assert standing(admin_dsn) == {"lease.txt": ("pending", None)}
    await worker.runner().abandon(claimed.lease, "the job was cancelled")  # claimed, and nothing planned yet
    assert standing(admin_dsn) == {"lease.txt": ("failed", "abandoned")}
