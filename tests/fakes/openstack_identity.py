"""The fake Keystone: tokens by password and by application credential, a catalogue, versions, projects, users."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.fakes.openstack import Asked, FakeCloud, Says, Thing, found, new_id

REGION = "RegionOne"
APPLICATION = "app-cred-0001"
DOMAIN = {"id": "default", "name": "Default"}
# service: (type, name, path of its endpoint)
ENDPOINTS = {
    "identity": ("identity", "keystone", "/identity/v3"),
    "compute": ("compute", "nova", "/compute/v2.1"),
    "network": ("network", "neutron", "/network"),
    "volume": ("block-storage", "cinder", "/volume/v3/{project}"),
    "image": ("image", "glance", "/image"),
    "heat": ("orchestration", "heat", "/heat/v1/{project}"),
    "swift": ("object-store", "swift", "/swift/v1/AUTH_{project}"),
}
# service: (id, its path, newest and oldest microversion)
VERSIONS = {
    "identity": ("v3.14", "v3", "", ""),
    "compute": ("v2.1", "v2.1", "2.96", "2.1"),
    "network": ("v2.0", "v2.0", "", ""),
    "volume": ("v3.0", "v3", "3.71", "3.0"),
    "image": ("v2.16", "v2", "", ""),
    "heat": ("v1.0", "v1", "", ""),
}


def fill(cloud: FakeCloud) -> None:
    """Three users with a role each in one project, sizes, images, a network, a server and a volume."""
    cloud.projects[cloud.project] = {"id": cloud.project, "name": "demo", "enabled": True, "domain_id": "default"}
    other = uuid.uuid4().hex
    cloud.projects[other] = {"id": other, "name": "foreign", "enabled": True, "domain_id": "default"}
    for role in ("admin", "member", "reader"):
        cloud.roles[f"role-{role}"] = {"id": f"role-{role}", "name": role, "domain_id": None}
        user = {"admin": "root", "member": "demo", "reader": "looker"}[role]
        cloud.users[f"user-{user}"] = {
            "id": f"user-{user}",
            "name": user,
            "enabled": True,
            "domain_id": "default",
            "email": f"{user}@example.org",
        }
        cloud.grants.add((cloud.project, f"user-{user}", f"role-{role}"))
    for number, (name, vcpus, ram, disk) in enumerate((("m1.tiny", 1, 512, 1), ("m1.large", 4, 8_192, 80)), 1):
        cloud.flavors[str(number)] = {"id": str(number), "name": name, "vcpus": vcpus, "ram": ram, "disk": disk}
    for name in ("debian-12", "cirros"):
        key = new_id()
        cloud.images[key] = {
            "id": key,
            "name": name,
            "status": "active",
            "visibility": "public",
            "disk_format": "qcow2",
            "container_format": "bare",
            "size": 21_430_272,
            "min_disk": 1,
            "min_ram": 64,
            "owner": cloud.project,
            "created_at": "2026-01-02T03:04:05Z",
            "updated_at": "2026-01-02T03:04:05Z",
            "protected": False,
            "tags": [],
        }
    from tests.fakes.openstack_compute import add_server
    from tests.fakes.openstack_network import add_network
    from tests.fakes.openstack_storage import add_volume

    add_network(cloud, "private", cidr="10.0.0.0/24")
    add_server(cloud, "web-1")
    add_volume(cloud, "data-1", 10)


def versions(cloud: FakeCloud, asked: Asked) -> Says | None:
    """The documents that say where which version is; None for any other request."""
    if asked.method != "GET" or asked.service not in VERSIONS:
        return None
    key, path, newest, oldest = VERSIONS[asked.service]
    document: Thing = {
        "id": key,
        "status": "stable" if asked.service == "identity" else "CURRENT",
        "updated": "2026-01-01T00:00:00Z",
        "links": [{"rel": "self", "href": f"{cloud.url}/{asked.service}/{path}/"}],
        "media-types": [{"base": "application/json", "type": "application/vnd.openstack.v1+json"}],
    }
    if newest:
        document |= {"version": newest, "min_version": oldest}
    if asked.parts == []:
        values = {"versions": {"values": [document]} if asked.service == "identity" else [document]}
        return Says(values, 300 if asked.service in ("identity", "volume", "image", "heat") else 200)
    if asked.parts == [path] and asked.service in ("identity", "compute"):
        return Says({"version": document})
    if asked.parts == [path] and asked.service == "volume":
        return Says({"versions": [document]})
    return None


def answer(cloud: FakeCloud, asked: Asked) -> Says:
    match asked.method, asked.parts[1:]:
        case "POST", ["auth", "tokens"]:
            return _token(cloud, asked)
        case "GET", ["auth", "tokens"]:
            return Says({"token": cloud.tokens[asked.headers["x-subject-token"]]["body"]})
        case "GET", ["auth", "projects"]:
            return Says({"projects": _mine(cloud, cloud.tokens[asked.headers["x-auth-token"]]["user"])})
        case "GET", ["users", user, "projects"]:
            return Says({"projects": _mine(cloud, user)})
    if asked.role != "admin":
        return Says({"error": {"code": 403, "message": "You are not authorized to perform the requested action."}}, 403)
    match asked.method, asked.parts[1:]:
        case "PUT", ["projects", project, "users", user, "roles", role]:
            cloud.grants.add((project, user, role))
            return Says(status=204)
        case "DELETE", ["projects", project, "users", user, "roles", role]:
            cloud.grants.discard((project, user, role))
            return Says(status=204)
        case method, [("projects" | "users" | "roles" | "domains") as what, *rest]:
            return _kept(cloud, asked, method, what, rest)
    return _missing()


def _kept(cloud: FakeCloud, asked: Asked, method: str, what: str, rest: list[str]) -> Says:
    things = {
        "projects": cloud.projects,
        "users": cloud.users,
        "roles": cloud.roles,
        "domains": {"default": {**DOMAIN, "enabled": True}},
    }[what]
    one = what[:-1]
    match method, rest:
        case "GET", []:
            name = asked.query.get("name")
            return Says({what: [thing for thing in things.values() if name in (None, thing["name"])], "links": {}})
        case "POST", []:
            wanted = asked.body[one]
            if any(thing["name"] == wanted["name"] for thing in things.values()):
                message = f"Conflict occurred attempting to store {one} - Duplicate entry found."
                return Says({"error": {"code": 409, "message": message}}, 409)
            made = {"id": uuid.uuid4().hex, "enabled": True, "domain_id": "default", **wanted}
            things[made["id"]] = made
            return Says({one: made}, 201)
        case "GET", [key] if key in things:
            return Says({one: things[key]})
        case "PATCH", [key] if key in things:
            things[key].update(asked.body[one])
            return Says({one: things[key]})
        case "DELETE", [key] if key in things:
            del things[key]
            return Says(status=204)
    return _missing()


def _token(cloud: FakeCloud, asked: Asked) -> Says:
    auth = asked.body["auth"]
    user = _who(cloud, auth["identity"])
    message = "The request you have made requires authentication."
    refused = Says({"error": {"code": 401, "title": "Unauthorized", "message": message}}, 401)
    if user is None or not user["enabled"]:
        return refused
    wanted = auth.get("scope", {}).get("project")
    project = cloud.project
    if wanted is not None:
        fits = [
            one for one in cloud.projects.values() if one["id"] == wanted.get("id") or one["name"] == wanted.get("name")
        ]
        if not fits:
            return refused
        project = fits[0]["id"]
    names = [
        found(cloud.roles, role, "role")["name"] for of, who, role in cloud.grants if (of, who) == (project, user["id"])
    ]
    if not names:
        return refused
    key = f"gAAAAAB-{uuid.uuid4().hex}{uuid.uuid4().hex}"
    now = datetime.now(UTC)
    body = {
        "methods": auth["identity"]["methods"],
        "user": {"id": user["id"], "name": user["name"], "domain": DOMAIN},
        "project": {"id": project, "name": cloud.projects[project]["name"], "domain": DOMAIN},
        "roles": [{"id": f"role-{name}", "name": name} for name in names],
        "catalog": _catalogue(cloud, project),
        "issued_at": _time(now),
        "expires_at": _time(now + timedelta(hours=1)),
        "audit_ids": [new_id()[:8]],
    }
    cloud.tokens[key] = {"body": body, "project": project, "role": names[0], "user": user["id"]}
    cloud.tokens_seen.append(key)
    return Says({"token": body}, 201, {"X-Subject-Token": key})


def _who(cloud: FakeCloud, identity: Thing) -> Thing | None:
    if identity["methods"] == ["application_credential"]:
        given = identity["application_credential"]
        fits = given.get("id") == APPLICATION and given["secret"] == cloud.application_secret
        return cloud.users["user-demo"] if fits else None
    given = identity.get("password", {}).get("user", {})
    if given.get("password") != cloud.password:
        return None
    domain = given.get("domain", DOMAIN)
    fits = [
        one
        for one in cloud.users.values()
        if one["id"] == given.get("id")
        or (one["name"] == given.get("name") and "default" in (domain.get("id"), domain.get("name", "").lower()))
    ]
    return fits[0] if fits else None


def _catalogue(cloud: FakeCloud, project: str) -> list[Thing]:
    def endpoint(service: str, path: str, interface: str) -> Thing:
        url = f"{cloud.moved.get(service, cloud.url)}{path.format(project=project)}"
        return {"id": new_id(), "interface": interface, "region": REGION, "region_id": REGION, "url": url}

    return [
        {
            "id": new_id(),
            "type": type_,
            "name": name,
            "endpoints": [endpoint(service, path, interface) for interface in ("public", "internal", "admin")],
        }
        for service, (type_, name, path) in ENDPOINTS.items()
        if service not in cloud.absent
    ]


def _mine(cloud: FakeCloud, user: str) -> list[Thing]:
    return [one for key, one in cloud.projects.items() if any((of, who) == (key, user) for of, who, _ in cloud.grants)]


def _time(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _missing() -> Says:
    body: Any = {"error": {"code": 404, "title": "Not Found", "message": "Could not find what was asked for."}}
    return Says(body, 404)
