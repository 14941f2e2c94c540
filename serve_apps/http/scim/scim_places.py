"""Addresses of SCIM resources, and rows of the database as such resources."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar
from uuid import UUID

from fastapi import Request
from scim2_models import GroupMembership, Meta, Resource

from cluster.basics.errors import NotFound
from cluster.basics.storable import is_storable
from cluster.state.db.postgres import Row
from cluster.state.identity.provisioned_people import ProvisionedPerson
from serve_apps.http.fields import LONGEST_EMAIL
from serve_apps.http.scim.scim_models import LONGEST_TEXT, MOST_EMAILS, ScimGroup, ScimMember, ScimUser, is_address
from serve_apps.http.scim_errors import ScimRequestRefused

KEPT = ("display_name", "name", "emails")
AnyScim = TypeVar("AnyScim", bound=Resource[Any])


def place_of(request: Request, *parts: str) -> str:
    """The address of something below SCIM's base, as the caller reaches it."""
    return f"{request.base_url}scim/v2/{'/'.join(parts)}"


def located(request: Request, resource: AnyScim, place: str) -> AnyScim:
    """The resource with its type and address."""
    resource.meta = Meta(resource_type=type(resource).__name__, location=place_of(request, place))
    return resource


def id_in_path(text: str) -> str:
    """Raises NotFound: this is no id."""
    try:
        return str(UUID(text))
    except ValueError:
        raise NotFound(text[:80].replace("\0", "\ufffd")) from None


def as_user(request: Request, row: Row, groups: Sequence[Row]) -> ScimUser:
    """Somebody; whom no provider has described is known by their e-mail address."""
    kept = row["attributes"] or {"emails": [{"value": row["email"], "primary": True}]}
    return ScimUser.model_validate(
        {
            "schemas": [str(ScimUser.__schema__)],
            "id": str(row["id"]),
            "external_id": row["external_id"],
            "user_name": row["user_name"],
            "active": row["active"],
            **kept,
            "groups": [_membership(request, one) for one in groups] or None,
            "meta": _meta(request, row, "User", "Users"),
        }
    )


def _membership(request: Request, row: Row) -> GroupMembership:
    place = place_of(request, "Groups", str(row["id"]))
    return GroupMembership.model_validate(
        {"value": str(row["id"]), "$ref": place, "display": row["display"], "type": "direct"}
    )


def as_group(request: Request, row: Row, members: Iterable[str] | None) -> ScimGroup:
    """A group; without its members where they are None."""
    named = None if members is None else [as_member(request, user) for user in members]
    return ScimGroup.model_validate(
        {
            "schemas": [str(ScimGroup.__schema__)],
            "id": str(row["id"]),
            "external_id": row["external_id"],
            "display_name": row["display_name"],
            "members": named or None,
            "meta": _meta(request, row, "Group", "Groups"),
        }
    )


def as_member(request: Request, user: str) -> ScimMember:
    """Somebody as a member."""
    return ScimMember.model_validate({"value": user, "$ref": place_of(request, "Users", user), "type": "User"})


def _meta(request: Request, row: Row, kind: str, place: str) -> Mapping[str, Any]:
    return {
        "resource_type": kind,
        "created": row["created_at"],
        "last_modified": row["updated_at"],
        "location": place_of(request, place, str(row["id"])),
    }


def as_person(user: ScimUser) -> ProvisionedPerson:
    """What is kept of a resource."""
    kept = user.model_dump(include=set(KEPT), by_alias=False, exclude_none=True, scim_ctx=None)
    return ProvisionedPerson((user.user_name or "").strip(), user.external_id, kept)


def check_person(user: ScimUser) -> None:
    """Raises ScimRequestRefused: something of this resource cannot be kept."""
    person, emails = as_person(user), user.emails or []
    checked_name(person.user_name, "userName", LONGEST_EMAIL)
    if not emails or not all(one.value and is_address(one.value) for one in emails):
        detail = "an e-mail address is needed, in emails or as userName: it is what people are known by here"
        raise ScimRequestRefused("invalidValue", detail)
    if len(emails) > MOST_EMAILS:
        raise ScimRequestRefused("invalidValue", f"at most {MOST_EMAILS} emails")
    _check_texts([user.external_id, dict(person.attributes)])


def address_of(user: ScimUser) -> str:
    """What somebody is to be known by here: the primary address, or the first."""
    emails = user.emails or []
    main = next((one for one in emails if one.primary), emails[0])
    return str(main.value).strip().lower()


def checked_name(name: str, attribute: str, longest: int) -> str:
    """The name. Raises ScimRequestRefused: it is empty, too long or holds what cannot be seen."""
    if not name or len(name) > longest or not name.isprintable():
        raise ScimRequestRefused("invalidValue", f"{attribute}: 1 to {longest} printable characters")
    return name


def checked_external_id(external_id: str | None) -> str | None:
    """The provider's own id. Raises ScimRequestRefused: it cannot be kept."""
    _check_texts([external_id])
    return external_id


def _check_texts(value: Any) -> None:
    """A PATCH can bring in text by the filter of a path, which nobody has looked at."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str) and (len(part) > LONGEST_TEXT or not is_storable(part)):
            raise ScimRequestRefused("invalidValue", f"texts have at most {LONGEST_TEXT} characters, and none is NUL")
        left += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
