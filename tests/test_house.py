"""A stranger finds a behaviour with one guess: behaviours in a user's words, and the file and name that hold each."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

BEHAVIOURS = {
    "A document is read again into a new version; pages that were not asked for are taken over": (
        "pipelines/documents/store/revisions.py::VersionRevisions"
    ),
    "A job is claimed under a lease with a fencing token; a writer whose lease ran out is refused": (
        "cluster/state/work/lease.py::LeaseLedger"
    ),
    "The lanes for small uploads, slow files and bulk: how a worker claims jobs, beats and gives them back": (
        "pipelines/documents/ingest/job_loop.py::JobLoop"
    ),
    "What a waiting job waits for is written down as a reason": "cluster/state/work/wait_reasons.py::list_wait_reasons",
    "Bulk work holds back when memory is short or the machine is busy": (
        "pipelines/documents/ingest/backpressure.py::strain_of"
    ),
    "A dry run of a folder estimates files, pages and seconds": "pipelines/documents/ingest/estimate.py::estimate_scan",
    "`.DS_Store`, `Thumbs.db` and lock files on a share are passed over": (
        "pipelines/documents/sources/housekeeping.py::housekeeping_kind"
    ),
    "The kind of a file is told from its first bytes": "pipelines/documents/sources/sniff.py::sniff_kind",
    "The encoding of a text file is guessed, with a doubt": "pipelines/documents/extract/text/charset.py::decode_bytes",
    "A CSV file's delimiter and header are told": "pipelines/documents/extract/sheets/csv_table.py::find_dialect",
    "Numbers and percentages of a spreadsheet are shown as its format says": (
        "pipelines/documents/extract/sheets/number_format.py::format_number"
    ),
    "Letters of Outlook (.msg) are read": "pipelines/documents/extract/mail/msg.py::open_msg",
    "The reading order of a page with columns": "pipelines/documents/layout/reading_order.py::column_blocks",
    "A PDF page that is a scan with a stamp on it is sent to OCR": (
        "pipelines/documents/extract/pdf/scans.py::PictureReading"
    ),
    "A bad invisible text layer of a scanned PDF is recognised": (
        "pipelines/documents/extract/pdf/ocr_layer.py::is_doubtful"
    ),
    "Hyphens at the ends of lines are joined or kept": "pipelines/documents/extract/pdf/hyphens.py::keeps_hyphen",
    "Arabic and Hebrew of a PDF come in logical order": "pipelines/documents/extract/pdf/bidi.py::in_reading_order",
    "Which OCR engine reads a page, and which comes next when it reads badly": (
        "pipelines/documents/ocr/cascade.py::OcrCascade"
    ),
    "A scanned page is deskewed, cleaned and scaled before OCR": "pipelines/documents/ocr/preprocess.py::prepare_page",
    "A scan in a language whose OCR data is not installed is told": (
        "pipelines/documents/ocr/missing_language.py::missing_language"
    ),
    "A reader child may use so much memory and CPU, then it is killed": (
        "pipelines/documents/guarded_child.py::GuardedChild"
    ),
    "Text is cut into chunks by headings and sentences": "pipelines/documents/chunk/split.py::split_pages",
    "A re-index builds the next generation of vectors beside the live one": (
        "pipelines/documents/index/rebuild.py::IndexRebuild"
    ),
    "Golden questions decide whether a new index may go live": "pipelines/documents/index/gate.py::IndexGate",
    "Damaged or stale BM25 and vector indexes are noticed and rebuilt": (
        "pipelines/documents/index/maintenance.py::IndexMaintenance"
    ),
    "Entities and their relations are extracted by rules": "pipelines/documents/graph/rules.py::EntityRules",
    "Uploaded bytes are kept in a store with keys by tenant": "pipelines/documents/store/blobs.py::BlobStore",
    "Uploads can be kept in S3": "pipelines/documents/store/s3_blobs.py::BucketBlobs",
    "Readers get local copies of what is kept elsewhere": "pipelines/documents/store/file_cache.py::FileCache",
    "An upload in parts goes on after a cut": ("pipelines/documents/store/uploads/upload_sessions.py::UploadSessions"),
    "Parts of uploads that nobody goes on with are removed": (
        "pipelines/documents/store/uploads/upload_sweep.py::UploadSweeper"
    ),
    "The parts of an upload are compared and put together": (
        "serve_apps/http/routes/uploads/upload_completion.py::UploadAssembly"
    ),
    "Documents are linked to agents": "pipelines/documents/store/agent_links.py::AgentLinks",
    "Agents are listed, made, changed and deleted, and found by id or name": "cluster/state/agent_store.py::AgentStore",
    "Keyword and vector rankings are fused (reciprocal rank fusion)": "serve_apps/retrieval/search/fuse.py::RankFusion",
    "No single document fills the first results (diversification)": (
        "serve_apps/retrieval/search/diversify.py::spread_out"
    ),
    "The best passages are packed into the context budget": "serve_apps/retrieval/search/pack.py::choose_chunks",
    "Results are reranked by a cross-encoder": "serve_apps/retrieval/search/rerank.py::PassageJudge",
    "A question is expanded with variations written by a model (HyDE)": (
        "serve_apps/retrieval/search/expand.py::QueryEnhancer"
    ),
    "Quoted phrases and identifiers of a question are matched literally": (
        "serve_apps/retrieval/text/literals.py::find_literals"
    ),
    "An answer says 'not found in the documents'": "serve_apps/retrieval/answers/abstain.py::abstention_reason",
    "Passages that contradict each other are told": "serve_apps/retrieval/answers/conflicts.py::find_contradictions",
    "A quote of the model is checked against the page before it is cited": (
        "serve_apps/retrieval/answers/quote.py::locate_quote"
    ),
    "A paraphrased question is answered out of the semantic cache": (
        "serve_apps/retrieval/cache/semantic_cache.py::SemanticCache"
    ),
    "A chat message is accepted: agent and session found, routed, stored with its run": (
        "serve_apps/agents/intake/turn_intake.py::TurnIntake"
    ),
    "Whether a message is about figures, documents or neither is decided by rule": (
        "serve_apps/agents/intake/path_router.py::route_message"
    ),
    "The loop of an agent's turn: ask the model, call tools, observe": (
        "serve_apps/agents/turn/agent_loop.py::Conversation"
    ),
    "Tool calls are held back out of the streamed text": "serve_apps/agents/turn/stream_filter.py::StreamFilter",
    "Tool calls in a model's text are parsed, whatever syntax it uses": (
        "serve_apps/agents/parsing/parse_reply.py::parse_reply"
    ),
    "A run is replayed from its journal without a network": "serve_apps/agents/durable/replay.py::Replayer",
    "A tool call is allowed, refused or put before a person, by the list of patterns": (
        "serve_apps/agents/approval.py::ApprovalPolicy"
    ),
    "An agent asks the user a question and goes on with the reply": "serve_apps/agents/inquiries/inquiry.py::Inquiry",
    "Earlier conversations are remembered as episodes": "serve_apps/agents/memory/episodic.py::EpisodicMemory",
    "Personal data and injections are kept out of memory": "serve_apps/agents/memory/memory_guard.py::guard_text",
    "A conversation that grows long is summarised": "serve_apps/agents/memory/summary.py::ConversationSummariser",
    "A plan of several steps is made for a complex message": "serve_apps/agents/planning/planner.py::make_plan",
    "Agents are run at set times": "serve_apps/agents/schedules/scheduler.py::Scheduler",
    "Guesses at a password are slowed": "serve_apps/http/auth/throttle.py::LoginThrottle",
    "Which role may call which route": "serve_apps/http/auth/permissions.py::AccessRule",
    "Access tokens end with a logout or a new password": "serve_apps/http/auth/revocation.py::RevocationWatch",
    "Searches and answers beyond what can be answered get 429": "serve_apps/http/admission.py::AdmissionQueue",
    "A workspace or tenant is deleted with all that belongs to it": (
        "serve_apps/governance/workspace_eraser.py::DataEraser"
    ),
    "Documents and people are erased with a signed receipt": "serve_apps/governance/erasures.py::DataErasure",
    "What was erased is looked for afterwards": "serve_apps/governance/probe.py::ErasureProbe",
    "A legal hold keeps an object": "serve_apps/governance/holds.py::LegalHolds",
    "The use of documents in answers is counted beside them": (
        "pipelines/documents/usage/usage_recorder.py::UsageRecorder"
    ),
    "Documents are counted by state, kind, source and workspace": (
        "pipelines/documents/usage/document_analytics.py::DocumentAnalytics"
    ),
    "Orphans of every kind in what is stored are found, and mended where that is safe": (
        "serve_apps/integrity/deep_examination.py::examine_deeply"
    ),
    "Orphans of uploads are found and removed": "pipelines/documents/repair/storage_repair.py::repair_storage",
    "What is older than its period is deleted": "serve_apps/governance/retention.py::RetentionProcess",
    "Errors become problem+json": "serve_apps/http/problems.py::problem_response",
    "Requests of skills to private addresses are refused (SSRF)": "skills/http_client/guard.py::check_addresses",
    "Python of a skill runs in a sandbox of system-call filters": "skills/sandbox/filter.py::filter_program",
    "Secrets are redacted from what a skill prints": "skills/framework/redaction.py::SecretRedactor",
    "The order in which an agent's model connections are tried": "cluster/models/routing/fallback_order.py::plan_route",
    "Credentials are sealed at rest": "cluster/state/vault.py::Vault",
    "A person connects a service with their own account by OAuth, and agents use it as them": (
        "skills/oauth/oauth_connections.py::OAuthConnections"
    ),
    "The authorization server of an MCP server is discovered": ("skills/oauth/authorization_server.py::find_server"),
    "The audit log is a chain of hashes": "cluster/state/audit.py::AuditLog",
    "The program starts its own Postgres and Valkey": "cluster/state/db/embedded.py::start_servers",
    "Which tables a migration locks, and whether old code runs beside it": (
        "cluster/state/db/migration_files.py::MigrationFile"
    ),
    "An upgrade is looked at before it is done": "cluster/state/db/upgrade_check.py::check_upgrade",
    "The database goes to another major version of PostgreSQL": (
        "cluster/state/backup/database_load.py::load_database"
    ),
    "Parts that no longer answer are noticed and ended": "cluster/health_rounds.py::LivenessRounds",
    "A Postgres or Valkey that hangs is begun anew; external ones are only reported": (
        "cluster/watch/servers.py::ServerWatch"
    ),
    "Faults are done to a running instance on purpose, by a plan": "cluster/faults/campaign.py::FaultCampaign",
    "What a killed `aos chaos` left stopped or full is undone": "cluster/faults/harm_record.py::undo_leftovers",
    "Settings come from YAML, rows and the environment": "configs/settings.py::load_settings",
}


@pytest.mark.parametrize(("behaviour", "place"), BEHAVIOURS.items(), ids=BEHAVIOURS.values())
def test_a_behaviour_is_where_a_stranger_looks_for_it(behaviour: str, place: str) -> None:
    path, name = place.split("::")
    assert (ROOT / path).is_file(), behaviour
    defined = {getattr(node, "name", None) for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body}
    assert name in defined, f"{behaviour}: {path} defines no {name}"


def test_each_file_is_named_once() -> None:
    assert len({place.split("::")[0] for place in BEHAVIOURS.values()}) == len(BEHAVIOURS) >= 60
