"""Swift: containers and the objects in them. Nothing here replaces or deletes what is there."""

import base64
import binascii
import hashlib
from typing import Any

from openstack.exceptions import raise_from_response

from cluster.basics.errors import Invalid
from skills.http_client import template
from skills.openstack.cloud import CloudCall
from skills.openstack.cloud_errors import CloudConflict

_GONE_BEYOND = 416  # the range of an object that has no bytes


def object_storage(cloud: CloudCall) -> dict[str, Any]:
    """List, upload, download; create a container. Raises Invalid: an argument that the action needs is missing."""
    action = cloud.arguments["action"]
    if action == "list":
        return _list_entries(cloud)
    if action == "create_container":
        raise_from_response(cloud.connection.object_store.put(_object_path(cloud, "/{container}")))
        return {"action": action, "container": cloud.arguments["container"]}
    return _upload_object(cloud) if action == "upload" else _download_object(cloud)


def _list_entries(cloud: CloudCall) -> dict[str, Any]:
    inside = bool(cloud.arguments.get("container"))
    query = {"format": "json", "limit": min(cloud.limit + 1, 10_000), **cloud.given("prefix", "marker")}
    path = _object_path(cloud, "/{container}") if inside else ""
    response = cloud.connection.object_store.get(path, params=query, headers={"Accept": "application/json"})
    raise_from_response(response)
    rows = response.json() if response.content else []
    if inside:
        return cloud.listed("objects", rows, _object_row)
    return cloud.listed("containers", rows, lambda one: {name: one.get(name) for name in ("name", "count", "bytes")})


def _upload_object(cloud: CloudCall) -> dict[str, Any]:
    store = cloud.connection.object_store
    path, data = _object_path(cloud, "/{container}/{+object}"), _object_content(cloud)
    etag = hashlib.md5(data, usedforsecurity=False).hexdigest()  # what Swift itself compares
    headers = {"If-None-Match": "*", "ETag": etag, "Content-Type": cloud.arguments.get("content_type", "text/plain")}
    response = store.put(path, data=data, headers=headers)
    result = {"action": "upload", "container": cloud.arguments["container"], "object": cloud.arguments["object"]}
    if response.status_code == 412:
        there = store.head(path)
        if there.headers.get("ETag", "").strip('"') != etag:
            raise CloudConflict("an object of this name is there, and has another content", fix="Take another name.")
        return {**result, "bytes": len(data), "unchanged": True}
    raise_from_response(response)
    return {**result, "bytes": len(data), "etag": etag}


def _download_object(cloud: CloudCall) -> dict[str, Any]:
    most = cloud.most_bytes // 2  # base64 and JSON make more of it
    path, wanted = _object_path(cloud, "/{container}/{+object}"), {"Range": f"bytes=0-{most - 1}"}
    response = cloud.connection.object_store.get(path, headers=wanted)
    if response.status_code != _GONE_BEYOND:
        raise_from_response(response)
    data = b"" if response.status_code == _GONE_BEYOND else response.content
    whole = int(response.headers.get("Content-Range", f"/{len(data)}").rpartition("/")[2])
    result: dict[str, Any] = {"action": "download", "object": cloud.arguments["object"], "bytes": whole}
    result["content_type"], kept = response.headers.get("Content-Type", ""), data[:most]
    cut = {"cut": True} if whole > len(kept) else {}
    try:
        # A character may be cut in two at the end; anywhere else it is no text.
        return {**result, "text": kept.decode("utf-8", "strict"), **cut}
    except UnicodeDecodeError as error:
        if cut and error.start >= len(kept) - 3:
            return {**result, "text": kept[: error.start].decode(), **cut}
        return {**result, "base64": base64.b64encode(kept).decode(), **cut}


def _object_content(cloud: CloudCall) -> bytes:
    text, packed = cloud.arguments.get("text"), cloud.arguments.get("base64")
    if (text is None) == (packed is None):
        raise Invalid("text or base64: one of them")
    if text is not None:
        return str(text).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(str(packed), validate=True)
    except binascii.Error:
        raise Invalid("base64 is no base64") from None


def _object_path(cloud: CloudCall, path: str) -> str:
    return template.fill_path(path, cloud.arguments)


def _object_row(one: dict[str, Any]) -> dict[str, Any]:
    kept = {name: one.get(name) for name in ("bytes", "content_type", "last_modified")}
    return {"name": one.get("name", one.get("subdir")), **kept}
