"""The authorization server of a service: as its credential says, or the service itself (RFC 9728, RFC 8414)."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from cluster.basics.errors import Permanent
from configs.sign_in_providers import is_private_channel
from skills.http_client.fetch import GuardedHttpClient, OutboundRequest
from skills.http_client.login import url_origin

SECONDS = 20.0  # for all that is asked until the server is known
_METADATA = re.compile(r'resource_metadata\s*=\s*"([^"]+)"', re.IGNORECASE)


class NoAuthorizationServer(Permanent):
    """Nobody gives tokens for this service, or not in a way that can be trusted."""

    code, status = "oauth_no_server", 502
    fix = "Look whether base_url is the service's address, or write authorize_url and token_url into the credential."


@dataclass(frozen=True, slots=True)
class AuthorizationServer:
    """Addresses of an authorization server.

    Attributes:
        revoke_url: empty where it revokes nothing (RFC 7009).
        issuer: its own name; empty where nobody has told it.
        tells_issuer: its answers have to name it (RFC 9207).
        resource: what the tokens are for (RFC 8707); empty where it is not told.
        posts_secret: it takes the client's secret in the form, and not in a header.
    """

    authorize_url: str
    token_url: str
    revoke_url: str = ""
    issuer: str = ""
    tells_issuer: bool = False
    resource: str = ""
    posts_secret: bool = False

    def __post_init__(self) -> None:
        for url in (self.authorize_url, self.token_url, self.revoke_url):
            if url and not is_private_channel(url):
                raise NoAuthorizationServer(f"{urlsplit(url).hostname}: not https")

    def authorization_url(self, client_id: str, scope: str, redirect_uri: str, state: str, challenge: str) -> str:
        """Where a browser is sent, by the S256 challenge of a verifier."""
        asked = {"response_type": "code", "client_id": client_id, "redirect_uri": redirect_uri, "state": state}
        asked |= {"code_challenge": challenge, "code_challenge_method": "S256", "scope": scope}
        asked |= {"resource": self.resource}
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"{self.authorize_url}{'&' if '?' in self.authorize_url else '?'}{query}"

    def is_answer(self, issuer: str) -> bool:
        """True where an answer that names this issuer, or none, may be this server's."""
        return issuer == self.issuer if self.tells_issuer or (issuer and self.issuer) else True

    def to_json(self) -> dict[str, Any]:
        """As it is stored; `AuthorizationServer(**value)` reads it."""
        return asdict(self)


async def find_server(way: GuardedHttpClient, fields: Mapping[str, str]) -> AuthorizationServer:
    """The authorization server of a credential's fields.

    `authorize_url` and `token_url` are taken as they are; `issuer` is asked for the rest; else the service at
    `base_url` is asked for its own, as MCP describes it.

    Raises NoAuthorizationServer: there is none; AosError: those of `GuardedHttpClient.send`.
    """
    try:
        async with asyncio.timeout(SECONDS):
            return await _find_server(way, fields)
    except TimeoutError:
        raise NoAuthorizationServer(f"nobody has answered within {SECONDS:g} s") from None
    except ValueError as error:  # of `urlsplit`: an address that is none
        raise NoAuthorizationServer(str(error)[:100]) from None


async def _find_server(way: GuardedHttpClient, fields: Mapping[str, str]) -> AuthorizationServer:
    if fields.get("authorize_url") and fields.get("token_url"):
        revoke_url, name_, audience = (fields.get(name, "") for name in ("revoke_url", "issuer", "resource"))
        return AuthorizationServer(fields["authorize_url"], fields["token_url"], revoke_url, name_, resource=audience)
    if issuer := fields.get("issuer"):
        return await _server_of(way, issuer, fields.get("resource", ""))
    metadata = await _resource_metadata(way, fields["base_url"])
    resource, servers = metadata.get("resource"), metadata.get("authorization_servers")
    if not isinstance(resource, str) or not _covers(resource, fields["base_url"]):
        raise NoAuthorizationServer("the service calls itself by another address than base_url")
    if not isinstance(servers, list) or not servers or not isinstance(servers[0], str):
        raise NoAuthorizationServer("the service names no authorization server")
    return await _server_of(way, servers[0], resource)


def _covers(resource: str, url: str) -> bool:
    """True where a resource is the service's address, or the beginning of it: else tokens would be for another one."""
    path, whole = urlsplit(resource).path.rstrip("/"), urlsplit(url).path.rstrip("/")
    return url_origin(resource) == url_origin(url) and (whole == path or whole.startswith(f"{path}/"))


async def _resource_metadata(way: GuardedHttpClient, url: str) -> Mapping[str, Any]:
    """RFC 9728: by the challenge of a 401, else at the well-known places."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    challenge = await way.send(OutboundRequest(url, "POST", sent, content=b"{}"))
    told = _METADATA.search(challenge.headers.get("www-authenticate", "")) if challenge.status == 401 else None
    parts = urlsplit(url)
    root, path = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource", parts.path.rstrip("/")
    places = [told[1]] if told else list(dict.fromkeys((root + path, root)))
    for place in places:
        if url_origin(place) == url_origin(url) and (found := await _fetch_json(way, place)) is not None:
            return found
    raise NoAuthorizationServer("the service does not say who gives tokens for it")


async def _server_of(way: GuardedHttpClient, issuer: str, resource: str) -> AuthorizationServer:
    """RFC 8414, and OpenID Connect Discovery in both of its places."""
    parts = urlsplit(issuer)
    root, path = f"{parts.scheme}://{parts.netloc}/.well-known", parts.path.rstrip("/")
    places = (f"{root}/oauth-authorization-server{path}", f"{root}/openid-configuration{path}")
    for place in dict.fromkeys((*places, f"{issuer.rstrip('/')}/.well-known/openid-configuration")):
        if (found := await _fetch_json(way, place)) is not None:
            return _read_metadata(found, issuer, resource)
    raise NoAuthorizationServer(f"{parts.hostname} has no metadata")


def _read_metadata(found: Mapping[str, Any], issuer: str, resource: str) -> AuthorizationServer:
    if found.get("issuer") != issuer:
        raise NoAuthorizationServer(f"{urlsplit(issuer).hostname} calls itself {str(found.get('issuer'))[:100]!r}")
    if "S256" not in _texts(found, "code_challenge_methods_supported"):
        raise NoAuthorizationServer(f"{urlsplit(issuer).hostname} does not take PKCE with S256")
    urls = {name: found.get(f"{name}_endpoint") for name in ("authorization", "token", "revocation")}
    if not all(isinstance(urls[name], str) for name in ("authorization", "token")):
        raise NoAuthorizationServer(f"{urlsplit(issuer).hostname} names no endpoints")
    methods = _texts(found, "token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    return AuthorizationServer(
        str(urls["authorization"]),
        str(urls["token"]),
        str(urls["revocation"] or ""),
        issuer,
        tells_issuer=found.get("authorization_response_iss_parameter_supported") is True,
        resource=resource,
        posts_secret="client_secret_basic" not in methods,
    )


def _texts(found: Mapping[str, Any], name: str) -> list[str]:
    value = found.get(name)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


async def _fetch_json(way: GuardedHttpClient, url: str) -> Mapping[str, Any] | None:
    """An object; None where there is none at this place."""
    if not is_private_channel(url):
        raise NoAuthorizationServer(f"{urlsplit(url).hostname}: not https")
    reply = await way.send(OutboundRequest(url, headers={"Accept": "application/json"}))
    if reply.status != 200:
        return None
    try:
        found = json.loads(reply.text)
    except (RecursionError, ValueError):
        return None
    return found if isinstance(found, dict) else None
