"""The file of OpenID providers and directories: what stands in it; what is refused, by its place and with no secret."""

from pathlib import Path

import pytest

from cluster.basics.errors import InvalidSettings
from configs.sections_identity import AuthSettings
from configs.settings import InvalidConfiguration
from configs.sign_in_providers import load_directories, load_providers, load_scim_tenants
from serve_apps.http.auth.tokens import TokenSigner
from serve_apps.wiring.http import directory_clients, sign_in_flow

GOOD = """
providers:
  - {name: corp, title: Corp, issuer: "https://login.corp.example", client_id: aos, client_secret: s3cr3t,
     rules: [{value: staff, workspace: default, role: operator}]}
"""


def test_providers_are_read_with_their_rules(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD, encoding="utf-8")
    (corp,) = load_providers(path)
    assert (corp.rules[0].role, corp.rules[0].claim, corp.groups) == ("operator", "groups", ())
    assert load_providers(None) == ()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("https://login", "http://login"), "issuer"),
        (("name: corp", "name: Corp AG"), "name"),
        (("role: operator", "role: king"), "rules.0.role"),
        (("title: Corp", "tittle: Corp"), "tittle"),
        (("client_id: aos", "client_id: aos, tenant: mine"), "tenant"),
        (("client_id: aos", "client_id: aos, algorithms: [HS256]"), "algorithms"),
        (("rules:", "rules: ["), "line"),
        (("providers:", "providers: 7 #"), "providers"),
    ],
)
def test_a_mistake_is_said_with_its_place(tmp_path: Path, changed: tuple[str, str], said: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD.replace(*changed), encoding="utf-8")
    with pytest.raises(InvalidConfiguration) as refused:
        load_providers(path)
    assert said in str(refused.value) and str(path) in str(refused.value) and "s3cr3t" not in str(refused.value)


def test_a_name_twice_a_file_that_is_not_there_and_no_way_back(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD + GOOD.partition("providers:")[2], encoding="utf-8")
    with pytest.raises(InvalidConfiguration, match="corp stands there twice"):
        load_providers(path)
    with pytest.raises(InvalidConfiguration, match="providers_file"):
        load_providers(tmp_path / "none.yaml")
    path.write_text(GOOD, encoding="utf-8")
    tokens = TokenSigner("s" * 32, AuthSettings())
    with pytest.raises(InvalidSettings, match="public_url"):
        sign_in_flow(AuthSettings(providers_file=path), tokens)
    flow = sign_in_flow(AuthSettings(providers_file=path, public_url="https://aos.example/"), tokens)
    assert flow.redirect_uri("corp") == "https://aos.example/api/auth/oidc/corp/callback" and flow.is_encrypted


DIRECTORY = """
directories:
  - {name: corp, title: Corp, kind: active_directory, urls: ["ldaps://dc1.corp.example", "ldap://dc2.corp.example:389"],
     base_dn: "dc=corp,dc=example", service_dn: "cn=aos", service_password: s3cr3t,
     rules: [{value: staff, workspace: default}]}
"""


def test_a_directory_has_what_its_kind_has(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(GOOD.replace("name: corp", "name: web") + DIRECTORY, encoding="utf-8")
    (corp,) = load_directories(path)
    assert (corp.nested, corp.subject_attribute, corp.rules[0].claim) == ("chain", "objectGUID", "groups")
    assert len(load_providers(path)) == 1 and load_directories(None) == ()
    (client,) = directory_clients(AuthSettings(providers_file=path, public_url="https://aos.example")).values()
    assert client.issuer == "ldap:corp"
    path.write_text(GOOD + DIRECTORY, encoding="utf-8")
    with pytest.raises(InvalidConfiguration, match="corp stands there twice"):
        load_directories(path)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (("ldaps://dc1", "http://dc1"), "urls"),
        (("ldaps://dc1", "ldapi://dc1"), "urls"),
        (("ldaps://dc1", "ldaps://user@dc1"), "urls"),
        (("ldaps://dc1.corp.example", "ldaps://dc1:x"), "urls"),
        (('["ldaps://dc1.corp.example", "ldap://dc2.corp.example:389"]', "[]"), "urls"),
        (("kind: active_directory", "kind: novell"), "kind"),
        (("service_password: s3cr3t", "bind: search"), "service_password"),
        (("service_password: s3cr3t", "bind: direct"), "bind_name"),
        (("base_dn:", "user_filter: (uid=x), base_dn:"), "{login}"),
        (("base_dn:", "start_tls: false, base_dn:"), "start_tls"),
        (("base_dn:", "groups_claim: department, base_dn:"), "groups_claim"),
    ],
)
def test_a_mistake_in_a_directory_is_said_with_its_place(tmp_path: Path, changed: tuple[str, str], said: str) -> None:
    path = tmp_path / "providers.yaml"
    assert changed[0] in DIRECTORY
    path.write_text(DIRECTORY.replace(*changed), encoding="utf-8")
    with pytest.raises(InvalidConfiguration) as refused:
        load_directories(path)
    assert said in str(refused.value) and "s3cr3t" not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [("ca_file: none.pem", "ca_file"), ('user_filter: "(&(uid={login})"', "uid"), ('group_filter: "cn=x"', "cn=x")],
)
def test_a_directory_that_cannot_be_asked_is_refused_at_the_start(tmp_path: Path, more: str, said: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(DIRECTORY.replace("base_dn:", f"{more}, base_dn:"), encoding="utf-8")
    with pytest.raises(InvalidSettings, match=said):
        directory_clients(AuthSettings(providers_file=path))


def test_rules_of_scim_stand_in_the_same_file(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text("scim: [{rules: [{value: Finance, workspace: default, role: developer}]}]", encoding="utf-8")
    (first,) = load_scim_tenants(path)
    assert (first.tenant, first.rules[0].value, first.rules[0].role) == (None, "Finance", "developer")
    assert load_providers(path) == () and load_scim_tenants(None) == ()
    path.write_text("scim: [{rules: [{value: x, workspace: w, claim: roles}]}]", encoding="utf-8")
    with pytest.raises(InvalidConfiguration, match="tells of groups"):
        load_scim_tenants(path)
    path.write_text(GOOD.replace("name: corp", "name: scim"), encoding="utf-8")
    with pytest.raises(InvalidConfiguration, match="choose another"):
        load_providers(path)


@pytest.mark.parametrize("wrong", ["aos.example", "ftp://aos.example", "https://aos.example/path", "https://a?b"])
def test_a_public_address_is_one_without_a_path(wrong: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        AuthSettings(public_url=wrong)
