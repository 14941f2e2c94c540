"""Neutron: networks with their subnets and routers, and security groups with their rules."""

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from skills.openstack.cloud import CloudCall, pick_fields

_MOST_PARTS = 2_000  # subnets or routers that are read beside networks


def list_networks(cloud: CloudCall) -> dict[str, Any]:
    """Networks, each with its subnets, and routers."""
    network = cloud.connection.network
    subnets: dict[str, list[dict[str, Any]]] = {}
    for one in islice(network.subnets(limit=1_000), _MOST_PARTS):
        subnets.setdefault(one.network_id, []).append(_subnet_row(one))
    found = network.networks(limit=cloud.page, **cloud.given("name", "status"))
    result = cloud.listed("networks", found, lambda one: {**_network_row(one), "subnets": subnets.get(one.id, [])})
    routers = cloud.listed("routers", network.routers(limit=cloud.page), _router_row)
    return {**result, "routers": routers["routers"]} | ({"cut": True} if "cut" in routers else {})


def manage_network(cloud: CloudCall) -> dict[str, Any]:
    """Create or delete a network, subnet, security group or rule. Raises Invalid: the action lacks an argument."""
    return _ACTIONS[cloud.arguments["action"]](cloud)


def _create_network(cloud: CloudCall) -> dict[str, Any]:
    made = cloud.connection.network.create_network(name=cloud.needed("name"), **cloud.given("description"))
    return {"created": "network", **_network_row(made)}


def _create_subnet(cloud: CloudCall) -> dict[str, Any]:
    network = cloud.connection.network
    of = cloud.find(network, "network")
    wanted = cloud.given("name", "gateway_ip", "dns_nameservers", "description")
    cidr = cloud.needed("cidr")
    made = network.create_subnet(network_id=of.id, cidr=cidr, ip_version=6 if ":" in cidr else 4, **wanted)
    return {"created": "subnet", **_subnet_row(made)}


def _create_group(cloud: CloudCall) -> dict[str, Any]:
    made = cloud.connection.network.create_security_group(name=cloud.needed("name"), **cloud.given("description"))
    return {"created": "security_group", **pick_fields(made, "id", "name", "description")}


def _create_rule(cloud: CloudCall) -> dict[str, Any]:
    network, arguments = cloud.connection.network, cloud.arguments
    group = cloud.find(network, "security_group")
    remote = arguments.get("remote_ip_prefix", "")
    made = network.create_security_group_rule(
        security_group_id=group.id,
        direction=arguments.get("direction", "ingress"),
        ether_type="IPv6" if ":" in remote else "IPv4",
        **cloud.given("protocol", "port_range_min", "port_range_max", "remote_ip_prefix", "description"),
    )
    shown = ("id", "direction", "protocol", "port_range_min", "port_range_max", "remote_ip_prefix")
    return {"created": "rule", "security_group": group.name, **pick_fields(made, *shown)}


def _delete_rule(cloud: CloudCall) -> dict[str, Any]:
    rule = cloud.name("rule")
    cloud.connection.network.delete_security_group_rule(rule, ignore_missing=False)
    return {"deleted": "rule", "id": rule}


_ACTIONS: Mapping[str, Callable[[CloudCall], dict[str, Any]]] = {
    "create_network": _create_network,
    "delete_network": lambda cloud: cloud.delete(cloud.connection.network, "network"),
    "create_subnet": _create_subnet,
    "delete_subnet": lambda cloud: cloud.delete(cloud.connection.network, "subnet"),
    "create_security_group": _create_group,
    "delete_security_group": lambda cloud: cloud.delete(cloud.connection.network, "security_group"),
    "create_rule": _create_rule,
    "delete_rule": _delete_rule,
}


def _network_row(network: Any) -> dict[str, Any]:
    return pick_fields(network, "id", "name", "status", "is_admin_state_up", "is_shared", "is_router_external", "mtu")


def _subnet_row(subnet: Any) -> dict[str, Any]:
    return pick_fields(subnet, "id", "name", "network_id", "cidr", "gateway_ip", "ip_version", "dns_nameservers")


def _router_row(router: Any) -> dict[str, Any]:
    outside = (router.external_gateway_info or {}).get("network_id")
    return {**pick_fields(router, "id", "name", "status"), "external_network_id": outside}
