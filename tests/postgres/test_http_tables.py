"""What people do over HTTP stands in tables of Postgres, each behind forced row-level security."""

from typing import Any

import httpx
import psycopg

from cluster.basics.scope import Role
from cluster.state.work.jobs import JobLane
from tests.fakes.http import Office
from tests.fakes.ledger import Bench

# table -> what one upload for one agent leaves in it; `{x}` are ids that the API told.
LEFT = {
    "users": "select email from users where id = (select created_by from documents where id = '{document}')",
    "agents": "select name from agents where id = '{agent}'",
    "documents": "select filename, file_type, status, source_type, description, tags, readers, chunk_count,"
    " processed_date >= upload_date from documents where id = '{document}'",
    "document_versions": "select file_hash, file_size from document_versions where document_id = '{document}'",
    "document_chunks": "select chunk_index, text, page_start, page_end from document_chunks"
    " where document_id = '{document}'",
    "document_agent_links": "select agent_id::text from document_agent_links where document_id = '{document}'",
    "jobs": "select kind, state from jobs where id = '{job}'",
    "audit": "select action, actor = (select created_by::text from documents where id = '{document}') from audit"
    " where object = '{document}'",
}


async def test_in_19_documents_agents_users_jobs_and_the_trail_are_tables(
    operator: httpx.AsyncClient, office: Office, worker: Bench, admin_dsn: str
) -> None:
    """IN-19: documents, chunks, links to agents, agents, users, jobs and audit; no table without its own wall."""
    agent = (await operator.post("/api/agents", json={"name": "Clerk"})).json()["id"]
    sent = await operator.post(
        "/api/documents/upload",
        files={"file": ("lease.txt", b"It ends in May.")},
        params={"agent_id": "Clerk"},
        data={"description": "a lease", "tags": "contract,2026"},
    )
    ids = {"agent": agent, "document": sent.json()["document_id"], "job": sent.json()["job_id"]}
    await worker.run(JobLane.SMALL)
    found: dict[str, tuple[Any, ...]] = {}
    with psycopg.connect(admin_dsn) as connection:
        for table, query in LEFT.items():
            (found[table],) = connection.execute(query.format(**ids).encode()).fetchall()
        walls = connection.execute(
            "select relname from pg_class where relkind in ('r', 'p') and relrowsecurity and relforcerowsecurity"
        ).fetchall()
    hashed, size = found.pop("document_versions")
    assert (len(hashed), size) == (64, 15)
    assert found == {
        "users": (office.emails[Role.OPERATOR],),
        "agents": ("Clerk",),
        "documents": ("lease.txt", "text", "completed", "upload", "a lease", ["contract", "2026"], [], 1, True),
        "document_chunks": (0, "It ends in May.", 1, 1),
        "document_agent_links": (agent,),
        "jobs": ("upload", "completed"),
        "audit": ("document.upload", True),
    }
    assert LEFT.keys() <= {name for (name,) in walls}
