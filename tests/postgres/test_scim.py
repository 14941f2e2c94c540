"""SCIM 2.0: an identity provider makes, changes and deactivates people and groups of a tenant, and nothing else."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import httpx2
import psycopg
import pytest
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server

from cluster.basics.scope import Role
from configs.sign_in_providers import ScimTenant
from serve_apps.http.scim.provisioning import ScimProvisioning
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.listening import listening, token

KIND = "application/scim+json"
USER = "urn:ietf:params:scim:schemas:core:2.0:User"
GROUP = "urn:ietf:params:scim:schemas:core:2.0:Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ERROR = "urn:ietf:params:scim:api:messages:2.0:Error"


def test_the_whole_run_of_scim2_tester(
    app_dsn: str, tmp_path: Path, office: Office, record_property: Callable[[str, object], None]
) -> None:
    """SCIM-1: the conformance run of scim2-tester, over real HTTP."""
    with listening(make_parts(app_dsn, tmp_path)) as url:
        headers = {"Authorization": f"Bearer {token(url, office.emails[Role.ADMIN])}"}
        client = SyncSCIMClient(httpx2.Client(base_url=f"{url}/scim/v2", headers=headers, timeout=30))
        results = check_server(client)
    bad = [one for one in results if one.status not in (Status.SUCCESS, Status.COMPLIANT, Status.ACCEPTABLE)]
    failed = [one for one in bad if one.status in (Status.ERROR, Status.CRITICAL)]
    record_property("SCIM tester errors", f"{len(failed)} of {len(results)} checks")
    assert not bad, "\n".join(f"{one.resource_type} {one.title}: {one.status} {one.reason} {one.data}"[:900] for one in bad)
    assert len(results) > 60
