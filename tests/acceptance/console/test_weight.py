"""What the console weighs: memory after many sessions, and a long list beside a short one."""

import hashlib
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from playwright.sync_api import Page, expect

from cluster import connect
from cluster.state.db.embedded import resolve_endpoints
from tests.acceptance.conftest import Product
from tests.acceptance.console.conftest import thoroughly
from tests.acceptance.console.fields import SLOW
from tests.acceptance.console.lines import Lines
from tests.acceptance.console.people import office, sign_in

WARM = 15
MEGABYTES = 100
LONG, SHORT = 10_000, 10
TURNS = 7
TWICE = 2.0
Open = Callable[[], Page]


def resident(product: Product) -> float:
    """Megabytes that the console's replica holds."""
    title = "ray::ServeReplica:console"
    (replica,) = [
        one
        for one in connect.ray_processes(product.settings.state_dir)
        if one.cmdline()[:1] and title in one.cmdline()[0]
    ]
    return float(psutil.Process(replica.pid).memory_info().rss) / 2**20


def session(window: Open, email: str) -> None:
    """Sign in, wait until the page is filled, and close the window without a word."""
    page = window()
    sign_in(page, email)
    expect(page.get_by_text("Jobs at work")).to_be_visible(timeout=SLOW)
    page.context.close()


def test_sessions_leave_nothing_behind(
    product: Product, signed_in: Any, window: Open, lines: Lines, pytestconfig: pytest.Config
) -> None:
    """All the 200 in `make test-console`; fewer beside every other test, which then say nothing of the promise."""
    sessions = int(pytestconfig.getoption("--sessions"))
    for _ in range(min(WARM, sessions)):
        session(window, product.settings.auth.admin_email)
    before = resident(product)
    for _ in range(sessions):
        session(window, product.settings.auth.admin_email)
    grown = resident(product) - before
    name, value = f"memory grown by {sessions} sessions", round(grown, 1)
    if thoroughly(pytestconfig):
        lines.tell(name, value, grown < MEGABYTES, "MB")
    else:
        lines.report.figure(name, value, unit="MB")
    assert grown < MEGABYTES


def stock(product: Product, email: str, count: int) -> None:
    """So many documents of one page in the workspace of that person, as reading them leaves them."""
    with psycopg.connect(resolve_endpoints(product.settings).postgres_admin or "") as connection:
        (home,) = connection.execute(
            "select m.tenant_id, m.workspace_id from memberships m join users u on u.id = m.user_id where u.email = %s",
            (email,),
        ).fetchall()
        keys = [(hashlib.md5(f"{email}{n}".encode()).hexdigest(), f"{n:05d} report.txt") for n in range(count)]
        with connection.cursor() as cursor:
            cursor.executemany(
                "insert into documents (id, tenant_id, workspace_id, origin, filename, file_type, source_type, status,"
                " current_version) values (%s, %s, %s, %s, %s, 'text', 'upload', 'completed', %s)",
                [(key, *home, f"upload:{key}", name, f"v{key[1:]}") for key, name in keys],
            )
            cursor.executemany(
                "insert into document_versions (id, document_id, tenant_id, workspace_id, file_hash, file_size, kind,"
                " location, page_count) values (%s, %s, %s, %s, %s, 10, 'text', %s, 1)",
                [(f"v{key[1:]}", key, *home, key, f"blobs/{key}") for key, _ in keys],
            )


def opened(page: Page) -> float:
    """Seconds until the list of documents shows its first row."""
    began = time.monotonic()
    page.goto("/console/documents")
    expect(page.locator("main table tbody tr, .gradio-container table tbody tr").first).to_be_visible(timeout=SLOW)
    return time.monotonic() - began


def test_a_long_list_opens_as_a_short_one_does(
    product: Product, http: httpx.Client, window: Open, lines: Lines
) -> None:
    """In turns, so that both meet the same load of the machine."""
    pages = {}
    for name, count in (("library", LONG), ("shelf", SHORT)):
        email = office(http, name)
        stock(product, email, count)
        pages[count] = window()
        sign_in(pages[count], email)
        expect(pages[count].get_by_text("Jobs at work")).to_be_visible(timeout=SLOW)
        opened(pages[count])
    taken: dict[int, list[float]] = {LONG: [], SHORT: []}
    for _ in range(TURNS):
        for count, page in pages.items():
            taken[count].append(opened(page))
    expect(pages[LONG].get_by_text(f"{LONG:,} in this workspace")).to_be_visible()
    ratio = median(taken[LONG]) / median(taken[SHORT])
    for count, seconds in taken.items():
        lines.report.figure(f"list of {count:,} documents, p50", round(median(seconds), 3), unit="s")
    lines.tell("list of 10,000 / list of 10", round(ratio, 2), ratio <= TWICE, "×")
    assert ratio <= TWICE
