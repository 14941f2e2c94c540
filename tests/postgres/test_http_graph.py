"""The graph over HTTP: search, an entity with its pages, a part to be drawn; and who sees what."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from cluster.basics.scope import Role
from tests.fakes.http import Api, Office
from tests.fakes.ledger import Bench, worker_scope
from tests.postgres.test_graph import PUBLIC, SECRET, ingest, shut, stage


async def fill(worker: Bench, office: Office, tmp_path: Path) -> None:
    scope = worker_scope(office.scope.tenant, office.scope.workspace)
    worker.graph = stage(worker)
    await ingest(worker, scope, tmp_path / "in", public=PUBLIC, secret=SECRET)
    await shut(worker, scope, "secret", f"user:{office.emails[Role.DEVELOPER]}")


async def test_kg_06_the_graph_is_searched_shown_and_drawn(
    api: Api, operator: httpx.AsyncClient, office: Office, worker: Bench, tmp_path: Path
) -> None:
    """KG-06, KG-05: with document, page and quote; and nothing from a document that one may not read."""
    await fill(worker, office, tmp_path)
    found = (await operator.get("/api/graph")).json()
    assert {one["name"] for one in found["items"]} == {"Aventro Motors", "PostgreSQL", "Annie Rao", "Germany"}
    assert found["total"] == 4
    (one,) = (await operator.get("/api/graph", params={"search": "aventro", "type": "organization"})).json()["items"]
    page = (await operator.get(f"/api/graph/entities/{one['id']}")).json()
    (relation,) = page["relations"]
    assert (relation["type"], relation["target"]["name"]) == ("uses", "PostgreSQL")
    (said,) = relation["evidence"]
    read = (await operator.get(said["url"])).json()
    assert read["text"][said["start"] : said["end"]] == said["quote"] == "Aventro Motors uses PostgreSQL."
    view = (await operator.get("/api/graph/view")).json()
    ids = {node["id"] for node in view["nodes"]}
    assert len(ids) == 4 and [(edge["type"], {edge["source"], edge["target"]} <= ids) for edge in view["edges"]] == [
        ("uses", True)
    ]
    around = (await operator.get("/api/graph/view", params={"center": one["id"]})).json()
    assert {node["name"] for node in around["nodes"]} == {"Aventro Motors", "PostgreSQL"}
    developer = await api.sign_in(office.emails[Role.DEVELOPER])
    seen = (await developer.get("/api/graph", params={"search": "Velvera"})).json()["items"]
    assert [one["name"] for one in seen] == ["Velvera Inc"]
    assert (await operator.get("/api/graph", params={"search": "Velvera"})).json() == {"items": [], "total": 0}
    assert (await operator.get(f"/api/graph/entities/{seen[0]['id']}")).status_code == 404
    assert (await operator.get("/api/graph/view", params={"center": seen[0]["id"]})).status_code == 404


@pytest.mark.parametrize(
    ("path", "params", "status"),
    [
        ("/api/graph", {"type": "weapon"}, 422),
        ("/api/graph", {"limit": 0}, 422),
        ("/api/graph", {"limit": 201}, 422),
        ("/api/graph", {"search": ""}, 422),
        ("/api/graph", {"search": "\x00"}, 422),
        ("/api/graph", {"search": "   "}, 200),
        ("/api/graph", {"search": "x" * 401}, 422),
        ("/api/graph", {"skip": 10**9}, 200),
        ("/api/graph", {"agent_id": "nobody"}, 404),
        ("/api/graph/entities/xyz", {}, 422),
        ("/api/graph/entities/" + "0" * 32, {}, 404),
        ("/api/graph/view", {"center": "0" * 32}, 404),
        ("/api/graph/view", {"limit": 201}, 422),
    ],
)
async def test_odd_requests_are_answered_in_kind(
    operator: httpx.AsyncClient, path: str, params: dict[str, Any], status: int
) -> None:
    assert (await operator.get(path, params=params)).status_code == status
