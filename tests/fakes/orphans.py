"""Orphans of every kind, planted into a filled workspace past all keys and triggers, and what has to be found."""

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import psycopg
from redis import Redis

from cluster.basics.scope import Scope
from tests.fakes.corpus import open_generation
from tests.fakes.filled import SECOND, FilledWorkspace

LONG_AGO: Final = time.time() - 30 * 86_400
OLD: Final = "now() - interval '30 days'"

# What a repair does not mend by itself, as nothing here has what is missing.
TOLD: Final = frozenset(
    {
        *("document_without_version", "document_without_pages", "document_without_some_pages"),
        *("document_without_chunks", "chunk_without_vector", "workspace_without_generation"),
        *("run_that_waits_for_nothing", "run_of_dead_worker", "due_time_of_dead_worker"),
        *("examination_of_dead_worker", "row_without_blob"),
    }
)

# (check, table) -> how to plant one.
ROWS: Final[dict[tuple[str, str], str]] = {
    ("row_without_scope", "document_principals"): "insert into document_principals values (%(gone)s, %(t)s, 'user:x')",
    ("row_without_scope", "tenant_pages"): "insert into tenant_pages (tenant_id, pages) values (%(gone)s, 0)",
    ("row_without_parent", "messages"): "insert into messages values (%(gone)s, 1, %(t)s, %(w)s, 'user', '{}')",
    ("row_without_parent", "runs"): (
        "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed)"
        " values (gen_random_uuid(), %(t)s, %(w)s, %(gone)s, %(agent)s, %(gone)s, 'general', 'completed', '{}', 1)"
    ),
    ("row_without_parent", "webhook_deliveries"): (
        "with told as (insert into outbox (tenant_id, workspace_id, topic, payload)"
        " values (%(t)s, %(w)s, 'job.queued', '{}') returning id)"
        " insert into webhook_deliveries (webhook_id, outbox_id, tenant_id, workspace_id, subject)"
        " select %(gone)s, id, %(t)s, %(w)s, 's' from told"
    ),
    ("row_without_parent", "refresh_tokens"): (
        "insert into refresh_tokens (hash, family, tenant_id, user_id, workspace_id, expires_at)"
        " values ('h', gen_random_uuid(), %(t)s, %(user)s, %(gone)s, now())"
    ),
    ("row_without_parent", "pages"): (
        "insert into pages (version_id, number, id, document_id, tenant_id, workspace_id, text, engine, ms,"
        " fingerprint) values ('gone', 1, 'gone', %(d0)s, %(t)s, %(w)s, 'x', 'native', 1, 'f')"
    ),
    ("row_without_document", "page_tables"): "update page_tables set document_id = 'gone' where document_id = %(d1)s",
    ("document_without_version", "documents"): "update documents set current_version = 'gone' where id = %(d2)s",
    ("document_without_some_pages", "documents"): (
        "update document_versions set page_count = page_count + 1 where document_id = %(d4)s"
    ),
    ("document_without_chunks", "documents"): (
        "with gone as (delete from embeddings where document_id = %(d5)s)"
        " delete from document_chunks where document_id = %(d5)s"
    ),
    ("chunk_without_vector", "document_chunks"): (
        "delete from embeddings where document_id = %(d6)s and generation_id = %(live)s"
    ),
    ("chunk_of_unused_cut", "document_chunks"): (
        "insert into document_chunks (id, document_id, version_id, tenant_id, workspace_id, chunker, chunk_index, text,"
        " search_text, page_start, page_end, spans) select 'lone', document_id, id, %(t)s, %(w)s, 'old', 0, 'x', 'x',"
        " 1, 1, '[[1, 0, 1]]' from document_versions where document_id = %(d0)s"
    ),
    ("workspace_without_generation", "workspaces"): (
        "insert into workspaces (tenant_id, name, generation_id) values (%(t)s, 'lost', 1000000)"
    ),
    ("entity_without_mention", "entities"): (
        "insert into entities (id, tenant_id, workspace_id, type, canonical_name, created_at)"
        " values ('lone', %(t)s, %(w)s, 'concept', 'lone', " + OLD + ")"
    ),
    ("event_of_nobody", "events"): (
        "insert into events values ('run:' || %(gone)s, 1, 'x', '{}', %(t)s, %(w)s, " + OLD + ")"
    ),
    ("counter_of_nobody", "event_streams"): (
        "insert into event_streams values ('job:' || gen_random_uuid(), %(t)s, %(w)s, 1)"
    ),
    ("approval_of_ended_run", "approvals"): (
        "insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by, tool,"
        " arguments, digest, expires_at, created_at) values (gen_random_uuid(), %(t)s, %(w)s, %(run)s, 9, %(gone)s,"
        " %(agent)s, %(gone)s, 'x', '{}', 'd', now(), " + OLD + ")"
    ),
    ("run_that_waits_for_nothing", "runs"): (
        "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed,"
        " created_at) select gen_random_uuid(), %(t)s, %(w)s, session_id, agent_id, user_id, 'general', 'waiting',"
        " '{}', 1, " + OLD + " from runs where id = %(run)s"
    ),
    ("event_for_nobody", "outbox"): (
        "insert into outbox (tenant_id, workspace_id, topic, payload, created_at)"
        " values (%(t)s, %(w)s, 'job.queued', '{}', " + OLD + ")"
    ),
    ("run_of_dead_worker", "runs"): (
        "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, seed, owner,"
        " lease_until) select gen_random_uuid(), %(t)s, %(w)s, session_id, agent_id, user_id, 'general', 'running',"
        " '{}', 1, 'dead', " + OLD + " from runs where id = %(run)s"
    ),
    ("due_time_of_dead_worker", "schedules"): (
        "insert into schedules (tenant_id, workspace_id, agent_id, owner_id, role, name, cron, action, next_at, due_at,"
        " lease_until) values (%(t)s, %(w)s, %(agent)s, %(user)s, 'viewer', 's', '* * * * *', 'message', now(), now(), "
        + OLD
        + ")"
    ),
    ("examination_of_dead_worker", "golden_runs"): (
        "update golden_runs set state = 'running', lease_until = " + OLD + " where id in ("
        " select id from golden_runs where workspace_id = %(w)s limit 1)"
    ),
    ("watch_of_nothing", "source_watches"): (
        "with unwatched as (insert into sources (tenant_id, workspace_id, name, kind) values (%(t)s, %(w)s, 's', 'web')"
        " returning id) insert into source_watches (source_id, tenant_id, workspace_id, owner, lease_until)"
        " select id, %(t)s, %(w)s, 'dead', " + OLD + " from unwatched"
    ),
    ("dead_lane_worker", "lane_workers"): "insert into lane_workers values ('dead', 'bulk', " + OLD + ")",
    ("upload_run_out", "upload_sessions"): (
        "insert into upload_sessions (id, tenant_id, workspace_id, protocol, filename, total_bytes, part_bytes,"
        " created_at, expires_at) values (%(upload)s, %(t)s, %(w)s, 'tus', 'a', 10, 5, " + OLD + ", " + OLD + ")"
    ),
    ("setting_of_gone_workspace", "system_settings"): (
        "insert into system_settings (key, value) values ('default_llm_connection_id:' || %(gone)s, '1')"
    ),
}


@dataclass
class PlantedOrphans:
    """What stands there, by check and place."""

    expected: Counter[tuple[str, str]] = field(default_factory=Counter)
    files: list[Path] = field(default_factory=list)

    @property
    def told(self) -> Counter[tuple[str, str]]:
        """What stays after a repair."""
        return Counter({place: count for place, count in self.expected.items() if place[0] in TOLD})


def make_whole(connection: psycopg.Connection[Any], filled: FilledWorkspace) -> int:
    """A filled workspace as a healthy one is: its second generation is ready to be switched to. The live one."""
    given = {"t": filled.scope.tenant, "w": filled.scope.workspace, "chunker": SECOND}
    connection.execute(
        "insert into generation_builds (workspace_id, generation_id, tenant_id, state)"
        " select %(w)s, id, %(t)s, 'ready' from generations where chunker = %(chunker)s",
        given,
    )
    row = connection.execute("select generation_id from workspaces where id = %(w)s", given).fetchone()
    assert row is not None
    return int(row[0])


def plant_rows(connection: psycopg.Connection[Any], filled: FilledWorkspace, live: int) -> PlantedOrphans:
    """One of each kind; `filled` has seven documents or more, none of which is planted into twice."""
    planted, scope = PlantedOrphans(), filled.scope
    given: dict[str, Any] = {"t": scope.tenant, "w": scope.workspace, "live": live, "gone": str(uuid4())}
    given |= {f"d{number}": document for number, document in enumerate(filled.documents)}
    given |= {"run": filled.runs[0], "user": filled.people[0], "upload": str(uuid4())}
    row = connection.execute("select agent_id::text from runs where id = %(run)s", given).fetchone()
    assert row is not None
    given["agent"] = row[0]
    connection.execute("set session_replication_role = replica")
    for place, statement in ROWS.items():
        connection.execute(statement, given)
        planted.expected[place] += 1
    # A page that goes takes the ground from what was found on it.
    connection.execute("delete from pages where document_id = %(d3)s", given)
    planted.expected += Counter(
        {("document_without_pages", "documents"): 1, ("evidence_without_page", "entity_mentions"): 1}
    )
    connection.execute(
        "insert into relations (id, tenant_id, workspace_id, source_id, target_id, type)"
        " select 'lone', %(t)s, %(w)s, a.entity_id, b.entity_id, 'uses' from entity_mentions a, entity_mentions b"
        " where a.document_id = %(d7)s and b.document_id = %(d8)s",
        given,
    )
    planted.expected["relation_without_evidence", "relations"] += 1
    connection.execute(
        "insert into jobs (tenant_id, workspace_id, kind, lane, state, owner, lease_until) select tenant_id, id,"
        " 'ingest', 'bulk', 'running', 'dead', " + OLD + " from workspaces where name = 'lost'"
    )
    planted.expected["job_of_dead_worker", "jobs"] += 1
    connection.execute("set session_replication_role = origin")
    unused = open_generation(connection)
    connection.execute("update generations set created_at = " + OLD + " where id = %s", (unused,))
    connection.execute(
        "insert into embeddings select %(unused)s, chunk_id, document_id, tenant_id, workspace_id, readers, embedding"
        " from embeddings where generation_id = %(live)s and document_id = %(d0)s",
        given | {"unused": unused},
    )
    planted.expected["vector_of_unused_generation", f"embeddings_{unused}"] += 1
    return planted


def plant_files(
    planted: PlantedOrphans, connection: psycopg.Connection[Any], filled: FilledWorkspace, state: Path
) -> None:
    """Bytes of nobody, and rows whose bytes are gone, shorter and others."""
    root, scope = state / "blobs", filled.scope
    inside = root / scope.tenant / scope.workspace
    for path in (inside / uuid4().hex, inside / "members" / "lost", root / scope.tenant / str(uuid4()) / "left"):
        planted.files.append(put_old(path))
    planted.expected["blob_of_nobody", "blobs"] = 3
    put_old(inside / "others" / "report.pdf")  # somebody else's, in a folder that is not ours
    put_new(inside / uuid4().hex)  # on its way in
    planted.files.append(put_old(inside / "staging" / "dead" / "member"))
    planted.files.append(put_old(root / "uploads" / scope.tenant / scope.workspace / str(uuid4()) / "part"))
    planted.expected["staged_folder", "uploads"] = 1
    planted.expected["upload_parts", "uploads"] = 1
    rows = connection.execute(
        "select location from document_versions where workspace_id = %s and document_id = any(%s) order by document_id",
        (scope.workspace, filled.documents[-3:]),
    ).fetchall()
    connection.execute(
        "update document_versions set created_at = " + OLD + " where workspace_id = %s", (scope.workspace,)
    )
    missing, short, other = (root / location.removeprefix("blob:") for (location,) in rows)
    missing.unlink()
    short.write_bytes(short.read_bytes()[:-1])
    other.write_bytes(b"X" + other.read_bytes()[1:])
    for what in ("missing", "size", "hash"):
        planted.expected["row_without_blob", what] = 1


def plant_keys(planted: PlantedOrphans, redis: Redis, scope: Scope) -> None:
    """Keys of Redis about what is gone, and some about what is there."""
    gone, home = str(uuid4()), f"{scope.tenant}:{scope.workspace}"
    redis.zadd(f"aos:memory:{home}:{uuid4()}", {"m": 1})
    redis.zadd(f"aos:memory:{scope.tenant}:{gone}:s", {"m": 1})
    redis.set(f"aos:vectors:{scope.tenant}:{gone}:x", "v")
    redis.set(f"aos:folders:{scope.tenant}:{gone}:x", "v")
    redis.sadd(f"rag_cache:places:{gone}", f"-:{'a' * 32}")
    redis.hset(f"rag_cache:counts:{gone}", "hits", 1)
    redis.set(f"rag_cache:-:{'b' * 32}:{'c' * 16}", b'{}\n{"hits":[{"document_id":"gone"}]}')
    planted.expected["memory_of_gone_workspace", "redis"] = 1
    for check in ("memory_of_gone_session", "vectors_of_gone_workspace", "folders_of_gone_workspace"):
        planted.expected[check, "redis"] = 1
    for check in ("places_of_gone_workspace", "counts_of_gone_workspace", "answer_of_gone_document"):
        planted.expected[check, "redis"] = 1


def plant_index_faults(planted: PlantedOrphans, connection: psycopg.Connection[Any], live: int) -> None:
    """An index that was broken off, one that a partition lacks, and none for BM25."""
    connection.execute("create index broken_off on sessions (title)")
    connection.execute("update pg_index set indisvalid = false where indexrelid = 'broken_off'::regclass")
    connection.execute(f"drop index embeddings_{live}_document_id_idx")
    connection.execute("drop index document_chunks_bm25")
    for check in ("invalid_index", "partition_without_index", "keyword_index_worn"):
        planted.expected[check, "indexes"] = 1


def put_old(path: Path, text: bytes = b"12345") -> Path:
    """A file that nobody has written to for a month."""
    put_new(path, text)
    for one in (path, path.parent):
        os.utime(one, (LONG_AGO, LONG_AGO))
    return path


def put_new(path: Path, text: bytes = b"12345") -> Path:
    """A file that is written just now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path
