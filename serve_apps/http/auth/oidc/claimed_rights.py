"""Claims of an ID token as a person and their rights, by the provider's rules."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from cluster.basics.scope import Role
from cluster.state.identity.external_accounts import ExternalPerson, GrantedRights
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.problems import SignInRefused

EVERYBODY = "*"
MOST_GROUPS = 500
LONGEST_EMAIL = 254


class DomainRefused(SignInRefused):
    """E-mail addresses of this domain may not sign in by this provider."""

    code = "domain_refused"


def claimed_person(provider: OidcProvider, claims: Mapping[str, Any]) -> ExternalPerson:
    """Who has signed in. An e-mail address counts where the provider vouches for it.

    Raises DomainRefused.
    """
    said = next(claim_values(claims, provider.email_claim), "").strip().lower()
    usable = "@" in said.strip("@") and len(said) <= LONGEST_EMAIL and not any(map(_is_odd, said))
    vouched = provider.trust_email or claims.get("email_verified") is True
    email = said if usable and vouched else None
    if provider.domains and (email is None or email.rpartition("@")[2] not in map(str.lower, provider.domains)):
        raise DomainRefused(f"{provider.name}: {said[:80]!r}")
    return ExternalPerson(provider.name, str(claims["sub"]), email)


def claimed_rights(provider: OidcProvider, claims: Mapping[str, Any]) -> GrantedRights:
    """Rights that the rules give for these claims; none where nothing maps."""
    order = list(Role).index
    workspaces: dict[str, Role] = {}
    tenant_role = Role.VIEWER
    for rule in provider.rules:
        if rule.value != EVERYBODY and rule.value not in claim_values(claims, rule.claim):
            continue
        workspaces[rule.workspace] = max(workspaces.get(rule.workspace, Role.VIEWER), Role(rule.role), key=order)
        tenant_role = max(tenant_role, Role(rule.tenant_role or Role.VIEWER), key=order)
    named = (value.strip().lower() for value in claim_values(claims, provider.groups_claim))
    groups = {name for name in named if _is_group_name(name) and any(fnmatchcase(name, one) for one in provider.groups)}
    return GrantedRights(workspaces, tenant_role, tuple(sorted(groups)[:MOST_GROUPS]))


def claim_values(claims: Mapping[str, Any], name: str) -> Iterator[str]:
    """The texts of a claim, one or many; dots lead deeper where no claim has the whole name."""
    found: Any = claims.get(name)
    if found is None:
        found = claims
        for part in name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
    if isinstance(found, str):
        yield found
    elif isinstance(found, list):
        yield from (one for one in found if isinstance(one, str))


def _is_group_name(name: str) -> bool:
    return 0 < len(name) <= 100 and not any(char == "," or (_is_odd(char) and char != " ") for char in name)


def _is_odd(char: str) -> bool:
    return not char.isprintable() or char.isspace()
