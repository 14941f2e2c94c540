"""Bodies and queries of SCIM requests, read by the library's models; what they refuse is refused in SCIM's words."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import ValidationError
from scim2_models import (
    Context,
    Error,
    ListResponse,
    PatchOp,
    PatchOperation,
    Resource,
    ResponseParameters,
    SCIMException,
    ScimObject,
    SearchRequest,
)
from starlette.exceptions import HTTPException
from starlette.responses import Response

from cluster.basics.security_headers import SECURITY_HEADERS
from serve_apps.http.fields import storable_json
from serve_apps.http.scim.scim_models import POLICY
from serve_apps.http.scim_errors import MEDIA_TYPE, ScimRequestRefused

MOST_OPERATIONS: Final = 1_000
LONGEST_PATH: Final = 300
LONGEST_FILTER: Final = 8_000
# The library compares every entry of an operation with every value that is there, at some 40 µs each.
MOST_APPLIED: Final = 100
MOST_ENTRIES: Final = 100
MOST_VALUES: Final = 10_000
JSON_TYPES: Final = (MEDIA_TYPE, "application/json")
QUERY_NAMES: Final = ("filter", "sortBy", "sortOrder", "startIndex", "count", "attributes", "excludedAttributes")
AnyScim = TypeVar("AnyScim", bound=Resource[Any])
AnyMessage = TypeVar("AnyMessage", bound=ScimObject)


class ScimResponse(Response):
    """A SCIM message."""

    media_type = MEDIA_TYPE

    def __init__(self, body: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:
        """`body` is JSON."""
        content = json.dumps(body, ensure_ascii=True).encode()
        super().__init__(content, status_code, {**SECURITY_HEADERS, **(headers or {})}, MEDIA_TYPE)


@contextmanager
def scim_reading() -> Iterator[None]:
    """Read or change resources as this service tolerates it. Raises ScimRequestRefused: what the library refuses."""
    try:
        with POLICY:
            yield
    except SCIMException as error:
        raise ScimRequestRefused(error.scim_type, str(error)[:500]) from error
    except ValidationError as error:
        first, *more = Error.from_validation_errors(error)
        told = "; ".join(one.detail or "" for one in (first, *more[:4]))
        raise ScimRequestRefused(first.scim_type or "", told[:500]) from error
    except RecursionError as error:
        raise ScimRequestRefused("invalidSyntax", "nested too deeply") from error


async def read_json(request: Request) -> dict[str, Any]:
    """The body. Raises ScimRequestRefused; HTTPException: 415, it is of another kind."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in JSON_TYPES:
        raise HTTPException(415, f"Send {MEDIA_TYPE}.")
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError) as error:
        raise ScimRequestRefused("invalidSyntax", "the body is no JSON") from error
    try:
        storable_json(body)
    except ValueError as error:
        raise ScimRequestRefused("invalidValue", str(error)) from error
    if not isinstance(body, dict):
        raise ScimRequestRefused("invalidSyntax", "the body is no JSON object")
    return body


async def read_resource(request: Request, model: type[AnyScim], context: Context) -> AnyScim:
    """A resource that is to be made, or to stand for one that is here."""
    return await asyncio.to_thread(_validated, model, await read_json(request), context)


def _validated(model: type[AnyMessage], body: dict[str, Any], context: Context) -> AnyMessage:
    with scim_reading():
        return model.model_validate(body, scim_ctx=context)


async def read_patch(request: Request, kind: "type[PatchOp[Any]]") -> "PatchOp[Any]":
    """Operations on one resource."""
    body = await read_json(request)
    operations = next((one for name, one in body.items() if name.lower() == "operations"), None)
    if isinstance(operations, list):
        if len(operations) > MOST_OPERATIONS:
            raise HTTPException(413, f"A PATCH has at most {MOST_OPERATIONS} operations.")
        body = {name: one for name, one in body.items() if name.lower() != "operations"}
        body["Operations"] = [_plain_removal(one) for one in operations]
        paths = (one.get("path") for one in operations if isinstance(one, dict))
        if any(isinstance(path, str) and len(path) > LONGEST_PATH for path in paths):
            raise ScimRequestRefused("invalidPath", f"a path has at most {LONGEST_PATH} characters")
    return await asyncio.to_thread(_validated, kind, body, Context.RESOURCE_PATCH_REQUEST)


def check_effort(operations: Sequence[PatchOperation[Any]], held: int) -> None:
    """Raises ScimRequestRefused: applied to so many values, these would take the machine for long."""
    entries = sum(len(one.value) for one in operations if isinstance(one.value, list))
    if len(operations) > MOST_APPLIED or entries > MOST_ENTRIES or len(operations) * held > MOST_VALUES:
        raise ScimRequestRefused("tooMany", "fewer operations at once, which name members by `value`")


def _plain_removal(operation: Any) -> Any:
    """Entra ID names whom it removes by `[{"$ref": null, "value": …}]`: the value alone is meant."""
    if not isinstance(operation, dict) or str(operation.get("op")).lower() != "remove":
        return operation
    values = operation.get("value")
    if not isinstance(values, list):
        return operation
    return operation | {
        "value": [{"value": one["value"]} if isinstance(one, dict) and "value" in one else one for one in values]
    }


def read_query(request: Request, model: Any) -> SearchRequest[Any]:
    """The search that the query of an address makes of one kind of resource."""
    query = {name: value for name, value in request.query_params.items() if name in QUERY_NAMES}
    return _search(query, model)


async def read_search(request: Request, model: Any) -> SearchRequest[Any]:
    """The same, of the body of a POST."""
    return _search(await read_json(request), model)


def _search(given: dict[str, Any], model: Any) -> SearchRequest[Any]:
    _require_storable(given)
    _check_lengths(given)
    with scim_reading():
        return SearchRequest[model].model_validate(given, scim_ctx=Context.SEARCH_REQUEST)


def read_parameters(request: Request, model: Any) -> ResponseParameters[Any]:
    """Which attributes the answer is to have."""
    wanted = ("attributes", "excludedAttributes")
    query = {name: value for name, value in request.query_params.items() if name in wanted}
    _require_storable(query)
    _check_lengths(query)
    with scim_reading():
        return ResponseParameters[model].model_validate(query)


def _require_storable(given: dict[str, Any]) -> None:
    try:
        storable_json(given)
    except ValueError as error:
        raise ScimRequestRefused("invalidValue", str(error)) from error


def _check_lengths(given: dict[str, Any]) -> None:
    """Before anything of it is parsed. Raises ScimRequestRefused."""
    for name, value in given.items():
        if name.lower() == "filter" and isinstance(value, str) and len(value) > LONGEST_FILTER:
            raise ScimRequestRefused("invalidFilter", f"a filter has at most {LONGEST_FILTER} characters")
        if name.lower() != "filter" and len(json.dumps(value)) > LONGEST_FILTER:
            raise ScimRequestRefused("invalidValue", f"{name[:80]} has at most {LONGEST_FILTER} characters")


def leaves_out(asked: ResponseParameters[Any], attribute: str) -> bool:
    """True where the answer is not to have this attribute, so that it need not be looked for."""
    name = attribute.lower()
    if asked.attributes:
        return not any(_head(path) == name for path in asked.attributes)
    return any(_head(path) == name and "." not in str(path) for path in asked.excluded_attributes or ())


def _head(path: object) -> str:
    return str(path).rpartition(":")[2].partition(".")[0].partition("[")[0].lower()


async def resource_response(
    resource: Resource[Any], context: Context, asked: ResponseParameters[Any] | None = None, *, status: int = 200
) -> ScimResponse:
    """One resource; other requests go on while a large one is written."""
    body = await asyncio.to_thread(resource.model_dump, scim_ctx=context, response_parameters=asked)
    location = resource.meta.location if resource.meta else None
    return ScimResponse(body, status, {"Location": location} if location and status == 201 else None)


async def list_response(
    resources: Sequence[Resource[Any]], total: int, start: int, asked: ResponseParameters[Any] | None, model: Any
) -> ScimResponse:
    """A page of them; `start` counts from 1."""
    listed = ListResponse[model](
        total_results=total, start_index=start, items_per_page=len(resources), resources=list(resources)
    )
    context = Context.RESOURCE_QUERY_RESPONSE
    return ScimResponse(await asyncio.to_thread(listed.model_dump, scim_ctx=context, response_parameters=asked))
