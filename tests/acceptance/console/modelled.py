"""A scripted model that agents ask, and the gauge that it wants to read; both gone afterwards, whatever failed."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from tests.acceptance.conftest import Product
from tests.acceptance.conversation import gauge
from tests.acceptance.test_conversation import dutiful, scripted


@contextmanager
def modelled(http: httpx.Client, product: Product) -> Iterator[str]:
    """Gives the gauge's host and port."""
    (host,) = product.settings.agents.http_allow
    try:
        with scripted(http, dutiful), gauge(int(host.rpartition(":")[2])):
            yield host
    finally:
        # A connection that stayed would answer in the place of the documents for every test after this one.
        for one in http.get("/api/llm-connections").json()["items"]:
            if one["name"] == "scripted":
                http.delete(f"/api/llm-connections/{one['id']}").raise_for_status()
