"""Discovery by SCIM (RFC 7644, section 4): the service's configuration, its kinds of resources and their schemas."""

from typing import Any

from fastapi import APIRouter, Request
from scim2_models import Context, Resource, ResourceType, Schema

from cluster.basics.errors import NotFound
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import PROVISION
from serve_apps.http.scim.scim_models import describe_resource_types, describe_schemas, describe_service
from serve_apps.http.scim.scim_payloads import ScimResponse, list_response, resource_response
from serve_apps.http.scim.scim_places import located

router = APIRouter(prefix="/scim/v2", route_class=GuardedRoute, tags=["scim"], default_response_class=ScimResponse)


@router.get("/ServiceProviderConfig", dependencies=[PROVISION])
async def service_provider_config(request: Request, me: Me, parts: Its) -> ScimResponse:
    """What is supported."""
    config = describe_service(parts.http.max_body_bytes)
    return await resource_response(located(request, config, "ServiceProviderConfig"), Context.RESOURCE_QUERY_RESPONSE)


@router.get("/ResourceTypes", dependencies=[PROVISION])
async def resource_types(request: Request, me: Me) -> ScimResponse:
    """The kinds of resources."""
    return await _listed(request, "ResourceTypes", describe_resource_types(), ResourceType)


@router.get("/ResourceTypes/{name}", dependencies=[PROVISION])
async def resource_type(name: str, request: Request, me: Me) -> ScimResponse:
    """One kind of resources."""
    return await _one(request, "ResourceTypes", describe_resource_types(), name)


@router.get("/Schemas", dependencies=[PROVISION])
async def schemas(request: Request, me: Me) -> ScimResponse:
    """The schemas of the resources."""
    return await _listed(request, "Schemas", describe_schemas(), Schema)


@router.get("/Schemas/{name}", dependencies=[PROVISION])
async def schema(name: str, request: Request, me: Me) -> ScimResponse:
    """One schema, by its URN."""
    return await _one(request, "Schemas", describe_schemas(), name)


async def _listed(request: Request, place: str, found: list[Any], model: type[Resource[Any]]) -> ScimResponse:
    for one in found:
        located(request, one, f"{place}/{one.id}")
    return await list_response(found, len(found), 1, None, model)


async def _one(request: Request, place: str, found: list[Any], name: str) -> ScimResponse:
    for one in found:
        if str(one.id).lower() == name.lower():
            return await resource_response(located(request, one, f"{place}/{one.id}"), Context.RESOURCE_QUERY_RESPONSE)
    raise NotFound(name[:200])
