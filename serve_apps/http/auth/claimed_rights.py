"""Claims of an ID token, or of a directory's entry, as a person and their rights, by the rules for them."""

import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from cluster.basics.scope import Role
from cluster.state.identity.external_accounts import ExternalPerson, GrantedRights
from cluster.state.identity.groups import is_group_name
from configs.sign_in_providers import OidcProvider
from configs.sign_in_rules import SignInSource
from serve_apps.http.auth.sign_in_problems import SignInRefused
from serve_apps.http.fields import EMAIL_PATTERN, LONGEST_EMAIL

EVERYBODY = "*"
MOST_GROUPS = 500


class DomainRefused(SignInRefused):
    """E-mail addresses of this domain may not sign in by this provider."""

    code = "domain_refused"


def claimed_person(provider: OidcProvider, claims: Mapping[str, Any]) -> ExternalPerson:
    """Who has signed in. An e-mail address counts where the provider vouches for it.

    Raises DomainRefused.
    """
    # `email_verified` is said of the claim `email` and of no other.
    vouched = provider.trust_email or (provider.email_claim == "email" and claims.get("email_verified") is True)
    email = accepted_email(provider, next(claim_values(claims, provider.email_claim), ""), vouched)
    return ExternalPerson(provider.name, provider.issuer, str(claims["sub"]), email)


def accepted_email(source: SignInSource, said: str, vouched: bool) -> str | None:
    """The address that somebody has here; None where it is none, or nobody vouches for it.

    Raises DomainRefused.
    """
    said = said.strip().lower()
    usable = re.fullmatch(EMAIL_PATTERN, said) is not None and len(said) <= LONGEST_EMAIL and said.isprintable()
    email = said if usable and vouched else None
    if source.domains and (email is None or email.rpartition("@")[2] not in map(str.lower, source.domains)):
        raise DomainRefused(f"{source.name}: {said[:80]!r}")
    return email


def claimed_rights(
    source: SignInSource, claims: Mapping[str, Any], fold: Callable[[str], str] = lambda text: text
) -> GrantedRights:
    """Rights that the rules give for these claims; none where nothing maps.

    `fold` makes one text of those that mean the same there.
    """
    order = list(Role).index
    workspaces: dict[str, Role] = {}
    tenant_role = Role.VIEWER
    for rule in source.rules:
        if rule.value != EVERYBODY and fold(rule.value) not in map(fold, claim_values(claims, rule.claim)):
            continue
        workspaces[rule.workspace] = max(workspaces.get(rule.workspace, Role.VIEWER), Role(rule.role), key=order)
        tenant_role = max(tenant_role, Role(rule.tenant_role or Role.VIEWER), key=order)
    named = (value.strip().lower() for value in claim_values(claims, source.groups_claim))
    patterns = [pattern.lower() for pattern in source.groups]
    groups = {name for name in named if is_group_name(name) and any(fnmatchcase(name, one) for one in patterns)}
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
