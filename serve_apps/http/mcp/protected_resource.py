"""Metadata of the MCP server as a protected resource: where its clients get tokens for it (RFC 9728)."""

from fastapi import APIRouter
from pydantic import BaseModel

from cluster.basics.errors import NotFound
from serve_apps.http.auth.guard import GuardedRoute, Its
from serve_apps.http.auth.permissions import PUBLIC

router = APIRouter(route_class=GuardedRoute, tags=["mcp"])


class ProtectedResource(BaseModel):
    """Metadata of the MCP server as an OAuth 2.0 protected resource."""

    resource: str
    authorization_servers: list[str]
    bearer_methods_supported: list[str] = ["header"]
    resource_name: str = "AOS"
    resource_documentation: str


@router.get("/.well-known/oauth-protected-resource/mcp", dependencies=[PUBLIC])
async def protected_resource(parts: Its) -> ProtectedResource:
    """Which authorization servers give tokens for `/mcp`; 404 where none does: our own tokens and keys alone count."""
    resource = parts.sign_in.resource
    if resource is None:
        fix = "Let a provider of auth.providers_file have `mcp: true`, and set AOS_AUTH_PUBLIC_URL."
        raise NotFound("no authorization server gives tokens for this", fix=fix)
    issuers = [one.provider.issuer for one in parts.sign_in.clients.values() if one.provider.mcp]
    docs = f"{resource.removesuffix('/mcp')}/docs"
    return ProtectedResource(resource=resource, authorization_servers=issuers, resource_documentation=docs)
