"""Cinder: volumes, and Nova where they are attached to servers; and Glance's images, from which both begin."""

from typing import Any

from cluster.basics.errors import Invalid
from skills.openstack.cloud import CloudCall, pick_fields


def list_volumes(cloud: CloudCall) -> dict[str, Any]:
    """Volumes with size in GiB, state, and the servers they are attached to."""
    query = cloud.given("status", "name", "all_projects")
    found = cloud.connection.block_storage.volumes(limit=cloud.page, **query)
    return cloud.listed("volumes", found, _volume_row)


def list_images(cloud: CloudCall) -> dict[str, Any]:
    """Images that a server or a volume can be made of."""
    found = cloud.connection.image.images(limit=cloud.page, **cloud.given("name", "status", "visibility"))
    shown = ("id", "name", "status", "visibility", "disk_format", "size", "min_disk", "min_ram", "created_at")
    return cloud.listed("images", found, lambda one: pick_fields(one, *shown))


def manage_volume(cloud: CloudCall) -> dict[str, Any]:
    """Create, delete, attach, detach or extend. Raises Invalid: an argument that the action needs is missing."""
    storage, action = cloud.connection.block_storage, cloud.arguments["action"]
    if action == "create":
        return {"action": action, **_volume_row(_create_volume(cloud))}
    volume = cloud.find(storage, "volume")
    if action == "delete":
        storage.delete_volume(volume.id, ignore_missing=False)
        return {"action": action, "id": volume.id, "name": volume.name}
    if action == "extend":
        storage.extend_volume(volume.id, _volume_size(cloud))
    else:
        compute = cloud.connection.compute
        server = cloud.find(compute, "server")
        if action == "attach":
            compute.create_volume_attachment(server.id, volume=volume.id)
        else:
            compute.delete_volume_attachment(server.id, volume.id, ignore_missing=False)
    return {"action": action, **_volume_row(storage.get_volume(volume.id))}


def _create_volume(cloud: CloudCall) -> Any:
    wanted = cloud.given("name", "description", "volume_type", "availability_zone")
    if cloud.arguments.get("image"):
        wanted["image_id"] = cloud.find(cloud.connection.image, "image").id
    return cloud.connection.block_storage.create_volume(size=_volume_size(cloud), **wanted)


def _volume_size(cloud: CloudCall) -> int:
    size = cloud.arguments.get("size_gb")
    if not isinstance(size, int):
        raise Invalid("size_gb is missing")
    return size


def _volume_row(volume: Any) -> dict[str, Any]:
    attached = [{"server_id": one.get("server_id"), "device": one.get("device")} for one in volume.attachments or ()]
    shown = pick_fields(volume, "id", "name", "status", "size", "volume_type", "is_bootable", "created_at")
    return {**shown, "attachments": attached}
