"""Everything in this folder needs Postgres; the databases come from tests/conftest.py."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from cluster.basics.scope import Role, Scope
from cluster.state.db import embedded
from tests.fakes.http import Api, Office, make_parts, open_office, serve
from tests.fakes.ledger import Bench, bench, new_workspace

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.postgres)


@pytest.fixture
def state() -> Iterator[Path]:
    """A folder for embedded servers of a test's own."""
    folder = Path(tempfile.mkdtemp(prefix="aos-"))
    yield folder
    embedded.stop_servers(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def ledger(app_dsn: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(app_dsn, tmp_path) as made:
        yield made


@pytest.fixture
async def scope(admin_dsn: str) -> Scope:
    return await new_workspace(admin_dsn)


@pytest.fixture
def worker(ledger: Bench) -> Bench:
    """What claims the jobs that the API wrote."""
    return ledger


@pytest.fixture
async def api(app_dsn: str, tmp_path: Path) -> AsyncIterator[Api]:
    (tmp_path / "scans").mkdir()
    async with serve(make_parts(app_dsn, tmp_path)) as made:
        yield made


@pytest.fixture
def office(admin_dsn: str) -> Office:
    return open_office(admin_dsn)


@pytest.fixture
async def operator(api: Api, office: Office) -> httpx.AsyncClient:
    return await api.sign_in(office.emails[Role.OPERATOR])
