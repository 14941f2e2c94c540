"""Syncs of a source that lists what changed: rights, failures, removals and returns that it names only once."""

from collections.abc import Sequence

import psycopg
import pytest

from cluster.basics.scope import Scope
from pipelines.documents.sources.source_port import ItemRights
from tests.fakes.ledger import Bench
from tests.fakes.shelves import Shelf, SyncBench, shelf_kind, sync_bench


@pytest.fixture
def shelf() -> Shelf:
    return Shelf(changes=[])


@pytest.fixture
def sources(ledger: Bench, scope: Scope, shelf: Shelf) -> SyncBench:
    return sync_bench(ledger, scope, None, shelf_kind(shelf))


@pytest.fixture
def guarded(ledger: Bench, scope: Scope, shelf: Shelf) -> SyncBench:
    """The shelf says who may see what."""
    return sync_bench(ledger, scope, None, shelf_kind(shelf, has_rights=True))


@pytest.fixture
def ann(scope: Scope) -> str:
    return f"ann@{scope.workspace}.example"


@pytest.fixture
def eve(scope: Scope) -> str:
    return f"eve@{scope.workspace}.example"


def sign_up(admin_dsn: str, scope: Scope, emails: Sequence[str]) -> None:
    with psycopg.connect(admin_dsn) as owner:
        for email in emails:
            owner.execute(
                "insert into users (tenant_id, email, password_hash, role) values (%s, %s, 'x', 'viewer')",
                (scope.tenant, email),
            )


async def test_who_gets_an_account_later_is_let_in_by_the_rights_of_now(
    guarded: SyncBench, scope: Scope, shelf: Shelf, admin_dsn: str, ann: str, eve: str
) -> None:
    source = await guarded.add()
    shelf.put("a", "For Ann.", rights=ItemRights(("other@x.example",)))
    shelf.put("b", "For Eve.", rights=ItemRights((eve,)))
    await guarded.sync(source)
    shelf.change("a", rights=ItemRights((ann,)))
    shelf.change("b", rights=ItemRights())
    assert await guarded.sync(source) == {"listed": 2, "unchanged": 2}
    sign_up(admin_dsn, scope, [ann, eve])
    assert await guarded.sync(source) == {"rights": 1, "unchanged": 1}
    assert list(await guarded.documents(f"user:{ann}")) == ["a.txt"]
    assert not await guarded.documents(f"user:{eve}"), "what was withdrawn before she came does not come back"
