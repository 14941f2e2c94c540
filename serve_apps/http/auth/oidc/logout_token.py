"""Verification of a logout token (OpenID Connect Back-Channel Logout 1.0, section 2.6)."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from joserfc.jwk import KeySet

from cluster.state.identity.external_accounts import ProviderLogout
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.id_token import LEEWAY_SECONDS, is_name, signed_claims, wrong_origin, wrong_time
from serve_apps.http.auth.sign_in_problems import SignInRefused

EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"


def verify_logout_token(token: str, keys: KeySet, provider: OidcProvider, now: float) -> ProviderLogout:
    """Who has signed out there, once signature, issuer, audience, time and event are right.

    A token that comes twice ends nothing twice: it means what had begun when it was made.

    Raises:
        UnknownKey: none of the keys made it.
        SignInRefused: it is no logout token for us.
    """
    claims = signed_claims(token, keys, provider.algorithms)
    wrong = wrong_origin(claims, provider.issuer, provider.client_id) or wrong_time(claims, now) or _wrong(claims)
    if wrong is not None:
        raise SignInRefused(wrong)
    made, room = datetime.fromtimestamp(claims["iat"], UTC), timedelta(seconds=LEEWAY_SECONDS)
    whose = (str(claims.get("sub", "")), str(claims.get("sid", "")))
    return ProviderLogout(provider.name, provider.issuer, *whose, made + room, made)


def _wrong(claims: Mapping[str, Any]) -> str | None:
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(EVENT), dict):
        return "events: it is no logout token"
    if "nonce" in claims:  # so that no ID token is one
        return "nonce: a logout token has none"
    names = [claims[name] for name in ("sub", "sid") if name in claims]
    if not names or not all(is_name(one) for one in names):
        return "sub, sid: it names nobody"
    if not isinstance(claims.get("jti"), str):
        return "jti: it has no name"
    return None
