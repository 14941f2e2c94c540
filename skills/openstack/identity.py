"""Keystone: whether a credential lets in and what it may do, projects, users, and who has which role."""

from collections.abc import Callable, Mapping
from typing import Any

from skills.openstack.cloud import CloudCall, pick_fields


def keystone_auth(cloud: CloudCall) -> dict[str, Any]:
    """Sign in, and manage users, projects and roles. No token is ever given: it would be a key for whoever reads it.

    Raises Invalid: an argument that the action needs is missing; it is named.
    """
    return _ACTIONS[cloud.arguments["action"]](cloud)


def list_projects(cloud: CloudCall) -> dict[str, Any]:
    """Projects that this user has a role in, or with `all` those of the whole cloud."""
    identity = cloud.connection.identity
    if cloud.arguments.get("all"):
        return cloud.listed("projects", identity.projects(**cloud.given("name")), _project_row)
    mine = identity.user_projects(_keystone_access(cloud).user_id, **cloud.given("name"))
    return cloud.listed("projects", mine, _project_row)


def _check_login(cloud: CloudCall) -> dict[str, Any]:
    access = _keystone_access(cloud)
    services = []
    for one in access.service_catalog.catalog:
        points = [{key: at.get(key) for key in ("interface", "region", "url")} for at in one.get("endpoints", ())]
        services.append({"type": one.get("type"), "name": one.get("name"), "endpoints": points})
    who = pick_fields(access, "user_id", "username", "user_domain_name", "project_id", "project_name", "role_names")
    return {"authenticated": True, **who, "expires": access.expires.isoformat(), "services": services}


def _list_users(cloud: CloudCall) -> dict[str, Any]:
    return cloud.listed("users", cloud.connection.identity.users(**cloud.given("name")), _user_row)


def _create_user(cloud: CloudCall) -> dict[str, Any]:
    # Without a password: one in an argument would stand in every record of this call.
    made = cloud.connection.identity.create_user(name=cloud.needed("name"), **cloud.given("description", "email"))
    return {"created": "user", **_user_row(made), "note": "it has no password yet; an administrator sets one"}


def _switch_user(on: bool) -> Callable[[CloudCall], dict[str, Any]]:
    def switch(cloud: CloudCall) -> dict[str, Any]:
        identity = cloud.connection.identity
        user = cloud.find(identity, "user")
        return {"changed": "user", **_user_row(identity.update_user(user.id, is_enabled=on))}

    return switch


def _create_project(cloud: CloudCall) -> dict[str, Any]:
    made = cloud.connection.identity.create_project(name=cloud.needed("name"), **cloud.given("description"))
    return {"created": "project", **_project_row(made)}


def _change_role(grant: bool) -> Callable[[CloudCall], dict[str, Any]]:
    def change(cloud: CloudCall) -> dict[str, Any]:
        identity = cloud.connection.identity
        project = cloud.find(identity, "project")
        user = cloud.find(identity, "user")
        role = cloud.find(identity, "role")
        act = identity.assign_project_role_to_user if grant else identity.unassign_project_role_from_user
        act(project.id, user.id, role.id)
        return {"granted" if grant else "revoked": role.name, "user": user.name, "project": project.name}

    return change


_ACTIONS: Mapping[str, Callable[[CloudCall], dict[str, Any]]] = {
    "authenticate": _check_login,
    "list_users": _list_users,
    "create_user": _create_user,
    "delete_user": lambda cloud: cloud.delete(cloud.connection.identity, "user"),
    "enable_user": _switch_user(True),
    "disable_user": _switch_user(False),
    "create_project": _create_project,
    "delete_project": lambda cloud: cloud.delete(cloud.connection.identity, "project"),
    "grant_role": _change_role(True),
    "revoke_role": _change_role(False),
}


def _keystone_access(cloud: CloudCall) -> Any:
    session = cloud.connection.session
    return session.auth.get_access(session)


def _user_row(user: Any) -> dict[str, Any]:
    return pick_fields(user, "id", "name", "is_enabled", "domain_id", "email", "description")


def _project_row(project: Any) -> dict[str, Any]:
    return pick_fields(project, "id", "name", "is_enabled", "domain_id", "description")
