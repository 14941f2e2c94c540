"""An OpenID provider over real HTTP that answers as a test wants it to, in good faith or not."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import httpx
import uvicorn
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from tests.fakes.prompt_server import in_a_thread

CLIENT_ID, CLIENT_SECRET = "aos", "a secret that only the two know"
Claims = dict[str, Any]
ANN: Claims = {"sub": "ann-1", "email": "ann@corp.example", "email_verified": True}


@dataclass
class ScriptedProvider:
    """What it says is what its fields say; `codes` are those it has given and nobody has redeemed.

    Attributes:
        claims: of the next person who signs in, beside those that every ID token has.
        tweak: changes an ID token's claims before it is signed.
        sign: makes the token of header and claims, instead of signing by the current key.
    """

    url: str = ""
    key: RSAKey | ECKey = field(default_factory=lambda: new_key("first"))
    published: list[dict[str, Any]] | None = None  # instead of the key's own public part
    claims: Claims = field(
        default_factory=lambda: {"sub": "ann-1", "email": "ann@corp.example", "email_verified": True}
    )
    metadata: dict[str, Any] = field(default_factory=dict)
    answer: dict[str, str] = field(default_factory=dict)  # instead of a code, or beside it
    tweak: Callable[[Claims], Claims] = lambda claims: claims
    sign: Callable[[Claims], str] | None = None
    tokens: Callable[[dict[str, Any]], Any] = lambda body: body
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    userinfo: Claims = field(default_factory=dict)  # what it says besides, once `metadata` names the endpoint
    asked: list[str] = field(default_factory=list)  # paths

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/openid-configuration", self._discovery),
            Route("/keys", self._keys),
            Route("/token", self._token, methods=["POST"]),
            Route("/userinfo", self._userinfo),
        ]

    async def _discovery(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        found = {"issuer": self.url, "authorization_endpoint": f"{self.url}/authorize"}
        found |= {"token_endpoint": f"{self.url}/token", "jwks_uri": f"{self.url}/keys"}
        return JSONResponse(found | self.metadata)

    async def _keys(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        own = [self.key.as_dict(private=False)]
        return JSONResponse({"keys": own if self.published is None else self.published})

    async def _userinfo(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        known = request.headers.get("authorization") == "Bearer x"
        return JSONResponse(self.userinfo if known else {}, 200 if known else 401)

    async def _token(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        shown = base64.b64decode(request.headers.get("authorization", "").removeprefix("Basic ")).decode()
        given = self.codes.pop(form.get("code", ""), None)
        challenge = _base64(sha256(form.get("code_verifier", "").encode()).digest())
        if given is None or challenge != given["code_challenge"] or shown.partition(":")[0] != CLIENT_ID:
            return JSONResponse({"error": "invalid_grant"}, 400)
        if form["redirect_uri"] != given["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            self.tokens({"access_token": "x", "token_type": "Bearer", "id_token": self.id_token(given)})
        )

    def id_token(self, given: dict[str, str]) -> str:
        """As it should be, and then as the test wants it."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": given["nonce"]}
        return self.signed(self.tweak(claims | self.claims))

    def logout_token(self, **claims: Any) -> str:
        """That somebody has signed out, as it should be but for these claims; None leaves one out."""
        now = int(time.time())
        found = {"iss": self.url, "aud": CLIENT_ID, "iat": now, "exp": now + 120, "jti": f"j{now}"}
        found |= {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}} | claims
        return self.signed({name: value for name, value in found.items() if value is not None})

    def access_token(self, aud: str, **claims: Any) -> str:
        """Of the person of `claims`, for a resource; None leaves a claim out."""
        now = int(time.time())
        found = {"iss": self.url, "aud": aud, "sub": self.claims["sub"], "iat": now, "exp": now + 300} | claims
        return self.signed({name: value for name, value in found.items() if value is not None})

    def signed(self, claims: Claims) -> str:
        """By the current key, or as the test wants it."""
        if self.sign is not None:
            return self.sign(claims)
        alg = "ES256" if isinstance(self.key, ECKey) else "RS256"
        return jwt.encode({"alg": alg, "kid": self.key.kid}, claims, self.key, algorithms=[alg])

    def consent(self, url: str) -> dict[str, str]:
        """What a browser brings back that was sent to the provider by `url`, after its person has agreed."""
        asked = dict(parse_qsl(urlsplit(url).query))
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256", asked
        code = f"code-{len(self.asked)}-{len(self.codes)}-{asked['state'][:8]}"
        self.codes[code] = asked
        return {"code": code, "state": asked["state"]} | self.answer


def new_key(kid: str) -> RSAKey:
    """An RSA key with its name."""
    return RSAKey.generate_key(2048, {"kid": kid, "use": "sig"})


def unsigned(claims: Claims) -> str:
    """A token with `alg: none`."""
    return _encoded({"alg": "none", "typ": "JWT"}, claims) + "."


def signed_by_secret(secret: bytes, kid: str | None = None) -> Callable[[Claims], str]:
    """Signed by a secret: the client's, or the text of a public key (algorithm confusion), which libraries refuse."""

    def sign(claims: Claims) -> str:
        text = _encoded({"alg": "HS256"} | ({"kid": kid} if kid else {}), claims)
        return f"{text}.{_base64(hmac.digest(secret, text.encode(), 'sha256'))}"

    return sign


def _encoded(*parts: Claims) -> str:
    return ".".join(_base64(json.dumps(one).encode()) for one in parts)


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@contextmanager
def running(provider: ScriptedProvider) -> Iterator[ScriptedProvider]:
    """The provider behind uvicorn on a free loopback port; its `url` is set."""
    with served(Starlette(routes=provider.routes())) as url:
        provider.url = url
        yield provider


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The address of an application behind uvicorn on a free loopback port."""
    with in_a_thread(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)) as url:
        yield url


@dataclass
class Browser:
    """Follows a sign-in as a browser does: keeps cookies by path, and says where it was sent."""

    client: httpx.AsyncClient

    async def depart(self, name: str, challenge: str, return_to: str = "console") -> str:
        """Where the product sends it."""
        query = urlencode({"challenge": challenge, "return_to": return_to})
        answer = await self.client.get(f"/api/auth/oidc/{name}/start?{query}")
        assert answer.status_code == 303, answer.text
        return answer.headers["location"]

    async def come_back(self, name: str, brought: dict[str, str]) -> httpx.Response:
        """The product's answer to what it brings from the provider."""
        return await self.client.get(f"/api/auth/oidc/{name}/callback?{urlencode(brought)}")


def landed(answer: httpx.Response) -> dict[str, str]:
    """What stands in the address to which the product sends a browser in the end."""
    assert answer.status_code == 303, answer.text
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))


def key_set(*keys: RSAKey) -> list[dict[str, Any]]:
    """Their public parts, as published."""
    return list(KeySet(list(keys)).as_dict(private=False)["keys"])
