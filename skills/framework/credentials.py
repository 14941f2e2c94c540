"""Credentials: the fields of each type and which of them are secret, and which credential a call is entitled to."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from cluster.basics.errors import Forbidden, Invalid
from cluster.basics.scope import Role
from skills.framework.dependencies import AmbiguousCredential, CredentialMissing
from skills.framework.manifest import CredentialType, Kind

# A field that is called like one of these is sealed wherever it was given: people put passwords into `extra`.
SECRET_WORDS = ("passw", "passphrase", "pwd", "secret", "token", "key", "dsn", "credential")
TOKEN_URL = "token_url"  # an address, for all its name
MOST_FIELDS = 32
MOST_CHARACTERS = 16_000  # of a value: a private key with its certificate fits
FIELD = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
# Kinds that act on whole machines use only what somebody gave them on purpose.
POWERFUL = frozenset({Kind.SSH, Kind.SHELL})

_ADD = "An administrator adds one: POST /api/credentials, or `aos credentials add`."
_CHOOSE = "Name one in the agent's config.credentials ({skill or type: name}), or bind one to the agent."
_AGAIN = "Look at what the skill does now, and bind again, by its name: POST /api/credentials/{id}/bindings."
_SECRET_VALUE = re.compile(r"://[^/?#@\s]*:[^/?#\s]+@|-----BEGIN [A-Z ]*PRIVATE KEY-----")

Plain = str | int | float | bool


class BadCredential(Invalid):
    """A credential is not described as its type is."""

    code = "bad_credential"


class CredentialForbidden(Forbidden):
    """There is a credential for this call, but not for who makes it."""

    code = "credential_forbidden"
    fix = "An administrator binds it: POST /api/credentials/{id}/bindings, or `aos credentials bind`."


@dataclass(frozen=True, slots=True)
class CredentialFields:
    """The fields of a type."""

    secret: tuple[str, ...] = ()  # those that are sealed
    open: tuple[str, ...] = ()  # those that may be shown
    needs: tuple[tuple[str, ...], ...] = ()  # groups of names; of each group one has to be given
    may_be_open: bool = False  # it is one without a secret, too


# Any other field may be given as well; without a place here it is sealed, unless it was given in `extra`.
SORTS: Mapping[CredentialType, CredentialFields] = MappingProxyType(
    {
        CredentialType.SSH: CredentialFields(
            ("password", "private_key", "passphrase"),
            ("username", "host", "port", "known_hosts"),
            (("username",), ("password", "private_key")),
        ),
        CredentialType.HTTP_BASIC: CredentialFields(("password",), ("username",), (("username",), ("password",))),
        CredentialType.BEARER_TOKEN: CredentialFields(("token",), (), (("token",),)),
        CredentialType.DB_DSN: CredentialFields(("dsn",), (), (("dsn",),)),
        CredentialType.API_KEY: CredentialFields(("key",)),
        CredentialType.CUSTOM: CredentialFields(),
        CredentialType.OAUTH: CredentialFields(
            ("client_secret",),
            ("client_id", "base_url", "scope", "issuer", "authorize_url", TOKEN_URL, "revoke_url", "resource"),
            (("client_id",), ("base_url",)),
            may_be_open=True,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class CredentialContent:
    """Fields of a credential, divided into sealed and shown."""

    sealed: Mapping[str, str] = field(repr=False)  # secret values by field
    extra: Mapping[str, Plain]  # those that may be shown


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential without what is sealed."""

    id: str
    name: str
    type: CredentialType
    extra: Mapping[str, Plain] = field(default_factory=dict)
    active: bool = True  # somebody did not switch it off
    bound: bool = False  # only calls that a binding fits may use it
    context: str | None = None  # the conversation that it is of; None for the whole workspace
    expires: datetime | None = None  # it is of no use from then on


@dataclass(frozen=True, slots=True)
class CredentialBinding:
    """Permission to use a credential: calls of this agent, of this skill, made with this role, where each is given.

    `sha256` is of the skill as it was bound; None where it ships, or was not there.
    """

    credential: str
    agent: str | None = None
    skill: str | None = None
    role: Role | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class CredentialRequest:
    """A call's request for a credential."""

    type: CredentialType  # of the credential
    skill: str  # that is called
    kind: Kind
    role: Role  # of who calls
    agent: str | None  # in which it is called, as `session`; None outside of a turn
    session: str | None
    at: datetime  # the moment
    # Whether what is called came with this program. Who writes a skill of the workspace also writes where its requests
    # go: it gets no credential that nobody gave it, as it is now.
    shipped: bool = True
    sha256: str = ""  # of what is called (`skill_fingerprint`)


@dataclass(frozen=True, slots=True)
class DiscoveredCredential:
    """The credential of a call; `tier` says how it was found: `agent`, `binding` or `type`."""

    credential: Credential
    tier: str


def looks_secret(name: str, value: object = None) -> bool:
    """True where a field's name, or its value (such as an address with a password), calls for sealing."""
    if name != TOKEN_URL and any(word in name.lower() for word in SECRET_WORDS):
        return True
    return isinstance(value, str) and _SECRET_VALUE.search(value) is not None


def divide_fields(type_: CredentialType, values: Mapping[str, Any], extra: Mapping[str, Any]) -> CredentialContent:
    """Divide a credential's fields into sealed and shown; its type decides which are secret.

    `values`: of any sort; one that the type does not know is a secret. `extra`: those that may be shown; one that looks
    like a secret is none of them.

    Raises BadCredential: a field is given twice, is no plain value, is too long or missing; no value is quoted.
    """
    if twice := sorted(values.keys() & extra.keys()):
        raise BadCredential(f"given twice: {', '.join(twice)}")
    sort, given = SORTS[type_], {**extra, **values}
    _check_fields(given)
    sealed, shown = {}, {}
    for name, value in given.items():
        harmless = name in extra and name not in sort.secret and not looks_secret(name, value)
        if name in sort.open or harmless:
            shown[name] = value
        else:
            sealed[name] = value if isinstance(value, str) else str(value)
    missing = [" or ".join(group) for group in sort.needs if not any(given.get(name) for name in group)]
    if missing:
        raise BadCredential(f"a credential of type {type_} needs {', '.join(missing)}")
    if not any(sealed.values()) and not sort.may_be_open:
        raise BadCredential("there is no secret in it", fix="Put the secret fields into `values`.")
    return CredentialContent(sealed, shown)


def _check_fields(given: Mapping[str, Any]) -> None:
    if len(given) > MOST_FIELDS:
        raise BadCredential(f"{len(given)} fields; there may be {MOST_FIELDS}")
    for number, (name, value) in enumerate(given.items(), start=1):
        if not FIELD.fullmatch(name):
            # It is not quoted: where a name should stand somebody may have put the secret itself.
            raise BadCredential(f"field {number} has no name: letters, digits, _ . and -, at most 64")
        if not isinstance(value, str | int | float | bool):
            raise BadCredential(f"{name} is no text, number, true or false")
        if isinstance(value, str) and len(value) > MOST_CHARACTERS:
            raise BadCredential(f"{name} has {len(value):,} characters; {MOST_CHARACTERS:,} are kept")


def discover_credential(
    need: CredentialRequest,  # what is asked for, and by whom
    agent_config: Mapping[str, Any],  # its `credentials` maps a skill, a kind or a type to the name of a credential
    bindings: Sequence[CredentialBinding],  # of credentials of this type; the others do no harm
    known: Sequence[
        Credential
    ],  # of the workspace; those that are off, ran out or are of another conversation are none
) -> DiscoveredCredential:
    """The one credential that a call may use: named by the agent, else bound, else by type and name.

    Raises CredentialMissing, AmbiguousCredential, CredentialForbidden: none, several, or not for this caller.
    """
    fitting = {binding.credential for binding in bindings if _binding_fits(binding, need)}
    usable = [one for one in known if one.type is need.type and _is_live(one, need)]
    allowed = [one for one in usable if not one.bound or one.id in fitting]
    named = _named_credential(need, agent_config)
    if named is not None:
        if chosen := [one for one in allowed if one.name == named]:
            return DiscoveredCredential(_only_candidate(chosen, need), "agent")
        raise _unusable_error(named, need, known, usable, bindings)
    if given := [one for one in allowed if one.id in fitting]:
        return DiscoveredCredential(_only_candidate(given, need), "binding")
    closed = need.kind in POWERFUL or need.type is CredentialType.SSH or not need.shipped
    if free := [] if closed else allowed:
        called = [one for one in free if one.name == need.skill] or [one for one in free if one.name == need.kind]
        return DiscoveredCredential(_only_candidate(called or free, need), "type")
    if usable:
        detail = f"no credential of type {need.type} is given to this agent for {need.skill}, called as {need.role}"
        raise _forbidden_error(detail, need, usable, bindings)
    raise CredentialMissing(f"{need.skill} needs a credential of type {need.type}, and there is none", fix=_ADD)


def _named_credential(need: CredentialRequest, config: Mapping[str, Any]) -> str | None:
    mapping = config.get("credentials")
    if not isinstance(mapping, Mapping):
        return None
    names = (mapping.get(key) for key in (need.skill, str(need.kind), str(need.type)))
    return next((name for name in names if isinstance(name, str) and name), None)


def _unusable_error(
    name: str,
    need: CredentialRequest,
    known: Sequence[Credential],
    usable: Sequence[Credential],
    bindings: Sequence[CredentialBinding],
) -> CredentialForbidden | CredentialMissing:
    """The error for a credential named by the agent that is unusable; a fallback would surprise its owner."""
    if of_name := [one for one in usable if one.name == name]:
        detail = f"{name} is not given to this agent for {need.skill}, called as {need.role}"
        return _forbidden_error(detail, need, of_name, bindings)
    others = [one for one in known if one.name == name and one.context in (None, need.session)]
    why = "there is none of this name"
    if others:
        why = f"it is of type {others[0].type}"
        if of_type := [one for one in others if one.type is need.type]:
            why = "it ran out" if of_type[0].active else "it is switched off"
    return CredentialMissing(f"the agent names {name} for {need.skill}, of type {need.type}: {why}", fix=_ADD)


def _forbidden_error(
    detail: str, need: CredentialRequest, of: Sequence[Credential], bindings: Sequence[CredentialBinding]
) -> CredentialForbidden:
    """Says as well where there is a binding that a skill which ships could use."""
    ids = {one.id for one in of}
    if any(binding.credential in ids and _is_meant(binding, need) for binding in bindings):
        return CredentialForbidden(f"{detail}: a binding is there, but not for this skill as it is now", fix=_AGAIN)
    return CredentialForbidden(detail)


def _only_candidate(candidates: Sequence[Credential], need: CredentialRequest) -> Credential:
    """The one; a conversation's own goes before the workspace's."""
    found = [one for one in candidates if one.context is not None] or candidates
    if len(found) > 1:
        names = ", ".join(sorted(one.name for one in found))
        detail = f"{need.skill} needs one credential of type {need.type}; there are {names}"
        raise AmbiguousCredential(detail, fix=_CHOOSE)
    return found[0]


def _is_live(one: Credential, need: CredentialRequest) -> bool:
    return one.active and (one.expires is None or one.expires > need.at) and one.context in (None, need.session)


def _binding_fits(binding: CredentialBinding, need: CredentialRequest) -> bool:
    """A skill of the workspace is bound by name and content: whoever registers its next version is not trusted so."""
    same = bool(need.sha256) and (binding.skill, binding.sha256) == (need.skill, need.sha256)
    return _is_meant(binding, need) and (need.shipped or same)


def _is_meant(binding: CredentialBinding, need: CredentialRequest) -> bool:
    return (
        binding.agent in (None, need.agent)
        and binding.skill in (None, need.skill)
        and (binding.role in (None, need.role) or need.role is Role.ADMIN)
    )
