"""Access tokens for cloud sources: given, or asked for with the keys of an application (RFC 6749, RFC 7523)."""

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from pipelines.documents.sources.checked_http import NETWORK_ERRORS, network_fault, read_whole
from pipelines.documents.sources.source_port import SourceAway, SourceInvalid, SourceRefused

EARLY_SECONDS: Final = 60.0  # a token that ends so soon is not used any more
SHORTEST_SECONDS: Final = 120.0  # however soon a token is said to end: it is not asked for with every request
LONGEST_SECONDS: Final = 24 * 3600.0
ANSWER_SECONDS: Final = 60.0
MOST_BYTES: Final = 64 * 1024
_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@dataclass(frozen=True, slots=True)
class TokenEndpoint:
    """Where a service gives tokens out.

    Attributes:
        url: of its token endpoint.
        scope: that is asked for, where one is.
        more: form fields that it wants besides.
    """

    url: str
    scope: str = ""
    more: Mapping[str, str] | None = None


class CloudTokens:
    """Gives the token to send. A credential has one of: `token`; `client_id` and `client_secret`, with `refresh_token`
    for a person's files; `service_account`, a key file as JSON, with `subject` for whom it acts.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        secret: Mapping[str, str],
        endpoint: TokenEndpoint,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`client` is a `checked_client`; asks nothing yet. Raises SourceInvalid: the credential has no such fields."""
        self._client, self._secret, self._endpoint, self._clock = client, secret, endpoint, clock
        self._token, self._until = secret.get("token", ""), 0.0
        self._given = bool(self._token)
        if self._given and not is_sendable(self._token):
            raise SourceInvalid("the token of the credential has characters that no token has")
        if not self._given and not _is_complete(secret):
            raise SourceInvalid(
                "the credential has neither token, nor client_id and client_secret, nor service_account",
                fix="Store one of type custom with these fields: aos credentials add.",
            )

    async def current(self) -> str:
        """A token that holds for a while. Raises SourceRefused, SourceAway."""
        if not self._given and self._clock() > self._until - EARLY_SECONDS:
            await self._ask()
        return self._token

    async def headers(self) -> dict[str, str]:
        """What a request is sent with. Raises SourceRefused, SourceAway."""
        return {"Authorization": f"Bearer {await self.current()}"}

    def is_renewable(self) -> bool:
        """True where a token that is refused is worth asking for another; that is done once."""
        if self._given:
            return False
        self._until = 0.0
        return True

    async def _ask(self) -> None:
        form = {**self._form(), **(self._endpoint.more or {})}
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                self._client.stream("POST", self._endpoint.url, data=form) as answer,
            ):
                status, body = answer.status_code, await read_whole(answer, MOST_BYTES)
        except NETWORK_ERRORS as error:
            raise network_fault(error, "the token endpoint") or error from error
        if body is None:
            raise SourceAway("the token endpoint does not end its answer")
        if status >= 500 or status == 429:
            raise SourceAway(f"the token endpoint answers {status}")
        try:
            self._token, self._until = _token_of(body, self._clock())
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            kind = SourceAway if status == 200 else SourceRefused
            raise kind(f"the token endpoint answers {status}: {_error_code(body)}") from error

    def _form(self) -> dict[str, str]:
        secret, scope = self._secret, {"scope": self._endpoint.scope} if self._endpoint.scope else {}
        if "service_account" in secret:
            return {"grant_type": _JWT_BEARER, "assertion": self._assertion()}
        client = {name: secret[name] for name in ("client_id", "client_secret") if secret.get(name)}
        if refresh := secret.get("refresh_token"):
            return {"grant_type": "refresh_token", "refresh_token": refresh, **client}
        return {"grant_type": "client_credentials", **client, **scope}

    def _assertion(self) -> str:
        try:
            key = json.loads(self._secret["service_account"])
            now = int(self._clock())
            claims = {"iss": key["client_email"], "scope": self._endpoint.scope, "aud": self._endpoint.url}
            if subject := self._secret.get("subject"):
                claims["sub"] = subject
            header = {"alg": "RS256", "kid": str(key.get("private_key_id", ""))}
            return jwt.encode(header, {**claims, "iat": now, "exp": now + 3600}, RSAKey.import_key(key["private_key"]))
        except (ValueError, KeyError, TypeError, JoseError) as error:
            raise SourceInvalid("service_account is no key file of a service account") from error


def _is_complete(secret: Mapping[str, str]) -> bool:
    if secret.get("service_account"):
        return True
    return bool(secret.get("client_id") and (secret.get("client_secret") or secret.get("refresh_token")))


def _token_of(body: bytes, now: float) -> tuple[str, float]:
    found: Any = json.loads(body)
    token, seconds = found["access_token"], float(found.get("expires_in") or 3600)
    if not isinstance(token, str) or not is_sendable(token):
        raise ValueError("it is no token")
    seconds = seconds if seconds == seconds else SHORTEST_SECONDS  # "NaN" is a number, too
    return token, now + min(max(seconds, SHORTEST_SECONDS), LONGEST_SECONDS)


def is_sendable(token: str) -> bool:
    """True for a token that can stand in a header (RFC 6750 allows less)."""
    return bool(token) and all("!" <= one <= "~" for one in token)


def _error_code(body: bytes) -> str:
    """The error's name; descriptions may repeat what was sent."""
    try:
        found: Any = json.loads(body)
        return str(found["error"])[:80]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "no token"
