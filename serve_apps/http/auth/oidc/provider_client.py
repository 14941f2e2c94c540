"""An OpenID provider as this program asks it: its discovery document, its keys, and tokens for a code."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
from authlib.common.errors import AuthlibBaseError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc.jwk import KeySet

from cluster.state.identity.external_accounts import ProviderLogout
from configs.sign_in_providers import OidcProvider, is_private_channel
from serve_apps.http.auth.oidc.access_token import verify_access_token
from serve_apps.http.auth.oidc.id_token import ExpectedToken, UnknownKey, verify_id_token
from serve_apps.http.auth.oidc.logout_token import verify_logout_token
from serve_apps.http.auth.oidc.provider_documents import (
    DocumentUnreadable,
    ProviderDocument,
    fetch_document,
    signing_keys,
)
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable, SignInRefused

T = TypeVar("T")
log = logging.getLogger("aos.auth")

SECONDS = 10.0  # of one request
KNOWN_SECONDS = 600.0  # for so long a discovery document and keys are believed
AGAIN_SECONDS = 10.0  # keys are not asked for more often, whatever tokens name
DISCOVERY = "/.well-known/openid-configuration"


@dataclass(frozen=True, slots=True)
class ProviderMetadata:
    """What is used of a discovery document (OpenID Connect Discovery 1.0)."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str  # empty where it has none
    tells_issuer: bool  # it names itself in its answers (RFC 9207)
    auth_method: str  # how the client shows its secret


@dataclass(frozen=True, slots=True)
class _Known:
    """Something that was asked for, and when."""

    value: Any
    at: float


class OidcProviderClient:
    """One provider. Redirects are not followed; documents and keys are not believed beyond a megabyte.

    authlib takes httpx2 where that is installed, so its errors are those of httpx2.
    """

    def __init__(
        self, provider: OidcProvider, clock: Callable[[], float], transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        """`clock` gives seconds that only grow; `transport` is httpx2's own unless given."""
        self.provider = provider
        self._clock, self._transport = clock, transport
        self._metadata: _Known | None = None
        self._keys: _Known | None = None
        self._asking, self._tried = asyncio.Lock(), {"metadata": -AGAIN_SECONDS, "keys": -AGAIN_SECONDS}

    async def metadata(self) -> ProviderMetadata:
        """Raises ProviderUnavailable: it does not answer, or not as an OpenID provider."""
        async with self._asking:
            return await self._known_metadata()

    async def _known_metadata(self) -> ProviderMetadata:
        if self._metadata is None or self._clock() - self._metadata.at > KNOWN_SECONDS:
            self._try_now("metadata", "discovery")
            found = await self._fetch_json(self.discovery_url)
            self._metadata = _Known(self._read_metadata(found), self._clock())
        value: ProviderMetadata = self._metadata.value
        return value

    def _try_now(self, what: str, where: str) -> None:
        """Whoever knocks makes nobody ask more often. Raises ProviderUnavailable: it did not answer a moment ago."""
        if self._clock() - self._tried[what] < AGAIN_SECONDS:
            raise self._unavailable(where, "it did not answer a moment ago")
        self._tried[what] = self._clock()

    async def authorization_url(
        self, redirect_uri: str, state: str, nonce: str, verifier: str, *, asks: bool = False
    ) -> str:
        """Where a browser is sent to sign in; with `asks` its person is asked whoever they are signed in as.

        Raises ProviderUnavailable.
        """
        metadata = await self.metadata()
        async with self._oauth(metadata, redirect_uri) as client:
            more = {"prompt": self.provider.prompt} if asks else {}
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint, state=state, code_verifier=verifier, nonce=nonce, **more
            )
        return str(url)

    async def claims_of(self, code: str, redirect_uri: str, nonce: str, verifier: str, now: float) -> Mapping[str, Any]:
        """Claims of the verified ID token that the provider gives for a code; `now` in seconds since 1970.

        Raises:
            SignInRefused: it gives none for this code, or one that is no answer to this sign-in.
            ProviderUnavailable: it cannot be asked.
        """
        metadata = await self.metadata()
        try:
            async with self._oauth(metadata, redirect_uri) as client:
                tokens = await client.fetch_token(metadata.token_endpoint, code=code, code_verifier=verifier)
        except AuthlibBaseError as error:
            raise SignInRefused(f"the provider refused the code: {str(error.error)[:100]}") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, TypeError, AttributeError) as error:
            raise self._unavailable("token endpoint", error) from error
        token = tokens.get("id_token") if isinstance(tokens, Mapping) else None
        if not isinstance(token, str):
            raise SignInRefused("the provider gave no ID token")
        of = self.provider
        expected = ExpectedToken(of.issuer, of.client_id, nonce, of.algorithms)
        claims = await self._verified(lambda keys: verify_id_token(token, keys, expected, now))
        if metadata.userinfo_endpoint and not {of.email_claim, of.groups_claim} <= claims.keys():
            claims = {**await self._userinfo(metadata, tokens, str(claims["sub"])), **claims}
        return claims

    async def logout_of(self, token: str, now: float) -> ProviderLogout:
        """What a logout token says; `now` in seconds since 1970. Raises SignInRefused, ProviderUnavailable."""
        of = self.provider
        return await self._verified(lambda keys: verify_logout_token(token, keys, of, now))

    async def subject_of(self, token: str, resource: str, now: float) -> str:
        """Whose an access token for that resource is. Raises SignInRefused, ProviderUnavailable."""
        of = self.provider
        return await self._verified(lambda keys: verify_access_token(token, keys, of, resource, now))

    async def _verified(self, verify: Callable[[KeySet], T]) -> T:
        """What comes of the provider's keys; of newer ones where it is signed by none of those that are known."""
        try:
            return verify(await self._key_set())
        except UnknownKey:
            return verify(await self._key_set(rotated=True))

    async def _userinfo(self, metadata: ProviderMetadata, tokens: Mapping[str, Any], subject: str) -> Mapping[str, Any]:
        """What the provider says of somebody besides (OpenID Connect Core 1.0, section 5.3).

        Raises SignInRefused: it speaks of somebody else.
        """
        bearer = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        found = await self._fetch_json(metadata.userinfo_endpoint, bearer)
        if found.get("sub") != subject:
            raise SignInRefused("sub: the provider's userinfo is somebody else's")
        return found

    async def _key_set(self, rotated: bool = False) -> KeySet:
        """Its public keys; with `rotated` asked for anew, though not more often than every ten seconds, by anybody."""
        async with self._asking:
            oldest = AGAIN_SECONDS if rotated else KNOWN_SECONDS
            if self._keys is None or self._clock() - self._keys.at > oldest:
                metadata = await self._known_metadata()
                self._try_now("keys", metadata.jwks_uri)
                self._keys = _Known(signing_keys(await self._fetch_json(metadata.jwks_uri)), self._clock())
            value: KeySet = self._keys.value
            return value

    def _read_metadata(self, found: Mapping[str, Any]) -> ProviderMetadata:
        if found.get("issuer") != self.provider.issuer:
            raise self._unavailable("discovery", f"it calls itself {str(found.get('issuer'))[:200]!r}")
        urls = {name: str(found.get(name, "")) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri")}
        if wrong := [name for name, url in urls.items() if not is_private_channel(url)]:
            raise self._unavailable("discovery", f"{', '.join(wrong)}: not https")
        userinfo = str(found.get("userinfo_endpoint", ""))
        methods = found.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
        method = "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"
        return ProviderMetadata(
            **urls,
            userinfo_endpoint=userinfo if is_private_channel(userinfo) else "",
            tells_issuer=found.get("authorization_response_iss_parameter_supported") is True,
            auth_method=method if self.provider.client_secret else "none",
        )

    @property
    def discovery_url(self) -> str:
        """Where its discovery document stands."""
        return self.provider.issuer.rstrip("/") + DISCOVERY

    async def look_up(self, url: str) -> ProviderDocument:
        """What stands there now, whatever is known already. Raises DocumentUnreadable."""
        return await fetch_document(url, self._options())

    async def _fetch_json(self, url: str, headers: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        try:
            return (await fetch_document(url, self._options(), headers)).body
        except DocumentUnreadable as error:
            raise self._unavailable(url, error) from error

    def _oauth(self, metadata: ProviderMetadata, redirect_uri: str) -> AsyncOAuth2Client:
        of = self.provider
        return AsyncOAuth2Client(
            of.client_id,
            of.client_secret,
            token_endpoint_auth_method=metadata.auth_method,
            scope=" ".join(of.scopes),
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
            **self._options(),
        )

    def _options(self) -> dict[str, Any]:
        return {"timeout": SECONDS, "follow_redirects": False, "trust_env": False, "transport": self._transport}

    def _unavailable(self, where: str, error: object) -> ProviderUnavailable:
        log.warning("provider %s: %s: %s", self.provider.name, where, error)
        return ProviderUnavailable(self.provider.title)
