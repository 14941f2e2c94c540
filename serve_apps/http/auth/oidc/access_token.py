"""Access tokens that a provider gave an MCP client for this product, in place of ours (RFC 9068, RFC 8707)."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from joserfc.jwk import KeySet

from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.id_token import LEEWAY_SECONDS, LONGEST, signed_claims
from serve_apps.http.auth.sign_in_problems import SignInRefused


def claimed_issuer(token: str) -> str:
    """Who says to have made a token, which nothing follows from but whose keys are to be asked; empty where nobody."""
    if len(token) > LONGEST or token.count(".") != 2:
        return ""
    payload = token.split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except ValueError:
        return ""
    return str(claims.get("iss", "")) if isinstance(claims, dict) else ""


def verify_access_token(token: str, keys: KeySet, provider: OidcProvider, resource: str, now: float) -> str:
    """Whose it is, by the provider's `sub`, once signature, issuer, audience and time are right.

    Raises:
        UnknownKey: none of the keys made it.
        SignInRefused: it is for another resource, or no access token at all.
    """
    claims = signed_claims(token, keys, provider.algorithms)
    if (wrong := _wrong(claims, provider, resource, now)) is not None:
        raise SignInRefused(wrong)
    return str(claims["sub"])


def _wrong(claims: Mapping[str, Any], provider: OidcProvider, resource: str, now: float) -> str | None:
    audience = claims.get("aud")
    if claims.get("iss") != provider.issuer:
        return "iss: it was issued by somebody else"
    if resource not in ([audience] if isinstance(audience, str) else audience if isinstance(audience, list) else []):
        return "aud: it is for somebody else"
    if "nonce" in claims or "events" in claims:
        return "it is no access token"
    for name, sign in (("exp", -1), ("nbf", 1)):
        value = claims.get(name, None if name == "exp" else now)
        if not isinstance(value, int | float) or isinstance(value, bool) or sign * (value - now) > LEEWAY_SECONDS:
            return f"{name}: it is not good now"
    subject = claims.get("sub")
    return None if isinstance(subject, str) and 0 < len(subject) <= 255 else "sub: it names nobody"
