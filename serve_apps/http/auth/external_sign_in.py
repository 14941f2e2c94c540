"""Somebody whom a provider or a directory has shown to be theirs is let in, with what its rules give them now."""

from dataclasses import replace
from datetime import timedelta

from cluster.basics.scope import Scope, TenantId, UserId
from cluster.state.db.postgres import Transaction
from cluster.state.identity.external_accounts import ExternalPerson, ExternalSignIn, GrantedRights, NothingGranted
from cluster.state.identity.identity import NO_WORKSPACE
from configs.sign_in_rules import SignInSource
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable
from serve_apps.http.deps import AppDependencies


async def admit(
    parts: AppDependencies,
    tx: Transaction,
    tenant: TenantId,
    source: SignInSource,
    person: ExternalPerson,
    rights: GrantedRights,
) -> ExternalSignIn:
    """Who they are here, with an entry in the audit trail where that gave or took anything.

    Raises NothingGranted for somebody new, of whom nothing stays. Of somebody known the caller asks `granted` once
    this is committed: what they had is gone then. Other refusals as `ExternalAccountStore.sign_in`.
    """
    now = parts.clock()
    end = None if source.rights_hours is None else now + timedelta(hours=source.rights_hours)
    unknown = parts.passwords.nobodys
    found = await parts.external.sign_in(tx, tenant, person, replace(rights, end=end), unknown=unknown, now=now)
    if found.fresh and not found.granted:
        raise NothingGranted
    if found.fresh or found.changed:
        await _record_grant(parts, tx, Scope(tenant, NO_WORKSPACE, user=found.user), person, rights, found)
    return found


async def tenant_of(parts: AppDependencies, source: SignInSource) -> TenantId:
    """Whose people they are. Raises ProviderUnavailable: that is not known."""
    if source.tenant is not None:
        return TenantId(str(source.tenant))
    known = await parts.identity.credentials(parts.first_admin)
    member = None if known is None else await parts.identity.member(known.tenant, known.user)
    if known is None or member is None or not member.first_tenant:  # the address may be anybody's by now
        raise ProviderUnavailable(f"{source.name}: whose people these are is not known; set its tenant")
    return known.tenant


async def record_refusal(parts: AppDependencies, tenant: TenantId, source: SignInSource, code: str, why: str) -> None:
    """A sign-in that was refused, in the audit trail."""
    detail = {"provider": source.name, "code": code, "why": why[:300].replace("\0", "\ufffd")}
    await parts.audit.denied(Scope(tenant, NO_WORKSPACE), "session.begin", f"provider {source.name}", detail)


async def _record_grant(
    parts: AppDependencies,
    tx: Transaction,
    scope: Scope,
    person: ExternalPerson,
    rights: GrantedRights,
    found: ExternalSignIn,
) -> None:
    """What the rules give somebody from now on."""
    detail = {
        "provider": person.provider,
        "subject": person.subject,
        "fresh": found.fresh,
        "workspaces": dict(rights.workspaces),
        "tenant_role": rights.tenant_role,
        "groups": list(rights.groups),
    }
    await parts.audit.record(tx, scope, "user.grant", UserId(found.user), detail=detail)
