"""The fake Heat and Swift: stacks of templates, containers and objects."""

import hashlib
import json
from urllib.parse import quote

import yaml

from tests.fakes.openstack import Asked, FakeCloud, Says, Thing, fault, new_id


def stacks(cloud: FakeCloud, asked: Asked) -> Says:
    match asked.method, asked.parts[2:]:
        case "GET", ["stacks"]:
            every = [_listed(one) for one in cloud.stacks.values()]
            wanted = asked.query.get("status")
            fits = [one for one in every if wanted in (None, one["stack_status"])]
            begin = next((n + 1 for n, one in enumerate(fits) if one["id"] == asked.query.get("marker")), 0)
            return Says({"stacks": fits[begin : begin + int(asked.query.get("limit", 1_000))]})
        case "POST", ["stacks"]:
            return _create(cloud, asked)
        case "GET", ["stacks", key]:
            stack = _stack(cloud, key)
            if stack is None:
                return _gone(key)
            # Heat sends a name, or an id alone, to the address that has both.
            return Says(None, 302, {"Location": f"{_base(cloud, asked)}/{stack['stack_name']}/{stack['id']}"})
        case "GET", ["stacks", _, key]:
            stack = _stack(cloud, key)
            return _gone(key) if stack is None else Says({"stack": stack})
        case "DELETE", ["stacks", key] | ["stacks", _, key]:
            stack = _stack(cloud, key)
            if stack is None:
                return _gone(key)
            del cloud.stacks[stack["id"]]
            return Says(status=204)
    return fault(404, "error", "The resource could not be found.")


def _create(cloud: FakeCloud, asked: Asked) -> Says:
    wanted = asked.body
    try:
        template = wanted["template"] if isinstance(wanted["template"], dict) else yaml.safe_load(wanted["template"])
    except yaml.YAMLError:
        template = None
    if not isinstance(template, dict) or "heat_template_version" not in template:
        return _error(400, "The template is invalid: Template format version not found.")
    if any(one["stack_name"] == wanted["stack_name"] for one in cloud.stacks.values()):
        return _error(409, f"The Stack ({wanted['stack_name']}) already exists.")
    key = new_id()
    values = wanted.get("parameters", {})
    outputs = [
        {"output_key": name, "output_value": values.get(one["value"].get("get_param", ""), one["value"])}
        for name, one in template.get("outputs", {}).items()
    ]
    cloud.stacks[key] = {
        "id": key,
        "stack_name": wanted["stack_name"],
        "stack_status": "CREATE_COMPLETE",
        "parameters": values,
        "stack_status_reason": "Stack CREATE completed successfully",
        "description": template.get("description", ""),
        "creation_time": "2026-01-02T03:04:05Z",
        "updated_time": None,
        "outputs": outputs,
        "links": [],
        "tags": None,
        "disable_rollback": wanted.get("disable_rollback", True),
        "timeout_mins": wanted.get("timeout_mins"),
    }
    return Says({"stack": {"id": key, "links": [{"rel": "self", "href": f"{_base(cloud, asked)}/{key}"}]}}, 201)


def _stack(cloud: FakeCloud, key: str) -> Thing | None:
    return next((one for one in cloud.stacks.values() if key in (one["id"], one["stack_name"])), None)


def _listed(stack: Thing) -> Thing:
    return {name: value for name, value in stack.items() if name not in ("outputs", "parameters")}


def _base(cloud: FakeCloud, asked: Asked) -> str:
    return f"{cloud.url}/heat/v1/{asked.project}/stacks"


def _gone(key: str) -> Says:
    return _error(404, f"The Stack ({key}) could not be found.")


def _error(status: int, message: str) -> Says:
    return Says({"code": status, "title": "Error", "error": {"message": message, "type": "Error"}}, status)


def objects(cloud: FakeCloud, asked: Asked) -> Says:
    inside = asked.parts[2:]
    container, name = (inside[0] if inside else ""), "/".join(inside[1:])
    if not container:
        rows = [
            {"name": one, "count": len(kept), "bytes": sum(len(data) for data, _ in kept.values())}
            for one, kept in sorted(cloud.containers.items())
        ]
        return _rows(asked, rows)
    if asked.method == "PUT" and not name:
        fresh = container not in cloud.containers
        cloud.containers.setdefault(container, {})
        return Says(b"", 201 if fresh else 202)
    if container not in cloud.containers:
        return _not_there()
    kept = cloud.containers[container]
    if not name and asked.method == "GET":
        rows = [
            {
                "name": one,
                "bytes": len(data),
                "hash": _etag(data),
                "content_type": kind,
                "last_modified": "2026-01-02T03:04:05.000000",
            }
            for one, (data, kind) in sorted(kept.items())
        ]
        return _rows(asked, rows)
    if asked.method == "PUT":
        if asked.headers.get("if-none-match") == "*" and name in kept:
            return Says(b"<html><h1>Precondition Failed</h1></html>", 412, {"Content-Type": "text/html"})
        if asked.headers.get("etag", _etag(asked.raw)) != _etag(asked.raw):
            return Says(b"<html><h1>Unprocessable Entity</h1></html>", 422, {"Content-Type": "text/html"})
        kept[name] = (asked.raw, asked.headers.get("content-type", "application/octet-stream"))
        return Says(b"", 201, {"ETag": _etag(asked.raw)})
    if name not in kept:
        return _not_there()
    data, kind = kept[name]
    headers = {"ETag": _etag(data), "Content-Type": kind, "Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT"}
    if asked.method == "HEAD":
        return Says(b"", 200, {**headers, "Content-Length": str(len(data))})
    if wanted := asked.headers.get("range"):
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        if int(first) >= len(data):
            return Says(b"<html><h1>Range</h1></html>", 416, {"Content-Type": "text/html"})
        part = data[int(first) : int(last) + 1]
        return Says(part, 206, {**headers, "Content-Range": f"bytes {first}-{int(first) + len(part) - 1}/{len(data)}"})
    return Says(data, 200, headers)


def _rows(asked: Asked, rows: list[Thing]) -> Says:
    after, prefix = asked.query.get("marker", ""), asked.query.get("prefix", "")
    fits = [one for one in rows if one["name"] > after and one["name"].startswith(prefix)]
    fits = fits[: int(asked.query.get("limit", 10_000))]
    if asked.query.get("format") == "json":
        return Says(json.dumps(fits).encode(), 200, {"Content-Type": "application/json; charset=utf-8"})
    text = "".join(f"{quote(one['name'])}\n" for one in fits).encode()
    return Says(text, 200 if fits else 204, {"Content-Type": "text/plain; charset=utf-8"})


def _etag(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _not_there() -> Says:
    return Says(b"<html><h1>Not Found</h1></html>", 404, {"Content-Type": "text/html"})
