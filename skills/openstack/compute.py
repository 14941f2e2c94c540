"""Nova: servers, what is done to them, their sizes, their consoles, and what of the quota is used."""

import re
from collections.abc import Iterator
from typing import Any

from openstack.exceptions import raise_from_response
from openstack.utils import maximum_supported_microversion

from cluster.basics.errors import Invalid
from skills.http_client.http_answer import ServiceGarbled
from skills.openstack.cloud import CloudCall, path_segment, pick_fields

CALL = "aos-call"  # metadata of a server: the key of the call that made it, so that a repetition finds it
_NEWEST = "2.96"  # of the versions of Nova that these answers were read of
_PROTOCOLS = {"novnc": "vnc", "spice-html5": "spice", "serial": "serial"}


def list_servers(cloud: CloudCall) -> dict[str, Any]:
    """Servers with state, addresses and size."""
    query = cloud.given("status", "name")
    if cloud.arguments.get("all_projects"):
        query["all_tenants"] = "1"
    return cloud.listed("servers", _iterate_servers(cloud.connection.compute, query, cloud.page), _server_row)


def server_action(cloud: CloudCall) -> dict[str, Any]:
    """Start, stop, reboot, suspend or resume; {before, status} say what became of it so far."""
    compute, action = cloud.connection.compute, cloud.arguments["action"]
    server = cloud.find(compute, "server")
    before = server.status
    if action == "reboot":
        compute.reboot_server(server.id, "HARD" if cloud.arguments.get("hard") else "SOFT")
    else:
        acts = {act: getattr(compute, f"{act}_server") for act in ("start", "stop", "suspend", "resume")}
        acts[action](server.id)
    after = compute.get_server(server.id)
    return {"id": after.id, "name": after.name, "action": action, "before": before, "status": after.status}


def create_server(cloud: CloudCall) -> dict[str, Any]:
    """A new server; one that an earlier attempt of this very call has made is given in the place of a second one."""
    compute, arguments = cloud.connection.compute, cloud.arguments
    name = str(arguments["name"])
    for known in _iterate_servers(compute, {"name": f"^{re.escape(name)}$"}, 100):  # Nova reads it as an expression
        if known.get("metadata", {}).get(CALL) == cloud.key:
            return {"created": False, **_server_row(known)}
    flavor = cloud.find(compute, "flavor")
    image = cloud.find(cloud.connection.image, "image")
    find = cloud.connection.network.find_network
    found = (find(path_segment(one, "network"), ignore_missing=False) for one in arguments["networks"])
    wanted = cloud.given("key_name", "availability_zone") | {"networks": [{"uuid": one.id} for one in found]}
    if groups := [{"name": one} for one in arguments.get("security_groups", ())]:
        wanted["security_groups"] = groups
    marked = {CALL: cloud.key}
    made = compute.create_server(name=name, flavor_id=flavor.id, image_id=image.id, metadata=marked, **wanted)
    return {"created": True, **_server_row(_get_json(compute, f"/servers/{made.id}", {}).get("server", {}))}


def list_flavors(cloud: CloudCall) -> dict[str, Any]:
    """Sizes: memory and disk in MiB and GiB."""
    found = cloud.connection.compute.flavors(limit=cloud.page, **cloud.given("min_ram", "min_disk"))
    shown = ("id", "name", "vcpus", "ram", "disk", "ephemeral", "swap", "is_public")
    return cloud.listed("flavors", found, lambda one: pick_fields(one, *shown))


def quota_usage(cloud: CloudCall) -> dict[str, Any]:
    """Used and allowed, of computing and of storage; -1 is without a limit."""
    wanted, result = cloud.arguments.get("services") or ["compute", "storage"], dict[str, Any]()
    if "compute" in wanted:
        now = cloud.connection.compute.get_limits().absolute
        result["compute"] = {
            "instances": _usage_of_limit(now.instances_used, now.instances),
            "cores": _usage_of_limit(now.total_cores_used, now.total_cores),
            "ram_mib": _usage_of_limit(now.total_ram_used, now.total_ram),
        }
    if "storage" in wanted:
        now = cloud.connection.block_storage.get_limits().absolute
        result["storage"] = {
            "volumes": _usage_of_limit(now.total_volumes_used, now.max_total_volumes),
            "gigabytes": _usage_of_limit(now.total_gigabytes_used, now.max_total_volume_gigabytes),
            "snapshots": _usage_of_limit(now.total_snapshots_used, now.max_total_snapshots),
        }
    return result


def server_console(cloud: CloudCall) -> dict[str, Any]:
    """An address at which a browser shows the console; who has it needs no password, for some minutes."""
    compute, type_ = cloud.connection.compute, cloud.arguments.get("type", "novnc")
    if type_ not in _PROTOCOLS:
        raise Invalid(f"type is one of {', '.join(_PROTOCOLS)}")
    server = cloud.find(compute, "server")
    console = compute.create_console(server.id, console_type=type_, console_protocol=_PROTOCOLS[type_])
    return {"id": server.id, "name": server.name, "type": type_, "url": console["url"]}


def _iterate_servers(compute: Any, query: dict[str, Any], size: int) -> Iterator[dict[str, Any]]:
    """Servers as Nova writes them, a page at a time. The SDK makes three objects of each, which takes ten times as
    long as all the rest: a thousand servers were not done in half a minute."""
    marker: dict[str, Any] = {}
    while True:
        answer = _get_json(compute, "/servers/detail", {**query, "limit": size, **marker})
        rows = answer.get("servers")
        if not isinstance(rows, list):
            raise ServiceGarbled("the cloud's answer has no list of servers")
        yield from rows
        if not rows or not answer.get("servers_links"):
            return
        marker = {"marker": rows[-1]["id"]}


def _get_json(compute: Any, path: str, query: dict[str, Any]) -> dict[str, Any]:
    version = maximum_supported_microversion(compute, _NEWEST)
    response = compute.get(path, params=query, microversion=version)
    raise_from_response(response)
    answer: dict[str, Any] = response.json()
    return answer


def _server_row(server: dict[str, Any]) -> dict[str, Any]:
    addresses = [
        {"network": network, "address": one.get("addr"), "type": one.get("OS-EXT-IPS:type", "fixed")}
        for network, ports in (server.get("addresses") or {}).items()
        for one in ports
    ]
    flavor = server.get("flavor") or {}
    shown = {
        "id": server.get("id"),
        "name": server.get("name"),
        "status": server.get("status"),
        "task_state": server.get("OS-EXT-STS:task_state"),
        "key_name": server.get("key_name"),
        "availability_zone": server.get("OS-EXT-AZ:availability_zone"),
        "created_at": server.get("created"),
        # Since 2.47 a server tells its size by name, before by id; one that begins at a volume has "" as its image.
        "flavor": flavor.get("original_name", flavor.get("id")),
        "image": (server.get("image") or {}).get("id"),
    }
    return {**{name: value for name, value in shown.items() if value is not None}, "addresses": addresses}


def _usage_of_limit(used: Any, limit: Any) -> dict[str, Any]:
    free = None if used is None or limit is None or limit < 0 else limit - used
    return {"used": used, "limit": limit, "free": free}
