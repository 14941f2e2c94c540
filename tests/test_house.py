"""A stranger finds a behaviour with one guess: behaviours in a user's words, and the file that holds each."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BEHAVIOURS = {
    "A job is claimed under a lease with a fencing token; a writer whose lease ran out is refused": (
        "cluster/state/work/lease.py"
    ),
    "The lanes for small uploads, slow files and bulk: how a worker claims jobs, beats and gives them back": (
        "pipelines/documents/ingest/job_loop.py"
    ),
    "What a waiting job waits for is written down as a reason": "cluster/state/work/wait_reasons.py",
    "Bulk work holds back when memory is short or the machine is busy": "pipelines/documents/ingest/backpressure.py",
    "A dry run of a folder estimates files, pages and seconds": "pipelines/documents/ingest/estimate.py",
    "`.DS_Store`, `Thumbs.db` and lock files on a share are passed over": "pipelines/documents/sources/housekeeping.py",
    "The kind of a file is told from its first bytes": "pipelines/documents/sources/sniff.py",
    "The encoding of a text file is guessed, with a doubt": "pipelines/documents/extract/text/charset.py",
    "A CSV file's delimiter and header are told": "pipelines/documents/extract/sheets/csv_table.py",
    "Numbers and percentages of a spreadsheet are shown as its format says": (
        "pipelines/documents/extract/sheets/number_format.py"
    ),
    "Letters of Outlook (.msg) are read": "pipelines/documents/extract/mail/msg.py",
    "The reading order of a PDF page with columns": "pipelines/documents/extract/pdf/columns.py",
    "A PDF page that is a scan with a stamp on it is sent to OCR": "pipelines/documents/extract/pdf/scans.py",
    "A bad invisible text layer of a scanned PDF is recognised": "pipelines/documents/extract/pdf/ocr_layer.py",
    "Hyphens at the ends of lines are joined or kept": "pipelines/documents/extract/pdf/hyphens.py",
    "Arabic and Hebrew of a PDF come in logical order": "pipelines/documents/extract/pdf/bidi.py",
    "Which OCR engine reads a page, and which comes next when it reads badly": "pipelines/documents/ocr/cascade.py",
    "A scanned page is deskewed, cleaned and scaled before OCR": "pipelines/documents/ocr/preprocess.py",
    "A scan in a language whose OCR data is not installed is told": "pipelines/documents/ocr/missing_language.py",
    "A reader child may use so much memory and CPU, then it is killed": "pipelines/documents/guarded_child.py",
    "Text is cut into chunks by headings and sentences": "pipelines/documents/chunk/split.py",
    "A re-index builds the next generation of vectors beside the live one": "pipelines/documents/index/rebuild.py",
    "Golden questions decide whether a new index may go live": "pipelines/documents/index/gate.py",
    "Damaged or stale BM25 and vector indexes are noticed and rebuilt": "pipelines/documents/index/maintenance.py",
    "Entities and their relations are extracted by rules": "pipelines/documents/graph/rules.py",
    "Uploaded bytes are kept in a store with keys by tenant": "pipelines/documents/store/blobs.py",
    "Documents are linked to agents": "pipelines/documents/store/agent_links.py",
    "Agents are listed, made, changed and deleted, and found by id or name": "cluster/state/agent_store.py",
    "Keyword and vector rankings are fused (reciprocal rank fusion)": "serve_apps/retrieval/search/fuse.py",
    "No single document fills the first results (diversification)": "serve_apps/retrieval/search/diversify.py",
    "The best passages are packed into the context budget": "serve_apps/retrieval/search/pack.py",
    "Results are reranked by a cross-encoder": "serve_apps/retrieval/search/rerank.py",
    "A question is expanded with variations written by a model (HyDE)": "serve_apps/retrieval/search/expand.py",
    "Quoted phrases and identifiers of a question are matched literally": "serve_apps/retrieval/text/literals.py",
    "An answer says 'not found in the documents'": "serve_apps/retrieval/answers/abstain.py",
    "Passages that contradict each other are told": "serve_apps/retrieval/answers/conflicts.py",
    "A quote of the model is checked against the page before it is cited": "serve_apps/retrieval/answers/quote.py",
    "A paraphrased question is answered out of the semantic cache": "serve_apps/retrieval/cache/semantic_cache.py",
    "A chat message is accepted: agent and session found, routed, stored with its run": (
        "serve_apps/agents/intake/turn_intake.py"
    ),
    "Whether a message is about figures, documents or neither is decided by rule": (
        "serve_apps/agents/intake/path_router.py"
    ),
    "The loop of an agent's turn: ask the model, call tools, observe": "serve_apps/agents/turn/agent_loop.py",
    "Tool calls are held back out of the streamed text": "serve_apps/agents/turn/stream_filter.py",
    "Tool calls in a model's text are parsed, whatever syntax it uses": "serve_apps/agents/parsing/parse_reply.py",
    "A run is replayed from its journal without a network": "serve_apps/agents/durable/replay.py",
    "A tool call is allowed, refused or put before a person, by the list of patterns": "serve_apps/agents/approval.py",
    "An agent asks the user a question and goes on with the reply": "serve_apps/agents/inquiries/inquiry.py",
    "Earlier conversations are remembered as episodes": "serve_apps/agents/memory/episodic.py",
    "Personal data and injections are kept out of memory": "serve_apps/agents/memory/memory_guard.py",
    "A conversation that grows long is summarised": "serve_apps/agents/memory/summary.py",
    "A plan of several steps is made for a complex message": "serve_apps/agents/planning/planner.py",
    "Agents are run at set times": "serve_apps/agents/schedules/scheduler.py",
    "Guesses at a password are slowed": "serve_apps/http/auth/throttle.py",
    "Which role may call which route": "serve_apps/http/auth/permissions.py",
    "Access tokens end with a logout or a new password": "serve_apps/http/auth/revocation.py",
    "Searches beyond what can be answered get 429": "serve_apps/http/admission.py",
    "A workspace or tenant is deleted with all that belongs to it": "serve_apps/http/erasure.py",
    "Errors become problem+json": "serve_apps/http/problems.py",
    "Requests of skills to private addresses are refused (SSRF)": "skills/http_client/guard.py",
    "Python of a skill runs in a sandbox of system-call filters": "skills/sandbox/filter.py",
    "Secrets are redacted from what a skill prints": "skills/framework/redaction.py",
    "The order in which an agent's model connections are tried": "cluster/models/routing/fallback_order.py",
    "Credentials are sealed at rest": "cluster/state/vault.py",
    "The audit log is a chain of hashes": "cluster/state/audit.py",
    "The program starts its own Postgres and Valkey": "cluster/state/db/embedded.py",
    "Parts that no longer answer are noticed and ended": "cluster/health_rounds.py",
    "A Postgres or Valkey that hangs is begun anew; external ones are only reported": "cluster/watch/servers.py",
    "Settings come from YAML, rows and the environment": "configs/settings.py",
}


@pytest.mark.parametrize(("behaviour", "path"), BEHAVIOURS.items(), ids=BEHAVIOURS.values())
def test_a_behaviour_is_where_a_stranger_looks_for_it(behaviour: str, path: str) -> None:
    assert (ROOT / path).is_file(), behaviour


def test_each_file_is_named_once() -> None:
    assert len(set(BEHAVIOURS.values())) == len(BEHAVIOURS) >= 60
