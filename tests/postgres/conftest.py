"""Everything in this folder needs Postgres; the databases come from tests/conftest.py."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cluster.basics.scope import Scope
from tests.fakes.ledger import Bench, bench, new_workspace

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.postgres)


@pytest.fixture
async def ledger(app_dsn: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(app_dsn, tmp_path) as made:
        yield made


@pytest.fixture
async def scope(admin_dsn: str) -> Scope:
    return await new_workspace(admin_dsn)
