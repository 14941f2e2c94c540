"""A token endpoint: tokens for a code or for a refresh token (RFC 6749), and the end of them (RFC 7009)."""

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard
from urllib.parse import quote, urlencode

from cluster.basics.errors import AosError, Permanent
from skills.http_client.fetch import GuardedHttpClient, HttpReply, OutboundRequest
from skills.http_client.http_answer import ServiceDenied, ServiceGarbled, raise_refusal
from skills.oauth.authorization_server import AuthorizationServer

LONGEST = 16_000  # characters of a token


class GrantEnded(Permanent):
    """The service takes this code or refresh token no longer."""

    code, status = "oauth_grant_ended", 409
    fix = "Connect again."


@dataclass(frozen=True, slots=True)
class OAuthTokens:
    """Tokens of a person. `seconds`: how long the access token is good; None where nobody said."""

    access: str = field(repr=False)
    refresh: str = field(repr=False)  # empty where there is none
    seconds: float | None
    scope: str


class TokenClient:
    """A client of an authorization server, with its secret; without one it is a public client."""

    def __init__(self, way: GuardedHttpClient, server: AuthorizationServer, client: Mapping[str, str]) -> None:
        """`client` has `client_id`, and `client_secret` where there is one."""
        self._way, self._server = way, server
        self._id, self._secret = client["client_id"], client.get("client_secret", "")

    async def redeem_code(self, code: str, redirect_uri: str, verifier: str) -> OAuthTokens:
        """Tokens for a code. Raises as `refresh`."""
        given = {"code": code, "redirect_uri": redirect_uri, "code_verifier": verifier}
        return _read_tokens(await self._grant("authorization_code", given))

    async def refresh(self, token: str) -> OAuthTokens:
        """New tokens; without a new refresh token the old one stays.

        Raises:
            GrantEnded: the server takes it no longer.
            ServiceDenied, ServiceGarbled: it refuses the client, or answers something else.
            AosError: those of `GuardedHttpClient.send` and `raise_refusal`.
        """
        found = _read_tokens(await self._grant("refresh_token", {"refresh_token": token}))
        return found if found.refresh else OAuthTokens(found.access, token, found.seconds, found.scope)

    async def revoke(self, token: str) -> bool:
        """True once the server has ended a token; False where it cannot be asked to, or does not."""
        if not self._server.revoke_url:
            return False
        try:
            reply = await self._post(self._server.revoke_url, {"token": token})
        except AosError:  # what is deleted here is of no use to anybody here, whatever the server says
            return False
        return reply.status == 200

    async def _grant(self, kind: str, given: Mapping[str, str]) -> HttpReply:
        asked = {"grant_type": kind, **given}
        if self._server.resource:
            asked["resource"] = self._server.resource
        reply = await self._post(self._server.token_url, asked)
        if reply.status in (400, 401):
            error = _json_object(reply).get("error")
            if error == "invalid_grant":
                raise GrantEnded
            raise ServiceDenied(f"no token is given: {str(error)[:100]}")
        raise_refusal(reply, reads=True)
        return reply

    async def _post(self, url: str, form: Mapping[str, str]) -> HttpReply:
        sent = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        login: dict[str, str] = {}
        if self._secret and not self._server.posts_secret:
            pair = f"{quote(self._id, safe='')}:{quote(self._secret, safe='')}"  # RFC 6749, section 2.3.1
            login = {"Authorization": f"Basic {b64encode(pair.encode()).decode('ascii')}"}
        else:
            form = {**form, "client_id": self._id} | ({"client_secret": self._secret} if self._secret else {})
        return await self._way.send(OutboundRequest(url, "POST", sent, login, urlencode(form).encode()))


def _read_tokens(reply: HttpReply) -> OAuthTokens:
    found = _json_object(reply)
    access, refresh = found.get("access_token"), found.get("refresh_token") or None
    if not _is_token(access) or not (refresh is None or _is_token(refresh)):
        raise ServiceGarbled("the answer has no access_token that could be sent")
    if str(found.get("token_type", "bearer")).lower() != "bearer":
        raise ServiceGarbled("the answer has a token that is no bearer token")
    seconds, scope = found.get("expires_in"), found.get("scope")
    known = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < 1e9
    return OAuthTokens(
        access, refresh or "", seconds if known else None, scope[:1_000] if isinstance(scope, str) else ""
    )


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and 0 < len(value) <= LONGEST and value.isascii() and value.isprintable()


def _json_object(reply: HttpReply) -> Mapping[str, Any]:
    try:
        found = json.loads(reply.text)
    except (RecursionError, ValueError):
        raise ServiceGarbled("the token endpoint gives no JSON") from None
    if not isinstance(found, dict):
        raise ServiceGarbled("the token endpoint gives no JSON object")
    return found
