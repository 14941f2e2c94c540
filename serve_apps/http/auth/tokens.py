"""Bearer tokens: signed access tokens (RFC 7519, HS256) and opaque refresh tokens and API keys."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt

from cluster.basics.errors import Unauthenticated
from cluster.basics.scope import TenantId, UserId, WorkspaceId
from cluster.state.secret_file import kept_secret
from configs.sections_identity import AuthSettings

ISSUER = "aos"
AUDIENCE = "aos-api"
FROM_CONSOLE = "aos-console"  # the audience of what the console says of a browser's address
VOUCHED_SECONDS = 60
ALGORITHM = "HS256"
KEY_START = "aos_"


class TokenRefused(Unauthenticated):
    """The access token is not valid or has run out."""

    code = "token_refused"
    fix = "Get a new one with POST /api/auth/refresh, or sign in again."


@dataclass(frozen=True, slots=True)
class TokenClaims:
    """Claims of a verified access token: user, tenant, and the workspace of the sign-in."""

    user: UserId
    tenant: TenantId
    workspace: WorkspaceId
    session: str  # the login that it descends from, a UUID; the token is good while that one lasts
    version: int  # the user's `token_version` when it was made; their rights have not changed since


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new API key: the whole of it is shown once, its prefix stays visible."""

    text: str
    prefix: str


class TokenSigner:
    """Signs and verifies with one secret."""

    def __init__(self, secret: str, settings: AuthSettings) -> None:
        """`secret` is at least 32 bytes (RFC 7518 §3.2); settings say how long tokens live."""
        self._secret = secret
        self.access_seconds = settings.access_minutes * 60
        self._refresh_days = settings.refresh_days

    def access(self, claims: TokenClaims, now: datetime) -> str:
        """A signed access token."""
        body = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "type": "access",
            "sub": claims.user,
            "tid": claims.tenant,
            "wid": claims.workspace,
            "sid": claims.session,
            "ver": claims.version,
            "iat": now,
            "exp": now + timedelta(seconds=self.access_seconds),
            "jti": secrets.token_hex(8),
        }
        return jwt.encode(body, self._secret, algorithm=ALGORITHM)

    def verify(self, token: str, now: datetime) -> TokenClaims:
        """Claims of the token, if it is ours, of the right type and unexpired; `member_by_token` has the rest.

        Raises TokenRefused: for every reason alike.
        """
        try:
            body = self._decode(token, AUDIENCE, "exp", "iat", "sub")
            if body.get("type") != "access" or not float(body["iat"]) - 60 <= now.timestamp() < float(body["exp"]):
                raise TokenRefused
            user, tenant, workspace, session = (str(UUID(str(body.get(name)))) for name in ("sub", "tid", "wid", "sid"))
            version = int(body.get("ver", -1))
        except (jwt.InvalidTokenError, ValueError, TypeError) as error:
            raise TokenRefused from error
        return TokenClaims(UserId(user), TenantId(tenant), WorkspaceId(workspace), session, version)

    def seal(self, audience: str, body: Mapping[str, str], ends: datetime) -> str:
        """Something that a browser keeps for us for a while: it can be read there, and not be changed."""
        return jwt.encode({**body, "iss": ISSUER, "aud": audience, "exp": ends}, self._secret, algorithm=ALGORITHM)

    def unseal(self, audience: str, sealed: str, now: datetime) -> dict[str, Any] | None:
        """What was sealed for this audience; None where it was not, or has run out."""
        try:
            body = self._decode(sealed, audience, "exp")
            return body if now.timestamp() < float(body["exp"]) else None
        except (jwt.InvalidTokenError, ValueError, TypeError):
            return None

    def vouch(self, address: str, now: datetime) -> str:
        """The console's word for a browser's address: whoever has the secret is no stranger who makes one up."""
        return self.seal(FROM_CONSOLE, {"sub": address}, now + timedelta(seconds=VOUCHED_SECONDS))

    def vouched(self, word: str, now: datetime) -> str | None:
        """The address that the console vouches for; None where it is not the console's word, or an old one."""
        body = self.unseal(FROM_CONSOLE, word, now)
        return None if body is None or "sub" not in body else str(body["sub"])

    def _decode(self, token: str, audience: str, *required: str) -> dict[str, Any]:
        # The moment comes from our clock, not from the library's.
        options: Any = {"require": list(required), "verify_exp": False, "verify_iat": False}
        return jwt.decode(
            token, self._secret, algorithms=[ALGORITHM], audience=audience, issuer=ISSUER, options=options
        )

    def refresh(self, now: datetime) -> tuple[str, datetime]:
        """A new opaque refresh token and when it runs out."""
        return secrets.token_urlsafe(32), now + timedelta(days=self._refresh_days)


def new_key() -> NewKey:
    """`aos_<prefix>_<secret>` with 256 random bits."""
    prefix = secrets.token_hex(4)
    return NewKey(f"{KEY_START}{prefix}_{secrets.token_urlsafe(32)}", prefix)


def signing_secret(settings: AuthSettings, state_dir: Path) -> str:
    """The configured secret, else one that is made once and kept beside the state, readable by its owner only."""
    if settings.secret_key is not None:
        return settings.secret_key
    return kept_secret(state_dir / "auth-secret", lambda: secrets.token_urlsafe(48)).strip()
