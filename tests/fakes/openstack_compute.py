"""The fake Nova: servers with their states, flavors, limits, consoles, and volumes that are attached."""

import re
from typing import Any

from tests.fakes.openstack import Asked, FakeCloud, Says, Thing, fault, found, new_id, page

# action: (states it is possible in, the state after it)
MOVES = {
    "os-start": (("SHUTOFF",), "ACTIVE"),
    "os-stop": (("ACTIVE",), "SHUTOFF"),
    "suspend": (("ACTIVE",), "SUSPENDED"),
    "resume": (("SUSPENDED",), "ACTIVE"),
    "reboot": (("ACTIVE", "SHUTOFF"), "REBOOT"),
}
SETTLES = 2  # views after which a server that is built or rebooted is ACTIVE


def add_server(cloud: FakeCloud, name: str, status: str = "ACTIVE", **other: Any) -> Thing:
    key = new_id()
    network = next(iter(cloud.networks.values()), {"name": "private"})
    number = len(cloud.servers) + 10
    cloud.servers[key] = {
        "id": key,
        "name": name,
        "status": status,
        "tenant_id": cloud.project,
        "user_id": "user-demo",
        "metadata": {},
        "created": "2026-01-02T03:04:05Z",
        "updated": "2026-01-02T03:04:05Z",
        "key_name": None,
        "flavor": "1",
        "image": {"id": next(iter(cloud.images)), "links": []},
        "OS-EXT-AZ:availability_zone": "nova",
        "links": [],
        "OS-EXT-STS:task_state": None,
        "OS-EXT-STS:vm_state": status.lower(),
        "OS-EXT-STS:power_state": 1,
        "os-extended-volumes:volumes_attached": [],
        "security_groups": [{"name": "default"}],
        "views": 0,
        "addresses": {
            network["name"]: [
                {
                    "addr": f"10.0.{number // 250}.{number % 250}",
                    "version": 4,
                    "OS-EXT-IPS:type": "fixed",
                    "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01",
                }
            ]
        },
        **other,
    }
    return cloud.servers[key]


def answer(cloud: FakeCloud, asked: Asked) -> Says:
    says = _answer(cloud, asked)
    spoken = _version(asked)
    headers = {"OpenStack-API-Version": f"compute {spoken}", "X-OpenStack-Nova-API-Version": spoken}
    return Says(says.value, says.status, {**headers, **says.headers})


def _answer(cloud: FakeCloud, asked: Asked) -> Says:
    match asked.method, asked.parts[1:]:
        case "GET", ["servers"] | ["servers", "detail"]:
            return _servers(cloud, asked)
        case "POST", ["servers"]:
            return _create(cloud, asked)
        case "GET", ["servers", key]:
            return Says({"server": _shown(cloud, asked, found(cloud.servers, key, "Instance"), seen=True)})
        case "DELETE", ["servers", key]:
            found(cloud.servers, key, "Instance")
            del cloud.servers[key]
            return Says(status=204)
        case "POST", ["servers", key, "action"]:
            return _act(found(cloud.servers, key, "Instance"), asked.body)
        case "POST", ["servers", key, "remote-consoles"]:
            found(cloud.servers, key, "Instance")
            wanted = asked.body["remote_console"]
            url = f"https://console.example.org/{wanted['type']}?path=%3Ftoken%3D{new_id()}"
            return Says({"remote_console": {**wanted, "url": url}})
        case method, ["servers", key, "os-volume_attachments", *rest]:
            return _attachments(cloud, asked, method, found(cloud.servers, key, "Instance"), rest)
        case "GET", ["flavors"] | ["flavors", "detail"]:
            least = int(asked.query.get("minRam", 0)), int(asked.query.get("minDisk", 0))
            fits = [one for one in cloud.flavors.values() if (one["ram"], one["disk"]) >= least]
            return page(cloud, asked, [_flavor(one) for one in fits], "flavors")
        case "GET", ["flavors", key]:
            return Says({"flavor": _flavor(found(cloud.flavors, key, "Flavor"))})
        case "GET", ["limits"]:
            return Says({"limits": {"rate": [], "absolute": _limits(cloud)}})
        case "GET", ["os-availability-zone", *_]:
            return Says({"availabilityZoneInfo": [{"zoneName": "nova", "zoneState": {"available": True}}]})
    return fault(404, "itemNotFound", "The resource could not be found.")


def _version(asked: Asked) -> str:
    wanted = asked.headers.get("openstack-api-version", "").removeprefix("compute").strip()
    wanted = wanted or asked.headers.get("x-openstack-nova-api-version", "2.1")
    return "2.96" if wanted == "latest" else wanted


def _minor(asked: Asked) -> int:
    return int(_version(asked).partition(".")[2])


def _servers(cloud: FakeCloud, asked: Asked) -> Says:
    wanted = asked.query
    if wanted.get("all_tenants") in ("1", "True", "true") and asked.role != "admin":
        return fault(403, "forbidden", "Policy doesn't allow os_compute_api:servers:index:get_all_tenants.")
    every = wanted.get("all_tenants") in ("1", "True", "true")
    things = [
        one
        for one in cloud.servers.values()
        if (every or one["tenant_id"] == asked.project)
        and wanted.get("status", one["status"]) == one["status"]
        and re.search(wanted.get("name", ""), one["name"])
    ]
    if asked.parts[-1] == "detail":
        return page(cloud, asked, things, "servers", lambda one: _shown(cloud, asked, one))
    return page(cloud, asked, things, "servers", lambda one: {"id": one["id"], "name": one["name"], "links": []})


def _create(cloud: FakeCloud, asked: Asked) -> Says:
    wanted = asked.body["server"]
    allowed = cloud.quota["instances"]
    if len(cloud.servers) >= allowed:
        message = f"Quota exceeded for instances: Requested 1, but already used {allowed} of {allowed} instances"
        return fault(403, "forbidden", message)
    if _minor(asked) >= 37 and "networks" not in wanted:
        return fault(400, "badRequest", "Invalid input for field/attribute server: 'networks' is a required property")
    nets = wanted.get("networks")
    if isinstance(nets, list) and any(one["uuid"] not in cloud.networks for one in nets):
        return fault(400, "badRequest", "Network could not be found.")
    flavor = wanted["flavorRef"].rpartition("/")[2]
    found(cloud.flavors, flavor, "Flavor")
    key = wanted.get("imageRef", "")
    found(cloud.images, key, "Image")
    made = add_server(
        cloud,
        wanted["name"],
        "BUILD",
        flavor=flavor,
        metadata=wanted.get("metadata", {}),
        key_name=wanted.get("key_name"),
        image={"id": key, "links": []},
        tenant_id=asked.project,
        security_groups=wanted.get("security_groups", [{"name": "default"}]),
    )
    answer = {"id": made["id"], "links": [], "adminPass": "canary-adminpass-77aa", "OS-DCF:diskConfig": "MANUAL"}
    return Says({"server": answer}, 202)


def _act(server: Thing, body: Thing) -> Says:
    action = next(iter(body))
    if action not in MOVES:
        return fault(400, "badRequest", f"There is no such action: {action}")
    possible, after = MOVES[action]
    if server["status"] not in possible:
        state = server["status"].lower()
        message = f"Cannot '{action}' instance {server['id']} while it is in vm_state {state}"
        return fault(409, "conflictingRequest", message)
    server.update({"status": after, "views": 0, "last": body})
    return Says(status=202)


def _attachments(cloud: FakeCloud, asked: Asked, method: str, server: Thing, rest: list[str]) -> Says:
    match method, rest:
        case "GET", []:
            return Says({"volumeAttachments": [_attachment(server, one) for one in _attached(cloud, server)]})
        case "POST", []:
            volume = found(cloud.volumes, asked.body["volumeAttachment"]["volumeId"], "Volume")
            if volume["status"] != "available":
                message = f"Invalid volume: volume {volume['id']} status must be 'available'. Currently in 'in-use'"
                return fault(400, "badRequest", message)
            entry = {"server_id": server["id"], "device": "/dev/vdb", "volume_id": volume["id"], "id": volume["id"]}
            volume.update({"status": "in-use", "attachments": [entry]})
            return Says({"volumeAttachment": _attachment(server, volume)})
        case "DELETE", [key]:
            volume = found(cloud.volumes, key, "Volume")
            if volume not in _attached(cloud, server):
                return fault(404, "itemNotFound", f"volume_id not found: {key}")
            volume.update({"status": "available", "attachments": []})
            return Says(status=202)
    return fault(404, "itemNotFound", "The resource could not be found.")


def _attached(cloud: FakeCloud, server: Thing) -> list[Thing]:
    return [one for one in cloud.volumes.values() if any(at["server_id"] == server["id"] for at in one["attachments"])]


def _attachment(server: Thing, volume: Thing) -> Thing:
    return {"id": volume["id"], "volumeId": volume["id"], "serverId": server["id"], "device": "/dev/vdb"}


def _shown(cloud: FakeCloud, asked: Asked, server: Thing, seen: bool = False) -> Thing:
    if seen and server["status"] in ("BUILD", "REBOOT"):
        server["views"] += 1
        if server["views"] > SETTLES:
            server["status"] = "ACTIVE"
    shown = {name: value for name, value in server.items() if name not in ("views", "last")}
    flavor = cloud.flavors[server["flavor"]]
    if _minor(asked) >= 47:
        embedded = {name: flavor[name] for name in ("vcpus", "ram", "disk")}
        shown["flavor"] = {**embedded, "ephemeral": 0, "swap": 0, "original_name": flavor["name"], "extra_specs": {}}
    else:
        shown["flavor"] = {"id": flavor["id"], "links": []}
    return shown


def _flavor(flavor: Thing) -> Thing:
    return {
        **flavor,
        "swap": 0 if flavor.get("swap") is None else flavor["swap"],
        "rxtx_factor": 1.0,
        "links": [],
        "OS-FLV-EXT-DATA:ephemeral": 0,
        "OS-FLV-DISABLED:disabled": False,
        "os-flavor-access:is_public": True,
        "description": None,
    }


def _limits(cloud: FakeCloud) -> Thing:
    used = [cloud.flavors[one["flavor"]] for one in cloud.servers.values()]
    return {
        "maxTotalInstances": cloud.quota["instances"],
        "totalInstancesUsed": len(used),
        "maxTotalCores": cloud.quota["cores"],
        "totalCoresUsed": sum(one["vcpus"] for one in used),
        "maxTotalRAMSize": cloud.quota["ram"],
        "totalRAMUsed": sum(one["ram"] for one in used),
    }
