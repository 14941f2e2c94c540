"""Verification of an ID token (OpenID Connect Core 1.0, section 3.1.3.7)."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from joserfc.jws import extract_compact

from serve_apps.http.auth.sign_in_problems import SignInRefused

LEEWAY_SECONDS = 60
OLDEST_SECONDS = 600  # since it was issued: it comes straight from the provider
LONGEST_NAME = 255
LONGEST = 64 * 1024  # characters of a token


class UnknownKey(SignInRefused):
    """The token is signed with a key that is not among the provider's; they may have changed."""


@dataclass(frozen=True, slots=True)
class ExpectedToken:
    """What an ID token has to say to be an answer to this sign-in."""

    issuer: str
    client_id: str
    nonce: str
    algorithms: Collection[str]


def verify_id_token(token: str, keys: KeySet, expected: ExpectedToken, now: float) -> Mapping[str, Any]:
    """Its claims, once signature, issuer, audience, time and nonce are right; `now` in seconds since 1970.

    Raises:
        UnknownKey: by its `kid` none of the keys made it.
        SignInRefused: anything else; its text is for the audit trail.
    """
    claims = signed_claims(token, keys, expected.algorithms)
    wrong = wrong_origin(claims, expected.issuer, expected.client_id) or _wrong_answer(claims, expected)
    if (wrong := wrong or wrong_time(claims, now)) is not None:
        raise SignInRefused(wrong)
    return claims


def signed_claims(token: str, keys: KeySet, algorithms: Collection[str]) -> Mapping[str, Any]:
    """Claims of a token that one of the keys made, whatever they say. Raises as `verify_id_token`."""
    if len(token) > LONGEST:
        raise SignInRefused("the token is too long")
    header = _header(token)
    kid = header.get("kid")
    if kid is not None and not any(key.kid == kid for key in keys.keys):
        raise UnknownKey(f"no key {str(kid)[:80]!r}")
    if kid is None and len(keys.keys) != 1:
        raise SignInRefused("the token names no key")
    try:
        return jwt.decode(token, keys, algorithms=list(algorithms)).claims
    except (JoseError, ValueError, TypeError) as error:
        raise SignInRefused(f"the token is not signed as it should be: {type(error).__name__}") from error


def _header(token: str) -> Mapping[str, Any]:
    try:
        return extract_compact(token.encode()).headers()
    except (JoseError, ValueError, TypeError, AttributeError) as error:
        raise SignInRefused("the token cannot be read") from error


def wrong_origin(claims: Mapping[str, Any], issuer: str, client_id: str) -> str | None:
    """Why it is from somebody else, or for somebody else; None where it is neither."""
    audience = claims.get("aud")
    audiences = [audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []
    if claims.get("iss") != issuer:
        return "iss: it was issued by somebody else"
    if client_id not in audiences:
        return "aud: it is for somebody else"
    if (len(audiences) > 1 or "azp" in claims) and claims.get("azp") != client_id:
        return "azp: it was made for somebody else"
    return None


def _wrong_answer(claims: Mapping[str, Any], expected: ExpectedToken) -> str | None:
    """Why it is no answer to a sign-in."""
    subject = claims.get("sub")
    if not is_name(subject):
        return "sub: it names nobody"
    if claims.get("nonce") != expected.nonce:
        return "nonce: it answers another sign-in"
    return None


def wrong_time(claims: Mapping[str, Any], now: float) -> str | None:
    """Why it is not of now."""
    for name in ("exp", "iat", "nbf"):
        value = claims.get(name)
        if (value is None and name != "nbf") or (value is not None and not is_number(value)):
            return f"{name}: it is no time"
    if claims["exp"] + LEEWAY_SECONDS <= now:
        return "exp: it has run out"
    if not now - OLDEST_SECONDS <= claims["iat"] <= now + LEEWAY_SECONDS:
        return "iat: it was not made now"
    if claims.get("nbf", now) > now + LEEWAY_SECONDS:
        return "nbf: it is not good yet"
    return None


def is_name(value: object) -> bool:
    """True for what names somebody or a session: it can be stored and shown."""
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and value.isprintable()


def is_number(value: object) -> TypeGuard[int | float]:
    """True for a moment as tokens have it; no infinity, and nothing that is none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12
