"""The file of OpenID providers: what stands in it, and what is refused with its place and never with a secret."""

from pathlib import Path

import pytest

from cluster.basics.errors import InvalidSettings
from configs.sections_identity import AuthSettings
from configs.settings import InvalidConfiguration
from configs.sign_in_providers import load_providers, load_scim_tenants
from serve_apps.http.auth.tokens import TokenSigner
from serve_apps.wiring.http import sign_in_flow

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
