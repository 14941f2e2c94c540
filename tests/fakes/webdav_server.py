"""A WebDAV server of a test's own: wsgidav on cheroot, a process over a folder that answers on loopback."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 60.0
USER, PASSWORD = "aos", "secret of nobody"


@dataclass
class WebDavServer:
    """`files` is what it serves at `url`; `log` has a line for each request."""

    folder: Path
    port: int
    certificate: tuple[Path, Path] | None = None
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def files(self) -> Path:
        return self.folder / "files"

    @property
    def log(self) -> Path:
        return self.folder / "requests.log"

    @property
    def url(self) -> str:
        scheme, host = ("https", "localhost") if self.certificate else ("http", "127.0.0.1")
        return f"{scheme}://{host}:{self.port}/dav"

    def requests(self, method: str) -> int:
        """How many there were so far."""
        return self.log.read_text(errors="replace").count(f'"{method} ')

    def start(self) -> None:
        """It answers."""
        config = {
            "host": "127.0.0.1",
            "port": self.port,
            "server": "cheroot",
            "provider_mapping": {"/dav": str(self.files)},
            "simple_dc": {"user_mapping": {"*": {USER: {"password": PASSWORD}}}},
            "http_authenticator": {"accept_basic": True, "accept_digest": False, "default_to_digest": False},
            "property_manager": None,
            "lock_storage": None,
            "verbose": 3,
            "logging": {"enable": True},
        }
        if self.certificate is not None:
            chain, key = map(str, self.certificate)
            config |= {"ssl_certificate": chain, "ssl_private_key": key, "ssl_adapter": "builtin"}
        place = self.folder / "wsgidav.json"
        place.write_text(json.dumps(config))
        command = [sys.executable, "-m", "wsgidav.server.server_cli", "--config", str(place)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                ended = self.process.poll() is not None
                assert not ended and time.monotonic() < deadline, self.log.read_text(errors="replace")[-2000:]
                time.sleep(0.05)

    def stop(self) -> None:
        """Ended at once, whatever it is doing."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


@contextmanager
def run_webdav(folder: Path, certificate: tuple[Path, Path] | None = None) -> Iterator[WebDavServer]:
    """It runs for as long as the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = WebDavServer(folder, port, certificate)
    server.files.mkdir(parents=True, exist_ok=True)
    server.start()
    try:
        yield server
    finally:
        server.stop()
