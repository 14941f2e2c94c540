"""OpenStack's skills against a cloud on loopback: what each of them says of it, and what it changes there."""

import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from cluster.basics.errors import Invalid
from skills.framework.builtin import shipped_skills
from skills.framework.contract import CallEffect
from skills.framework.manifest import CredentialType, Kind, Risk
from tests.fakes.openstack import FakeCloud, fake_cloud
from tests.fakes.openstack_caller import call, on, refused

NAMES = {
    "list_servers",
    "server_action",
    "create_server",
    "list_networks",
    "manage_network",
    "list_volumes",
    "manage_volume",
    "list_images",
    "keystone_auth",
    "list_flavors",
    "heat_stack",
    "list_projects",
    "quota_usage",
    "server_console",
    "object_storage",
}
HOT = "heat_template_version: 2018-08-31\noutputs: {size: {value: {get_param: size}}}\n"


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with fake_cloud() as made:
        yield made


def only(things: Mapping[str, Any]) -> Any:
    (one,) = things.values()
    return one


def test_os_04_fifteen_skills_each_with_its_risk() -> None:
    """OS-04: those of the list, in their category, with a schema that takes nothing else."""
    ours = {one.name: one for one in shipped_skills() if one.kind is Kind.OPENSTACK}
    assert set(ours) == {f"openstack_{name}" for name in NAMES}
    destroys = {"manage_network", "manage_volume", "keystone_auth", "heat_stack"}
    writes = {"server_action", "server_console", "create_server", "object_storage"}
    for name in NAMES:
        one = ours[f"openstack_{name}"]
        risk = Risk.DESTRUCTIVE if name in destroys else Risk.WRITE if name in writes else Risk.READ
        assert (one.risk, one.credential) == (risk, CredentialType.API_KEY), name
        assert one.category.startswith("Cloud/") and one.parameters["additionalProperties"] is False
    keyed = {one.name for one in ours.values() if one.effect is CallEffect.KEYED}
    assert keyed == {"openstack_create_server", "openstack_object_storage"}


async def test_os_01_servers_are_listed_and_switched(cloud: FakeCloud) -> None:
    on_, server = on(cloud), only(cloud.servers)
    listed = await call(on_, "list_servers")
    assert listed["count"] == 1 and "cut" not in listed
    row = listed["servers"][0]
    assert (row["id"], row["status"], row["flavor"]) == (server["id"], "ACTIVE", "m1.tiny")
    assert row["addresses"] == [{"network": "private", "address": "10.0.0.10", "type": "fixed"}]
    for action, before, after in (
        ("stop", "ACTIVE", "SHUTOFF"),
        ("start", "SHUTOFF", "ACTIVE"),
        ("suspend", "ACTIVE", "SUSPENDED"),
        ("resume", "SUSPENDED", "ACTIVE"),
        ("reboot", "ACTIVE", "REBOOT"),
    ):
        done = await call(on_, "server_action", server="web-1", action=action)
        assert (done["before"], done["status"], server["status"]) == (before, after, after)
    assert server["last"] == {"reboot": {"type": "SOFT"}}
    server["status"] = "ACTIVE"
    await call(on_, "server_action", server=server["id"], action="reboot", hard=True)
    assert server["last"] == {"reboot": {"type": "HARD"}}
    assert (await call(on_, "list_servers", status="SHUTOFF"))["servers"] == []


async def test_os_01_a_server_is_made_once_for_one_call(cloud: FakeCloud) -> None:
    on_, wanted = on(cloud), {"name": "db (1)", "flavor": "m1.large", "image": "cirros", "networks": ["private"]}
    first = await call(on_, "create_server", **wanted)
    again = await call(on_, "create_server", **wanted)
    assert (first["created"], again["created"], first["id"]) == (True, False, again["id"])
    made = cloud.servers[first["id"]]
    assert (made["name"], made["flavor"], len(cloud.servers)) == ("db (1)", "2", 2)
    other = await call(on_, "create_server", key="k2", **wanted)
    assert other["created"] and len(cloud.servers) == 3
    assert "canary-adminpass" not in json.dumps([first, again, other])


async def test_os_01_flavors_quota_and_console(cloud: FakeCloud) -> None:
    on_ = on(cloud)
    flavors = (await call(on_, "list_flavors"))["flavors"]
    assert [(one["name"], one["vcpus"], one["ram"]) for one in flavors] == [("m1.tiny", 1, 512), ("m1.large", 4, 8_192)]
    usage = await call(on_, "quota_usage")
    assert usage["compute"]["instances"] == {"used": 1, "limit": 10, "free": 9}
    assert usage["storage"]["gigabytes"] == {"used": 10, "limit": 1_000, "free": 990}
    assert set(await call(on_, "quota_usage", services=["compute"])) == {"compute"}
    console = await call(on_, "server_console", server="web-1")
    assert console["type"] == "novnc" and console["url"].startswith("https://console.example.org/novnc?path=")


async def test_os_02_networks_subnets_groups_and_rules(cloud: FakeCloud) -> None:
    on_ = on(cloud)
    listed = await call(on_, "list_networks")
    assert [(one["name"], one["subnets"][0]["cidr"]) for one in listed["networks"]] == [("private", "10.0.0.0/24")]
    assert [one["name"] for one in listed["routers"]] == ["private-router"]
    made = await call(on_, "manage_network", action="create_network", name="lab")
    assert cloud.networks[made["id"]]["name"] == "lab"
    subnet = await call(on_, "manage_network", action="create_subnet", network="lab", cidr="10.9.0.0/24", name="lab-1")
    assert cloud.subnets[subnet["id"]]["network_id"] == made["id"]
    group = await call(on_, "manage_network", action="create_security_group", name="web")
    rule = await call(
        on_,
        "manage_network",
        action="create_rule",
        security_group="web",
        protocol="tcp",
        port_range_min=443,
        port_range_max=443,
        remote_ip_prefix="10.0.0.0/8",
    )
    kept = cloud.rules[rule["id"]]
    assert (kept["security_group_id"], kept["direction"], kept["port_range_min"]) == (group["id"], "ingress", 443)
    for action, what, value in (
        ("delete_rule", "rule", rule["id"]),
        ("delete_security_group", "security_group", "web"),
        ("delete_subnet", "subnet", "lab-1"),
        ("delete_network", "network", "lab"),
    ):
        await call(on_, "manage_network", action=action, **{what: value})
    assert not cloud.rules and not cloud.groups and len(cloud.networks) == len(cloud.subnets) == 1
    assert (
        await refused(on_, "manage_network", action="delete_network", network="private")
    ).code == "openstack_conflict"
    assert "cidr is missing" in (await refused(on_, "manage_network", action="create_subnet", network="private")).detail


async def test_os_03_a_volume_from_its_making_to_its_end(cloud: FakeCloud) -> None:
    on_, server = on(cloud), only(cloud.servers)
    made = await call(on_, "manage_volume", action="create", name="logs", size_gb=5, image="cirros")
    volume = cloud.volumes[made["id"]]
    assert (volume["size"], volume["bootable"]) == (5, "true")
    attached = await call(on_, "manage_volume", action="attach", volume="logs", server="web-1")
    assert attached["attachments"] == [{"server_id": server["id"], "device": "/dev/vdb"}]
    listed = (await call(on_, "list_volumes", status="in-use"))["volumes"]
    assert [(one["name"], one["size"]) for one in listed] == [("logs", 5)]
    # Nova and Cinder say differently that something is in use.
    assert (await refused(on_, "manage_volume", action="delete", volume="logs")).code == "service_refused"
    await call(on_, "manage_volume", action="detach", volume="logs", server="web-1")
    assert volume["status"] == "available"
    await call(on_, "manage_volume", action="extend", volume="logs", size_gb=8)
    assert volume["size"] == 8
    assert "greater than" in (await refused(on_, "manage_volume", action="extend", volume="logs", size_gb=8)).detail
    await call(on_, "manage_volume", action="delete", volume="logs")
    assert made["id"] not in cloud.volumes


async def test_os_04_images_projects_users_and_roles(cloud: FakeCloud) -> None:
    on_, root = on(cloud), on(cloud, username="root")
    assert {one["name"] for one in (await call(on_, "list_images"))["images"]} == {"debian-12", "cirros"}
    assert [one["name"] for one in (await call(on_, "list_projects"))["projects"]] == ["demo"]
    assert {one["name"] for one in (await call(root, "list_projects", all=True))["projects"]} == {"demo", "foreign"}
    said = await call(on_, "keystone_auth")
    assert (said["username"], said["project_name"], said["role_names"]) == ("demo", "demo", ["member"])
    assert {one["type"] for one in said["services"]} >= {"compute", "network", "image", "object-store"}
    assert not any(token in json.dumps(said) for token in cloud.tokens_seen)
    made = await call(root, "keystone_auth", action="create_project", name="lab")
    user = await call(root, "keystone_auth", action="create_user", name="ada", email="ada@example.org")
    await call(root, "keystone_auth", action="grant_role", user="ada", project="lab", role="member")
    assert (made["id"], user["id"], "role-member") in cloud.grants
    await call(root, "keystone_auth", action="disable_user", user="ada")
    assert cloud.users[user["id"]]["enabled"] is False
    assert "ada" in {one["name"] for one in (await call(root, "keystone_auth", action="list_users"))["users"]}
    await call(root, "keystone_auth", action="revoke_role", user="ada", project="lab", role="member")
    assert (made["id"], user["id"], "role-member") not in cloud.grants
    await call(root, "keystone_auth", action="delete_user", user="ada")
    await call(root, "keystone_auth", action="delete_project", project="lab")
    assert user["id"] not in cloud.users and made["id"] not in cloud.projects


async def test_os_04_a_stack_is_made_shown_and_deleted(cloud: FakeCloud) -> None:
    on_ = on(cloud)
    made = await call(on_, "heat_stack", action="create", stack="app", template=HOT, parameters={"size": 3})
    assert cloud.stacks[made["id"]]["disable_rollback"] is False
    assert [one["name"] for one in (await call(on_, "heat_stack", action="list"))["stacks"]] == ["app"]
    shown = await call(on_, "heat_stack", action="show", stack="app")
    assert (shown["status"], shown["outputs"]) == ("CREATE_COMPLETE", [{"key": "size", "value": 3}])
    again = await refused(on_, "heat_stack", action="create", stack="app", template=HOT)
    assert again.code == "openstack_conflict"
    assert (await refused(on_, "heat_stack", action="create", stack="b", template="[")).code == "service_refused"
    await call(on_, "heat_stack", action="delete", stack="app")
    assert cloud.stacks == {}


async def test_os_04_objects_are_kept_and_never_replaced(cloud: FakeCloud) -> None:
    on_, packed = on(cloud), base64.b64encode(b"\x00\xff\x00").decode()
    await call(on_, "object_storage", action="create_container", container="box")
    up: dict[str, Any] = {"action": "upload", "container": "box", "object": "a/b ?#%2e.txt"}
    await call(on_, "object_storage", **up, text="größe")
    assert cloud.containers["box"] == {"a/b ?#%2e.txt": ("größe".encode(), "text/plain")}
    assert (await call(on_, "object_storage", **up, text="größe"))["unchanged"] is True
    assert (await refused(on_, "object_storage", **up, text="other")).code == "openstack_conflict"
    assert cloud.containers["box"]["a/b ?#%2e.txt"][0] == "größe".encode()
    assert (await call(on_, "object_storage", **{**up, "action": "download"}))["text"] == "größe"
    await call(on_, "object_storage", action="upload", container="box", object="raw", base64=packed)
    await call(on_, "object_storage", action="upload", container="box", object="none", text="")
    assert (await call(on_, "object_storage", action="download", container="box", object="raw"))["base64"] == packed
    assert (await call(on_, "object_storage", action="download", container="box", object="none"))["text"] == ""
    assert (await call(on_, "object_storage", action="list"))["containers"] == [
        {"name": "box", "count": 3, "bytes": 10}
    ]
    listed = await call(on_, "object_storage", action="list", container="box", prefix="a/")
    assert [one["name"] for one in listed["objects"]] == ["a/b ?#%2e.txt"]
    cloud.containers["box"]["large"] = ("é".encode() * 400_000, "text/plain")
    large = await call(on_, "object_storage", action="download", container="box", object="large")
    assert large["cut"] and large["bytes"] == 800_000 and len(large["text"]) == 64_000
    for name in ("../up", "a//b", "a/../../../v3"):
        assert isinstance(await refused(on_, "object_storage", **{**up, "object": name}, text="x"), Invalid)


COMMANDS = (
    ("server list", "web-1"),
    ("network list", "private"),
    ("volume list", "data-1"),
    ("image list", "cirros"),
    ("stack list", "app"),
    ("container list", "box"),
)


@pytest.mark.parametrize(("command", "shown"), COMMANDS)
def test_os_01_the_official_command_line_takes_the_fake_for_a_cloud(
    cloud: FakeCloud, tmp_path: Path, command: str, shown: str
) -> None:
    """OS-01: what the skills are tested against is not made for them alone."""
    cloud.containers["box"] = {}
    cloud.stacks["s"] = {"id": "s", "stack_name": "app", "stack_status": "CREATE_COMPLETE", "creation_time": "2026"}
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(tmp_path),
        "OS_AUTH_URL": f"{cloud.url}/identity",
        "OS_USERNAME": "demo",
        "OS_PASSWORD": cloud.password,
        "OS_PROJECT_NAME": "demo",
        "OS_USER_DOMAIN_NAME": "Default",
        "OS_PROJECT_DOMAIN_NAME": "Default",
        "OS_IDENTITY_API_VERSION": "3",
    }
    program = [str(Path(sys.executable).with_name("openstack")), *command.split(), "-f", "json"]
    done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2_000:]
    rows = json.loads(done.stdout)
    assert shown in {row.get("Name", row.get("Stack Name")) for row in rows}
