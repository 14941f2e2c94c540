"""Checks of a directory: its servers, certificates and service account, and whom a login means there."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from configs.sign_in_directories import LOGIN
from serve_apps.http.auth.ldap.directory_client import DirectoryClient, DirectoryPerson, DirectorySession
from serve_apps.http.auth.ldap.directory_connection import BindRefused, DirectoryConnection, ServerAway, SeveralEntries
from serve_apps.http.auth.ldap.directory_entry import filter_for
from serve_apps.http.auth.sign_in_checks import SignInCheck, failed, judged, passed
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable, SignInRefused

NO_ATTRIBUTES: Final = ("1.1",)
SOON: Final = timedelta(days=14)
SILENT: Final = "no answer in time"
UNREACHABLE: Final = "Look at `urls`, at the firewall, and whether it offers TLS: ldaps://, or StartTLS at ldap://."
REFUSED: Final = "Look at service_dn and service_password, and whether that account is locked or expired there."
UNTRUSTED: Final = "Give the CA's certificates as `ca_file`, and name the server in `urls` as its certificate does."


@dataclass(frozen=True, slots=True)
class DirectoryCheck:
    """Whether a directory can be asked.

    Attributes:
        servers: what is wrong with each by its URL; nothing where that is empty.
        problem: what is wrong besides.
        people: how many the user filter may find, up to 20,000; None where no service account looks for them.
    """

    servers: Mapping[str, str]
    problem: str = ""
    people: int | None = None


@dataclass(frozen=True, slots=True)
class DirectoryExamination:
    """What was looked at, and whom the login means; None where none was given, or it means nobody."""

    checks: tuple[SignInCheck, ...]
    person: DirectoryPerson | None = None


async def check_servers(client: DirectoryClient) -> DirectoryCheck:
    """Try each server, and the service account."""
    servers = {}
    for url in client.directory.urls:
        try:
            async with client.session() as session:
                await session.run(client.connect, session, url)
            servers[url] = ""
        except ProviderUnavailable as error:
            servers[url] = _reason(error)
    if client.directory.bind == "direct":
        return DirectoryCheck(servers)
    try:
        async with client.session() as session:
            connection = await session.run(client.open_service, session)
            return DirectoryCheck(servers, people=await session.run(_count_people, client, connection))
    except ProviderUnavailable as error:
        return DirectoryCheck(servers, _reason(error))


async def examine_directory(client: DirectoryClient, login: str | None, now: datetime) -> DirectoryExamination:
    """Each server, then the service account and what it finds, and whom `login` means; no password is asked for."""
    of = client.directory
    checks: list[SignInCheck] = []
    for url in of.urls:
        checks += await _check_server(client, url, now)
    if of.bind == "direct":
        if login:
            fix = "Have them sign in; with `bind: search` a service account can look."
            why = "with `bind: direct` nobody is found without their password"
            checks.append(failed("person", why, fix, required=False))
        return DirectoryExamination(tuple(checks))
    try:
        async with client.session() as session:
            connection = await session.run(client.open_service, session)
            checks.append(passed("service_account", of.service_dn or ""))
            checks += await _check_bases(client, session, connection)
            found = await _find_person(client, session, connection, login, now) if login else None
    except ProviderUnavailable as error:
        bound = any(one.name == "service_account" for one in checks)
        fix = REFUSED if isinstance(error.__cause__, BindRefused) else UNREACHABLE
        checks.append(failed("search" if bound else "service_account", _reason(error), fix))
        return DirectoryExamination(tuple(checks))
    if isinstance(found, SignInCheck):
        return DirectoryExamination((*checks, found))
    return DirectoryExamination(tuple(checks), found)


async def _check_server(client: DirectoryClient, url: str, now: datetime) -> list[SignInCheck]:
    try:
        async with client.session() as session:
            connection = await session.run(client.connect, session, url)
            end = connection.certificate_end()
    except ProviderUnavailable as error:
        why = _reason(error)
        untrusted = "certificate" in why.lower()
        return [
            failed("certificate" if untrusted else "server", f"{url}: {why}", UNTRUSTED if untrusted else UNREACHABLE)
        ]
    until = "its end is not known" if end is None else f"good until {end:%Y-%m-%d}"
    ends = f"{url}: {until}" if end is not None and end - now < SOON else ""
    renew = judged("certificate", ends, f"{url}: {until}", "Renew the server's certificate.", required=False)
    return [passed("server", url), renew]


async def _check_bases(
    client: DirectoryClient, session: DirectorySession, connection: DirectoryConnection
) -> list[SignInCheck]:
    """The places below which people and groups are looked for, and whether the filter finds anybody."""
    of = client.directory
    checks = []
    for name, base in (("base", of.base_dn), ("groups_base", of.groups_dn)):
        if base:
            why = await _missing(session, connection, base)
            fix = f"Look at {'base_dn' if name == 'base' else 'groups_dn'}, and what the service account may read."
            checks.append(judged(name, why and f"{base}: {why}", base, fix))
    if checks[0].ok:
        anybody = of.user_filter.replace(LOGIN, "*")
        try:
            one = await session.run(connection.find_one, of.base_dn, anybody, NO_ATTRIBUTES)
        except SeveralEntries:
            return [*checks, passed("people", "user_filter finds people")]
        fix = "Look at user_filter, and what the service account may read."
        checks.append(judged("people", "" if one else "user_filter finds nobody", "user_filter finds somebody", fix))
    return checks


async def _missing(session: DirectorySession, connection: DirectoryConnection, base: str) -> str:
    """Why there is no such entry; empty where there is one."""
    try:
        return "" if await session.run(connection.read, base, NO_ATTRIBUTES) else "nothing is there"
    except ServerAway as away:
        return away.why


async def _find_person(
    client: DirectoryClient, session: DirectorySession, connection: DirectoryConnection, login: str, now: datetime
) -> DirectoryPerson | SignInCheck:
    """Whom a login means, or why it lets nobody in."""
    of = client.directory
    try:
        entry = await session.run(
            connection.find_one, of.base_dn, filter_for(of.user_filter, login), client.attributes()
        )
    except SeveralEntries:
        return failed("person", "the login means several entries", "Have user_filter find one of them alone.")
    if entry is None:
        return failed("person", "user_filter finds nobody by this login", "Look at the login, user_filter and base_dn.")
    if (why := entry.ended(now)) is not None:
        return failed("person", f"their account there is {why}", "Ask whoever keeps the directory.")
    try:
        return await session.run(client.person, connection, entry)
    except SignInRefused as refused:
        return failed("person", str(refused), "Let the service account read subject_attribute.")


def _count_people(client: DirectoryClient, connection: DirectoryConnection) -> int:
    anybody = client.directory.user_filter.replace(LOGIN, "*")
    return sum(1 for _ in connection.pages(client.directory.base_dn, anybody, NO_ATTRIBUTES))


def _reason(error: ProviderUnavailable) -> str:
    """What is wrong, for whoever runs it."""
    if isinstance(error, ServerAway):
        return error.why
    cause = error.__cause__
    return SILENT if cause is None or isinstance(cause, TimeoutError) else str(cause)
