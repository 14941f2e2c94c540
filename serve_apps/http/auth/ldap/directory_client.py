"""A directory as sign-ins ask it: who somebody is there, by their password, and in which groups they are."""

import asyncio
import logging
import secrets
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, ParamSpec, TypeVar

from ldap3.core.exceptions import LDAPInvalidFilterError
from ldap3.operation.search import parse_filter

from cluster.basics.errors import Forbidden, InvalidSettings, Permanent
from configs.sign_in_directories import Directory
from serve_apps.http.auth.ldap.directory_connection import BindRefused, DirectoryConnection, ServerAway, SeveralEntries
from serve_apps.http.auth.ldap.directory_entry import (
    STATUS_ATTRIBUTES,
    DirectoryEntry,
    bind_name_for,
    filter_for,
    fold_name,
    members_filter,
)
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable, SignInRefused

P = ParamSpec("P")
T = TypeVar("T")
log = logging.getLogger("aos.auth")

AT_ONCE: Final = 8  # sign-ins that a directory is asked about; others wait
AVOIDED_SECONDS: Final = 30.0  # for so long a server that did not answer is tried last
IN_CHAIN: Final = "1.2.840.113556.1.4.1941"  # LDAP_MATCHING_RULE_IN_CHAIN of Active Directory
DEEPEST: Final = 20  # levels of groups in groups
NAMES_AT_ONCE: Final = 50  # of one filter
PRINCIPAL: Final = "msDS-PrincipalName"


class PasswordRefused(Permanent):
    """The directory knows nobody by this login and password.

    `subject` is whose password it is not, where that is known.
    """

    def __init__(self, detail: str, subject: str | None = None) -> None:
        super().__init__(detail)
        self.subject = subject


class AccountEnded(Forbidden):
    """Your account in the directory is disabled, locked or expired."""

    code = "account_disabled"
    fix = "Ask whoever keeps the directory."


@dataclass(frozen=True, slots=True)
class DirectoryPerson:
    """Somebody whose password the directory has taken.

    Attributes:
        subject: their lasting name there.
        email: as it stands there, empty where it does not.
        claims: values by claim; `groups` has names and DNs of all their groups.
    """

    subject: str
    email: str
    claims: Mapping[str, Sequence[str]]


@dataclass
class DirectorySession:
    """The connections of one sign-in, which has an end."""

    threads: ThreadPoolExecutor
    end: float
    title: str
    connections: list[DirectoryConnection] = field(default_factory=list)

    async def run(self, work: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """What `work` gives, in a thread. Raises ProviderUnavailable: there is no time left."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout_at(self.end):
                return await loop.run_in_executor(self.threads, lambda: work(*given, **named))
        except TimeoutError as error:
            raise ProviderUnavailable(self.title) from error


class DirectoryClient:
    """One directory, asked in a few threads of its own: one that hangs holds up nobody who signs in otherwise."""

    def __init__(self, directory: Directory, clock: Callable[[], float]) -> None:
        """`clock` gives seconds that only grow. Raises InvalidSettings: its certificates or filters cannot be read."""
        self.directory, self._clock = directory, clock
        self._context = _tls_context(directory)
        for template in (directory.user_filter, directory.group_filter):
            _check_filter(directory, template)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix=f"directory-{directory.name}")
        self._avoided: dict[str, float] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    @property
    def issuer(self) -> str:
        """In which a subject means somebody."""
        return f"ldap:{self.directory.name}"

    async def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def authenticate(
        self, login: str, password: str, now: datetime, trying: Callable[[str], AbstractAsyncContextManager[None]]
    ) -> DirectoryPerson:
        """Who has this login and password, and what the directory says of them.

        Args:
            trying: is told whose password is tried inside of it, and raises where it has been tried too often; a
                person may have several logins.

        Raises:
            PasswordRefused: nobody has.
            AccountEnded: they may not sign in any more.
            SignInRefused: they have no lasting name.
            ProviderUnavailable: it cannot be asked, or not within its seconds.
        """
        if not login or not password:  # which some directories take for anybody's
            raise PasswordRefused("login or password is empty")
        async with self.session() as session:
            if self.directory.bind == "direct":
                connection, entry = await session.run(self._bind_directly, session, login, password)
            else:
                connection = await session.run(self.open_service, session)
                entry = await self._find(session, connection, login)
                async with trying(self.subject_of(entry)):
                    await session.run(self._prove, session, entry, password)
            if (why := entry.ended(now)) is not None:
                raise AccountEnded(why)
            return await session.run(self.person, connection, entry)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Ask the directory inside of it: what is counted before a sign-in is asked then, when those before have ended.

        Raises ProviderUnavailable: none got free in the seconds of a sign-in.
        """
        try:
            async with asyncio.timeout(self.directory.seconds):
                await self._places.acquire()
        except TimeoutError as error:
            raise ProviderUnavailable(self.directory.title) from error
        try:
            yield
        finally:
            self._places.release()

    @asynccontextmanager
    async def session(self) -> AsyncIterator[DirectorySession]:
        """Connections that end with it, within the seconds of a sign-in."""
        end = asyncio.get_running_loop().time() + self.directory.seconds
        session = DirectorySession(self._threads, end, self.directory.title)
        try:
            yield session
        finally:
            for connection in session.connections:
                connection.abort()  # a thread may still wait for it
                with suppress(RuntimeError):  # the program ends, and has closed them already
                    self._threads.submit(connection.close)

    def _open(self, session: DirectorySession) -> DirectoryConnection:
        """A connection to the first server that takes one; those that did not a moment ago come last."""
        moment = self._clock()
        urls = sorted(self.directory.urls, key=lambda url: self._avoided.get(url, 0.0) > moment)
        last: ServerAway | None = None
        for url in urls:
            try:
                return self.connect(session, url)
            except ServerAway as away:
                self._avoided[url], last = moment + AVOIDED_SECONDS, away
        assert last is not None, "there is one at least"
        raise last

    def connect(self, session: DirectorySession, url: str) -> DirectoryConnection:
        """A connection to one of its servers. Raises ServerAway."""
        connection = DirectoryConnection(self.directory, url, self._context)
        session.connections.append(connection)
        connection.open()
        return connection

    def open_service(self, session: DirectorySession) -> DirectoryConnection:
        """A connection of the service account. Raises ProviderUnavailable; from BindRefused where it is refused."""
        connection = self._open(session)
        try:
            connection.bind(self.directory.service_dn or "", self.directory.service_password or "")
        except BindRefused as error:
            log.warning("directory %s: the service account is refused: %s", self.directory.name, error)
            raise ProviderUnavailable(self.directory.title) from error
        return connection

    async def _find(self, session: DirectorySession, connection: DirectoryConnection, login: str) -> DirectoryEntry:
        """The entry that a login means. Raises PasswordRefused, after as long a way as a wrong password's."""
        base, filter_ = self.directory.base_dn, filter_for(self.directory.user_filter, login)
        try:
            entry = await session.run(connection.find_one, base, filter_, self.attributes())
            why = "no such login"
        except SeveralEntries:
            entry, why = None, "the login means several entries"
        if entry is None:
            nobody = DirectoryEntry(f"cn={secrets.token_hex(16)},{base}", {})
            try:
                await session.run(self._prove, session, nobody, secrets.token_hex(16))
            except PasswordRefused:
                raise PasswordRefused(why) from None
            raise PasswordRefused(why)
        return entry

    def _prove(self, session: DirectorySession, entry: DirectoryEntry, password: str) -> None:
        """Raises PasswordRefused: it is not the entry's password."""
        try:
            self._open(session).bind(entry.dn, password)
        except BindRefused as error:
            raise PasswordRefused(str(error), entry.subject(self.directory.subject_attribute)) from error

    def _bind_directly(
        self, session: DirectorySession, login: str, password: str
    ) -> tuple[DirectoryConnection, DirectoryEntry]:
        """Bind as the login says, and find the entry of whom the directory says that is.

        Another search by the login might find somebody else.
        """
        name = bind_name_for(self.directory.bind_name or "", login)
        if name is None:
            raise PasswordRefused("no such login")
        connection = self._open(session)
        try:
            connection.bind(name, password)
        except BindRefused as error:
            raise PasswordRefused(str(error)) from error
        kind, _, who = connection.who_am_i().partition(":")
        if kind == "dn" and who:
            entry = connection.read(who, self.attributes())
        elif kind == "u" and who:
            entry = self._principal(connection, who)
        else:
            entry = None
        if entry is None:
            raise SignInRefused("the directory does not say who has bound")
        self.subject_of(entry)
        return connection, entry

    def _principal(self, connection: DirectoryConnection, who: str) -> DirectoryEntry | None:
        """The entry of `DOMAIN\\name` in Active Directory; of another domain's user of the same name, none."""
        filter_ = filter_for("(&(objectClass=user)(sAMAccountName={login}))", who.rpartition("\\")[2])
        try:
            entry = connection.find_one(self.directory.base_dn, filter_, (*self.attributes(), PRINCIPAL))
        except SeveralEntries:
            return None
        same = entry is not None and [one.casefold() for one in entry.texts(PRINCIPAL)] == [who.casefold()]
        return entry if same else None

    def person(self, connection: DirectoryConnection, entry: DirectoryEntry) -> DirectoryPerson:
        """What the directory says of somebody, with all their groups. Raises SignInRefused: no lasting name."""
        of = self.directory
        claims = {rule.claim: entry.texts(rule.claim) for rule in of.rules}
        claims |= {of.groups_claim: self._groups(connection, entry.dn)}
        email = next(iter(entry.texts(of.email_attribute)), "")
        return DirectoryPerson(self.subject_of(entry), email, claims)

    def _groups(self, connection: DirectoryConnection, dn: str) -> list[str]:
        """Names and DNs of all groups that somebody is in, in groups in groups, too, as the directory is set up."""
        of = self.directory
        rule = f"{of.member_attribute}:{IN_CHAIN}:" if of.nested == "chain" else of.member_attribute
        seen: dict[str, DirectoryEntry] = {}
        level = [dn]
        for _ in range(DEEPEST if of.nested == "walk" else 1):
            found: dict[str, DirectoryEntry] = {}
            for start in range(0, len(level), NAMES_AT_ONCE):
                filter_ = members_filter(of.group_filter, rule, level[start : start + NAMES_AT_ONCE])
                for group in connection.pages(of.groups_dn or of.base_dn, filter_, ("cn",)):
                    found.setdefault(fold_name(group.dn), group)
            level = [group.dn for key, group in found.items() if key not in seen]
            seen = found | seen
            if not level:
                break
        return [name for group in seen.values() for name in (group.dn, *group.texts("cn"))]

    def subject_of(self, entry: DirectoryEntry) -> str:
        """The lasting name in an entry. Raises SignInRefused: it has none."""
        subject = entry.subject(self.directory.subject_attribute)
        if subject is None:
            raise SignInRefused(f"the entry has no {self.directory.subject_attribute} that can be read")
        return subject

    def attributes(self) -> tuple[str, ...]:
        """Those that are read of somebody's entry."""
        of = self.directory
        claims = {rule.claim for rule in of.rules} - {of.groups_claim}
        return (of.subject_attribute, of.email_attribute, *STATUS_ATTRIBUTES, *sorted(claims))


def _tls_context(directory: Directory) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=directory.ca_file)
        context.hostname_checks_common_name = False  # which says nothing of the host (RFC 9525)
        return context
    except OSError as error:
        fix = "Give a file with certificates in PEM."
        raise InvalidSettings(f"directory {directory.name}: ca_file: {error.strerror or error}", fix=fix) from error


def _check_filter(directory: Directory, template: str) -> None:
    try:
        parse_filter(filter_for(template, "x"), None, False, False, None, False)
    except LDAPInvalidFilterError as error:
        raise InvalidSettings(f"directory {directory.name}: {template}: {error}", fix="Write RFC 4515.") from error
