"""How a credential lets in: the headers that carry it, and the token that a client gets with its own secret."""

from base64 import b64encode
from collections.abc import Mapping
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict

from skills.ground import Secret
from skills.http import template
from skills.http.answers import ServiceDenied, ServiceGarbled, parsed, refuse, said
from skills.http.fetch import Ask, Way
from skills.http.template import holes
from skills.manifest import CredentialType
from skills.scrub import opened


class TokenEndpoint(BaseModel):
    """Where a client gets a token with its own credentials (RFC 6749, 4.4).

    Attributes:
        url: may have fields of the credential, as `https://login.example.org/{credential.tenant_id}/token`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str
    scope: str


def headers(wanted: Mapping[str, str] | None, secret: Secret) -> dict[str, str]:
    """What is sent: headers as the manifest spells them where the credential has all their fields, else the usual ones.

    `token` goes as Bearer, `username` and `password` as Basic, the key of an api_key as X-API-Key.
    """
    if wanted is not None and holes(wanted) <= set(secret):
        return {name: template.text(text, secret) for name, text in wanted.items()}
    if secret.get("token"):
        return {"Authorization": f"Bearer {secret['token']}"}
    if secret.get("username") and secret.get("password"):
        pair = f"{secret['username']}:{secret['password']}".encode("utf-8", "surrogatepass")
        return {"Authorization": f"Basic {b64encode(pair).decode('ascii')}"}
    if secret.type is CredentialType.API_KEY and secret.get("key"):
        return {"X-API-Key": secret["key"]}
    return {}


def is_client(secret: Secret) -> bool:
    """Whether the credential is one that tokens are given to."""
    return bool(secret.get("client_id") and secret.get("client_secret"))


async def token(way: Way, url: str, scope: str, secret: Secret) -> dict[str, str]:
    """The header with a fresh token, which is kept nowhere; whoever watches the call learns of it (`skills.scrub`).

    Raises:
        ServiceDenied: the client is not let in.
        ServiceGarbled: the answer has no token.
        AosError: those of `Way.send` and `answers.refuse`.
    """
    form = {
        "grant_type": "client_credentials", "client_id": secret["client_id"],
        "client_secret": secret["client_secret"], "scope": scope,
    }  # fmt: skip
    sent = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
    reply = await way.send(Ask(url, "POST", sent, content=urlencode(form).encode()))
    if reply.status in (400, 401):
        raise ServiceDenied(f"no token is given to this client: {said(reply)}")
    refuse(reply, reads=True)
    answer = parsed(reply)
    given = answer.get("access_token") if isinstance(answer, dict) else None
    if not isinstance(given, str) or not given:
        raise ServiceGarbled("the answer has no access_token")
    opened(Secret(secret.name, CredentialType.BEARER_TOKEN, {"token": given}))
    return {"Authorization": f"Bearer {given}"}
