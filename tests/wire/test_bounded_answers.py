"""Sign-in providers, Ray, collectors and storage that pack gigabytes into an answer, or never end: told by name."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cluster.basics.bounded_answers import AnswerRefused, fetch_bounded
from cluster.basics.errors import Unavailable
from cluster.dashboard import RayDashboard
from cluster.doctor import run_probe
from cluster.state.audit_export.otlp_sink import OtlpCollector
from cluster.state.audit_export.sinks import CollectorAway
from cluster.state.objects.bucket import StorageUnavailable
from cluster.state.objects.multipart_uploads import MultipartUploads
from cluster.watch.asking import LivenessState, ask_http
from configs.audit_sinks import OtlpSink
from configs.sections_blobs import BlobSettings
from configs.settings import load_settings
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.oidc.provider_documents import DocumentUnreadable, fetch_document
from serve_apps.http.auth.sign_in_problems import ProviderUnavailable
from serve_apps.operations import _scrape_loads
from tests.fakes.flood_server import JSON, PACKINGS, Flood, bomb, endless, flooding, packed, text, trickle
from tests.unit.test_audit_events import TENANT, entries

SECRET = b"a-secret-of-the-body "
MOST_MEMORY = 128 << 20
FLOODS = pytest.mark.parametrize(
    "answer",
    [*map(bomb, PACKINGS), endless(SECRET * 1000), endless(SECRET * 1000, {**JSON, "Content-Length": str(1 << 40)})],
)


@pytest.fixture(autouse=True)
def memory() -> Iterator[None]:
    for packing in PACKINGS:
        packed(packing)
    tracemalloc.start(1)
    yield
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < MOST_MEMORY


def oidc(url: str) -> OidcProviderClient:
    ticks = iter(range(0, 100_000, 1000))
    provider = OidcProvider.model_validate(
        {"name": "p", "title": "P", "issuer": url, "client_id": "c", "client_secret": "s"}
    )
    return OidcProviderClient(provider, lambda: float(next(ticks)))


def discovery(url: str) -> str:
    return (
        f'{{"issuer": "{url}", "authorization_endpoint": "{url}/a", "token_endpoint": "{url}/token",'
        f' "jwks_uri": "{url}/keys", "userinfo_endpoint": "{url}/userinfo"}}'
    )


@FLOODS
async def test_a_provider_of_sign_in_is_unavailable(answer: Flood, caplog: pytest.LogCaptureFixture) -> None:
    """Its discovery document, its keys, its tokens, and what it says of somebody."""
    with flooding(answer) as server, pytest.raises(ProviderUnavailable):
        await oidc(server.url).metadata()
    answers: dict[str, Flood] = {"*": answer}
    with flooding(answers) as server:
        answers["/.well-known/openid-configuration"] = text(discovery(server.url))
        client = oidc(server.url)
        metadata = await client.metadata()
        with pytest.raises(ProviderUnavailable):
            await client.claims_of("code", "https://x/cb", "nonce", "v" * 50, 0.0)
        with pytest.raises(ProviderUnavailable):
            await client.logout_of("a.b.c", 0.0)
        with pytest.raises(ProviderUnavailable):
            await client._userinfo(metadata, {"access_token": "x"}, "ann")
    assert [path for path, _ in server.asked if path != "/.well-known/openid-configuration"] == [
        "/token",
        "/keys",
        "/userinfo",
    ]
    told = caplog.text
    assert "the provider" in told and SECRET.decode() not in told
    assert told.count("more than 1,048,576 bytes") + told.count("answers packed") == 4


async def test_a_document_that_trickles_is_unreadable() -> None:
    """A byte now and then is no silence; the whole has to come in time all the same."""
    with flooding(trickle(b" ", 0.05)) as server, pytest.raises(DocumentUnreadable, match="TimeoutError"):
        await fetch_document(server.url, {"timeout": 0.3})


@FLOODS
def test_rays_dashboard_and_agents_are_away(answer: Flood, tmp_path: Path) -> None:
    with flooding(answer) as server:
        ray = RayDashboard(server.url, {})
        for ask in (lambda: ray.get("/x", lambda body: body), lambda: ray.put("/x", {})):
            with pytest.raises(AnswerRefused, match=rf"Ray's dashboard at {server.url} answers") as caught:
                ask()
            assert SECRET.decode() not in str(caught.value)
        assert _scrape_loads([server.url.removeprefix("http://")]) == {}
        settings = load_settings({"AOS_STATE_DIR": str(tmp_path), "LLM_BASE_URL": server.url})
        (found,) = run_probe("llm", settings)
        assert found.detail.endswith("answers 200"), "its status is wanted, and its body left unread"
        port = int(server.url.rpartition(":")[2])
        assert ask_http("127.0.0.1", port, "/", 5).reply is LivenessState.ANSWERED


def test_an_answer_that_trickles_ends_in_time() -> None:
    with flooding(trickle(b" ", 0.05)) as server, pytest.raises(Unavailable, match=r"within 0\.3 s"):
        RayDashboard(server.url, {}).get("/x", lambda body: body, seconds=0.3)


@FLOODS
async def test_a_collector_is_away(answer: Flood) -> None:
    with flooding(answer) as server:
        sink = OtlpCollector(OtlpSink(name="o", kind="otlp", endpoint=f"{server.url}/v1/logs", seconds=20))
        with pytest.raises(CollectorAway, match=r"the collector at 127\.0\.0\.1 answers") as caught:
            await sink.send(TENANT, entries("agent.add"))
    assert SECRET.decode() not in str(caught.value)


@FLOODS
def test_a_storage_is_away(answer: Flood) -> None:
    keys = {"access_key": "a", "secret_key": "b"}
    with flooding(answer) as server, httpx.Client() as client:
        uploads = MultipartUploads(BlobSettings(url="s3://b", endpoint=server.url, **keys), client)
        with pytest.raises(StorageUnavailable, match="the storage answers") as caught:
            list(uploads.list())
    assert SECRET.decode() not in str(caught.value)


@pytest.mark.parametrize("word", ["identity", "none", "utf-8"])
def test_an_answer_is_as_long_as_it_may_be(word: str) -> None:
    """`none` tells proxies not to pack a stream, and is common; a charset is a mistake that nobody notices."""
    with flooding(text('{"a": 1}', {**JSON, "Content-Encoding": word}, 201)) as server:
        answer = fetch_bounded("PUT", server.url, "it", seconds=5, json={}, headers={"X-A": "b"})
    assert (answer.status_code, answer.json()) == (201, {"a": 1})
    assert (server.asked[0][1]["x-a"], server.asked[0][1]["accept-encoding"]) == ("b", "identity")
