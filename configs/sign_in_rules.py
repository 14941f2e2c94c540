"""Rules that give rights to people who sign in by a provider or a directory, and the tenant that they belong to."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from configs.section import Section

RoleName = Literal["viewer", "developer", "operator", "admin"]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]


class SignInRule(Section):
    """What somebody gets in whose claim a value stands; `*` is everybody whom the provider lets in.

    `claim`: its name, with dots where it lies deeper (`realm_access.roles`). `workspace`: name or id of one of the
    tenant. Of several rules for a workspace the one with most rights counts, and so it is with `tenant_role`.
    """

    claim: str = "groups"
    value: str
    workspace: str
    role: RoleName = "viewer"
    tenant_role: RoleName | None = None


class SignInSource(Section):
    """A provider or directory. Whom no rule names gets nothing, and is refused.

    `name`: lasting, as what it gives is kept by it. `tenant`: id of the tenant that its people belong to; that of the
    first administrator where left out. `domains`: of e-mail addresses that may sign in; any where empty. `groups`:
    patterns (`finance-*`) of those groups there that become groups here, whom documents may name; none where empty.
    `rights_hours`: for so long after a sign-in what it gave counts, so that who has left there needs nobody's hand
    here; until the next sign-in where left out.
    """

    name: Slug
    title: str
    tenant: UUID | None = None
    domains: tuple[str, ...] = ()
    rules: tuple[SignInRule, ...] = ()
    groups: tuple[str, ...] = ()
    groups_claim: str = "groups"
    rights_hours: Annotated[int, Field(ge=1, le=24 * 366)] | None = None
