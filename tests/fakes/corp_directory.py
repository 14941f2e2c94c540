"""An organisation's directory, and the product whose people come from it."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from cluster.basics.scope import Role
from configs.sign_in_directories import Directory
from serve_apps.http.auth.ldap.directory_client import DirectoryClient
from tests.fakes.http import Api, Clock, Office, make_parts, serve
from tests.fakes.slapd import (
    BASE,
    SERVICE_DN,
    SERVICE_PASSWORD,
    Authority,
    Slapd,
    entry,
    group,
    person,
    skeleton,
    slapd,
)

SECRET = "ann's own words"
DIRECT = {"bind": "direct", "bind_name": f"uid={{login}},ou=people,{BASE}"}
POLICY = {"pwdAttribute": "userPassword", "pwdLockout": "TRUE", "pwdMaxFailure": "1000"}
LONG_AGO = "132000000000000000"  # in Active Directory's time
RULES = [
    {"value": "staff", "workspace": "w"},
    {"value": f"cn=Bosses, ou=groups,{BASE.upper()}", "workspace": "w", "role": "operator", "tenant_role": "operator"},
]


def people() -> str:
    """Ann is deep in the staff, ben a boss; guy is in nothing; the others may not sign in, or not by this name."""
    ended = {"off": {"userAccountControl": "514"}, "late": {"accountExpires": LONG_AGO}}
    ended |= {"stuck": {"msDS_User_Account_Control_Computed": "16"}, "stale": {"userAccountControl": "8389120"}}
    return "".join(
        (
            skeleton(),
            person("ann", SECRET),
            person("ben", SECRET, userAccountControl="512", accountExpires="9223372036854775807"),
            *(person(name, SECRET) for name in ("guy", "mover")),
            *(person(name, SECRET, **more) for name, more in ended.items()),
            person("twin", SECRET) + person("twin", SECRET, dn=f"cn=twin,{BASE}"),
            person("shut", SECRET, pwdAccountLockedTime="000001010000Z"),
            entry(f"cn=policy,{BASE}", ["pwdPolicy", "device"], cn="policy", **POLICY),
            person("admin", SECRET, mail="admin@office.example"),
            group("finance-west", "ann", "@staff"),  # a circle
            group("west", "@finance-west"),
            group("staff", "@west", "mover", *ended, "twin", "admin", "shut"),
            group("bosses", "ben"),
            entry(
                f"ou=elsewhere,{BASE}", ["referral", "extensibleObject"], ou="elsewhere", ref="ldap://127.0.0.1:9/dc=x"
            ),
        )
    )


@contextmanager
def corp(folder: Path, more_people: str = "", more: str = "allow bind_anon_dn bind_anon_cred") -> Iterator[Slapd]:
    """A slapd of theirs that takes an empty password for nobody's, as some do."""
    authority = Authority()
    authority.pem(folder)
    authority.issue(folder)
    with slapd(folder, people() + more_people, more) as running:
        yield running


def declared(url: str | list[str], ca_file: Path, tenant: str, **changed: Any) -> Directory:
    """The directory as an operator declares it."""
    told: dict[str, Any] = {"kind": "openldap", "name": "corp", "title": "Corp", "base_dn": BASE, "tenant": tenant}
    told |= {"urls": [url] if isinstance(url, str) else url, "ca_file": ca_file, "rules": RULES}
    told |= {"service_dn": SERVICE_DN, "service_password": SERVICE_PASSWORD, "groups": ["finance-*"]}
    return Directory.model_validate(told | {"answer_seconds": 5} | changed)


@dataclass
class DirectoryHouse:
    """The product with directories whose people belong to an office."""

    api: Api
    office: Office
    clock: Clock

    async def sign_in(self, username: str, password: str = SECRET, **more: str) -> httpx.Response:
        body = {"username": username, "password": password, **more}
        return await self.api.client.post("/api/auth/login/ad", json=body)

    async def admin(self) -> httpx.AsyncClient:
        return await self.api.sign_in(self.office.emails[Role.ADMIN])

    async def refusals(self) -> list[tuple[str, str]]:
        """Code and reason of what the audit trail says was refused, newest first."""
        query = {"action": "session.begin", "outcome": "denied"}
        found = (await (await self.admin()).get("/api/audit", params=query)).json()["items"]
        return [(one["detail"]["code"], one["detail"]["why"]) for one in found]


@asynccontextmanager
async def house_of(
    app_dsn: str, folder: Path, office: Office, *directories: Directory
) -> AsyncIterator[DirectoryHouse]:
    """The product while it runs."""
    (folder / "scans").mkdir(exist_ok=True)
    clock = Clock()
    clients = {one.name: DirectoryClient(one, clock.monotonic) for one in directories}
    async with serve(replace(make_parts(app_dsn, folder, clock), directories=clients)) as api:
        yield DirectoryHouse(api, office, clock)
