"""The shapes of answers about accounts, agents and jobs; they become the document of the API."""

import inspect
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from pydantic import BaseModel

from cluster.basics.scope import Role
from cluster.state.db.postgres import Row
from cluster.state.work.wait_reasons import Wait
from pipelines.documents.ingest.outcome import OutcomeCounts

T = TypeVar("T")
_NOTHING = {"expected": 0, "done": 0, "failed": 0, "unchanged": 0}


def copy_fields(made: type[T], source: object, /, **other: Any) -> T:
    """A value of a class with the fields of another value that have the same names; `other` are those that differ."""
    names = made.model_fields if issubclass(made, BaseModel) else inspect.signature(made).parameters
    same = {name: getattr(source, name) for name in names if name not in other and hasattr(source, name)}
    return made(**same, **other)


class Session(BaseModel):
    """A signed-in user: send `access_token` as a bearer token."""

    access_token: str
    refresh_token: str
    token_type: str = "bearer"
    expires_in: int
    must_change_password: bool
    tenant_id: UUID
    workspace_id: UUID
    user_id: UUID
    email: str
    role: Role


class Counts(BaseModel):
    """Progress of a stage in units."""

    expected: int
    done: int
    failed: int
    unchanged: int


class CaveatShape(BaseModel):
    """Lack or doubt in a page's text: `weight` is `unread`, `unsure` or `note`, `detail` is for a person."""

    kind: str
    weight: str
    detail: str
    count: int


class PlacedCaveatShape(CaveatShape):
    """A caveat beside a passage; `page` is null where it is of the whole document."""

    page: int | None


class DocumentCaveat(CaveatShape):
    """Summary of a document's caveats of one kind: the first detail, the first pages, and how many pages."""

    pages: list[int]
    page_count: int


class JobOutcome(BaseModel):
    """Counts of a job's documents by outcome: all but `pages_with_caveats` add up to those that it is about.

    `degraded` may be wrong somewhere, `partial` lacks something, `unchanged` was so before, whole; `pending` is left.
    """

    completed: int
    degraded: int
    partial: int
    failed: int
    unchanged: int
    pending: int
    pages_with_caveats: int


class WaitShape(BaseModel):
    """Something that a job waits for, and what can be done about it; empty where it passes by itself."""

    reason: Wait
    detail: str
    fix: str


class JobPartitions(BaseModel):
    """Partitions of a large job: all, those with work left, and those that a worker has now."""

    total: int
    open: int
    at_work: int


class JobShape(BaseModel):
    """A job: `pages` are those to be read, `documents` those to be searchable.

    `caveats` counts its documents by what they lack or may have wrong; `outcome` says what became of all.
    `passed_over` counts by kind what a scan left alone: hidden files, locks, what systems keep for themselves.
    `waits` says why a job that is queued, or goes slowly, is so: the most important first.
    `partitions` is null in lists, and of a job that one worker at a time works at.
    """

    id: UUID
    kind: str
    state: str
    phase: str
    pages: Counts
    documents: Counts
    failures: dict[str, int]
    outcome: JobOutcome
    caveats: dict[str, int]
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    passed_over: dict[str, int]
    waits: list[WaitShape]
    partitions: JobPartitions | None

    @classmethod
    def of(cls, row: Row) -> "JobShape":
        """From a row of the job queries, whose `progress` has a stage each for survey, read and index."""
        progress: Mapping[str, Mapping[str, int]] = row["progress"]
        survey, index = progress.get("survey", _NOTHING), progress.get("index", _NOTHING)
        documents = {name: survey[name] + index[name] for name in ("failed", "unchanged")}
        documents |= {"expected": max(survey["expected"], index["expected"]), "done": index["done"]}
        return cls(
            pages=Counts(**progress.get("read", _NOTHING)),
            documents=Counts(**documents),
            failures=row.get("failures") or {},
            outcome=JobOutcome(**OutcomeCounts.of(progress, row["ended"]).as_json()),
            caveats=row.get("caveats") or {},
            **{name: row[name] for name in _JOB_COLUMNS},
            passed_over=row["payload"].get("passed_over", {}),
            waits=[copy_fields(WaitShape, one) for one in row["waits"]],
            partitions=JobPartitions(**row["partitions"]) if row.get("partitions") else None,
        )


_JOB_COLUMNS = ("id", "kind", "state", "phase", "cancel_requested", "created_at", "started_at", "finished_at", "error")


class JobList(BaseModel):
    """A page of jobs, newest first."""

    items: list[JobShape]
    total: int


class FailedUnit(BaseModel):
    """A page (or with `page` null a whole file) that failed; `failure` has stage, reason, detail and retryable."""

    stage: str
    document_id: str
    filename: str
    page: int | None
    attempts: int
    failure: dict[str, Any] | None


class DoubtfulDocument(BaseModel):
    """A document that a job left `degraded`, `partial` or, with no page read, `failed`, and what is to be known of it.

    Its `caveats` are those of that time; `unchanged` where the job found it so.
    """

    document_id: str
    filename: str
    status: str
    unchanged: bool
    caveats: list[DocumentCaveat]


class FailedUnits(BaseModel):
    """Failed units of a job, and the documents that were read with caveats."""

    items: list[FailedUnit]
    caveats: list[DoubtfulDocument]


class Started(BaseModel):
    """A job that was accepted; `fresh` is false where the Idempotency-Key was known."""

    job_id: UUID
    status: str = "queued"
    fresh: bool = True


class Workspace(BaseModel):
    """A workspace, and one's role in it."""

    id: UUID
    name: str
    role: Role
    created_at: datetime


class Tenant(BaseModel):
    """The own tenant, or one below it."""

    id: UUID
    name: str
    parent_id: UUID | None
    created_at: datetime


class User(BaseModel):
    """Somebody of the tenant; `role` is null where they do not belong to the workspace.

    `provider` keeps them here (`scim`), or lets them sign in; null for who is here by hand alone.
    """

    id: UUID
    email: str
    role: Role | None
    tenant_role: Role
    disabled: bool
    must_change_password: bool
    created_at: datetime
    provider: str | None = None


class ApiKey(BaseModel):
    """An API key without its secret."""

    id: UUID
    name: str
    prefix: str
    role: Role
    may_impersonate: bool
    user_id: UUID
    created_at: datetime
    last_used_at: datetime | None


class NewApiKey(BaseModel):
    """A new API key: `key` is shown this once."""

    id: UUID
    name: str
    key: str
    role: Role
    may_impersonate: bool
    created_at: datetime


class NewTenant(BaseModel):
    """A new tenant with its first administrator; `password` is shown this once, where it was made here."""

    id: UUID
    name: str
    workspace_id: UUID
    user_id: UUID
    password: str | None


class NewUser(BaseModel):
    """Somebody who now belongs to the workspace; `password` is shown this once, where it was made here."""

    id: UUID
    email: str
    role: Role
    fresh: bool
    password: str | None


class KeyOfUser(BaseModel):
    """An API key of somebody's, in any workspace."""

    id: UUID
    name: str
    prefix: str
    role: Role
    workspace_id: UUID
    created_at: datetime
    last_used_at: datetime | None


class NewPassword(BaseModel):
    """A password to be changed at the next login; shown this once, where it was made here.

    `revoked_keys` ended with the old one, `kept_keys` are the API keys that go on.
    """

    id: UUID
    email: str
    password: str | None
    revoked_keys: list[KeyOfUser]
    kept_keys: list[KeyOfUser]


class Agent(BaseModel):
    """An agent, and how many documents it may search."""

    id: UUID
    name: str
    description: str
    system_prompt: str
    auto_link_uploads: bool
    whole_workspace: bool
    config: dict[str, Any]
    metadata: dict[str, Any]
    documents: int
    created_at: datetime
    updated_at: datetime


class AgentList(BaseModel):
    """A page of agents by name."""

    items: list[Agent]
    total: int


class Workspaces(BaseModel):
    """Workspaces of the caller."""

    items: list[Workspace]


class Tenants(BaseModel):
    """The own one and those below."""

    items: list[Tenant]


class Users(BaseModel):
    """A page of them, oldest first."""

    items: list[User]
    total: int


class ApiKeys(BaseModel):
    """The keys that live."""

    items: list[ApiKey]
