"""The first start looks for a server that embeds; later ones take what it found, whoever listens by then."""

from pathlib import Path

import psycopg
import pytest

from cluster import supervisor
from cluster.models.embedding.provider_chain import OLLAMA_MODEL
from cluster.state.settings.settings_rows import load_with_rows
from configs.settings import load_settings
from tests.fakes import corpus
from tests.fakes.model_server import serve_model


@pytest.fixture
def environment(admin_dsn: str, app_dsn: str, redis_url: str, tmp_path: Path) -> dict[str, str]:
    servers = {"DATABASE_URL": app_dsn, "DATABASE_ADMIN_URL": admin_dsn, "REDIS_URL": redis_url}
    return {"AOS_STATE_DIR": str(tmp_path), **servers}


async def test_em_02_what_the_first_start_found_is_kept(environment: dict[str, str], admin_dsn: str) -> None:
    told: list[str] = []
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        url = model.url.removesuffix("/v1")
        await supervisor.detect_embedder(load_settings(environment), admin_dsn, told.append, ollama=url)
    found = load_with_rows(environment).embedding
    assert (found.base_url, found.model, found.detected) == (url, OLLAMA_MODEL, "ollama")
    assert len(told) == 1 and url in told[0]
    # It is away by now, and another one is there.
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as other:
        again = other.url.removesuffix("/v1")
        await supervisor.detect_embedder(load_settings(environment), admin_dsn, told.append, ollama=again)
    assert load_with_rows(environment).embedding.base_url == url and len(told) == 1


async def test_em_01_an_index_that_is_there_is_not_given_another_embedder(
    environment: dict[str, str], admin_dsn: str
) -> None:
    with psycopg.connect(admin_dsn, autocommit=True) as connection:
        corpus.open_generation(connection, corpus.open_home(connection))
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        url = model.url.removesuffix("/v1")
        await supervisor.detect_embedder(load_settings(environment), admin_dsn, print, ollama=url)
    assert load_with_rows(environment).embedding.base_url is None


async def test_who_wants_no_detection_has_none(environment: dict[str, str], admin_dsn: str) -> None:
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        url, refused = model.url.removesuffix("/v1"), environment | {"AOS_EMBEDDING_DETECT": "false"}
        await supervisor.detect_embedder(load_settings(refused), admin_dsn, print, ollama=url)
    assert load_with_rows(environment).embedding.detected is None and not model.requests


async def test_em_01_a_cluster_of_several_machines_takes_no_loopback_server(
    environment: dict[str, str], admin_dsn: str
) -> None:
    """Each of its machines would ask itself."""
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        url, joined = model.url.removesuffix("/v1"), environment | {"RAY_ADDRESS": "10.0.0.7:6399"}
        await supervisor.detect_embedder(load_settings(joined), admin_dsn, print, ollama=url)
    assert load_with_rows(environment).embedding.detected is None and not model.requests


async def test_em_02_a_model_that_is_named_after_a_detection_is_not_asked_of_what_was_detected(
    environment: dict[str, str], admin_dsn: str
) -> None:
    with serve_model(ollama=True, models=[OLLAMA_MODEL], prefixes=("/v1",)) as model:
        url = model.url.removesuffix("/v1")
        await supervisor.detect_embedder(load_settings(environment), admin_dsn, print, ollama=url)
    named = load_with_rows(environment | {"EMBEDDING_MODEL": "text-embedding-9"}).embedding
    assert (named.base_url, named.model, named.detected) == (None, "text-embedding-9", None)
    assert load_with_rows(environment).embedding.base_url == url
