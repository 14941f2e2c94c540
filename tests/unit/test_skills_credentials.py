"""Which fields are secret, and which credential a call is entitled to."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cluster.basics.scope import Role
from skills.framework.credentials import (
    BadCredential,
    Credential,
    CredentialBinding,
    CredentialForbidden,
    CredentialRequest,
    discover_credential,
    divide_fields,
    looks_secret,
)
from skills.framework.dependencies import AmbiguousCredential, CredentialMissing
from skills.framework.manifest import CredentialType, Kind

NOW = datetime(2026, 11, 2, 12, tzinfo=UTC)
API, SSH = CredentialType.API_KEY, CredentialType.SSH
NEED = CredentialRequest(API, "list_servers", Kind.OPENSTACK, Role.DEVELOPER, "agent-1", "session-1", NOW)
CLOUD, OTHER = Credential("1", "cloud", API), Credential("2", "other", API)


def named(*known: Credential, config: Mapping[str, Any] | None = None, **other: Any) -> tuple[str, str]:
    """Name and tier of what is found; `bindings` and fields of NEED."""
    bindings = other.pop("bindings", ())
    found = discover_credential(replace(NEED, **other), config or {}, bindings, known)
    return found.credential.name, found.tier


def test_cv_03_what_is_secret_is_sealed_whatever_it_was_given_as() -> None:
    """CV-03: S0 puts openstack's password into `extra` of an api_key."""
    extra = {
        "auth_url": "https://keystone.example:5000/v3",
        "project_name": "demo",
        "username": "ann",
        "password": "pw-1",
        "port": 22,
        "insecure": False,
        "db": "postgresql://u:pw-2@h/d",
        "client_secret": "pw-3",
        "region": "one",
    }
    content = divide_fields(API, {}, extra)
    assert content.sealed == {"password": "pw-1", "db": "postgresql://u:pw-2@h/d", "client_secret": "pw-3"}
    assert dict(content.extra) == {
        "auth_url": "https://keystone.example:5000/v3",
        "project_name": "demo",
        "username": "ann",
        "port": 22,
        "insecure": False,
        "region": "one",
    }
    ssh = divide_fields(
        SSH, {"username": "root", "host": "h", "port": 22, "private_key": "k", "note": "n"}, {"rack": "7"}
    )
    assert ssh.sealed == {"private_key": "k", "note": "n"}, "what nobody knows is sealed"
    assert dict(ssh.extra) == {"username": "root", "host": "h", "port": 22, "rack": "7"}
    assert divide_fields(API, {"key": 123456}, {}).sealed == {"key": "123456"}
    assert "pw-1" not in repr(content)
    for name in ("Password", "apiKey", "access_token", "DSN", "PASSPHRASE", "db_pwd"):
        assert looks_secret(name)
    assert not looks_secret("auth_url", "https://h:5000/v3") and looks_secret("x", "-----BEGIN RSA PRIVATE KEY-----")


@pytest.mark.parametrize(
    ("type_", "values", "said"),
    [
        (SSH, {"username": "root"}, "needs password or private_key"),
        (SSH, {"password": "canary"}, "needs username"),
        (CredentialType.HTTP_BASIC, {"username": "u", "password": ""}, "needs password"),
        (CredentialType.BEARER_TOKEN, {"key": "canary"}, "needs token"),
        (CredentialType.DB_DSN, {}, "needs dsn"),
        (API, {}, "no secret"),
        (CredentialType.CUSTOM, {"a": ""}, "no secret"),
        (CredentialType.CUSTOM, {"a": ["canary"]}, "a is no text"),
        (CredentialType.CUSTOM, {"canary word": "x"}, "field 1 has no name"),
        (CredentialType.CUSTOM, {"a": "canary" * 3_000}, "18,000 characters"),
        (CredentialType.CUSTOM, {f"f{n}": "canary" for n in range(33)}, "33 fields"),
    ],
)
def test_what_is_wrong_is_named_without_a_value(type_: CredentialType, values: Mapping[str, Any], said: str) -> None:
    """CV-03: each type has its fields."""
    with pytest.raises(BadCredential, match=said) as error:
        divide_fields(type_, values, {})
    assert "canary" not in str(error.value)
    with pytest.raises(BadCredential, match="given twice: key"):
        divide_fields(API, {"key": "canary"}, {"key": "canary"})


def test_cv_04_the_agent_names_its_credential() -> None:
    """CV-04, first tier: by skill, by kind or by type, the nearest first; what is named is taken or refused."""
    both = (CLOUD, OTHER)
    for config, name in (
        ({"api_key": "other"}, "other"),
        ({"openstack": "cloud", "api_key": "other"}, "cloud"),
        ({"list_servers": "other", "openstack": "cloud"}, "other"),
    ):
        assert named(*both, config={"credentials": config}) == (name, "agent")
    bound = [CredentialBinding("1", agent="agent-1")]
    assert named(*both, config={"credentials": {"api_key": "other"}}, bindings=bound) == ("other", "agent")
    for known, why in (
        ((CLOUD,), "there is none of this name"),
        ((CLOUD, replace(OTHER, type=SSH)), "it is of type ssh"),
        ((CLOUD, replace(OTHER, active=False)), "it is switched off"),
        ((CLOUD, replace(OTHER, expires=NOW)), "it ran out"),
        ((CLOUD, replace(OTHER, context="session-2")), "there is none of this name"),
    ):
        with pytest.raises(CredentialMissing, match=why):
            named(*known, config={"credentials": {"api_key": "other"}})
    for nonsense in ({"credentials": ["other"]}, {"credentials": {"api_key": 7}}, {"credentials": None}):
        assert named(CLOUD, config=nonsense) == ("cloud", "type")


def test_au_05_bindings_say_who_may() -> None:
    """CV-04, second tier, and AU-05: agent, skill and role, where each is given."""
    closed = replace(CLOUD, bound=True)
    for binding, fits in (
        (CredentialBinding("1", agent="agent-1"), True),
        (CredentialBinding("1", agent="agent-2"), False),
        (CredentialBinding("1", skill="list_servers"), True),
        (CredentialBinding("1", skill="delete_server"), False),
        (CredentialBinding("1", role=Role.DEVELOPER), True),
        (CredentialBinding("1", role=Role.OPERATOR), False),
        (CredentialBinding("1", "agent-1", "list_servers", Role.DEVELOPER), True),
        (CredentialBinding("1", "agent-1", "list_servers", Role.VIEWER), False),
        (CredentialBinding("2", agent="agent-1"), False),
    ):
        if fits:
            assert named(closed, OTHER, bindings=[binding]) == ("cloud", "binding")
            continue
        with pytest.raises(CredentialForbidden):
            named(closed, bindings=[binding])
        with pytest.raises(CredentialForbidden, match="cloud is not given"):
            named(closed, bindings=[binding], config={"credentials": {"api_key": "cloud"}})
    with pytest.raises(CredentialForbidden):
        named(closed, bindings=[])
    assert named(closed, bindings=[CredentialBinding("1", role=Role.VIEWER)], role=Role.ADMIN) == ("cloud", "binding")
    with pytest.raises(CredentialForbidden):
        named(closed, bindings=[CredentialBinding("1", agent="agent-1")], agent=None)
    with pytest.raises(AmbiguousCredential, match="there are cloud, other"):
        named(
            closed,
            OTHER,
            bindings=[CredentialBinding("1", agent="agent-1"), CredentialBinding("2", skill="list_servers")],
        )


def test_cv_04_by_type_and_name() -> None:
    """CV-04, third tier: the only one of the type, or the one that is called like the skill or its kind."""
    assert named(CLOUD, replace(OTHER, type=SSH)) == ("cloud", "type")
    assert named(CLOUD, replace(OTHER, active=False)) == ("cloud", "type")
    assert named(CLOUD, replace(OTHER, expires=NOW), replace(OTHER, id="3", name="third", bound=True))[0] == "cloud"
    assert named(CLOUD, replace(OTHER, expires=NOW + timedelta(seconds=1), name="openstack")) == ("openstack", "type")
    both = (replace(CLOUD, name="openstack"), replace(OTHER, name="list_servers"))
    assert named(*both) == ("list_servers", "type")
    with pytest.raises(AmbiguousCredential, match="there are cloud, other") as many:
        named(CLOUD, OTHER)
    assert "config.credentials" in many.value.hint
    with pytest.raises(CredentialMissing, match="list_servers needs a credential of type api_key") as none:
        named(replace(CLOUD, type=SSH), replace(OTHER, active=False))
    assert "aos credentials add" in none.value.hint


@pytest.mark.parametrize(
    "power", [{"kind": Kind.SSH, "type": SSH}, {"kind": Kind.SHELL}, {"kind": Kind.ANSIBLE, "type": SSH}]
)
def test_au_07_what_acts_on_machines_uses_only_what_was_given_to_it(power: dict[str, Any]) -> None:
    """AU-07: pre-bound credentials only; the third tier is not for them."""
    only = Credential("1", "root", power.get("type", API))
    with pytest.raises(CredentialForbidden):
        named(only, **power)
    assert named(only, bindings=[CredentialBinding("1", agent="agent-1")], **power) == ("root", "binding")
    assert named(only, config={"credentials": {str(only.type): "root"}}, **power) == ("root", "agent")


def test_cv_05_a_conversations_own_goes_first_and_nowhere_else() -> None:
    """CV-05: tokens that are scoped to a context."""
    mine = Credential("3", "cloud", API, context="session-1", expires=NOW + timedelta(hours=1))
    assert discover_credential(NEED, {}, (), (CLOUD, mine)).credential.id == "3"
    assert discover_credential(NEED, {"credentials": {"api_key": "cloud"}}, (), (CLOUD, mine)).credential.id == "3"
    for session in ("session-2", None):
        assert discover_credential(replace(NEED, session=session), {}, (), (CLOUD, mine)).credential.id == "1"
        with pytest.raises(CredentialMissing):
            discover_credential(replace(NEED, session=session), {}, (), (mine,))
    assert discover_credential(replace(NEED, at=NOW + timedelta(hours=2)), {}, (), (CLOUD, mine)).credential.id == "1"


def test_au_05_a_skill_that_a_workspace_wrote_gets_only_what_it_was_given() -> None:
    """AU-05: whoever writes a skill writes where its requests go, and would have any credential sent there."""
    with pytest.raises(CredentialForbidden):
        named(CLOUD, shipped=False)
    now: dict[str, Any] = {"shipped": False, "sha256": "now"}
    bound = CredentialBinding("1", skill="list_servers", sha256="now")
    assert named(CLOUD, bindings=[bound], **now) == ("cloud", "binding")
    assert named(CLOUD, shipped=False, config={"credentials": {"list_servers": "cloud"}}) == ("cloud", "agent")
    assert named(CLOUD) == ("cloud", "type")


def test_au_05_a_binding_is_for_the_content_that_it_was_made_for() -> None:
    """AU-05: whoever registers the next version of a skill does not get what was bound to the one before."""
    now: dict[str, Any] = {"shipped": False, "sha256": "now"}
    for binding in (
        CredentialBinding("1", skill="list_servers", sha256="before"),
        CredentialBinding("1", skill="list_servers"),
        CredentialBinding("1", agent="agent-1"),
        CredentialBinding("1", role=Role.DEVELOPER),
        CredentialBinding("1", agent="agent-1", sha256="now"),
    ):
        for config in ({}, {"credentials": {"api_key": "cloud"}}):
            with pytest.raises(CredentialForbidden, match="not for this skill as it is now") as refused:
                named(replace(CLOUD, bound=True), bindings=[binding], config=config, **now)
            assert "bind again" in refused.value.hint
        assert named(CLOUD, bindings=[binding])[0] == "cloud", "one that ships is known by its name"
    with pytest.raises(CredentialForbidden):
        named(CLOUD, bindings=[CredentialBinding("1", skill="list_servers", sha256="")], shipped=False)
    both = CredentialBinding("1", "agent-1", "list_servers", sha256="now")
    assert named(CLOUD, bindings=[both], **now) == ("cloud", "binding")
    with pytest.raises(CredentialForbidden):
        named(CLOUD, bindings=[both], agent="agent-2", **now)


def test_where_tokens_come_from_is_shown() -> None:
    """CV-03: an address is no secret for its name."""
    given = {"token_url": "https://login.example/token"}
    assert divide_fields(CredentialType.CUSTOM, {"client_secret": "s"}, given).extra == given
    assert looks_secret("token_url", "https://u:p@login.example/token") and looks_secret("token_url_key")
