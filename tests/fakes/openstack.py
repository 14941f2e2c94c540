"""A cloud on loopback: Keystone, Nova, Neutron, Cinder, Glance, Heat and Swift in one process, with state."""

import json
import re
import ssl
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Thing = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request to one service; `parts` are the segments after the service's own."""

    method: str
    service: str
    path: str
    parts: list[str]
    query: dict[str, str]
    headers: dict[str, str]
    raw: bytes
    project: str = ""
    role: str = ""

    @property
    def body(self) -> Any:
        return json.loads(self.raw) if self.raw else {}


@dataclass(frozen=True)
class Says:
    """An answer; `value` is JSON, or bytes as they are."""

    value: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Fault:
    """What goes wrong where `what` matches `METHOD /path`, `times` times: `says` instead, silence, or a lost token."""

    what: str
    says: Says | None = None
    hangs: bool = False
    drips: bool = False
    expires: bool = False


def new_id() -> str:
    return str(uuid.uuid4())


def fault(status: int, name: str, message: str) -> Says:
    """As Nova, Cinder and Heat say it."""
    return Says({name: {"code": status, "message": message}}, status)


def found(things: dict[str, Thing], key: str, what: str) -> Thing:
    """The thing, or `Missing`."""
    if key not in things:
        raise Missing(f"{what} {key} could not be found.")
    return things[key]


class Missing(Exception):
    """404."""


@dataclass
class FakeCloud:
    """The state; tests change it directly. `asked` has every request as `METHOD /path`."""

    url: str = ""
    password: str = "canary-password-5d1e"
    application_secret: str = "canary-application-9c2f"
    project: str = field(default_factory=lambda: uuid.uuid4().hex)
    users: dict[str, Thing] = field(default_factory=dict)
    projects: dict[str, Thing] = field(default_factory=dict)
    roles: dict[str, Thing] = field(default_factory=dict)
    grants: set[tuple[str, str, str]] = field(default_factory=set)  # project, user, role
    tokens: dict[str, Thing] = field(default_factory=dict)
    servers: dict[str, Thing] = field(default_factory=dict)
    flavors: dict[str, Thing] = field(default_factory=dict)
    networks: dict[str, Thing] = field(default_factory=dict)
    subnets: dict[str, Thing] = field(default_factory=dict)
    routers: dict[str, Thing] = field(default_factory=dict)
    groups: dict[str, Thing] = field(default_factory=dict)
    rules: dict[str, Thing] = field(default_factory=dict)
    volumes: dict[str, Thing] = field(default_factory=dict)
    images: dict[str, Thing] = field(default_factory=dict)
    stacks: dict[str, Thing] = field(default_factory=dict)
    containers: dict[str, dict[str, tuple[bytes, str]]] = field(default_factory=dict)
    quota: dict[str, int] = field(
        default_factory=lambda: {
            "instances": 10,
            "cores": 20,
            "ram": 51_200,
            "volumes": 10,
            "gigabytes": 1_000,
            "networks": 10,
        }
    )
    absent: set[str] = field(default_factory=set)  # services that the catalogue has not
    moved: dict[str, str] = field(default_factory=dict)  # service: where the catalogue says that it is
    faults: list[Fault] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    tokens_seen: list[str] = field(default_factory=list)  # every token that was ever given
    released: threading.Event = field(default_factory=threading.Event)
    hanging: int = 0  # requests that are kept waiting now

    def hit(self, asked: Asked) -> Fault | None:
        """The first fault that this request meets; it is used up."""
        line = f"{asked.method} {asked.path}"
        for one in self.faults:
            if re.search(one.what, line):
                self.faults.remove(one)
                return one
        return None


def page(
    cloud: FakeCloud, asked: Asked, things: list[Thing], name: str, shape: Callable[[Thing], Thing] = dict
) -> Says:
    """A page by limit and marker, with a link to the next as the APIs give it."""
    begin = 0
    if marker := asked.query.get("marker"):
        begin = next((n for n, one in enumerate(things) if one["id"] == marker), len(things)) + 1
    size = min(int(asked.query.get("limit", 1_000)), 1_000)
    shown = things[begin : begin + size]
    answer: Thing = {name: [shape(one) for one in shown]}
    if begin + size < len(things) and shown:
        kept = "".join(f"&{key}={value}" for key, value in asked.query.items() if key not in ("marker", "limit"))
        href = f"{asked.path}?limit={size}&marker={shown[-1]['id']}{kept}"
        if name == "images":
            answer["next"] = href.removeprefix("/image")
        else:
            answer[f"{name}_links"] = [{"rel": "next", "href": f"{cloud.url}{href}"}]
    return Says(answer)


def _answer(cloud: FakeCloud, asked: Asked) -> Says:
    from dataclasses import replace

    from tests.fakes import openstack_compute, openstack_files, openstack_identity, openstack_network, openstack_storage

    services = {
        "identity": openstack_identity.answer,
        "compute": openstack_compute.answer,
        "network": openstack_network.answer,
        "volume": openstack_storage.volumes,
        "image": openstack_storage.images,
        "heat": openstack_files.stacks,
        "swift": openstack_files.objects,
    }
    if asked.service not in services:
        return Says({"error": {"code": 404, "message": "no such service"}}, 404)
    version = openstack_identity.versions(cloud, asked)
    if version is not None:
        return version
    if (asked.method, asked.parts) != ("POST", ["v3", "auth", "tokens"]):
        token = cloud.tokens.get(asked.headers.get("x-auth-token", ""))
        if token is None:
            return Says({"error": {"code": 401, "message": "The request you have made requires authentication."}}, 401)
        asked = replace(asked, project=token["project"], role=token["role"])
        if asked.role == "reader" and asked.method not in ("GET", "HEAD"):
            return fault(403, "forbidden", "Policy doesn't allow this to be performed.")
    try:
        return services[asked.service](cloud, asked)
    except Missing as error:
        return fault(404, "itemNotFound", str(error))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cloud: FakeCloud

    def _do(self) -> None:
        url = urlsplit(self.path)
        segments = [unquote(one) for one in url.path.split("/") if one]
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        asked = Asked(
            self.command,
            segments[0] if segments else "",
            url.path,
            segments[1:],
            {name: values[-1] for name, values in parse_qs(url.query, keep_blank_values=True).items()},
            {name.lower(): value for name, value in self.headers.items()},
            raw,
        )
        self.cloud.asked.append(f"{asked.method} {self.path}")
        trouble = self.cloud.hit(asked)
        if trouble is not None and (trouble.hangs or trouble.drips):
            return self._silent(trouble)
        if trouble is not None and trouble.expires:
            self.cloud.tokens.clear()
        says = trouble.says if trouble is not None and trouble.says is not None else _answer(self.cloud, asked)
        self._say(says)

    def _silent(self, trouble: Fault) -> None:
        self.cloud.hanging += 1
        try:
            if trouble.drips:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
            while not self.cloud.released.wait(0.1):
                if trouble.drips:
                    self.wfile.write(b" ")
                else:
                    self.connection.settimeout(0.01)
                    try:
                        if self.connection.recv(1) == b"":
                            break
                    except TimeoutError:
                        continue
        except OSError:
            pass
        finally:
            self.cloud.hanging -= 1
            self.close_connection = True

    def _say(self, says: Says) -> None:
        data = says.value if isinstance(says.value, bytes) else b""
        headers = {"x-openstack-request-id": f"req-{new_id()}", **says.headers}
        if says.value is not None and not isinstance(says.value, bytes):
            data = json.dumps(says.value).encode()
            headers.setdefault("Content-Type", "application/json")
        self.send_response(says.status)
        for name, value in headers.items():
            self.send_header(name, value)
        if says.status != 204:
            self.send_header("Content-Length", headers.get("Content-Length", str(len(data))))
        self.end_headers()
        if self.command != "HEAD" and says.status != 204:
            self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = _do

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are what some tests are about."""


@contextmanager
def fake_cloud(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[FakeCloud]:
    """A cloud that listens while the block runs and calls itself `host`; it begins with what `fill` gives it."""
    from tests.fakes.openstack_identity import fill

    cloud = FakeCloud()
    server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"cloud": cloud}))
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    cloud.url = f"{'https' if tls else 'http'}://{host}:{server.server_address[1]}"
    fill(cloud)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield cloud
    finally:
        cloud.released.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
