"""The shapes of answers about accounts, agents and jobs; they become the document of the API."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from cluster.basics.scope import Role
from cluster.state.postgres import Row

_NOTHING = {"expected": 0, "done": 0, "failed": 0, "unchanged": 0}


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
    role: Role


class Counts(BaseModel):
    """How far a stage is."""

    expected: int
    done: int
    failed: int
    unchanged: int


class JobShape(BaseModel):
    """A job: `pages` are those to be read, `documents` those to be searchable.

    `passed_over` counts by kind what a scan left alone: hidden files, locks, what systems keep for themselves.
    """

    id: UUID
    kind: str
    state: str
    phase: str
    pages: Counts
    documents: Counts
    failures: dict[str, int]
    cancel_requested: bool
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    error: str | None
    passed_over: dict[str, int]

    @classmethod
    def of(cls, row: Row) -> "JobShape":
        """From a row of the job desk, whose `progress` has a stage each for survey, read and index."""
        progress: Mapping[str, Mapping[str, int]] = row["progress"]
        survey, index = progress.get("survey", _NOTHING), progress.get("index", _NOTHING)
        documents = {
            "expected": max(survey["expected"], index["expected"]),
            "done": index["done"],
            "failed": survey["failed"] + index["failed"],
            "unchanged": survey["unchanged"] + index["unchanged"],
        }
        return cls(
            pages=Counts(**progress.get("read", _NOTHING)),
            documents=Counts(**documents),
            failures=row.get("failures") or {},
            **{name: row[name] for name in _JOB_COLUMNS},
            passed_over=row["payload"].get("passed_over", {}),
        )


_JOB_COLUMNS = (
    "id", "kind", "state", "phase", "cancel_requested", "created_at", "started_at", "finished_at", "error",
)  # fmt: skip


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


class FailedUnits(BaseModel):
    """What failed in a job."""

    items: list[FailedUnit]


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
    """Somebody of the tenant; `role` is null where they do not belong to the workspace."""

    id: UUID
    email: str
    role: Role | None
    tenant_role: Role
    disabled: bool
    must_change_password: bool
    created_at: datetime


class ApiKey(BaseModel):
    """An API key without its secret."""

    id: UUID
    name: str
    prefix: str
    role: Role
    user_id: UUID
    created_at: datetime
    last_used_at: datetime | None


class NewApiKey(BaseModel):
    """A new API key: `key` is shown this once."""

    id: UUID
    name: str
    key: str
    role: Role
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


class NewPassword(BaseModel):
    """A password to be changed at the next login; shown this once, where it was made here."""

    id: UUID
    email: str
    password: str | None


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
    """Those one belongs to."""

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
