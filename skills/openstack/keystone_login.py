"""From a credential to a connection with a cloud: nothing of this machine's own OpenStack set-up is read."""

import atexit
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import requests
from keystoneauth1.identity import v3
from keystoneauth1.session import Session
from openstack.config import cloud_region
from openstack.connection import Connection

from skills.framework.credentials import BadCredential
from skills.openstack.api_client import GuardedAdapter

_DOMAIN = "Default"
_FIELDS = (
    "An api_key credential for OpenStack has auth_url, project_name, username and password, or auth_url,"
    " application_credential_id and application_credential_secret."
)


@contextmanager
def open_connection(values: Mapping[str, str], wire: GuardedAdapter) -> Iterator[Connection]:
    """A connection, closed at the end; Keystone is asked when the first service is.

    `values`: fields of an api_key credential: auth_url, and either username (or user_id), password (or key) and
    project_name (or project_id), or application_credential_id and application_credential_secret; also
    user_domain_name, project_domain_name, region_name, interface, ca_cert.

    Raises BadCredential: a field is missing; it is named.
    """
    with requests.Session() as carrier:
        carrier.trust_env = False  # no proxy, netrc or bundle of this machine
        for scheme in ("http://", "https://"):
            carrier.mount(scheme, wire)
        session = Session(auth=_auth_plugin(values), session=carrier, user_agent="aos")
        where: Any = {"region_name": values.get("region_name"), "interface": values.get("interface", "public")}
        connection = Connection(config=cloud_region.from_session(session, name="cloud", app_name="aos", **where))
        try:
            yield connection
        finally:
            connection.close()
            # Both would keep the password for as long as this process lives: a connection registers itself with
            # atexit, and the SDK caches names of requests by proxies, which have the session.
            atexit.unregister(connection.close)
            session.auth = None


def _auth_plugin(values: Mapping[str, str]) -> v3.Password | v3.ApplicationCredential:
    url = _needed_field(values, "auth_url").rstrip("/")
    url = url if url.endswith("/v3") else f"{url}/v3"
    domain = values.get("user_domain_name", _DOMAIN)
    if "application_credential_secret" in values:
        by_id = values.get("application_credential_id")
        return v3.ApplicationCredential(
            url,
            values["application_credential_secret"],
            application_credential_id=by_id,
            application_credential_name=None if by_id else _needed_field(values, "application_credential_name"),
            username=None if by_id else _needed_field(values, "username"),
            user_domain_name=None if by_id else domain,
        )
    by_id, project = values.get("user_id"), values.get("project_id")
    return v3.Password(
        url,
        _needed_field(values, "password", "key"),
        user_id=by_id,
        username=None if by_id else _needed_field(values, "username"),
        user_domain_name=None if by_id else domain,
        project_id=project,
        project_name=None if project else _needed_field(values, "project_name"),
        project_domain_name=None if project else values.get("project_domain_name", _DOMAIN),
    )


def _needed_field(values: Mapping[str, str], *names: str) -> str:
    for name in names:
        if values.get(name):
            return values[name]
    raise BadCredential(f"the credential has no {names[0]}", fix=_FIELDS)
