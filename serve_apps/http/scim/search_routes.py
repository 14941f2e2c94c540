"""A SCIM search over everything at once: first the people for whom it holds, then the groups."""

from fastapi import APIRouter, Request

from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import PROVISION
from serve_apps.http.scim.attribute_filters import DEFAULT_RESULTS
from serve_apps.http.scim.group_routes import find_groups
from serve_apps.http.scim.scim_models import MOST_RESULTS, ScimGroup, ScimUser
from serve_apps.http.scim.scim_payloads import ScimResponse, list_response, read_search
from serve_apps.http.scim.user_routes import find_users

router = APIRouter(prefix="/scim/v2", route_class=GuardedRoute, tags=["scim"])


@router.post("/.search", dependencies=[PROVISION], response_class=ScimResponse)
async def search_everything(request: Request, me: Me, parts: Its) -> ScimResponse:
    """Look for people and groups; each kind is sorted by itself."""
    asked = await read_search(request, ScimUser | ScimGroup)
    start = asked.start_index or 1
    count = min(DEFAULT_RESULTS if asked.count is None else asked.count, MOST_RESULTS)
    async with parts.database.transaction(me.scope) as tx:
        people, all_people = await find_users(request, tx, me, parts, asked.model_copy(update={"count": count}))
        rest = {"start_index": max(1, start - all_people), "count": count - len(people)}
        groups, all_groups = await find_groups(request, tx, me, parts, asked.model_copy(update=rest))
    return await list_response([*people, *groups], all_people + all_groups, start, asked, ScimUser | ScimGroup)
