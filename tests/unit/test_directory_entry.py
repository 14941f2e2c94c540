"""Entries of a directory: when an account has ended, what is escaped, and which names are the same."""

from datetime import UTC, datetime

import pytest
from ldap3.operation.search import parse_filter

from serve_apps.http.auth.ldap.directory_entry import (
    DirectoryEntry,
    bind_name_for,
    filter_for,
    fold_login,
    fold_name,
    members_filter,
)

NOW = datetime(2026, 11, 28, tzinfo=UTC)


@pytest.mark.parametrize(
    ("attributes", "why"),
    [
        ({}, None),
        ({"userAccountControl": "512"}, None),
        ({"userAccountControl": "514"}, "disabled"),
        ({"userAccountControl": "nonsense"}, "disabled"),
        ({"userAccountControl": "--512"}, "disabled"),
        ({"userAccountControl": "-2147483136"}, None),
        ({"userAccountControl": "512", "msDS-User-Account-Control-Computed": "16"}, "locked"),
        ({"msDS-User-Account-Control-Computed": "8388608"}, "password expired"),
        ({"nsAccountLock": "TRUE"}, "disabled"),
        ({"accountExpires": "0"}, None),
        ({"accountExpires": "9223372036854775807"}, None),
        ({"accountExpires": "132000000000000000"}, "expired"),
        ({"accountExpires": "150000000000000000"}, None),
        ({"accountExpires": "99999999999999999999999"}, "expired"),
        ({"accountExpires": "-1"}, "expired"),
    ],
)
def test_an_account_has_ended_by_what_each_kind_of_server_says(attributes: dict[str, str], why: str | None) -> None:
    entry = DirectoryEntry("cn=x", {name.lower(): (value.encode(),) for name, value in attributes.items()})
    assert entry.ended(NOW) == why


def test_a_lasting_name_is_one_and_readable() -> None:
    guid = bytes(range(16))
    entry = DirectoryEntry("cn=x", {"objectguid": (guid,), "entryuuid": (b"A-1",), "mail": (b"a@b", b"\xff")})
    assert entry.subject("objectGUID") == "03020100-0504-0706-0809-0a0b0c0d0e0f", "as Active Directory writes it"
    assert entry.subject("entryUUID") == "a-1" and entry.texts("MAIL") == ["a@b"]
    for odd in ((), (guid, guid), (b"short",)):
        assert DirectoryEntry("cn=x", {"objectguid": odd}).subject("objectGUID") is None


def test_every_byte_of_a_login_is_escaped_in_a_filter() -> None:
    assert filter_for("(uid={login})", "a*)") == "(uid=\\61\\2a\\29)"
    assert members_filter("(cn=*)", "member", ["é"]) == "(&(cn=*)(|(member=\\c3\\a9)))"
    for login in ("*", ")(", "\\", "\0", "x" * 256, "ü"):
        parse_filter(filter_for("(|(uid={login})(mail={login}))", login), None, False, False, None, False)


@pytest.mark.parametrize(
    ("template", "login", "name"),
    [
        ("{login}@corp.example", "ann", "ann@corp.example"),
        ("{login}@corp.example", "ann@CORP.example", "ann@corp.example"),
        ("{login}@corp.example", "ann@other.example", None),
        ("{login}@corp.example", "@corp.example", None),
        ("{login}@corp.example", "EU\\ann", None),
        ("{login}@corp.example", "", None),
        ("CORP\\{login}", "ann", "CORP\\ann"),
        ("uid={login},dc=x", "a,b=c", "uid=a\\,b\\=c,dc=x"),
        ("uid={login},dc=x", " #a ", "uid=\\ #a\\ ,dc=x"),
        ("uid={login},dc=x", "a\0", None),
        ("uid={login},dc=x", "", None),
    ],
)
def test_what_somebody_binds_as(template: str, login: str, name: str | None) -> None:
    assert bind_name_for(template, login) == name


def test_names_that_mean_the_same_are_one() -> None:
    assert fold_name("CN=Staff, OU=groups,dc=X") == fold_name("cn=staff,ou=groups,dc=x")
    assert fold_name(" Staff ") == "staff" and fold_name("a=b=c,") and fold_name("") == ""
    assert len({fold_login(one) for one in ("Ann", "ann", "ANN ", "a\u0301nn", "\u00e1nn", "an\u200bn", "ａｎｎ")}) == 1
    assert fold_login("ann") != fold_login("ben")
