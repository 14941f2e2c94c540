"""Calls of OpenStack's skills as an agent with a credential for the fake cloud makes them."""

from dataclasses import replace
from typing import Any

import pytest

from cluster.basics.errors import AosError
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from skills.framework.builtin import build_tool, shipped_skill
from skills.framework.contract import ToolInvocation
from skills.framework.dependencies import SkillDependencies
from skills.framework.manifest import CredentialType, Manifest
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.openstack import FakeCloud

WHO = Scope(TenantId("t"), WorkspaceId("w"), role=Role.OPERATOR)


def on(cloud: FakeCloud, hosts: tuple[str, ...] | None = None, **other: str) -> SkillDependencies:
    """A ground with a credential for this cloud; `other` replaces fields, an empty text takes one away."""
    fields = {
        "auth_url": f"{cloud.url}/identity",
        "username": "demo",
        "password": cloud.password,
        "project_name": "demo",
        "user_domain_name": "Default",
        "project_domain_name": "Default",
        "region_name": "RegionOne",
        **other,
    }
    kept = KeptSecrets({CredentialType.API_KEY: {name: value for name, value in fields.items() if value}})
    return ground(credentials=kept, hosts=(cloud.url.removeprefix("http://"),) if hosts is None else hosts)


def skill(name: str, **changed: Any) -> Manifest:
    return replace(shipped_skill(f"openstack_{name}"), **changed)


async def call(
    on_: SkillDependencies, name: str, /, key: str = "k1", seconds: float | None = None, **arguments: Any
) -> Any:
    manifest = skill(name) if seconds is None else skill(name, seconds=seconds)
    return await build_tool(manifest, on_).run(ToolInvocation(WHO, None, key, arguments))


async def refused(on_: SkillDependencies, name: str, /, **arguments: Any) -> AosError:
    with pytest.raises(AosError) as caught:
        await call(on_, name, **arguments)
    return caught.value
