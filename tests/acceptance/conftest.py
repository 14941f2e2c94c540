"""The one running product of the session: started once, signed in to once, taken down by the last test or here."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from cluster import doctor
from cluster.free_ports import free_ports
from configs.sections import Settings
from configs.settings import load_settings

ROOT = Path(__file__).resolve().parents[2]
PASSWORD = "a-much-better-phrase"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sessions", type=int, default=5, help="how many of the console are opened and closed; the promise is of 200"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("ends") is not None)


@dataclass(frozen=True, slots=True)
class Product:
    """A running product in a state directory and on ports of its own; `idle_bytes` is what it held right after up."""

    settings: Settings
    environment: dict[str, str]
    password: str
    idle_bytes: int

    def aos(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run one command of the command line."""
        return run_aos(self.environment, *words)


def run_aos(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cluster.cli", *words],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


@pytest.fixture(scope="session")
def product() -> Iterator[Product]:
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    http, gcs, dashboard, page = free_ports(4)
    own = {
        "AOS_STATE_DIR": str(folder),
        "AOS_LIMITS_ENABLED": "false",  # tests ask more often than people do
        "NFS_BASE_PATH": str(folder),
        "API_PORT": str(http),
        "AOS_RAY_GCS_PORT": str(gcs),
        "AOS_RAY_DASHBOARD_PORT": str(dashboard),
        "AOS_AGENTS_HTTP_ALLOW": f"127.0.0.1:{page}",  # tests serve what http_get may read there
    }
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "AOS_", "API_"))}
    environment = kept | own
    try:
        up = run_aos(environment, "up", "--json")
        assert up.returncode == 0, up.stderr + _log(folder)
        settings = load_settings(environment)
        idle = doctor.memory_bytes(settings)
        yield Product(settings, environment, json.loads(up.stdout)["admin_password"], idle)
    finally:
        run_aos(environment, "down")
        shutil.rmtree(folder, ignore_errors=True)


def _log(folder: Path) -> str:
    log = folder / "logs" / "supervisor.log"
    return log.read_text(encoding="utf-8") if log.exists() else ""


@pytest.fixture(scope="session")
def signed_in(product: Product) -> subprocess.CompletedProcess[str]:
    """The command line has signed in with the first password and replaced it by `PASSWORD`."""
    return product.aos("login", "--password", product.password, "--new-password", PASSWORD)


@contextmanager
def administrator(product: Product) -> Iterator[httpx.Client]:
    """The API through Serve's proxy, as the administrator whose first password was changed."""
    with httpx.Client(base_url=f"http://127.0.0.1:{product.settings.http.port}", timeout=120) as client:
        login = client.post("/api/auth/login", json={"email": product.settings.auth.admin_email, "password": PASSWORD})
        assert login.status_code == 200, login.text
        client.headers["Authorization"] = f"Bearer {login.json()['access_token']}"
        yield client


@pytest.fixture
def http(product: Product, signed_in: subprocess.CompletedProcess[str]) -> Iterator[httpx.Client]:
    """As `administrator`."""
    assert signed_in.returncode == 0, signed_in.stderr
    with administrator(product) as client:
        yield client
