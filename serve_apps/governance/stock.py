"""The stock list: every table, whether it holds content of documents or of people, and what an erasure does with it."""

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Holding(StrEnum):
    """The sort of content that a table holds."""

    DOCUMENT = "document"  # rows of one document: they go with it
    PERSON = "person"  # rows of one account: they go with it
    RECORD = "record"  # what was said and done: may quote documents and name people
    CONFIGURATION = "configuration"  # what people wrote for the product: looked through, reported, never changed
    LEDGER = "ledger"  # on record for good: names people by id; a name in it is redacted
    NEITHER = "neither"


class Remedy(StrEnum):
    """The treatment of a record that holds what is erased."""

    DELETE = "delete"  # the row
    REDACT = "redact"  # the texts in it; the row keeps its shape
    RUN = "run"  # the run with its journal and its events, where it is about a document; of a person the texts alone


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """A table of records: the columns that are looked through, and the primary key.

    Attributes:
        run: the column, or an expression, that names the run; "" where it has none.
        derived: columns that were made from the text, with what stands there once the text was redacted.
    """

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    remedy: Remedy
    run: str = ""
    derived: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class StockEntry:
    """A table; `people` are columns with ids of accounts that are emptied when the account goes."""

    holding: Holding
    people: tuple[str, ...] = ()


def _entries(holding: Holding, *tables: str, people: tuple[str, ...] = ()) -> dict[str, StockEntry]:
    return dict.fromkeys(tables, StockEntry(holding, people))


_OF_EVENT: Final = "case when stream like 'run:%%' then substr(stream, 5) end"

_UNMADE: Final = (("embedding", None), ("made_with", ""))  # a vector is made anew

RECORDS: Final[tuple[RecordPlace, ...]] = (
    RecordPlace("runs", ("id",), ("input", "outcome", "error"), Remedy.RUN, "id::text"),
    RecordPlace("run_steps", ("run_id", "seq"), ("request", "reply"), Remedy.RUN, "run_id::text"),
    RecordPlace(
        "approvals", ("id",), ("arguments", "decided_arguments", "reason", "notes"), Remedy.RUN, "run_id::text"
    ),
    RecordPlace("events", ("stream", "seq"), ("payload",), Remedy.RUN, _OF_EVENT),
    RecordPlace("messages", ("session_id", "seq"), ("content",), Remedy.REDACT, "run_id::text"),
    RecordPlace("run_feedback", ("run_id", "user_id"), ("word",), Remedy.REDACT),
    RecordPlace("sessions", ("id",), ("title",), Remedy.REDACT),
    RecordPlace("session_summaries", ("session_id",), ("summary",), Remedy.DELETE),
    RecordPlace("episodes", ("session_id",), ("text",), Remedy.DELETE, derived=_UNMADE),
    RecordPlace("facts", ("id",), ("fact",), Remedy.DELETE, derived=_UNMADE),
    RecordPlace(
        "answers",
        ("id",),
        ("question", "claims", "conflicts", "dropped", "search", "calculation", "readers"),
        Remedy.DELETE,
        "run_id::text",
    ),
    RecordPlace("golden_questions", ("id",), ("question", "documents", "passages", "answers"), Remedy.DELETE),
    RecordPlace(
        "golden_results",
        ("run_id", "key"),
        ("question", "retrieved", "answer", "failures", "measured", "engines"),
        Remedy.DELETE,
    ),
    RecordPlace("golden_runs", ("id",), ("options", "settings", "figures", "failures"), Remedy.REDACT),
    RecordPlace("generation_builds", ("workspace_id", "generation_id"), ("report",), Remedy.REDACT),
    RecordPlace("academy_enrolments", ("agent_id",), ("quiz",), Remedy.REDACT),
    RecordPlace("academy_reports", ("id",), ("report",), Remedy.REDACT),
    RecordPlace("jobs", ("id",), ("payload", "error"), Remedy.REDACT),
    RecordPlace(
        "units", ("job_id", "stage", "key"), ("key", "subject", "payload", "failure", "caveats"), Remedy.DELETE
    ),
    RecordPlace("sources", ("id",), ("waiting", "last_plan", "last_error"), Remedy.REDACT),
    # The id of an item stays: it keeps a document away that was erased while its source still has it.
    RecordPlace("source_items", ("source_id", "item_id"), ("path", "rights", "error"), Remedy.REDACT),
    RecordPlace("outbox", ("id",), ("payload",), Remedy.DELETE),
    RecordPlace("schedule_runs", ("id",), ("error",), Remedy.REDACT),
    RecordPlace("upload_sessions", ("id",), ("filename", "options", "reason", "document_id"), Remedy.DELETE),
)

# What people wrote for the product may quote a document: a person has to look at it.
WRITTEN: Final[tuple[RecordPlace, ...]] = (
    RecordPlace("agents", ("id",), ("name", "description", "system_prompt", "config", "metadata"), Remedy.REDACT),
    RecordPlace("skills", ("id",), ("manifest", "body", "code"), Remedy.REDACT),
    RecordPlace("schedules", ("id",), ("name", "payload"), Remedy.REDACT),
    RecordPlace("golden_sets", ("id",), ("name", "description"), Remedy.REDACT),
)

STOCK: Final = MappingProxyType(
    {
        **_entries(
            Holding.DOCUMENT,
            *("document_versions", "document_chunks", "embeddings", "indexed_versions", "document_agent_links"),
            *("page_tables", "entity_mentions", "relation_evidence", "graph_versions", "entities", "relations"),
            *("extraction_fields", "answer_citations", "document_principals"),
            *("document_usage", "context_usage"),  # of answers, and of nobody who asked
        ),
        **_entries(Holding.DOCUMENT, "documents", people=("created_by",)),
        **_entries(Holding.DOCUMENT, "pages", people=("reviewed_by",)),
        **_entries(Holding.DOCUMENT, "page_corrections", "extraction_runs", people=("user_id",)),
        **_entries(
            Holding.PERSON,
            *("users", "memberships", "refresh_tokens", "api_keys", "external_accounts", "group_members"),
            *("sign_in_handoffs", "scim_people", "provider_sessions", "rate_limits"),
            *("oauth_attempts", "oauth_connections"),
        ),
        **{place.table: StockEntry(Holding.RECORD) for place in RECORDS},
        **_entries(Holding.RECORD, "run_secrets"),  # sealed; they go with their run
        **_entries(Holding.RECORD, "golden_questions", "golden_runs", "jobs", "sources", people=("created_by",)),
        **_entries(Holding.RECORD, "generation_builds", people=("forced_by",)),
        **_entries(Holding.RECORD, "upload_sessions", people=("user_id",)),
        **_entries(Holding.RECORD, "academy_enrolments", people=("enrolled_by",)),
        **_entries(Holding.RECORD, "academy_reports", people=("asked_by",)),
        **_entries(Holding.RECORD, "approvals", people=("reviewer",)),
        **{place.table: StockEntry(Holding.CONFIGURATION) for place in WRITTEN},
        **_entries(
            Holding.CONFIGURATION,
            *(
                "groups",
                "llm_connections",
                "system_settings",
                "workspaces",
                "tenants",
                "restart_needs",
                "folder_readers",
                "webhooks",
                "webhook_secrets",
            ),
        ),
        **_entries(Holding.CONFIGURATION, "skills", "golden_sets", people=("created_by",)),
        **_entries(Holding.CONFIGURATION, "credentials", "credential_bindings", people=("created_by",)),
        **_entries(Holding.CONFIGURATION, "agent_skills", people=("attached_by",)),
        **_entries(Holding.CONFIGURATION, "restarts", people=("asked_by",)),
        **_entries(Holding.CONFIGURATION, "retention_rules", people=("set_by",)),
        **_entries(Holding.LEDGER, "audit", "audit_anchors", "audit_redactions", "legal_holds", "erasures"),
        **_entries(Holding.LEDGER, "governance_policies"),  # versions that nobody may change
        **_entries(
            Holding.NEITHER,
            *("generations", "event_streams", "schema_migrations", "index_faults", "keyword_index_made"),
            *("lane_workers", "settings_version", "spend", "tenant_pages", "tenant_turns", "vision_pages"),
            "workspace_turns",
            *("job_progress", "job_partitions", "retention_turns", "audit_cursors", "classification_turns"),
            "freed_blobs",  # keys of files that nobody has any more
            "provider_logouts",  # what a provider calls sessions and people, for an hour
            *("webhook_deliveries", "event_receipts"),
            "source_watches",  # who watches a source; it goes with that
            "upload_parts",  # numbers and checksums; they go with their session
            "resource_usage",  # a tenant's use does not shrink when somebody goes, whose id leads nowhere then
        ),
    }
)

# Tables with a `document_id` of their own; each is counted before the document goes.
OF_DOCUMENT: Final = (
    *("document_versions", "pages", "document_chunks", "embeddings", "indexed_versions", "document_agent_links"),
    *("page_tables", "page_corrections", "entity_mentions", "relation_evidence", "graph_versions", "extraction_runs"),
    *("answer_citations", "document_usage", "context_usage"),
)


@dataclass(frozen=True, slots=True)
class OutsidePlace:
    """Content outside Postgres: keys of Redis by a pattern, or a folder; `remedy` says what an erasure does."""

    where: str
    remedy: str


OUTSIDE: Final = (
    OutsidePlace("redis aos:memory:<tenant>:<workspace>:<session>", "forgotten for the workspace"),
    OutsidePlace("redis aos:memory:lru", "names of sessions, an hour or so; a person's are taken out"),
    OutsidePlace("redis aos:vectors:<tenant>:<workspace>:*", "forgotten for the workspace"),
    OutsidePlace(
        "redis aos:folders:<tenant>:<workspace>:*", "names of folders, five minutes; forgotten for the workspace"
    ),
    OutsidePlace("redis rag_cache:*", "forgotten for the workspace"),
    OutsidePlace("redis aos:limits:*", "counts by ids of accounts and keys, a minute or so"),
    OutsidePlace("redis aos:login:*", "hashes of e-mail addresses; a person's are taken out"),
    OutsidePlace("redis aos:route:*", "hashes of words and names of rules: nothing of anybody"),
    OutsidePlace("redis aos:metrics:*", "the product's own definitions"),
    OutsidePlace("redis aos:figures:*", "counts"),
    OutsidePlace("redis aos:doctor", "a sign of life"),
    OutsidePlace(
        "redis <event_stream.stream>, <event_stream.stream>:dead, <event_stream.stream>:waiting",
        "what others wrote of their uploads; whoever writes the stream trims it, dead letters go by their number, and "
        "why an event waits goes with its waiting",
    ),
    OutsidePlace(
        "file of an audit sink (AOS_AUDIT sinks of kind file)",
        "a copy of the trail that was sent: nothing is taken out; whoever keeps it deletes or rotates its JSONL files",
    ),
    OutsidePlace(
        "folder blobs/<tenant>/<workspace>, or those keys of the bucket (AOS_BLOBS_URL)",
        "uploads, members and staging copies with the erased bytes",
    ),
    OutsidePlace(
        "folder of an exported workspace (`aos export WORKSPACE --to FOLDER`)",
        "a copy that was taken: nothing is taken out; whoever keeps it deletes it, or exports into it again",
    ),
    OutsidePlace("folder blobs/uploads/<tenant>/<workspace>, or those keys", "parts of uploads; they go when it ends"),
    OutsidePlace(
        "folder blob_cache of each node",
        "copies of what is in the bucket; each process that reads them removes those unused for an hour",
    ),
)
