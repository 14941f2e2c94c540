"""A workspace full of what an erasure has to find: documents of two generations, records, bytes, Redis."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
from redis.asyncio import Redis

from cluster.basics.scope import Role, Scope
from serve_apps.retrieval.cache.cache_scope import registry_of
from tests.fakes.corpus import Book, Passage, hash_vector, load, open_agent, open_generation
from tests.fakes.http import Office

SECOND = "other-chunker"


def words_of(number: int, kind: str = "contract") -> str:
    """Sentences that no other document has."""
    return (
        f"The {kind} numbered {number} obliges party alpha{number} to deliver {number} crates of juniper{number} before"
        f" noon{number}. Whoever reads clause{number} knows that the penalty{number} is {number * 17} crowns each day."
    )


@dataclass
class FilledWorkspace:
    """What was put in: documents by number, people with one conversation each, by user id."""

    scope: Scope
    documents: list[str] = field(default_factory=list)
    people: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)


def fill(
    admin_dsn: str, office: Office, folder: Path, documents: int, people: int, *, first: int = 0
) -> FilledWorkspace:
    """Rows straight into Postgres, bytes into the folder of uploads."""
    made = FilledWorkspace(office.scope)
    with psycopg.connect(admin_dsn) as connection:
        agent = open_agent(connection, office.scope, f"agent{first}")
        live = open_generation(connection, office.scope)
        building = open_generation(connection, chunker=SECOND)
        books = [
            Book(
                f"paper-{number}.txt",
                [Passage(words_of(number), vector=hash_vector(words_of(number)))],
                version=sha256(words_of(number).encode()).hexdigest(),
            )
            for number in range(first, first + documents)
        ]
        made.documents = load(connection, office.scope, live, books)
        for number, document in enumerate(made.documents, first):
            _more_of_document(connection, office.scope, folder, document, number, building)
        for number in range(first, first + people):
            user, run = _person(connection, office, agent, number, made.documents[(number - first) % documents])
            made.people.append(user)
            made.runs.append(run)
    return made


def _more_of_document(
    connection: psycopg.Connection[Any], scope: Scope, folder: Path, document: str, number: int, building: int
) -> None:
    text, key = words_of(number), f"{scope.tenant}/{scope.workspace}/{uuid4().hex}"
    (folder / "blobs" / key).parent.mkdir(parents=True, exist_ok=True)
    (folder / "blobs" / key).write_bytes(text.encode())
    staged = folder / "blobs" / scope.tenant / scope.workspace / "staging" / f"job{number}"
    staged.mkdir(parents=True)
    (staged / "copy").write_bytes(text.encode())
    version = connection.execute(
        "update document_versions set location = %s, file_size = %s where document_id = %s returning id",
        (f"blob:{key}", len(text.encode()), document),
    ).fetchone()
    assert version is not None
    ids = {"t": scope.tenant, "w": scope.workspace, "d": document, "v": version[0], "text": text, "g": building}
    ids |= {"c": uuid4().hex, "json": json.dumps({"cells": [text]}), "n": number, "job": uuid4(), "name": f"e{number}"}
    ids |= {"entity": uuid4().hex, "vector": "[" + ",".join(["0.1"] * _dimension(connection, building)) + "]"}
    ids |= {"set": uuid4(), "gold": uuid4(), "run": uuid4(), "chunker": SECOND, "file": f"paper-{number}.txt"}
    ids |= {"origin": f"upload:paper-{number}.txt", "extraction": uuid4()}
    ids |= {"unit": json.dumps({"filename": f"paper-{number}.txt"})}
    for statement in (
        "insert into document_chunks (id, document_id, version_id, tenant_id, workspace_id, chunker, chunk_index, text,"
        " search_text, page_start, page_end, spans)"
        " values (%(c)s, %(d)s, %(v)s, %(t)s, %(w)s, %(chunker)s, 0, %(text)s, %(text)s, 1, 1, '[[1, 0, 9]]')",
        "insert into embeddings values (%(g)s, %(c)s, %(d)s, %(t)s, %(w)s, '{}', %(vector)s)",
        "insert into indexed_versions values (%(g)s, %(v)s, %(d)s, %(t)s, %(w)s, 0, 1, true)",
        "insert into page_tables values (%(v)s, 1, 1, %(d)s, %(t)s, %(w)s, '{a}', 1, %(json)s)",
        "insert into page_corrections (document_id, version_id, file_hash, page, revision, tenant_id, workspace_id,"
        " line,"
        " start_at, text_before, text_after, whole, reembedded, searchable) values"
        " (%(d)s, %(v)s, 'h', 1, 1, %(t)s, %(w)s, 0, 0, %(text)s, %(text)s, true, 0, 'words')",
        "insert into extraction_runs (id, tenant_id, workspace_id, document_id, version_id, schema_hash)"
        " values (%(extraction)s, %(t)s, %(w)s, %(d)s, %(v)s, 'h')",
        "insert into extraction_fields (run_id, ordinal, tenant_id, workspace_id, path, state, value)"
        " values (%(extraction)s, 1, %(t)s, %(w)s, '/a', 'found', %(json)s)",
        "insert into entities (id, tenant_id, workspace_id, type, canonical_name)"
        " values (%(entity)s, %(t)s, %(w)s, 'organization', %(name)s)",
        "insert into entity_mentions (entity_id, version_id, page, document_id, tenant_id, workspace_id, type,"
        " name, alias,"
        " start_at, end_at, quote_start, quote_end, occurrences, confidence, found_by) values"
        " (%(entity)s, %(v)s, 1, %(d)s, %(t)s, %(w)s, 'organization', %(name)s, %(name)s, 0, 1, 0, 9, 1, 1, 'rule')",
        "insert into jobs (id, tenant_id, workspace_id, kind, lane, state, payload)"
        " values (%(job)s, %(t)s, %(w)s, 'ingest', 'small', 'completed', %(unit)s)",
        "insert into units (job_id, stage, key, subject, tenant_id, workspace_id, payload, status)"
        " values (%(job)s, 'survey', %(origin)s, %(origin)s, %(t)s, %(w)s, %(unit)s, 'done')",
        "insert into units (job_id, stage, key, subject, tenant_id, workspace_id, status)"
        " values (%(job)s, 'index', %(v)s, %(v)s, %(t)s, %(w)s, 'done')",
        "insert into events (stream, seq, type, payload, tenant_id, workspace_id)"
        " values ('job:' || %(job)s, 1, 'document', jsonb_build_object('document_id', %(d)s::text), %(t)s, %(w)s)",
        "insert into golden_sets (id, tenant_id, workspace_id, name) values (%(set)s, %(t)s, %(w)s, %(name)s)",
        "insert into golden_questions (id, set_id, tenant_id, workspace_id, key, question, documents, passages)"
        " values (%(gold)s, %(set)s, %(t)s, %(w)s, 'k', 'What is due?', array[%(file)s], array[%(text)s])",
        "insert into golden_runs (id, set_id, tenant_id, workspace_id, state, options, settings, fingerprint, total)"
        " values (%(run)s, %(set)s, %(t)s, %(w)s, 'completed', '{}', '{}', 'f', 1)",
        "insert into golden_results (run_id, key, tenant_id, workspace_id, position, question, measured, retrieved,"
        " mode,"
        " answer) values (%(run)s, 'k', %(t)s, %(w)s, 1, 'q', '{}', array[%(d)s], 'extractive', %(text)s)",
    ):
        connection.execute(statement, ids)


def _dimension(connection: psycopg.Connection[Any], generation: int) -> int:
    row = connection.execute("select dimension from generations where id = %s", (generation,)).fetchone()
    assert row is not None
    return int(row[0])


def _person(
    connection: psycopg.Connection[Any], office: Office, agent: str, number: int, document: str
) -> tuple[str, str]:
    """An account with a conversation about a document: question, journal, events, answer, approval, memory."""
    scope, user, session, run = office.scope, str(uuid4()), str(uuid4()), str(uuid4())
    email = f"person{number}@{office.name}.example"
    quote = connection.execute("select text from pages where document_id = %s", (document,)).fetchone()
    assert quote is not None
    found = {"passages": [{"document_id": document, "text": quote[0]}]}
    ids: dict[str, Any] = {"t": scope.tenant, "w": scope.workspace, "u": user, "s": session, "r": run, "a": agent}
    ids |= {"d": document, "email": email, "found": json.dumps(found), "text": quote[0], "n": number}
    ids |= {"said": json.dumps({"text": f"What does contract {number} ask of me?", "findings": {}})}
    ids |= {"reply": json.dumps({"text": quote[0], "findings": {}}), "reader": f"user:{email}", "id": uuid4()}
    ids |= {"stream": f"run:{run}", "own": uuid4().hex, "detail": json.dumps({"email": email, "role": "viewer"})}
    for statement in (
        "insert into users (id, tenant_id, email, password_hash, role) values (%(u)s, %(t)s, %(email)s, 'x', 'viewer')",
        "insert into memberships values (%(u)s, %(w)s, %(t)s, 'viewer')",
        "insert into api_keys (tenant_id, workspace_id, user_id, name, prefix, hash, role)"
        " values (%(t)s, %(w)s, %(u)s, 'k', 'p', %(own)s, 'viewer')",
        "insert into external_accounts (tenant_id, issuer, subject, provider, user_id)"
        " values (%(t)s, 'https://idp.example', %(email)s, 'idp', %(u)s)",
        "insert into sessions (id, tenant_id, workspace_id, agent_id, user_id, title)"
        " values (%(s)s, %(t)s, %(w)s, %(a)s, %(u)s, 'Contract')",
        "insert into messages values (%(s)s, 1, %(t)s, %(w)s, 'user', %(said)s)",
        "insert into messages (session_id, seq, tenant_id, workspace_id, role, content, run_id)"
        " values (%(s)s, 2, %(t)s, %(w)s, 'assistant', %(reply)s, %(r)s)",
        "insert into session_summaries values (%(s)s, %(t)s, %(w)s, 2, %(text)s)",
        "insert into episodes (session_id, tenant_id, workspace_id, upto_seq, text)"
        " values (%(s)s, %(t)s, %(w)s, 2, %(text)s)",
        "insert into facts (tenant_id, workspace_id, session_id, user_id, category, importance, fact)"
        " values (%(t)s, %(w)s, %(s)s, %(u)s, 'topic', 'high', %(text)s)",
        "insert into runs (id, tenant_id, workspace_id, session_id, agent_id, user_id, path, state, input, outcome,"
        " seed)"
        " values (%(r)s, %(t)s, %(w)s, %(s)s, %(a)s, %(u)s, 'documents', 'completed', %(said)s, %(reply)s, 1)",
        "insert into run_steps (run_id, seq, tenant_id, workspace_id, kind, name, request, request_hash, state, reply)"
        " values (%(r)s, 1, %(t)s, %(w)s, 'search', 'passages', %(said)s, 'h', 'done', %(found)s)",
        "insert into event_streams values (%(stream)s, %(t)s, %(w)s, 1)",
        "insert into events (stream, seq, type, payload, tenant_id, workspace_id)"
        " values (%(stream)s, 1, 'passages', %(found)s, %(t)s, %(w)s)",
        "insert into approvals (id, tenant_id, workspace_id, run_id, step, session_id, agent_id, requested_by, tool,"
        " arguments, digest, state, expires_at) values (%(id)s, %(t)s, %(w)s, %(r)s, 2, %(s)s, %(a)s, %(u)s,"
        " 'http_post', %(found)s, 'd', 'approved', now())",
        "insert into run_feedback (run_id, user_id, tenant_id, workspace_id, thumb, word)"
        " values (%(r)s, %(u)s, %(t)s, %(w)s, 'up', 'good')",
        "insert into answers (id, tenant_id, workspace_id, readers, user_id, agent_id, run_id, question, question_hash,"
        " mode, corpus_version, claims) values (%(r)s, %(t)s, %(w)s, array[%(reader)s], %(u)s, %(a)s, %(r)s, 'What?',"
        " 'h', 'extractive', 1, jsonb_build_array(jsonb_build_object('text', %(text)s::text)))",
        "insert into answer_citations values (%(r)s, 1, %(t)s, %(w)s, %(d)s, 'v', 'c', 1, 0, 9, 'h')",
        "select set_config('aos.tenant', %(t)s, true), append_audit('worker', 'user.add', %(u)s, 'done', %(detail)s)",
    ):
        connection.execute(statement, ids)
    return user, run


async def remember(redis: Redis, made: FilledWorkspace, text: str) -> None:
    """What Redis holds of a workspace, in the product's keys."""
    home = f"{made.scope.tenant}:{made.scope.workspace}"
    await redis.zadd(f"aos:memory:{home}:s1", {json.dumps([1, "assistant", text]): 1})
    await redis.zadd("aos:memory:lru", {f"aos:memory:{home}:s1": 1})
    await redis.set(f"aos:vectors:{home}:x", "vector")
    place = f"rag_cache:-:{sha256(home.encode()).hexdigest()[:32]}"
    await redis.sadd(registry_of(made.scope.workspace), place)
    await redis.set(f"{place}:entry", json.dumps({"document_id": made.documents[0], "text": text}))


def table_hashes(admin_dsn: str, tenant: str) -> dict[str, str]:
    """A digest of every row that a tenant has, by table."""
    with psycopg.connect(admin_dsn) as connection:
        tables = connection.execute(
            "select c.table_name from information_schema.columns c join information_schema.tables t using (table_name)"
            " where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name = 'tenant_id'"
        ).fetchall()
        digests = {}
        for (table,) in sorted(tables):
            digest = "md5(coalesce(string_agg(x::text, '|' order by x::text), ''))"
            query = f"select {digest} from {table} x where tenant_id = %s"
            row = connection.execute(query.encode(), (tenant,)).fetchone()
            digests[table] = str(row[0]) if row else ""
    return digests


def admin_of(admin_dsn: str, office: Office) -> str:
    """The user id of the office's administrator."""
    with psycopg.connect(admin_dsn) as connection:
        row = connection.execute("select id from users where email = %s", (office.emails[Role.ADMIN],)).fetchone()
    assert row is not None
    return str(row[0])
