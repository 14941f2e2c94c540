"""A whole AOS of its own: embedded servers, Ray and Serve on free loopback ports in a temporary folder."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg

from cluster import connect
from cluster.free_ports import free_ports
from cluster.state.db import embedded
from configs.sections import Settings
from configs.settings import load_settings

AOS = str(Path(sys.executable).with_name("aos"))
ADMIN = "admin@orchestrator.local"
ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Instance:
    """A running product: its settings, its API with an administrator's token, its database as the owner."""

    settings: Settings
    env: Mapping[str, str]
    http: httpx.Client
    up_seconds: float

    def ingest(self, folder: Path, *, wait: float | None = 1800) -> dict[str, Any]:
        """Submit a folder; with `wait`, return the job as it ended."""
        reply = self.http.post("/api/documents/batch-scan", json={"path": str(folder)})
        reply.raise_for_status()
        job: dict[str, Any] = reply.json()
        return self.wait(job["job_id"], wait) if wait else job

    def job(self, job_id: str) -> dict[str, Any]:
        """The job as the API shows it."""
        reply = self.http.get(f"/api/jobs/{job_id}")
        reply.raise_for_status()
        shown: dict[str, Any] = reply.json()
        return shown

    def wait(self, job_id: str, seconds: float = 1800, every: float = 0.2) -> dict[str, Any]:
        """Follow a job to its end; the API may be away for a while.

        Who measures what else the product does looks seldom: each look takes it a while, too.
        """
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                shown = self.job(job_id)
            except httpx.HTTPError:
                time.sleep(1)
                continue
            if shown["state"] not in ("queued", "running"):
                return shown
            time.sleep(every)
        raise TimeoutError(f"job {job_id} did not end in {seconds} s")

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Ask the database as its owner, who sees every tenant."""
        found = embedded.resolve_endpoints(self.settings)
        with psycopg.connect(found.postgres_admin or "") as connection:
            return connection.execute(query, values).fetchall()  # type: ignore[arg-type]

    def execute(self, statement: str, *values: Any) -> None:
        """Change something as the owner."""
        found = embedded.resolve_endpoints(self.settings)
        with psycopg.connect(found.postgres_admin or "") as connection:
            connection.execute(statement, values)  # type: ignore[arg-type]


def sign_in(url: str, password: str, email: str = ADMIN) -> str:
    """Log in with a first password, change it as is demanded, and return an access token."""
    with httpx.Client(base_url=url, timeout=60) as http:
        login = http.post("/api/auth/login", json={"email": email, "password": password})
        login.raise_for_status()
        fresh = secrets.token_urlsafe(16)
        headers = {"Authorization": f"Bearer {login.json()['access_token']}"}
        body = {"current_password": password, "new_password": fresh}
        http.post("/api/auth/password", json=body, headers=headers).raise_for_status()
        again = http.post("/api/auth/login", json={"email": email, "password": fresh})
        again.raise_for_status()
        return str(again.json()["access_token"])


@contextmanager
def instance(**more: str) -> Iterator[Instance]:
    """Start with `aos up`, stop with `aos down`, leave nothing; `more` are settings by their environment names."""
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    password = secrets.token_urlsafe(16)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "AOS_STATE_DIR": str(folder / "s"),
        "AOS_ADMIN_PASSWORD": password,
        **dict(zip(("API_PORT", "AOS_RAY_GCS_PORT", "AOS_RAY_DASHBOARD_PORT"), map(str, free_ports(3)), strict=True)),
        "NFS_BASE_PATH": "/",
        "AOS_AUTH_ACCESS_MINUTES": "600",
        "AOS_LIMITS_ENABLED": "false",  # tests ask more often than people do
        "AOS_EMBEDDING_DETECT": "false",  # whatever listens on this machine
        **more,
        "PYTHONPATH": os.pathsep.join(filter(None, (more.get("PYTHONPATH"), str(ROOT)))),  # the tree of the tests
    }
    settings = load_settings(env)
    try:
        began = time.monotonic()
        call = partial(subprocess.run, env=env, cwd=folder, capture_output=True, text=True, check=False)
        started = call([AOS, "up"], timeout=900)
        if started.returncode != 0:
            raise RuntimeError(f"aos up failed:\n{started.stdout[-2000:]}\n{started.stderr[-9000:]}")
        up_seconds = time.monotonic() - began
        url = f"http://127.0.0.1:{settings.http.port}"
        token = sign_in(url, password)
        with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=120) as http:
            yield Instance(settings, env, http, up_seconds)
    finally:
        subprocess.run([AOS, "down"], env=env, cwd=folder, capture_output=True, timeout=180, check=False)
        shutil.rmtree(
            connect.ray_folder(settings.state_dir).parent, ignore_errors=True
        )  # under /tmp where paths are long
        shutil.rmtree(folder, ignore_errors=True)
