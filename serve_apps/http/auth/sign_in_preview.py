"""Preview of a sign-in: whom somebody of a directory would be here, and what its rules would give them."""

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.basics.scope import Role, TenantId
from cluster.state.identity.external_accounts import AccountAtSignIn, ExternalAccountStore, ExternalPerson
from configs.sign_in_rules import SignInSource
from serve_apps.http.auth.claimed_rights import DomainRefused, accepted_email, claimed_rights
from serve_apps.http.auth.ldap.directory_client import DirectoryClient, DirectoryPerson
from serve_apps.http.auth.ldap.directory_entry import fold_name
from serve_apps.http.auth.sign_in_checks import SignInCheck, failed, judged, passed

ACCOUNTS = {
    AccountAtSignIn.LINKED: "they have signed in before",
    AccountAtSignIn.JOINED: "an account with their e-mail address is here and would be theirs",
    AccountAtSignIn.NEW: "they would get a new account",
    AccountAtSignIn.NOT_LINKED: "the account with their address administers something or is another person's",
    AccountAtSignIn.DISABLED: "their account here is disabled",
}
UNLINKED = "Have them sign in with that account's password, or unlink it, or give them another address there."


@dataclass(frozen=True, slots=True)
class PersonPreview:
    """Somebody at their next sign-in.

    Attributes:
        subject: their lasting name there.
        email: None where it is none that counts.
        workspaces: the role in each that is here, by name.
        enters: they would be let in.
    """

    subject: str
    email: str | None
    account: AccountAtSignIn | None
    workspaces: dict[str, Role]
    tenant_role: Role
    groups: tuple[str, ...]
    enters: bool


async def preview_person(
    client: DirectoryClient, external: ExternalAccountStore, tenant: TenantId, person: DirectoryPerson
) -> tuple[SignInCheck, PersonPreview]:
    """What a sign-in of theirs would come to, as a check and in detail."""
    of = client.directory
    rights = claimed_rights(of, person.claims, fold_name)
    try:
        email = accepted_email(of, person.email, vouched=True)
    except DomainRefused:
        shown = PersonPreview(person.subject, None, None, {}, rights.tenant_role, rights.groups, False)
        return failed("person", f"{person.email[:80]!r} is of no domain in `domains`", "Add the domain."), shown
    known = ExternalPerson(of.name, client.issuer, person.subject, email)
    found = await external.preview(tenant, known, rights)
    shown = PersonPreview(
        person.subject, email, found.account, dict(found.workspaces), rights.tenant_role, rights.groups, found.enters
    )
    return _check(shown), shown


async def check_rules(external: ExternalAccountStore, tenant: TenantId, source: SignInSource) -> SignInCheck:
    """Whether anybody can get anything by the rules."""
    if not source.rules:
        return failed("rules", "there is no rule: nobody gets anything", "Add one to `rules`.")
    wanted: Sequence[str] = sorted({rule.workspace for rule in source.rules})
    missing = sorted(set(wanted) - await external.known_workspaces(tenant, wanted))
    wrong = f"no workspace is called {', '.join(missing)}" if missing else ""
    well = f"{len(source.rules)} for {len(wanted)} workspaces"
    fix = "Make the workspace, or correct the rule."
    return judged("rules", wrong, well, fix, required=len(missing) == len(wanted))


def _check(shown: PersonPreview) -> SignInCheck:
    assert shown.account is not None
    said = ACCOUNTS[shown.account]
    if shown.enters:
        return passed("person", said)
    if shown.account is AccountAtSignIn.NOT_LINKED:
        return failed("person", said if shown.email else "they have no usable e-mail address", UNLINKED)
    if shown.account is AccountAtSignIn.DISABLED:
        return failed("person", said, "Let them sign in again (System → People).")
    return failed("person", f"{said}, and no rule gives them a workspace", "Add a rule for one of their groups.")
