"""Sessions of the console: tokens stay here, the browser holds an opaque key that only names them."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Any

MOST = 1000
MOST_OF_ONE = 32  # windows of one person
TRUSTED_SECONDS = 3.0  # then the API is asked whether a session still holds, when something comes of it


class Role(StrEnum):
    """Roles of the API in the order of what they may do."""

    VIEWER = "viewer"
    DEVELOPER = "developer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def reaches(self, least: "Role") -> bool:
        """True if this role may do what needs `least`. For hiding only: the API decides."""
        order = list(Role)
        return order.index(self) >= order.index(least)


@dataclass(frozen=True, slots=True)
class TokenGrant:
    """Tokens and identity that the API answered to a login or a refresh."""

    access: str
    refresh: str
    user: str
    tenant: str
    workspace: str  # whose role this is
    role: Role
    must_change: bool  # the API serves nothing but the change of the password until that is done

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> "TokenGrant":
        """From the API's JSON."""
        return cls(
            body["access_token"],
            body["refresh_token"],
            body["user_id"],
            body["tenant_id"],
            body["workspace_id"],
            Role(body["role"]),
            body["must_change_password"],
        )


@dataclass(frozen=True, slots=True)
class WorkspaceMembership:
    """A workspace that somebody belongs to, and their role there."""

    id: str
    name: str
    role: Role


class ConsoleSession:
    """One sign-in. Its tokens change while it lasts, which is why it is no value."""

    def __init__(self, email: str, grant: TokenGrant, ends: float) -> None:
        """`ends` on the store's clock."""
        self.email, self.grant, self.ends = email, grant, ends
        self.places: tuple[WorkspaceMembership, ...] = ()
        self.chosen: str | None = None
        self.asked_at = -TRUSTED_SECONDS  # before the store's clock began
        self.over = False
        self.refreshing = asyncio.Lock()

    @property
    def workspace(self) -> str:
        """The id of the workspace that is looked at."""
        return self.chosen or self.grant.workspace

    @property
    def place(self) -> WorkspaceMembership | None:
        """The workspace that is looked at; None before the workspaces were asked for."""
        return next((place for place in self.places if place.id == self.workspace), None)

    def name_of(self, workspace: str) -> str:
        """Name of a workspace; an id that is none of this person's is not repeated."""
        return next((place.name for place in self.places if place.id == workspace), "another workspace")

    @property
    def role(self) -> Role:
        """The role in that workspace."""
        return self.grant.role if self.place is None else self.place.role


class SessionStore:
    """Bounded and expiring: the oldest goes when there are too many. The keys themselves are not kept."""

    def __init__(
        self, seconds: float, clock: Callable[[], float], most: int = MOST, trusted: float = TRUSTED_SECONDS
    ) -> None:
        """`clock` gives seconds that only grow; for `trusted` seconds a session is not asked about."""
        self.seconds = seconds
        self._clock, self._most, self._trusted = clock, most, trusted
        self._open: OrderedDict[str, ConsoleSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, email: str, grant: TokenGrant) -> tuple[str, ConsoleSession]:
        """A new session and its key for the cookie."""
        self._forget_expired()
        key, session = secrets.token_urlsafe(32), ConsoleSession(email, grant, self._clock() + self.seconds)
        self._open[_key_digest(key)] = session
        own = [digest for digest, one in self._open.items() if one.grant.user == grant.user]
        for digest in own[:-MOST_OF_ONE]:
            self._open.pop(digest).over = True
        while len(self._open) > self._most:
            self._open.popitem(last=False)[1].over = True
        return key, session

    def find(self, key: str | None) -> ConsoleSession | None:
        """Session of a key; None where there is none, or not any more."""
        found = self._open.get(_key_digest(key)) if key else None
        if found is None or (not found.over and self._clock() < found.ends):
            return found
        self.end(key)
        return None

    def due(self, session: ConsoleSession) -> bool:
        """True if the API has to confirm the session again; only the first caller to ask is told so."""
        now = self._clock()
        if now - session.asked_at < self._trusted:
            return False
        session.asked_at = now
        return True

    def end(self, key: str | None) -> None:
        """Forget it and its tokens."""
        ended = self._open.pop(_key_digest(key), None) if key else None
        if ended is not None:
            ended.over = True

    def _forget_expired(self) -> None:
        now = self._clock()
        for digest in [digest for digest, one in self._open.items() if one.over or one.ends <= now]:
            del self._open[digest]


def _key_digest(key: str) -> str:
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
