"""SCIM resources of people and groups, with what this service keeps of them; what else a provider sends is let go."""

import re
from typing import Annotated, Any, Final

from pydantic import Field, model_validator
from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    CaseExact,
    ChangePassword,
    ComplexAttribute,
    ETag,
    Filter,
    GroupMembership,
    Mutability,
    Name,
    Patch,
    Reference,
    Required,
    Resource,
    ResourceType,
    Schema,
    ScimPolicy,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

from serve_apps.http.fields import EMAIL_PATTERN, LONGEST_EMAIL

LONGEST_TEXT: Final = 1000
MOST_EMAILS: Final = 50
MOST_RESULTS: Final = 200
# As Entra ID and Okta send it: attributes of theirs that are none here, `remove` with a value, an address that is
# written into an entry that is not there yet.
POLICY: Final = ScimPolicy(
    unknown=ScimPolicy.Unknown.ignore,
    remove_value_as_filter=ScimPolicy.RemoveValue.apply,
    unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
)


class ScimEmail(ComplexAttribute):
    """An e-mail address of somebody."""

    value: Annotated[str | None, Required.true] = Field(None, description="The address.")
    display: str | None = None
    type: str | None = Field(None, examples=["work", "home", "other"])
    primary: bool | None = None


class ScimUser(Resource[Any]):
    """Somebody of the tenant.

    The primary e-mail address, or the first, is what they are known by here, what documents name them by, and what they
    sign in by; it stays the one they came with. A userName that is an address stands for a missing one.
    """

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = Field(
        None, description="Their name at the provider; case means nothing."
    )
    name: Name | None = None
    display_name: str | None = None
    active: bool | None = Field(None, description="Whether they may sign in.")
    emails: Annotated[list[ScimEmail] | None, Required.true] = None
    groups: Annotated[list[GroupMembership] | None, Mutability.read_only] = None

    @model_validator(mode="before")
    @classmethod
    def _complete_emails(cls, value: Any) -> Any:
        if isinstance(value, dict):
            folded = {str(name).lower(): one for name, one in value.items()}
            user_name = folded.get("username")
            if not folded.get("emails") and isinstance(user_name, str) and is_address(user_name):
                return {name: one for name, one in value.items() if str(name).lower() != "emails"} | {
                    "emails": [{"value": user_name.strip(), "primary": True}]
                }
        return value


class ScimMember(ComplexAttribute):
    """Somebody who belongs to a group."""

    value: Annotated[str | None, Mutability.immutable, CaseExact.true, Required.true] = None
    ref: Annotated[Reference["User"] | None, Mutability.immutable] = Field(  # type: ignore[name-defined]  # noqa: F821
        None, serialization_alias="$ref", validation_alias="$ref"
    )
    type: Annotated[str | None, Mutability.immutable] = Field(None, examples=["User"])


class ScimGroup(Resource[Any]):
    """A group of people. Its displayName may change; documents and rules name it as it was first called."""

    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:Group")

    display_name: Annotated[str | None, Required.true] = None
    members: list[ScimMember] | None = None


MODELS: Final[dict[str, type[Resource[Any]]]] = {"User": ScimUser, "Group": ScimGroup}


def is_address(text: str) -> bool:
    """True for what may be somebody's e-mail address here."""
    text = text.strip()
    return re.fullmatch(EMAIL_PATTERN, text) is not None and len(text) <= LONGEST_EMAIL and text.isprintable()


def describe_schemas() -> list[Schema]:
    """The schemas of the resources, under their own names."""
    schemas = []
    for name, model in MODELS.items():
        schema = model.to_schema()
        schema.name, schema.description = name, (model.__doc__ or name).strip().splitlines()[0]
        for attribute in schema.attributes or ():
            # It cannot be removed; a new person without it may sign in all the same, and another one stays as they are.
            if attribute.name == "active":
                attribute.required = Required.true
        schemas.append(schema)
    return schemas


def describe_resource_types() -> list[ResourceType]:
    """The two kinds of resources."""
    return [ResourceType.from_resource(model) for model in MODELS.values()]


def describe_service(max_body_bytes: int) -> ServiceProviderConfig:
    """What of SCIM is supported here."""
    bearer = AuthenticationScheme(
        type=AuthenticationScheme.Type.oauthbearertoken,
        name="Bearer token",
        description="An API key of an administrator of the tenant, or an access token of theirs.",
        primary=True,
    )
    return ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(supported=False, max_operations=0, max_payload_size=max_body_bytes),
        filter=Filter(supported=True, max_results=MOST_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=True),
        etag=ETag(supported=False),
        authentication_schemes=[bearer],
    )
