"""A sign-in by a provider from its beginning to a code: what the browser keeps meanwhile, and where it may be sent."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from hmac import compare_digest

from cluster.basics.errors import Invalid
from serve_apps.http.auth.oidc.access_token import claimed_issuer
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.sign_in_problems import SignInRefused, UnknownProvider
from serve_apps.http.auth.tokens import TokenSigner

ATTEMPT_SECONDS = 600
HANDOFF_SECONDS = 60
CONSOLE = "console"  # in place of an address: the console's own page
CONSOLE_PATH = "/console/sso"
AUDIENCE = "aos-sign-in"
# RFC 8252, section 7.3: a program on the same machine, on any port.
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|\[::1\]):[0-9]{1,5}/[A-Za-z0-9/_-]*")
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """What a browser keeps between its departure and its return, sealed.

    Attributes:
        provider: its name.
        state: what the provider hands back unchanged (RFC 6749, section 10.12).
        nonce: what the ID token has to repeat.
        verifier: what the provider's code is redeemed with (RFC 7636).
        challenge: of whoever asked for the sign-in, who redeems our code with what it was made of.
        return_to: where the browser goes in the end.
    """

    provider: str
    state: str
    nonce: str
    verifier: str
    challenge: str
    return_to: str


def checked_return(return_to: str, console_path: str) -> str:
    """Where a browser goes in the end. Raises Invalid: no browser may be sent to that address."""
    where = console_path if return_to == CONSOLE else return_to
    if where != console_path and not _LOOPBACK.fullmatch(where):
        fix = f"Send `{CONSOLE}`, or a program's own address such as http://127.0.0.1:8400/."
        raise Invalid("return_to is no place to send a browser to", fix=fix)
    return where


class SignInFlow:
    """Decides about sign-ins; keeps nothing but what it knows of the providers."""

    def __init__(self, clients: Sequence[OidcProviderClient], public_url: str | None, tokens: TokenSigner) -> None:
        """`public_url` is the product's own, without a path; sign-ins need it."""
        self.clients: Mapping[str, OidcProviderClient] = {one.provider.name: one for one in clients}
        self._public_url, self._tokens = public_url, tokens

    @property
    def is_encrypted(self) -> bool:
        """True where browsers reach the product by https."""
        return (self._public_url or "").startswith("https://")

    @property
    def resource(self) -> str | None:
        """The MCP server's name to authorization servers (RFC 8707); None where none gives tokens for it."""
        if self._public_url is None or not any(one.provider.mcp for one in self.clients.values()):
            return None
        return f"{self._public_url}/mcp"

    def client_of_token(self, token: str) -> OidcProviderClient | None:
        """The provider that says to have made an access token, where its tokens count for the MCP server."""
        if self.resource is None or not (issuer := claimed_issuer(token)):
            return None
        return next((one for one in self.clients.values() if one.provider.mcp and one.provider.issuer == issuer), None)

    def client(self, name: str) -> OidcProviderClient:
        """Raises UnknownProvider."""
        if name not in self.clients:
            raise UnknownProvider(name[:80])
        return self.clients[name]

    def redirect_uri(self, name: str) -> str:
        """Where a provider sends browsers back: a place of its own for each, so that none answers for another."""
        return self.own_address(f"/api/auth/oidc/{name}/callback")

    @property
    def has_address(self) -> bool:
        """True where the product knows where browsers reach it."""
        return self._public_url is not None

    def own_address(self, path: str) -> str:
        """The product's public address. Raises Invalid: nobody has said it."""
        if self._public_url is None:
            raise Invalid("auth.public_url is not set", fix="Set AOS_AUTH_PUBLIC_URL to where browsers reach this.")
        return f"{self._public_url}{path}"

    def begin(self, provider: str, challenge: str, return_to: str) -> SignInAttempt:
        """Raises Invalid: the challenge is none, or no browser may be sent to that address."""
        if not _CHALLENGE.fullmatch(challenge):
            raise Invalid("challenge is not the S256 challenge of a verifier (RFC 7636)")
        where = checked_return(return_to, CONSOLE_PATH)
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return SignInAttempt(provider, state, nonce, verifier, challenge, where)

    def seal(self, attempt: SignInAttempt, now: datetime) -> str:
        """What the browser keeps."""
        return self._tokens.seal(AUDIENCE, asdict(attempt), now + timedelta(seconds=ATTEMPT_SECONDS))

    def unseal(self, provider: str, sealed: str | None, state: str, now: datetime) -> SignInAttempt:
        """The attempt that a provider answers. Raises SignInRefused: this browser has begun none, or another one."""
        body = self._tokens.unseal(AUDIENCE, sealed or "", now)
        if body is None:
            raise SignInRefused("this browser has begun no sign-in, or too long ago")
        attempt = SignInAttempt(**{name: str(body.get(name, "")) for name in SignInAttempt.__dataclass_fields__})
        if attempt.provider != provider or not compare_digest(attempt.state.encode(), state.encode("utf-8", "replace")):
            raise SignInRefused("it answers another sign-in")
        return attempt
