"""The OpenID providers and directories whose people may sign in: a YAML file that an operator writes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from uuid import UUID

from pydantic import field_validator

from configs.section import Secret, Section
from configs.settings import InvalidConfiguration, read_operator_file
from configs.sign_in_directories import Directory
from configs.sign_in_rules import SignInRule, SignInSource

# Signed with a key that only the provider has: what is signed with the client's secret, anybody who has it can make.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
SCIM = "scim"  # what stands for it where providers' names stand
LOOPBACK = ("127.0.0.1", "::1", "localhost")


class OidcProvider(SignInSource):
    """An OpenID provider.

    `issuer`: as its discovery document has it. `client_secret`: left out for a public client; PKCE is used in any case.
    `trust_email`: the provider vouches for addresses without saying `email_verified`, as directories of one
    organisation do. `groups_claim`: which of its claims has the groups. `prompt`: how it asks who
    somebody is where a program of theirs signs in; Google knows `select_account` instead. `mcp`: access tokens that it
    gives for <public URL>/mcp (RFC 8707) let MCP clients of its people in, once these have signed in here.
    """

    issuer: str
    client_id: str
    client_secret: Secret = None
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    algorithms: tuple[Algorithm, ...] = ("RS256", "PS256", "ES256", "EdDSA", "Ed25519")
    email_claim: str = "email"
    trust_email: bool = False
    mcp: bool = False
    prompt: Literal["login", "select_account", "consent"] = "login"

    @field_validator("issuer")
    @classmethod
    def _refuse_plain_text(cls, value: str) -> str:
        if not is_private_channel(value):
            raise ValueError("must begin with https://; http:// is for a provider on this machine alone")
        return value


def is_private_channel(url: str) -> bool:
    """True for https, and for http that does not leave the machine."""
    parts = urlsplit(url)
    return bool(parts.hostname) and (parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK))


class ScimTenant(Section):
    """What an identity provider's groups give people whom it provisions by SCIM; without rules they get nothing.

    `tenant`: its id; that of the first administrator where left out. `rules`: `value` is a group's first name, or `*`.
    """

    tenant: UUID | None = None
    rules: tuple[SignInRule, ...] = ()

    @field_validator("rules")
    @classmethod
    def _refuse_claims(cls, rules: tuple[SignInRule, ...]) -> tuple[SignInRule, ...]:
        if any(rule.claim != "groups" for rule in rules):
            raise ValueError("SCIM tells of groups and of no other claim")
        return rules


class _ProvidersFile(Section):
    providers: tuple[OidcProvider, ...] = ()
    directories: tuple[Directory, ...] = ()
    scim: tuple[ScimTenant, ...] = ()


def load_providers(path: Path | None) -> Sequence[OidcProvider]:
    """The providers of a file, none without one. Raises InvalidConfiguration: with a line for each mistake."""
    return _read_file(path).providers


def load_directories(path: Path | None) -> Sequence[Directory]:
    """The directories of the same file; raises as `load_providers`."""
    return _read_file(path).directories


def load_scim_tenants(path: Path | None) -> Sequence[ScimTenant]:
    """The rules of the same file for people by SCIM; raises as `load_providers`."""
    return _read_file(path).scim


def _read_file(path: Path | None) -> _ProvidersFile:
    if path is None:
        return _ProvidersFile()
    found = read_operator_file(path, _ProvidersFile, "auth.providers_file")
    names = [one.name for one in (*found.providers, *found.directories)]  # what they give is kept by name
    if SCIM in names:
        raise InvalidConfiguration(f"{path}: providers: the name {SCIM} is that of provisioning; choose another")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise InvalidConfiguration(f"{path}: providers: {', '.join(twice)} stands there twice")
    return found
