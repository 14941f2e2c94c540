"""Login to a database: on a public address or a named one, with what the credential says alone."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from cluster.basics.addresses import Resolve
from cluster.basics.errors import Invalid
from skills.http_client.guard import AddressNotAllowed, RequestTarget, check_addresses, parse_target
from skills.sql.database_errors import DatabaseUnknown, FileNotAllowed

_SQLITE = "sqlite:///"
_NOTHING = f"{os.devnull}/none"  # a path at which nothing can be

# What a DSN may say. Files are of this machine, and so are services, tickets and whatever else libpq finds by itself.
_SAYS = frozenset({
    "host", "port", "dbname", "user", "password", "sslmode", "sslnegotiation", "ssl_min_protocol_version",
    "ssl_max_protocol_version", "channel_binding", "require_auth", "target_session_attrs", "options",
    "application_name", "fallback_application_name", "client_encoding", "connect_timeout", "keepalives",
    "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class DatabaseReach:
    """Allow-list of databases: hosts, name resolution, folders."""

    hosts: Sequence[str]  # `host:port` opens a private address, as in `skills.http_client.guard`
    find: Resolve  # names of hosts to addresses
    folders: Sequence[Path] = ()  # those whose files of SQLite may be opened


async def checked_dsn(dsn: str, seconds: float, reach: DatabaseReach) -> str:
    """The address as libpq is given it: with an address that was checked, and every other way in closed.

    Raises:
        DatabaseUnknown: it cannot be read, or says what it may not.
        AddressNotAllowed: its host is private and not named.
        Unavailable: its host cannot be resolved.
    """
    try:
        words: dict[str, Any] = conninfo_to_dict(dsn)
    except psycopg.Error:
        raise DatabaseUnknown("dsn cannot be read") from None
    if refused := sorted(words.keys() - _SAYS):
        raise DatabaseUnknown(f"dsn says {refused[0]}, which is not taken", fix="Leave it out.")
    aim = _parse_target(str(words.get("host") or ""), str(words.get("port") or "5432"), reach.hosts)
    address = check_addresses(await reach.find(aim.host, aim.port), aim)
    fixed: dict[str, Any] = {
        "host": aim.host,
        "hostaddr": address,
        "port": aim.port,
        "passfile": _NOTHING,
        "sslcert": _NOTHING,
        "sslkey": _NOTHING,
        "gssencmode": "disable",
        "client_encoding": "utf8",
        "sslrootcert": "system" if words.get("sslmode") == "verify-full" else _NOTHING,
        "connect_timeout": max(2, round(seconds)),
    }
    said: dict[str, Any] = {**_pinned_defaults(), "application_name": "aos", **words, **fixed}
    return make_conninfo(**said)


def file_of(dsn: str, folders: Sequence[Path]) -> Path:
    """The file of an address such as sqlite:////folder/file, all links followed.

    Raises DatabaseUnknown: it is none, or not absolute; FileNotAllowed: it is in none of the folders.
    """
    path = Path(unquote(dsn.removeprefix(_SQLITE)))
    if not dsn.startswith(_SQLITE) or not path.is_absolute() or "\0" in str(path):
        raise DatabaseUnknown("dsn is no absolute path of a file")
    try:
        found, roots = path.resolve(), [folder.resolve() for folder in folders]
    except (OSError, RuntimeError):  # links in a circle
        raise FileNotAllowed("the file's path leads nowhere") from None
    if ".." in path.parts or not any(found.is_relative_to(root) for root in roots):
        raise FileNotAllowed("the file is in none of the folders that the settings name")
    return found


def _parse_target(host: str, port: str, hosts: Sequence[str]) -> RequestTarget:
    if not host or any(one in host for one in "/@,?#[]") or not re.fullmatch("[0-9]{1,5}", port):
        raise DatabaseUnknown("dsn names no host and port, or a socket, or several", fix="Name one host.")
    try:
        aim = parse_target(f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/", hosts)
    except AddressNotAllowed:  # which is for requests: a database may be anywhere that is public
        return RequestTarget("postgresql", host.rstrip(".").lower(), int(port), "", named=False)
    except Invalid:
        raise DatabaseUnknown("dsn names no host") from None
    return aim


@cache
def _pinned_defaults() -> Mapping[str, str]:
    """Defaults of libpq without its environment; an empty text is not looked up there."""
    pinned: dict[str, str] = {}
    for option in pq.Conninfo.get_defaults():
        name = option.keyword.decode()
        if option.envvar and name not in ("service", "servicefile"):
            pinned[name] = (option.compiled or b"").decode()
    for name in ("min_protocol_version", "max_protocol_version", "sslcertmode", "gsslib"):
        pinned.pop(name, None)  # where an empty text is an error
    return pinned
