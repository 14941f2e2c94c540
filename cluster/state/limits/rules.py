"""Rules of limits: what they limit, whom they concern, and which of several holds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final

from cluster.basics.errors import Invalid
from cluster.basics.scope import Scope, TenantId, UserId, WorkspaceId
from configs.sections_limits import LimitSettings

LARGEST: Final = Decimal(10) ** 15


class LimitedResource(StrEnum):
    """What a rule may limit. The first seven are requests by their class, as LimitSettings tells them apart."""

    REQUESTS = "requests"
    READS = "reads"
    CHAT = "chat"
    AGENTS = "agents"
    ADMIN_API = "admin_api"
    ADMIN = "admin"
    UPLOADS = "uploads"
    TOKENS = "tokens"  # of language models, read and written
    USD = "usd"  # what their replies cost
    PAGES = "pages"  # of files that were read
    UPLOAD_BYTES = "upload_bytes"
    STREAMS = "streams"  # open at a time
    JOBS = "jobs"  # waiting or running at a time
    SIGN_IN = "sign_in"  # requests of an address for which nobody is signed in; rules of a tenant cannot say anything


class LimitWindow(StrEnum):
    """The period in which an amount may be used. Requests slide; what is metered begins anew with each period (UTC)."""

    AT_ONCE = "at_once"
    SECOND = "second"
    MINUTE = "minute"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class SubjectKind(StrEnum):
    """Whom a rule may be about, the most specific first; a default is about each caller, the ceiling about a tenant."""

    KEY = "key"
    USER = "user"
    GROUP = "group"
    WORKSPACE = "workspace"
    TENANT = "tenant"


REQUESTS: Final = frozenset(list(LimitedResource)[:7])
METERED: Final = (LimitedResource.TOKENS, LimitedResource.USD, LimitedResource.PAGES, LimitedResource.UPLOAD_BYTES)
AT_ONCE: Final = (LimitedResource.STREAMS, LimitedResource.JOBS)
PERIODS: Final = (LimitWindow.MINUTE, LimitWindow.HOUR, LimitWindow.DAY, LimitWindow.MONTH)
# What is used in a worker, or by an agent, is its user's: no key is known there.
KEYLESS: Final = frozenset({LimitedResource.TOKENS, LimitedResource.USD, LimitedResource.PAGES, LimitedResource.JOBS})
SECONDS: Final[Mapping[LimitWindow, int]] = {
    LimitWindow.AT_ONCE: 0,
    LimitWindow.SECOND: 1,
    LimitWindow.MINUTE: 60,
    LimitWindow.HOUR: 3600,
    LimitWindow.DAY: 86_400,
    LimitWindow.MONTH: 30 * 86_400,
}


class BadLimit(Invalid):
    """This cannot be limited like that."""

    code = "bad_limit"


@dataclass(frozen=True, slots=True)
class LimitedCaller:
    """Who uses something: everything that a rule may be about.

    Attributes:
        user: None for the system itself.
        key: the API key that was shown, by its id.
        groups: by their names.
        by_service: the key is a front end's, all of whose people have what the settings say of each caller.
    """

    tenant: TenantId
    workspace: WorkspaceId
    user: UserId | None = None
    key: str | None = None
    groups: tuple[str, ...] = ()
    by_service: bool = False

    @classmethod
    def of_scope(cls, scope: Scope, key: str | None = None) -> "LimitedCaller":
        """The caller behind a scope."""
        groups = tuple(name.removeprefix("group:") for name in scope.principals if name.startswith("group:"))
        return cls(scope.tenant, scope.workspace, scope.user, key, groups)

    def is_subject(self, kind: SubjectKind, subject: str) -> bool:
        """True where a rule about this subject concerns the caller; a group is meant by its name."""
        match kind:
            case SubjectKind.KEY:
                return subject == self.key
            case SubjectKind.USER:
                return subject == self.user
            case SubjectKind.GROUP:
                return subject in self.groups
            case SubjectKind.WORKSPACE:
                return subject == self.workspace
            case SubjectKind.TENANT:
                return subject == self.tenant


@dataclass(frozen=True, slots=True)
class LimitRule:
    """So much of a resource in a window, for a subject altogether.

    Attributes:
        kind: None for a default of the settings, which each caller has for themselves.
        subject: its id, of a caller by a default, too.
        name: of a group, by which callers are told to belong to it.
    """

    resource: LimitedResource
    kind: SubjectKind | None
    subject: str
    amount: Decimal
    window: LimitWindow
    name: str = ""

    @property
    def seconds(self) -> int:
        """Length of the window; 0 for what is limited at a time."""
        return SECONDS[self.window]

    @property
    def subject_kind(self) -> str:
        """As it is told: `caller` for a default, `address` for who is not signed in."""
        if self.resource is LimitedResource.SIGN_IN:
            return "address"
        return self.kind or "caller"

    @property
    def counted_as(self) -> str:
        """Name of its count; where the amount or the window is changed, requests are counted anew."""
        return f"{self.subject_kind}:{self.subject}:{self.resource}:{self.window}:{self.name}"


def check_rule(kind: SubjectKind, resource: LimitedResource, amount: Decimal, window: LimitWindow) -> None:
    """Refuse a rule that could not be kept. Raises BadLimit: with what would do."""
    if resource is LimitedResource.SIGN_IN:
        raise BadLimit("sign_in is counted by address, before a tenant is known", fix="Set AOS_LIMITS_SIGN_IN.")
    if not amount.is_finite() or not 0 <= amount <= LARGEST:
        raise BadLimit(f"the amount is between 0 and {LARGEST:.0f}")
    if resource is not LimitedResource.USD and amount != amount.to_integral_value():
        raise BadLimit(f"{resource} are whole numbers")
    if kind is SubjectKind.KEY and resource in KEYLESS:
        raise BadLimit(f"{resource} are counted for people, not for keys", fix="Set it for the user who has the key.")
    if resource in AT_ONCE:
        good: tuple[LimitWindow, ...] = (LimitWindow.AT_ONCE,)
    elif resource in METERED:
        good = PERIODS
    else:
        good = tuple(one for one in LimitWindow if one is not LimitWindow.AT_ONCE)
    if window not in good:
        raise BadLimit(f"{resource} have no window {window}", fix=f"Choose {', '.join(good)}.")


def find_rule(
    rules: Iterable[LimitRule], caller: LimitedCaller, resource: LimitedResource, settings: LimitSettings
) -> LimitRule | None:
    """The rule that holds: the most specific one, of several groups the most generous, else the settings' default."""
    ours = [
        rule
        for rule in rules
        if rule.resource is resource and rule.kind and caller.is_subject(rule.kind, rule.name or rule.subject)
    ]
    order = list(SubjectKind)
    ours.sort(key=lambda rule: (order.index(rule.kind or SubjectKind.TENANT), -_rate(rule), rule.subject))
    return ours[0] if ours else default_rule(caller, resource, settings)


def default_rule(caller: LimitedCaller, resource: LimitedResource, settings: LimitSettings) -> LimitRule | None:
    """What the settings say of each caller; None where they say nothing."""
    if resource is LimitedResource.SIGN_IN:
        return None
    amount = int(getattr(settings, resource, 0))
    window = LimitWindow.AT_ONCE if resource in AT_ONCE else LimitWindow.MINUTE
    subject = caller.user if caller.by_service else caller.key or caller.user
    return LimitRule(resource, None, subject, Decimal(amount), window) if amount and subject else None


def period_start(window: LimitWindow, now: datetime) -> datetime:
    """When the period began that `now` is in (UTC); `window` is one of PERIODS."""
    at = now.astimezone(UTC).replace(second=0, microsecond=0)
    if window is LimitWindow.MINUTE:
        return at
    at = at.replace(minute=0)
    if window is LimitWindow.HOUR:
        return at
    at = at.replace(hour=0)
    return at.replace(day=1) if window is LimitWindow.MONTH else at


def period_end(window: LimitWindow, now: datetime) -> datetime:
    """When the next period begins."""
    start = period_start(window, now)
    if window is LimitWindow.MONTH:
        return (start + timedelta(days=32)).replace(day=1)
    return start + timedelta(seconds=SECONDS[window])


def _rate(rule: LimitRule) -> Decimal:
    return rule.amount / (rule.seconds or 1)
