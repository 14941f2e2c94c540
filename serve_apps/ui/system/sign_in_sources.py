"""Sign-in: the providers and directories of the tenant as they are declared, and a test that really asks each."""

from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_card, link_to, state_badge, status_dot, titled_card
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, fact_list
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    api_route,
    missing_problem,
    page_address,
    tenant_admin,
    tenant_only,
)

TEST: Final = ActForm("sign-in.test")
KINDS: Final = {"oidc": "OpenID provider", "active_directory": "Active Directory", "openldap": "LDAP directory"}
ABOUT: Final = "They are declared in the file that AOS_AUTH_PROVIDERS_FILE names, and take hold with a restart."


async def _show_sources(api: SessionApi, asked: Query) -> SafeHtml:
    if not await tenant_admin(api):
        return tenant_only("Sign-in")
    items = (await api.get("/api/auth/providers/declared"))["items"]
    if "name" not in asked:
        return source_list(items)
    one = next((one for one in items if one["name"] == asked["name"]), None)
    if one is None:
        raise missing_problem("provider")
    return source_view(one)


def source_list(items: Sequence[Record]) -> SafeHtml:
    """All of them, each with a button."""
    if not items:
        return empty_card("Sign-in", "People sign in with a password of their own here.", ABOUT)
    rows = []
    for one in items:
        name = link_to(one["title"], page_address("sign-in", name=one["name"]))
        rows.append(
            (
                name,
                KINDS[one["kind"]],
                tag("code", ", ".join(one["addresses"])),
                len(one["rules"]),
                TEST.button("Test", name=one["name"]),
            )
        )
    return titled_card("Sign-in", quiet_text(ABOUT), data_table(("Name", "Kind", "Address", "Rules", ""), rows))


def source_view(one: Record) -> SafeHtml:
    """One, with its rules; in a directory somebody can be looked for."""
    back = link_to("← All of them", page_address("sign-in"))
    facts = [
        ("Name", tag("code", one["name"])),
        ("Kind", KINDS[one["kind"]]),
        ("Address", tag("code", ", ".join(one["addresses"]))),
        ("Signs in as", tag("code", one["account"] or "nobody")),
        ("Domains", ", ".join(one["domains"]) or "any"),
        ("Groups taken over", ", ".join(one["groups"]) or "none"),
        ("Rights last", f"{one['rights_hours']} hours" if one["rights_hours"] else "until the next sign-in"),
    ]
    if one["kind"] == "oidc":
        facts.append(("Comes back to", tag("code", one["redirect_uri"] or "AOS_AUTH_PUBLIC_URL is not set")))
        form = TEST.button("Test it", "primary", name=one["name"])
    else:
        about = "May be left empty. Nobody's password is asked for, and nothing is made."
        form = TEST(TEST.text("login", "Whom to look for", about=about), send="Test it", name=one["name"])
    rules = [
        (f"{each['claim']}: {each['value']}", each["workspace"], each["role"], each["tenant_role"] or "viewer")
        for each in one["rules"]
    ]
    table = data_table(("Who", "Workspace", "Role there", "In the tenant"), rows=rules) if rules else None
    return join_html(back, titled_card(one["title"], fact_list(facts), form), titled_card("Rules", table))


def test_view(found: Record) -> SafeHtml:
    """What a test has found: every check with what to do, and whom the login means."""
    rows = []
    for one in found["checks"]:
        light = status_dot("green", "well")
        if not one["ok"]:
            light = status_dot("red", "wrong") if one["required"] else status_dot("amber", "advice")
        name = tag("span", light, f" {one['name'].replace('_', ' ')}")
        rows.append((name, one["detail"], one["fix"]))
    whole = state_badge("people can sign in", "green") if found["ok"] else state_badge("something is wrong", "red")
    shown = data_table(("Check", "Found", "What to do"), rows)
    return titled_card(f"Test of {found['name']}", shown, person_facts(found["person"]), aside=whole)


def person_facts(person: Record | None) -> SafeHtml | None:
    """What somebody would get at their next sign-in."""
    if person is None:
        return None
    roles = ", ".join(f"{name} ({role})" for name, role in sorted(person["workspaces"].items()))
    return fact_list(
        (
            ("Who", person["email"] or person["subject"]),
            ("Account", (person["account"] or "refused").replace("_", " ")),
            ("Workspaces", roles or "none"),
            ("In the tenant", person["tenant_role"]),
            ("Groups", ", ".join(person["groups"]) or "none"),
        )
    )


async def _run_test(api: SessionApi, values: Values) -> ActResult:
    login = values.get("login", "").strip()
    body = {"login": login} if login else {}
    return ActResult(test_view(await api.post(api_route("auth", "providers", values["name"], "test"), body)))


SECTION = SystemSection("sign-in", "Sign-in", Role.ADMIN, _show_sources, {TEST.act: _run_test})
