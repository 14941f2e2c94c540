"""A credential at an MCP server: it goes to the origin that it names, and its token is asked for where it says."""

from typing import Any

import pytest

from cluster.basics.errors import AosError
from cluster.basics.scope import Role, Scope, TenantId, WorkspaceId
from configs.sections_skills import SkillSettings
from skills.framework.builtin import build_tool
from skills.framework.contract import ToolInvocation
from skills.framework.manifest import CredentialType, Kind, Manifest
from skills.framework.mcp_connections import McpConnections
from skills.http_client.login import CredentialElsewhere
from tests.fakes.ground import KeptSecrets, ground
from tests.fakes.web import Asked, Says, as_json, web

CALL = ToolInvocation(Scope(TenantId("t"), WorkspaceId("w"), role=Role.DEVELOPER), None, "key", {})
CLIENT = {"client_id": "aos", "client_secret": "canary-of-a-client"}


def server(asked: Asked) -> Says:
    """One that gives tokens, and speaks no MCP."""
    return as_json({"access_token": "fresh"}) if asked.target == "/token" else Says(status=404)


async def called(near: str, values: dict[str, str], *, token: bool = True) -> None:
    options: dict[str, Any] = {"url": f"{near}/mcp", "tool": "whoami"}
    if token:
        options["oauth"] = {"url": f"{near}/token", "scope": "mcp"}
    manifest = Manifest("any", "Any.", Kind.MCP, credential=CredentialType.CUSTOM, options=options, seconds=5)
    kept = KeptSecrets({CredentialType.CUSTOM: values})
    hosts = (near.removeprefix("http://"),)
    on = ground(credentials=kept, hosts=hosts, settings=SkillSettings(off=()), remotes=McpConnections(connect=5))
    try:
        await build_tool(manifest, on).run(CALL)
    finally:
        await on.remotes.aclose()


async def test_au_05_a_credential_goes_to_no_other_server_than_its_own() -> None:
    """AU-05: nor to a token endpoint that only the skill names."""
    async with web(server) as site:
        near = f"http://localhost:{site.port}"
        for values, token in (
            ({"token": "canary", "base_url": "https://mcp.example"}, False),
            (CLIENT | {"base_url": "https://mcp.example", "token_url": f"{near}/token"}, True),
            (CLIENT, True),
            (CLIENT | {"token_url": "https://login.example/token"}, True),
        ):
            with pytest.raises(CredentialElsewhere):
                await called(near, values, token=token)
        assert site.asked == []


async def test_au_05_it_goes_to_its_own() -> None:
    """AU-05: where its base_url or its token_url says so."""
    for name, path in (("base_url", ""), ("token_url", "/token")):
        async with web(server) as site:
            near = f"http://localhost:{site.port}"
            with pytest.raises(AosError) as failed:
                await called(near, CLIENT | {name: f"{near}{path}"})
            assert not isinstance(failed.value, CredentialElsewhere)
            assert "canary-of-a-client" in site.asked[0].body.decode() and site.asked[0].target == "/token"
            assert site.asked[1].headers["authorization"] == "Bearer fresh"
