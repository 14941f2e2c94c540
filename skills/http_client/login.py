"""Login with a credential: headers that carry it, and OAuth client-credentials tokens."""

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ConfigDict

from cluster.basics.errors import Forbidden, Invalid
from skills.framework import builtin
from skills.framework.dependencies import Secret
from skills.framework.manifest import CredentialType, Manifest
from skills.framework.redaction import register_opened
from skills.http_client import template
from skills.http_client.fetch import GuardedHttpClient, OutboundRequest
from skills.http_client.http_answer import ServiceDenied, ServiceGarbled, error_text, parse_reply, raise_refusal
from skills.http_client.template import hole_names


class CredentialElsewhere(Forbidden):
    """The credential belongs to another address than the one that the skill calls."""

    code = "credential_elsewhere"
    fix = "Bind a credential whose base_url is this service's."


class TokenEndpoint(BaseModel):
    """Token endpoint of the OAuth client-credentials grant (RFC 6749, 4.4)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str  # may have fields of the credential, as `https://login.example.org/{credential.tenant_id}/token`
    scope: str


def check_origin(secret: Secret, url: str) -> None:
    """Nothing, where the credential may be sent to this address: one without a base_url may be sent to any.

    Raises CredentialElsewhere: its base_url has another origin; Invalid: one of them is no URL.
    """
    if "base_url" in secret and url_origin(secret["base_url"]) != url_origin(url):
        raise CredentialElsewhere(f"{secret.name} is not for {urlsplit(url).hostname}")


def check_entrusted(manifest: Manifest, secret: Secret, url: str) -> None:
    """Nothing, where the client's secret may be sent to this token endpoint.

    Who writes a skill of a workspace also writes where its token is asked for: the credential has to say so itself.

    Raises CredentialElsewhere: neither its base_url nor its token_url does; Invalid: one of them is no URL.
    """
    if builtin.is_shipped(manifest) or secret.get("token_url") == url:
        return
    if "base_url" not in secret or url_origin(secret["base_url"]) != url_origin(url):
        fix = "Put the address of the token endpoint into the credential's extra, as token_url."
        raise CredentialElsewhere(f"{secret.name} says nothing of tokens from {urlsplit(url).hostname}", fix=fix)


def url_origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port. Raises Invalid: it is no URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        raise Invalid("the address is no URL") from None
    return parts.scheme, (parts.hostname or "").rstrip("."), port


def credential_headers(wanted: Mapping[str, str] | None, secret: Secret) -> dict[str, str]:
    """Login headers as the manifest spells them where the credential has all their fields, else the usual ones.

    `token` goes as Bearer, `username` and `password` as Basic, the key of an api_key as X-API-Key.
    """
    if wanted is not None and hole_names(wanted) <= set(secret):
        return {name: template.fill_text(text, secret) for name, text in wanted.items()}
    if secret.get("token"):
        return {"Authorization": f"Bearer {secret['token']}"}
    if secret.get("username") and secret.get("password"):
        pair = f"{secret['username']}:{secret['password']}".encode("utf-8", "surrogatepass")
        return {"Authorization": f"Basic {b64encode(pair).decode('ascii')}"}
    if secret.type is CredentialType.API_KEY and secret.get("key"):
        return {"X-API-Key": secret["key"]}
    return {}


def is_client(secret: Secret) -> bool:
    """True for a credential with a client id and secret, which tokens are given to."""
    return bool(secret.get("client_id") and secret.get("client_secret"))


async def fetch_token(way: GuardedHttpClient, url: str, scope: str, secret: Secret) -> str:
    """A fresh token, kept nowhere; who watches the call learns of it (`skills.framework.redaction`).

    Raises:
        ServiceDenied: the client is not let in.
        ServiceGarbled: the answer has no token.
        AosError: those of `GuardedHttpClient.send` and `raise_refusal`.
    """
    client = {name: secret[name] for name in ("client_id", "client_secret")}
    form = {"grant_type": "client_credentials", **client, "scope": scope}
    sent = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    reply = await way.send(OutboundRequest(url, "POST", sent, content=urlencode(form).encode()))
    if reply.status in (400, 401):
        raise ServiceDenied(f"no token is given to this client: {error_text(reply)}")
    raise_refusal(reply, reads=True)
    answer = parse_reply(reply)
    given = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(given, str) or not given:
        raise ServiceGarbled("the answer has no access_token")
    register_opened(Secret(secret.name, CredentialType.BEARER_TOKEN, {"token": given}))
    return given
