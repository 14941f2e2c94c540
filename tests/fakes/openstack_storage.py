"""The fake Cinder and Glance: volumes with their states, limits, and images."""

from typing import Any

from tests.fakes.openstack import Asked, FakeCloud, Says, Thing, fault, found, new_id, page


def add_volume(cloud: FakeCloud, name: str, size: int, **other: Any) -> Thing:
    key = new_id()
    cloud.volumes[key] = {
        "id": key,
        "name": name,
        "size": size,
        "status": "available",
        "attachments": [],
        "volume_type": "lvm",
        "bootable": "false",
        "encrypted": False,
        "description": None,
        "metadata": {},
        "created_at": "2026-01-02T03:04:05",
        "os-vol-tenant-attr:tenant_id": cloud.project,
        "availability_zone": "nova",
        "links": [],
        **other,
    }
    return cloud.volumes[key]


def volumes(cloud: FakeCloud, asked: Asked) -> Says:
    says = _volumes(cloud, asked)
    spoken = asked.headers.get("openstack-api-version", "volume 3.0")
    return Says(says.value, says.status, {"OpenStack-API-Version": spoken, **says.headers})


def _volumes(cloud: FakeCloud, asked: Asked) -> Says:
    inside = asked.parts[1:]
    if inside[:1] == [asked.project]:  # both forms of the address are in use
        inside = inside[1:]
    match asked.method, inside:
        case "GET", ["volumes"] | ["volumes", "detail"]:
            filters = {name: value for name, value in asked.query.items() if name in ("name", "status")}
            every = cloud.volumes.values()
            fits = [one for one in every if all(one[name] == value for name, value in filters.items())]
            return page(cloud, asked, fits, "volumes")
        case "POST", ["volumes"]:
            return _create(cloud, asked)
        case "GET", ["volumes", key]:
            return Says({"volume": found(cloud.volumes, key, "Volume")})
        case "DELETE", ["volumes", key]:
            volume = found(cloud.volumes, key, "Volume")
            if volume["status"] == "in-use":
                message = "Invalid volume: Volume status must be available or error, but current status is: in-use."
                return fault(400, "badRequest", message)
            del cloud.volumes[key]
            return Says(status=202)
        case "POST", ["volumes", key, "action"]:
            return _act(found(cloud.volumes, key, "Volume"), asked.body)
        case "GET", ["limits"]:
            used = cloud.volumes.values()
            absolute = {
                "maxTotalVolumes": cloud.quota["volumes"],
                "totalVolumesUsed": len(used),
                "maxTotalVolumeGigabytes": cloud.quota["gigabytes"],
                "totalGigabytesUsed": sum(one["size"] for one in used),
                "maxTotalSnapshots": 10,
                "totalSnapshotsUsed": 0,
            }
            return Says({"limits": {"rate": [], "absolute": absolute}})
    return fault(404, "itemNotFound", "The resource could not be found.")


def _create(cloud: FakeCloud, asked: Asked) -> Says:
    wanted = asked.body["volume"]
    if len(cloud.volumes) >= cloud.quota["volumes"]:
        allowed = cloud.quota["volumes"]
        message = f"VolumeLimitExceeded: Maximum number of volumes allowed ({allowed}) exceeded for quota 'volumes'."
        return fault(413, "overLimit", message)
    image = wanted.get("imageRef")
    if image:
        found(cloud.images, image, "Image")
    kept = {name: wanted[name] for name in ("description", "availability_zone") if name in wanted}
    made = add_volume(
        cloud,
        wanted.get("name", ""),
        wanted["size"],
        bootable="true" if image else "false",
        volume_type=wanted.get("volume_type") or "lvm",
        **kept,
    )
    return Says({"volume": made}, 202)


def _act(volume: Thing, body: Thing) -> Says:
    if "os-extend" not in body:
        return fault(400, "badRequest", f"There is no such action: {next(iter(body))}")
    size = body["os-extend"]["new_size"]
    if size <= volume["size"]:
        message = f"New size for extend must be greater than current size. (current: {volume['size']})"
        return fault(400, "badRequest", message)
    volume["size"] = size
    return Says(status=202)


def images(cloud: FakeCloud, asked: Asked) -> Says:
    match asked.method, asked.parts[1:]:
        case "GET", ["images"]:
            filters = {name: value for name, value in asked.query.items() if name in ("name", "status", "visibility")}
            every = cloud.images.values()
            fits = [one for one in every if all(one[name] == value for name, value in filters.items())]
            return page(cloud, asked, fits, "images")
        case "GET", ["images", key] if key in cloud.images:
            return Says(cloud.images[key])
        case "GET", ["schemas", *_]:
            return Says({"name": "image", "properties": {}})
    return Says(b"<html><h1>404 Not Found</h1>No image found</html>", 404, {"Content-Type": "text/html"})
