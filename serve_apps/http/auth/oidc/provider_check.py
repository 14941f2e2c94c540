"""Checks of an OpenID provider: its documents, endpoints, keys, PKCE and clock, looked at now."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

from joserfc.jwk import KeySet

from configs.sign_in_providers import OidcProvider, is_private_channel
from serve_apps.http.auth.oidc.id_token import LEEWAY_SECONDS
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.oidc.provider_documents import DocumentUnreadable, ProviderDocument, signing_keys
from serve_apps.http.auth.sign_in_checks import SignInCheck, failed, judged, passed

ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")
CURVES: Final = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521", "Ed25519": "Ed25519"}
KINDS: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
UNREACHABLE: Final = "Look at `issuer`, at DNS, and at the firewall and certificates between here and there."


async def check_provider(client: OidcProviderClient, now: Callable[[], datetime]) -> list[SignInCheck]:
    """Every check, in order; nothing that is known already is believed. What hangs on one that failed is left out."""
    of = client.provider
    try:
        found = await client.look_up(client.discovery_url)
    except DocumentUnreadable as error:
        return [failed("discovery", f"{client.discovery_url}: {error}", UNREACHABLE)]
    clock = _check_clock(found, now())
    endpoints = _check_endpoints(found.body)
    checks = [
        passed("discovery", client.discovery_url),
        _check_issuer(of, found.body),
        endpoints,
        await _check_keys(client, str(found.body.get("jwks_uri", ""))),
        _check_algorithms(of, found.body),
        _check_pkce(found.body),
        _check_client_secret(of, found.body),
        clock,
    ]
    return checks


def _check_issuer(of: OidcProvider, found: Mapping[str, Any]) -> SignInCheck:
    said = str(found.get("issuer"))[:200]
    wrong = "" if found.get("issuer") == of.issuer else f"it calls itself {said!r}, and `issuer` is {of.issuer!r}"
    return judged("issuer", wrong, of.issuer, "Write `issuer` as the discovery document has it, to the last slash.")


def _check_endpoints(found: Mapping[str, Any]) -> SignInCheck:
    urls = {name: str(found.get(name, "")) for name in ENDPOINTS}
    wrong = ", ".join(f"{name} {url[:200] or 'missing'}" for name, url in urls.items() if not is_private_channel(url))
    fix = "Have the provider offer these by https."
    return judged("endpoints", wrong and f"not https: {wrong}", ", ".join(urls.values()), fix)


async def _check_keys(client: OidcProviderClient, url: str) -> SignInCheck:
    issuer, keys = urlsplit(client.provider.issuer), urlsplit(url)
    if not is_private_channel(url) or (keys.scheme == "http" and issuer.scheme != "http"):
        return failed("keys", "they are not asked for without https", "See `endpoints`.")
    try:
        found = signing_keys((await client.look_up(url)).body)
    except DocumentUnreadable as error:
        # Whoever answers for the issuer chooses this address: of another machine than theirs nothing is told.
        said = str(error) if keys.netloc == issuer.netloc else "cannot be read"
        return failed("keys", f"{url[:200]}: {said}", UNREACHABLE)
    accepted = client.provider.algorithms
    usable = sum(1 for one in _described(found) if any(_fits(one, algorithm) for algorithm in accepted))
    said = f"{usable} of {len(found.keys)} can be used with {', '.join(accepted)}"
    fix = "Have the provider sign with one of `algorithms`, or add its own to them."
    return judged("keys", "" if usable else said, said, fix)


def _described(keys: KeySet) -> list[Mapping[str, Any]]:
    return [{**one.as_dict(private=False), "kty": one.key_type} for one in keys.keys]


def _fits(key: Mapping[str, Any], algorithm: str) -> bool:
    """Whether what is signed by this algorithm can be verified with the key."""
    if key["kty"] != KINDS[algorithm[:2]] or key.get("alg", algorithm) != algorithm:
        return False
    curve = CURVES.get(algorithm)
    return curve is None or key.get("crv") == curve


def _check_algorithms(of: OidcProvider, found: Mapping[str, Any]) -> SignInCheck:
    said = _texts(found.get("id_token_signing_alg_values_supported"))
    both = [one for one in said if one in of.algorithms]
    wrong = "" if both or not said else f"it signs with {', '.join(said)[:200]} alone"
    well = ", ".join(both) or "it does not say which it signs with"
    return judged("algorithms", wrong, well, "Name one of them in `algorithms`, where a key of the provider signs.")


def _check_pkce(found: Mapping[str, Any]) -> SignInCheck:
    methods = _texts(found.get("code_challenge_methods_supported"))
    if not methods:
        fix = "Ask whoever runs it whether it knows PKCE (RFC 7636); some do, and do not say so."
        return failed("pkce", "it does not say that it knows PKCE", fix, required=False)
    wrong = "" if "S256" in methods else f"it knows {', '.join(methods)[:200]}, and not S256"
    return judged("pkce", wrong, "S256", "Have the provider offer S256.")


def _check_client_secret(of: OidcProvider, found: Mapping[str, Any]) -> SignInCheck:
    """Whether it takes the client's secret, or none, the way that it is shown."""
    methods = _texts(found.get("token_endpoint_auth_methods_supported")) or ["client_secret_basic"]
    known = {"client_secret_basic", "client_secret_post"} if of.client_secret else {"none"}
    said = f"the token endpoint takes {', '.join(methods)[:200]}"
    wrong = "" if known & set(methods) else said
    fix = "Give the client a secret, or have the provider take it." if of.client_secret else "Set client_secret."
    # A public client is not always announced.
    return judged("client_authentication", wrong, said, fix, required=bool(of.client_secret))


def _check_clock(found: ProviderDocument, now: datetime) -> SignInCheck:
    if found.date is None:
        return failed("clock", "it does not say what time it is there", "Compare the clocks by hand.", required=False)
    apart = (now - found.date).total_seconds()
    said = f"{abs(apart):.0f} s apart; {LEEWAY_SECONDS} s are allowed"
    wrong = said if abs(apart) > LEEWAY_SECONDS else ""
    return judged("clock", wrong, said, "Have both machines keep time by NTP.")


def _texts(found: object) -> Sequence[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
