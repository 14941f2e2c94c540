"""The fake Neutron: networks, subnets, routers, security groups and their rules."""

from typing import Any

from tests.fakes.openstack import Asked, FakeCloud, Says, Thing, found, new_id, page

_SINGULAR = {
    "networks": "network",
    "subnets": "subnet",
    "routers": "router",
    "security-groups": "security_group",
    "security-group-rules": "security_group_rule",
}


def add_network(cloud: FakeCloud, name: str, cidr: str | None = None) -> Thing:
    made = _made(cloud, "networks", {"name": name})
    if cidr is not None:
        _made(cloud, "subnets", {"name": f"{name}-subnet", "network_id": made["id"], "cidr": cidr, "ip_version": 4})
        _made(cloud, "routers", {"name": f"{name}-router"})
    return made


def answer(cloud: FakeCloud, asked: Asked) -> Says:
    match asked.method, asked.parts[1:]:
        case "GET", []:
            return Says({"resources": []})
        case "GET", ["extensions", *_]:
            return Says({"extensions": []})
        case "GET", [what] if what in _SINGULAR:
            return page(cloud, asked, _wanted(cloud, asked, what), what.replace("-", "_"))
        case "POST", [what] if what in _SINGULAR:
            return _create(cloud, asked, what)
        case "GET", [what, key] if what in _SINGULAR:
            return _found(cloud, what, key) or Says({_SINGULAR[what]: _shown(cloud, what, _things(cloud, what)[key])})
        case "DELETE", [what, key] if what in _SINGULAR:
            return _found(cloud, what, key) or _delete(cloud, what, key)
    return _error(404, "HTTPNotFound", "The resource could not be found.")


def _things(cloud: FakeCloud, what: str) -> dict[str, Thing]:
    return {
        "networks": cloud.networks,
        "subnets": cloud.subnets,
        "routers": cloud.routers,
        "security-groups": cloud.groups,
        "security-group-rules": cloud.rules,
    }[what]


def _wanted(cloud: FakeCloud, asked: Asked, what: str) -> list[Thing]:
    filters = {name: value for name, value in asked.query.items() if name in ("name", "id", "network_id", "status")}
    shown = [_shown(cloud, what, one) for one in _things(cloud, what).values()]
    return [one for one in shown if all(str(one.get(name)) == value for name, value in filters.items())]


def _create(cloud: FakeCloud, asked: Asked, what: str) -> Says:
    wanted = asked.body[_SINGULAR[what]]
    if what == "networks" and len(cloud.networks) >= cloud.quota["networks"]:
        return _error(409, "OverQuota", "Quota exceeded for resources: ['network'].")
    if what == "subnets":
        found(cloud.networks, wanted["network_id"], "Network")
        if any(one["cidr"] == wanted["cidr"] for one in cloud.subnets.values()):
            message = f"Invalid input for operation: Requested subnet with cidr: {wanted['cidr']} overlaps."
            return _error(400, "InvalidInput", message)
    return Says({_SINGULAR[what]: _shown(cloud, what, _made(cloud, what, wanted))}, 201)


def _made(cloud: FakeCloud, what: str, wanted: Thing) -> Thing:
    made: Thing = {"id": new_id(), "project_id": cloud.project, "tenant_id": cloud.project, "description": "", **wanted}
    more: dict[str, Thing] = {
        "networks": {
            "status": "ACTIVE",
            "admin_state_up": True,
            "shared": False,
            "router:external": False,
            "mtu": 1450,
            "availability_zones": ["nova"],
            "tags": [],
        },
        "subnets": {"enable_dhcp": True, "dns_nameservers": [], "allocation_pools": [], "host_routes": [], "tags": []},
        "routers": {"status": "ACTIVE", "admin_state_up": True, "external_gateway_info": None, "tags": []},
        "security-groups": {"stateful": True, "tags": []},
        "security-group-rules": {"ethertype": "IPv4", "remote_group_id": None},
    }
    made = {**more[what], **made}
    if what == "subnets":
        made.setdefault("gateway_ip", made["cidr"].rpartition(".")[0] + ".1")
    _things(cloud, what)[made["id"]] = made
    return made


def _delete(cloud: FakeCloud, what: str, key: str) -> Says:
    in_use = what == "networks" and any(
        cloud.networks[key]["name"] in server["addresses"] for server in cloud.servers.values()
    )
    if in_use:
        message = f"Unable to complete operation on network {key}. There are one or more ports still in use."
        return _error(409, "NetworkInUse", message)
    del _things(cloud, what)[key]
    if what == "networks":
        for subnet in [one["id"] for one in cloud.subnets.values() if one["network_id"] == key]:
            del cloud.subnets[subnet]
    return Says(status=204)


def _shown(cloud: FakeCloud, what: str, thing: Thing) -> Thing:
    if what == "networks":
        return {**thing, "subnets": [one["id"] for one in cloud.subnets.values() if one["network_id"] == thing["id"]]}
    if what == "security-groups":
        rules = [one for one in cloud.rules.values() if one["security_group_id"] == thing["id"]]
        return {**thing, "security_group_rules": rules}
    return thing


def _found(cloud: FakeCloud, what: str, key: str) -> Says | None:
    if key in _things(cloud, what):
        return None
    name = _SINGULAR[what].title().replace("_", "")
    return _error(404, f"{name}NotFound", f"{name} {key} could not be found.")


def _error(status: int, kind: str, message: str) -> Says:
    body: Any = {"NeutronError": {"type": kind, "message": message, "detail": ""}}
    return Says(body, status)
