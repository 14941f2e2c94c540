"""Heat: stacks of resources that a template describes."""

from typing import Any

from openstack.exceptions import raise_from_response

from cluster.basics.errors import Invalid
from skills.openstack.cloud import CloudCall, pick_fields


def heat_stack(cloud: CloudCall) -> dict[str, Any]:
    """List, show, create or delete. Raises Invalid: an argument that the action needs is missing; it is named."""
    heat, action = cloud.connection.orchestration, cloud.arguments["action"]
    if action == "list":
        return cloud.listed("stacks", heat.stacks(limit=cloud.page, **cloud.given("status")), _stack_row)
    if action == "create":
        return _create_stack(cloud)
    stack = heat.get_stack(cloud.name("stack"))
    if action == "delete":
        heat.delete_stack(stack.id, ignore_missing=False)
        return {"action": action, "id": stack.id, "name": stack.name}
    outputs = [{"key": one.get("output_key"), "value": one.get("output_value")} for one in stack.outputs or ()]
    return {**_stack_row(stack), "outputs": outputs}


def _create_stack(cloud: CloudCall) -> dict[str, Any]:
    heat, arguments = cloud.connection.orchestration, cloud.arguments
    if not arguments.get("template"):
        raise Invalid("template is missing")
    minutes, keeps = arguments.get("timeout_minutes", 60), not arguments.get("rollback", True)
    body = {"stack_name": cloud.name("stack"), "template": arguments["template"]}
    body |= {"parameters": arguments.get("parameters", {}), "timeout_mins": minutes, "disable_rollback": keeps}
    # Not through the SDK's resource: it takes a template as an object only, and HOT is written as YAML.
    response = heat.post("/stacks", json=body)
    raise_from_response(response)
    return {"action": "create", **_stack_row(heat.get_stack(response.json()["stack"]["id"]))}


def _stack_row(stack: Any) -> dict[str, Any]:
    return pick_fields(stack, "id", "name", "status", "status_reason", "description", "created_at", "updated_at")
