"""Neutron: networks with their subnets and routers, and security groups with their rules."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from cluster.basics.errors import Invalid
from skills.openstack.cloud import Cloud, picked

_MOST_PARTS = 2_000  # subnets or routers that are read beside networks


def list_networks(cloud: Cloud) -> dict[str, Any]:
    """Networks, each with its subnets, and routers."""
    network = cloud.connection.network
    subnets: dict[str, list[dict[str, Any]]] = {}
    for one in islice(network.subnets(limit=1_000), _MOST_PARTS):
        subnets.setdefault(one.network_id, []).append(_subnet(one))
    found = network.networks(limit=min(cloud.limit + 1, 1_000), **cloud.given("name", "status"))
    result = cloud.listed("networks", found, lambda one: {**_network(one), "subnets": subnets.get(one.id, [])})
    routers = cloud.listed("routers", network.routers(limit=min(cloud.limit + 1, 1_000)), _router)
    return {**result, "routers": routers["routers"]} | ({"cut": True} if "cut" in routers else {})


def manage_network(cloud: Cloud) -> dict[str, Any]:
    """Create or delete a network, a subnet, a security group or one of its rules.

    Raises:
        Invalid: an argument that the action needs is missing; it is named.
    """
    return _ACTIONS[cloud.arguments["action"]](cloud)


def _create_network(cloud: Cloud) -> dict[str, Any]:
    made = cloud.connection.network.create_network(name=_needed(cloud, "name"), **cloud.given("description"))
    return {"created": "network", **_network(made)}


def _create_subnet(cloud: Cloud) -> dict[str, Any]:
    network = cloud.connection.network
    of = network.find_network(cloud.name("network"), ignore_missing=False)
    made = network.create_subnet(
        network_id=of.id,
        cidr=_needed(cloud, "cidr"),
        ip_version=6 if ":" in cloud.arguments["cidr"] else 4,
        **cloud.given("name", "gateway_ip", "dns_nameservers", "description"),
    )
    return {"created": "subnet", **_subnet(made)}


def _create_group(cloud: Cloud) -> dict[str, Any]:
    made = cloud.connection.network.create_security_group(name=_needed(cloud, "name"), **cloud.given("description"))
    return {"created": "security_group", **picked(made, "id", "name", "description")}


def _create_rule(cloud: Cloud) -> dict[str, Any]:
    network, arguments = cloud.connection.network, cloud.arguments
    group = network.find_security_group(cloud.name("security_group"), ignore_missing=False)
    remote = arguments.get("remote_ip_prefix", "")
    made = network.create_security_group_rule(
        security_group_id=group.id,
        direction=arguments.get("direction", "ingress"),
        ether_type="IPv6" if ":" in remote else "IPv4",
        **cloud.given("protocol", "port_range_min", "port_range_max", "remote_ip_prefix", "description"),
    )
    shown = ("id", "direction", "protocol", "port_range_min", "port_range_max", "remote_ip_prefix")
    return {"created": "rule", "security_group": group.name, **picked(made, *shown)}


def _delete_network(cloud: Cloud) -> dict[str, Any]:
    network = cloud.connection.network
    found = network.find_network(cloud.name("network"), ignore_missing=False)
    network.delete_network(found.id, ignore_missing=False)
    return {"deleted": "network", "id": found.id, "name": found.name}


def _delete_subnet(cloud: Cloud) -> dict[str, Any]:
    network = cloud.connection.network
    found = network.find_subnet(cloud.name("subnet"), ignore_missing=False)
    network.delete_subnet(found.id, ignore_missing=False)
    return {"deleted": "subnet", "id": found.id, "name": found.name}


def _delete_group(cloud: Cloud) -> dict[str, Any]:
    network = cloud.connection.network
    found = network.find_security_group(cloud.name("security_group"), ignore_missing=False)
    network.delete_security_group(found.id, ignore_missing=False)
    return {"deleted": "security_group", "id": found.id, "name": found.name}


def _delete_rule(cloud: Cloud) -> dict[str, Any]:
    rule = cloud.name("rule")
    cloud.connection.network.delete_security_group_rule(rule, ignore_missing=False)
    return {"deleted": "rule", "id": rule}


_ACTIONS: Mapping[str, Callable[[Cloud], dict[str, Any]]] = {
    "create_network": _create_network,
    "delete_network": _delete_network,
    "create_subnet": _create_subnet,
    "delete_subnet": _delete_subnet,
    "create_security_group": _create_group,
    "delete_security_group": _delete_group,
    "create_rule": _create_rule,
    "delete_rule": _delete_rule,
}


def _needed(cloud: Cloud, argument: str) -> Any:
    value = cloud.arguments.get(argument)
    if value in (None, ""):
        raise Invalid(f"{argument} is missing")
    return value


def _network(network: Any) -> dict[str, Any]:
    return picked(network, "id", "name", "status", "is_admin_state_up", "is_shared", "is_router_external", "mtu")


def _subnet(subnet: Any) -> dict[str, Any]:
    return picked(subnet, "id", "name", "network_id", "cidr", "gateway_ip", "ip_version", "dns_nameservers")


def _router(router: Any) -> dict[str, Any]:
    outside = (router.external_gateway_info or {}).get("network_id")
    return {**picked(router, "id", "name", "status"), "external_network_id": outside}
