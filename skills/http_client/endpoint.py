"""A service that a skill talks to: its address, how a credential lets in there, and one request with its answer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict

from cluster.basics.errors import AosError, Invalid
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import Secret, SkillDependencies
from skills.framework.manifest import BadManifest, CredentialType, Manifest
from skills.framework.redaction import redact_secrets
from skills.http_client import template
from skills.http_client.fetch import GuardedHttpClient, HttpReply, OutboundRequest
from skills.http_client.http_answer import TokenRejected, raise_refusal
from skills.http_client.login import TokenEndpoint, check_entrusted, check_origin, fetch_token, is_client
from skills.http_client.login import credential_headers as login_headers
from skills.http_client.template import hole_names, plain_text

MOST_BYTES = 5_000_000  # of an answer, before a part of it is chosen

_BASE = re.compile(r"\{credential\.([A-Za-z_][A-Za-z0-9_.-]*)\}")
_FIXED = re.compile(r"https?://[A-Za-z0-9.\[\]:-]+(?=/|$)")
_CREDENTIAL = "credential."


class ServiceEndpoint(BaseModel):
    """Endpoint of a service and its login; the part of the options that all kinds share."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    url: str  # `https://host/path` or `{credential.base_url}/path`; no argument has a say in the host
    headers: dict[str, str] = {}  # constants
    base_url: str | None = None  # in the place of `{credential.base_url}` where the credential has none
    # Headers whose values hold fields of the credential, as `{"X-API-Key": "{key}"}`; see `login.headers`.
    login: dict[str, str] | None = None
    oauth: TokenEndpoint | None = None  # where a credential with `client_id` and `client_secret` gets its token

    @property
    def place(self) -> "ServiceEndpoint":
        """This part of larger options."""
        return ServiceEndpoint(**{name: getattr(self, name) for name in ServiceEndpoint.model_fields})


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A request to a service."""

    method: str
    values: Mapping[str, Any]
    reads: bool  # nothing there is changed by it, whatever the method
    query: Mapping[str, Any] = field(default_factory=dict)  # a template
    content: bytes | None = None  # the body
    kind: str = "application/json"


class HttpService:
    """One service, asked by one skill."""

    def __init__(self, manifest: Manifest, ground: SkillDependencies, place: ServiceEndpoint) -> None:
        """Raises BadManifest where the place is not one."""
        self._manifest, self._ground, self._place = manifest, ground, place
        self._way = GuardedHttpClient(ground.hosts, ground.resolve, manifest.seconds, MOST_BYTES)
        _check_endpoint(manifest, place)

    async def ask(self, call: ToolInvocation, request: ServiceRequest) -> HttpReply:
        """The answer to a request that succeeded.

        Raises:
            AosError: of `CredentialOpener.open`, `GuardedHttpClient.send`, `raise_refusal`; none quotes a secret.
            CredentialElsewhere: as `login.belongs` and `login.entrusted`.
            Invalid: an argument cannot stand where it should.
        """
        if self._manifest.credential is None:
            return await self._send_request(call, request, None)
        secret = await self._ground.credentials.open(call, self._manifest)
        opened = [secret]
        try:
            try:
                return await self._send_request(call, request, secret)
            except TokenRejected:
                if secret.type is not CredentialType.OAUTH:
                    raise
            opened.append(await self._ground.credentials.open(call, self._manifest, secret["token"]))
            return await self._send_request(call, request, opened[-1])
        except AosError as error:
            error.detail = redact_secrets(error.detail, opened)
            error.args = (error.detail or error.title,)
            raise error from None

    async def _send_request(self, call: ToolInvocation, request: ServiceRequest, secret: Secret | None) -> HttpReply:
        # A name with a dot is the credential's; an argument that is called so would say where its secret goes.
        values = {name: value for name, value in request.values.items() if "." not in name}
        if secret is not None:
            values |= {f"{_CREDENTIAL}{name}": value for name, value in secret.items()}
        if self._place.base_url is not None:
            values.setdefault(f"{_CREDENTIAL}base_url", self._place.base_url)
        url = _build_url(self._place.url, values)
        if secret is not None:
            check_origin(secret, url)
        if query := template.fill_query(request.query, values):
            url += ("&" if "?" in url else "?") + query
        headers = {"Accept": "application/json, text/*", "Content-Type": request.kind, **self._place.headers}
        if request.content is None:
            del headers["Content-Type"]
        if self._manifest.keyed:
            headers["Idempotency-Key"] = call.key
        login, authority = {}, None
        if secret is not None:
            login, authority = await self._login_headers(secret, values), secret.get("ca_cert")
        ask = OutboundRequest(url, request.method, headers, login, request.content, request.reads, authority)
        reply = await self._way.send(ask)
        raise_refusal(reply, request.reads)
        return reply

    async def _login_headers(self, secret: Secret, values: Mapping[str, Any]) -> dict[str, str]:
        oauth = self._place.oauth
        if oauth is None or not is_client(secret):
            return login_headers(self._place.login, secret)
        url = _build_url(oauth.url, values)
        check_entrusted(self._manifest, secret, url)
        return {"Authorization": f"Bearer {await fetch_token(self._way, url, oauth.scope, secret)}"}


def template_arguments(manifest: Manifest, templates: Any) -> set[str]:
    """The arguments that templates want; what they want besides are fields of the credential.

    Raises BadManifest: they want a credential, and the skill has none.
    """
    names = hole_names(templates)
    dotted = {name for name in names if "." in name}
    if wrong := sorted(name for name in dotted if manifest.credential is None or not name.startswith(_CREDENTIAL)):
        raise BadManifest(f"{manifest.name}: options want {', '.join(wrong)}, which this skill has not")
    return names - dotted


def guaranteed_parameters(manifest: Manifest) -> set[str]:
    """The parameters that every call has: required, or with a default."""
    return set(manifest.parameters.get("required", ())) | set(manifest.defaults)


def check_declared(manifest: Manifest, used: set[str], needed: set[str]) -> None:
    """Nothing, where a skill's parameters are those that its templates use.

    Raises BadManifest: one is used and not declared, declared and not used, or may be missing where it is needed.
    """
    known = set(manifest.parameters.get("properties", {}))
    for why, names in (
        ("used, but no parameters", used - known),
        ("parameters that nothing uses", known - used),
        ("parts of the address, and neither required nor with a default", needed - guaranteed_parameters(manifest)),
    ):
        if names:
            raise BadManifest(f"{manifest.name}: {why}: {', '.join(sorted(names))}")


def _check_endpoint(manifest: Manifest, place: ServiceEndpoint) -> None:
    base = _BASE.match(place.url)
    rest = place.url[base.end() :] if base else _FIXED.sub("", place.url, count=1)
    if base is None and _FIXED.match(place.url) is None:
        raise BadManifest(f"{manifest.name}: options.url begins with https://host/ or {{credential.base_url}}")
    if (rest and not rest.startswith("/")) or set(rest) & set("?#\\ "):
        raise BadManifest(f"{manifest.name}: options.url goes on with a path, and has no query or fragment")
    if place.base_url is not None and _FIXED.match(place.base_url) is None:
        raise BadManifest(f"{manifest.name}: options.base_url begins with https://host")
    if (place.login or place.oauth) and manifest.credential is None:
        raise BadManifest(f"{manifest.name}: options want a credential, and the skill names no type")
    oauth = place.oauth
    if oauth is not None and (_FIXED.match(oauth.url) is None or template_arguments(manifest, oauth.url)):
        raise BadManifest(f"{manifest.name}: options.oauth.url begins with https://host/ and has no arguments")
    if any(hole_names(value) for value in place.headers.values()):
        raise BadManifest(f"{manifest.name}: options.headers are constants; secrets go into options.login")


def _build_url(url: str, values: Mapping[str, Any]) -> str:
    base = _BASE.match(url)
    if base is None:
        end = host.end() if (host := _FIXED.match(url)) else 0
        return url[:end] + template.fill_path(url[end:], values)
    start = plain_text(values.get(f"{_CREDENTIAL}{base[1]}"), f"the credential's {base[1]}")
    rest = template.fill_path(url[base.end() :], values)
    if rest and set(start) & set("?#"):
        raise Invalid(f"the credential's {base[1]} has a query, and is to be the beginning of an address")
    return (start.rstrip("/") if rest else start) + rest
