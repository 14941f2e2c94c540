"""The scope under every query: the caller, and the tenant, workspace and principals they may read as."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

TenantId = NewType("TenantId", str)
WorkspaceId = NewType("WorkspaceId", str)
UserId = NewType("UserId", str)

EVERY_READER = "*"  # the worker's principal: it acts for the workspace, not for a person


class Role(StrEnum):
    """The four roles, from least to most."""

    VIEWER = "viewer"
    DEVELOPER = "developer"
    OPERATOR = "operator"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows that one request or job may see. Postgres' row-level security reads the same values."""

    tenant: TenantId  # the organisation; ids are UUIDs as text
    workspace: WorkspaceId  # the workspace inside it
    # Names that `documents.readers` may list: `user:<email>`, `group:<name>`, `role:<role>`; `*` for the worker.
    principals: tuple[str, ...] = ()
    user: UserId | None = None  # who acts, None for the system itself
    role: Role = Role.VIEWER  # decides which routes are allowed
    # What the user has shown: `session:<login>` or `key:<id>`; None where nobody is there, such as by the clock.
    credential: str | None = None

    @property
    def keys(self) -> dict[str, str]:
        """Tenant and workspace, by the names that queries have for them."""
        return {"tenant": self.tenant, "workspace": self.workspace}

    @classmethod
    def of_worker(cls, tenant: TenantId, workspace: WorkspaceId) -> "Scope":
        """The scope a claimed job works in: its own workspace, whoever the readers are."""
        return cls(tenant, workspace, (EVERY_READER,), role=Role.OPERATOR)
