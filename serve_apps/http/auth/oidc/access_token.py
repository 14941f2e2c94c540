"""Access tokens that a provider gave an MCP client for this product, in place of ours (RFC 9068, RFC 8707)."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from joserfc.jwk import KeySet

from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.id_token import LEEWAY_SECONDS, LONGEST, is_name, is_number, signed_claims
from serve_apps.http.auth.sign_in_problems import SignInRefused

LONGEST_SECONDS = 86_400  # of a token: a sign-out does not end it


def claimed_issuer(token: str) -> str:
    """Who says to have made a token, which nothing follows from but whose keys are to be asked; empty where nobody."""
    if len(token) > LONGEST or token.count(".") != 2:
        return ""
    payload = token.split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    except (ValueError, RecursionError):
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
    ends, begins = claims.get("exp"), claims.get("nbf", now)
    if not is_number(ends) or not now < ends + LEEWAY_SECONDS <= now + LONGEST_SECONDS:
        return "exp: it has run out, or is good for longer than a day"
    if not is_number(begins) or begins > now + LEEWAY_SECONDS:
        return "nbf: it is not good yet"
    return None if is_name(claims.get("sub")) else "sub: it names nobody"
