"""Where models of stored connections may live: what is checked is what is connected to, whatever a name means later."""

import asyncio
from collections.abc import Sequence

import pytest

from cluster.basics.errors import Invalid, InvalidSettings, Unavailable
from cluster.models.chat.factory import open_model
from cluster.models.connections.egress import AddressRefused, EgressPolicy, ModelClients, egress_of, model_clients
from cluster.models.connections.endpoint_connection import ConnectionId, ModelConnection, Provider
from cluster.models.connections.probe import ProbeFailure, probe_connection
from cluster.models.messages import ChatRequest, ModelMessage, ModelReply
from tests.fakes.model_server import serve_model
from tests.fakes.model_wires import Say

PUBLIC = "93.184.215.14"


class Names:
    """A resolver whose answers change with each question; the last stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers, self.asked = list(answers), list[tuple[str, int]]()

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if not found:
            raise Unavailable(f"{host} cannot be resolved")
        return found


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "10.0.0.7",
        "172.16.3.4",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "168.63.129.16",
        "fe80::1",
        "fd00::1",
        "64:ff9b::a00:7",
        "2002:7f00:1::",
        "224.0.0.1",
    ],
)
async def test_what_is_not_public_is_refused_with_its_fix(address: str) -> None:
    egress = EgressPolicy(find=Names([PUBLIC, address]))
    with pytest.raises(AddressRefused) as refused:
        await egress.addresses("models.example", 443, first_tenant=True)
    assert "AOS_MODELS_ALLOW" in refused.value.hint and "LLM_BASE_URL" in refused.value.hint


@pytest.mark.parametrize("url", ["http://127.1/v1", "http://2130706433/v1", "http://0x7f.1/", "http://[::1]:8265/v1"])
async def test_an_address_in_disguise_is_the_address(url: str) -> None:
    """As the system itself reads it, which is what would be connected to."""
    with pytest.raises(AddressRefused):
        await EgressPolicy().check(url, first_tenant=True)


async def test_this_machine_is_open_to_the_first_tenant_while_only_it_reaches_the_gateway() -> None:
    """`aos connections add local http://127.0.0.1:8080/v1` on a laptop; nothing of that on a server, nor for others."""
    for listens, first, opens in (
        ("127.0.0.1", True, True),
        ("localhost", True, True),
        ("::1", True, True),
        ("127.0.0.1", False, False),
        ("0.0.0.0", True, False),
        ("10.1.0.2", True, False),
        ("aos.example", True, False),
    ):
        egress = egress_of((), listens)
        for url in ("http://127.0.0.1:8080/v1", "http://localhost:11434"):
            if opens:
                await egress.check(url, first_tenant=first)
            else:
                with pytest.raises(AddressRefused):
                    await egress.check(url, first_tenant=first)
        with pytest.raises(AddressRefused):
            await egress.check("http://10.0.0.7/v1", first_tenant=first)


@pytest.mark.parametrize(
    ("entry", "opens"),
    [
        ("models.lan", True),
        ("models.lan:8080", True),
        ("MODELS.LAN:8080", True),
        ("10.1.0.0/16", True),
        ("models.lan:8081", False),
        ("10.2.0.0/16", False),
        ("lan", False),
        ("10.1.0.7", True),
        ("10.1.0.8", False),
    ],
)
async def test_the_list_opens_a_host_a_port_of_it_or_a_network(entry: str, opens: bool) -> None:
    egress = EgressPolicy(egress_of((entry,), "0.0.0.0").allow, find=Names(["10.1.0.7"]))
    if opens:
        assert await egress.addresses("models.lan", 8080, first_tenant=False) == ["10.1.0.7"]
    else:
        with pytest.raises(AddressRefused):
            await egress.addresses("models.lan", 8080, first_tenant=False)


@pytest.mark.parametrize("entry", ["", "http://models.lan", "10.1.0.0/99", "models.lan/v1"])
def test_an_entry_that_names_nothing_is_refused_at_the_start(entry: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        egress_of((entry,), "127.0.0.1")
    assert "10.1.0.0/16" in refused.value.hint


async def test_a_name_that_nobody_knows_yet_may_be_stored_and_is_asked_again() -> None:
    egress = EgressPolicy(find=Names([], ["10.0.0.7"]))
    await egress.check("https://soon.example/v1", first_tenant=False)
    with pytest.raises(AddressRefused):
        await egress.check("https://soon.example/v1", first_tenant=False)
    with pytest.raises(Invalid):
        await egress.check("file:///etc/passwd", first_tenant=False)


def connection(url: str, **other: object) -> ModelConnection:
    return ModelConnection(ConnectionId("c"), "c", url, "scripted-1", Provider.CUSTOM, **other)  # type: ignore[arg-type]


async def answer(clients: ModelClients, one: ModelConnection) -> str:
    model = open_model(one, None, clients.of(one), asyncio.sleep, waits=())
    items = [item async for item in model.stream(ChatRequest((ModelMessage("user", "hi"),)))]
    assert isinstance(items[-1], ModelReply)
    return items[-1].content


async def test_a_name_that_changes_its_mind_leads_nowhere() -> None:
    """DNS rebinding: public when it is stored, this machine when it is called. The call is refused, not sent."""
    with serve_model(Say("a secret")) as server:
        port = server.url.rsplit(":", 1)[1].partition("/")[0]
        names = Names([PUBLIC], ["127.0.0.1"])
        clients = model_clients(EgressPolicy(find=names))
        url = f"http://rebinding.example:{port}/v1"
        await clients.egress.check(url, first_tenant=True)
        with pytest.raises(AddressRefused):
            await answer(clients, connection(url, first_tenant=True))
        found = await probe_connection(connection(url), None, clients.of(connection(url)), 5, lambda: 0.0)
        assert found.reason is ProbeFailure.NOT_ALLOWED and "AOS_MODELS_ALLOW" in found.detail
        assert server.chats == []
        await clients.aclose()


async def test_a_call_goes_to_the_address_that_was_checked_and_by_its_name() -> None:
    """One resolution a connection; the server hears the name, as certificates and virtual hosts need it."""
    with serve_model(Say("here")) as server:
        port = server.url.rsplit(":", 1)[1].partition("/")[0]
        names = Names(["127.0.0.1"])
        clients = model_clients(EgressPolicy((f"models.lan:{port}",), find=names))
        one = connection(f"http://models.lan:{port}/v1")
        assert await answer(clients, one) == "here" and await answer(clients, one) == "here"
        assert names.asked == [("models.lan", int(port))], "the connection is used again"
        await clients.aclose()


async def test_whose_a_connection_is_decides_what_it_reaches_and_what_is_configured_reaches_all() -> None:
    with serve_model(Say("here")) as server:
        clients = model_clients(EgressPolicy(loopback=True))
        url = f"{server.url}/v1" if not server.url.endswith("/v1") else server.url
        assert await answer(clients, connection(url, first_tenant=True)) == "here"
        assert await answer(clients, connection(url, origin="settings")) == "here"
        assert await answer(clients, connection(url, origin="file")) == "here"
        with pytest.raises(AddressRefused):
            await answer(clients, connection(url, first_tenant=False))
        await clients.aclose()


async def test_a_redirect_leads_nowhere() -> None:
    """Not to where the first address may lead, nor anywhere else."""
    with serve_model(everything=Say(status=307, headers={"Location": "http://169.254.169.254/v1"}, body={})) as server:
        clients = model_clients(EgressPolicy(loopback=True))
        one = connection(server.url, first_tenant=True)
        found = await probe_connection(one, None, clients.of(one), 5, lambda: 0.0)
        assert found.reason is ProbeFailure.REDIRECTED
        with pytest.raises(Invalid):
            await answer(clients, one)
        await clients.aclose()
