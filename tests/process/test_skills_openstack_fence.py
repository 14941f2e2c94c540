"""The fence around OpenStack's skills: who is let in, where requests go, how failures are called, what is not said."""

import asyncio
import gc
import json
import logging
import ssl
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from keystoneauth1.identity import v3

from cluster.basics.errors import AosError
from skills.framework.contract import ToolInvocation
from skills.framework.redaction import guard_output
from skills.framework.skill_guard import SkillGuard
from tests.fakes.openstack import FakeCloud, Fault, Says, fake_cloud
from tests.fakes.openstack_caller import WHO, call, on, refused, skill
from tests.fakes.openstack_compute import add_server
from tests.fakes.openstack_identity import APPLICATION
from tests.fakes.openstack_network import add_network
from tests.fakes.openstack_storage import add_volume

_DAY = timedelta(days=1)


@pytest.fixture
def cloud() -> Iterator[FakeCloud]:
    with fake_cloud() as made:
        yield made


async def test_os_05_both_ways_to_sign_in(cloud: FakeCloud) -> None:
    """OS-05: by name and password with the usual domains, with `key` in the place of a password, by application."""
    bare, by_key = on(cloud, user_domain_name="", region_name=""), on(cloud, password="", key=cloud.password)
    by_application = on(
        cloud,
        username="",
        password="",
        project_name="",
        application_credential_id=APPLICATION,
        application_credential_secret=cloud.application_secret,
    )
    for one in (bare, by_key, by_application, on(cloud, auth_url=f"{cloud.url}/identity/v3/")):
        assert (await call(one, "keystone_auth"))["username"] == "demo"
    assert "no username" in (await refused(on(cloud, username=""), "list_servers")).detail
    assert (await refused(on(cloud, auth_url=""), "list_servers")).code == "bad_credential"


FAILURES = (
    ("openstack_login_refused", {"password": "wrong"}, "list_servers", {}),
    ("openstack_login_refused", {"project_name": "foreign"}, "list_servers", {}),
    ("openstack_forbidden", {"username": "looker"}, "server_action", {"server": "web-1", "action": "stop"}),
    ("openstack_forbidden", {}, "list_projects", {"all": True}),
    ("service_not_found", {}, "server_action", {"server": "nothing", "action": "stop"}),
    ("service_not_found", {}, "object_storage", {"action": "list", "container": "nothing"}),
    ("openstack_conflict", {}, "server_action", {"server": "web-1", "action": "start"}),
    ("openstack_ambiguous", {}, "server_action", {"server": "twin", "action": "stop"}),
    ("openstack_service_missing", {}, "heat_stack", {"action": "list"}),
    ("openstack_service_missing", {"region_name": "Elsewhere"}, "list_servers", {}),
    ("service_garbled", {}, "list_images", {}),
    ("service_failed", {}, "list_volumes", {}),
    ("outcome_unknown", {}, "manage_volume", {"action": "create", "size_gb": 1}),
    ("invalid", {}, "server_console", {"server": "../flavors"}),
    ("invalid", {}, "server_console", {"server": "%2e%2e"}),
)


@pytest.mark.parametrize(("code", "credential", "name", "arguments"), FAILURES)
async def test_os_05_each_failure_has_its_name(
    cloud: FakeCloud, code: str, credential: dict[str, str], name: str, arguments: dict[str, Any]
) -> None:
    """OS-05: and none says the password."""
    add_server(cloud, "twin"), add_server(cloud, "twin")
    cloud.absent = {"heat"}
    cloud.faults = [
        Fault("GET /image/v2/images", Says(b"{never", headers={"Content-Type": "application/json"})),
        Fault("GET .*/volumes/detail", Says({"computeFault": {"message": f"broken {cloud.password}"}}, 500)),
        Fault("POST .*/volumes$", Says({"computeFault": {"message": "broken"}}, 500)),
    ]
    error = await refused(on(cloud, **credential), name, **arguments)
    assert error.code == code, error.detail
    assert cloud.password not in f"{error} {error.detail} {error.hint}"


async def test_os_03_quotas_of_three_services_have_one_name(cloud: FakeCloud) -> None:
    cloud.quota.update({"instances": 1, "volumes": 1, "networks": 1})
    wanted = {"name": "x", "flavor": "m1.tiny", "image": "cirros", "networks": ["private"]}
    for name, arguments in (
        ("create_server", wanted),
        ("manage_volume", {"action": "create", "size_gb": 1}),
        ("manage_network", {"action": "create_network", "name": "x"}),
    ):
        error = await refused(on(cloud), name, **arguments)
        assert (error.code, error.status) == ("openstack_quota_exceeded", 409), error.detail
    assert len(cloud.servers) == len(cloud.volumes) == len(cloud.networks) == 1


@pytest.mark.parametrize(
    "where", ["http://169.254.169.254", "http://[fd00:ec2::254]", "http://127.0.0.1:1", "http://elsewhere.example.org"]
)
async def test_os_05_a_catalogue_that_points_elsewhere_gets_no_token(cloud: FakeCloud, where: str) -> None:
    """OS-05: neither an address that is not allowed, nor a name that is and leads behind the wall."""
    cloud.moved["compute"] = where
    error = await refused(on(cloud), "list_servers")
    assert error.code == "address_not_allowed" and not any("compute" in line for line in cloud.asked)
    # The resolver says of each name that it is this machine: one without a port is not to lead there.
    named_ = on(cloud, hosts=(cloud.url.removeprefix("http://"), "elsewhere.example.org"))
    assert (await refused(named_, "list_servers")).code == "address_not_allowed"


async def test_os_05_the_cloud_itself_has_to_be_allowed(cloud: FakeCloud) -> None:
    assert (await refused(on(cloud, hosts=()), "list_servers")).code == "address_not_allowed"
    assert (await refused(on(cloud, auth_url="file:///etc"), "list_servers")).code == "invalid"
    assert cloud.asked == []


def _certificate(folder: Path, name: str) -> tuple[ssl.SSLContext, str]:
    """A server's context, and the certificate that it shows."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now, now + _DAY)
    builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    shown = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    own = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "both.pem").write_bytes(own + shown)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context, shown.decode()


async def test_os_05_a_clouds_own_authority_is_believed_for_its_name_alone(tmp_path: Path) -> None:
    """OS-05: the connection goes to the address that was checked, the certificate has to be the name's."""
    context, shown = _certificate(tmp_path, "cloud.test")
    with fake_cloud(context, "cloud.test") as cloud:
        hosts = (cloud.url.removeprefix("https://"),)
        assert (await call(on(cloud, hosts, ca_cert=shown), "list_servers"))["count"] == 1
        assert (await refused(on(cloud, hosts), "list_servers")).code == "unavailable"
        assert (await refused(on(cloud, hosts, ca_cert="no certificate"), "list_servers")).code == "invalid"
        cloud.faults = [Fault("GET .*/servers/detail", hangs=True)]
        with pytest.raises(AosError) as caught:
            await call(on(cloud, hosts, ca_cert=shown), "list_servers", seconds=2)
        assert caught.value.code == "openstack_timeout"
        await _nobody_waits(cloud)
    with fake_cloud(context, "other.test") as other:
        hosts = (other.url.removeprefix("https://"),)
        assert (await refused(on(other, hosts, ca_cert=shown), "list_servers")).code == "unavailable"
        assert other.asked == []


async def test_os_05_no_token_goes_where_a_redirect_leads(cloud: FakeCloud) -> None:
    with fake_cloud() as other:
        both = on(cloud, hosts=(cloud.url.removeprefix("http://"), other.url.removeprefix("http://")))
        away = Says(None, 302, {"Location": f"{other.url}/compute/v2.1/servers/detail"})
        cloud.faults = [Fault("GET .*/servers/detail", away)]
        assert (await refused(both, "list_servers")).code == "redirected"
        assert other.asked == []


async def test_os_05_a_token_that_expires_midway_is_renewed_once(cloud: FakeCloud) -> None:
    cloud.faults = [Fault("GET .*/servers/detail", expires=True)]
    assert (await call(on(cloud), "list_servers"))["count"] == 1
    assert len(cloud.tokens_seen) == 2
    cloud.faults = [Fault("GET .*/servers/detail", expires=True) for _ in range(9)]
    assert (await refused(on(cloud), "list_servers")).code == "openstack_login_refused"
    assert len(cloud.tokens_seen) == 4


@pytest.mark.parametrize("fault", [Fault("GET .*/detail", hangs=True), Fault("GET .*/detail", drips=True)])
async def test_os_01_a_silent_service_is_given_up_in_time(cloud: FakeCloud, fault: Fault) -> None:
    """OS-01: and no connection stays behind."""
    cloud.faults = [fault]
    await call(on(cloud), "keystone_auth")  # the SDK is imported
    begun = asyncio.get_running_loop().time()
    with pytest.raises(AosError) as caught:
        await call(on(cloud), "list_servers", seconds=1.5)
    assert caught.value.code == "openstack_timeout"
    assert asyncio.get_running_loop().time() - begun < 3.5
    await _nobody_waits(cloud)


async def test_os_01_nobody_knows_whether_a_silent_service_did_it(cloud: FakeCloud) -> None:
    cloud.faults = [Fault("POST .*/action", hangs=True)]
    with pytest.raises(AosError) as caught:
        await call(on(cloud), "server_action", seconds=4, server="web-1", action="stop")
    assert caught.value.code == "outcome_unknown"


async def test_os_01_a_call_that_is_cancelled_hangs_up(cloud: FakeCloud) -> None:
    cloud.faults = [Fault("GET .*/servers/detail", hangs=True)]
    going = asyncio.create_task(call(on(cloud), "list_servers"))
    async with asyncio.timeout(20):
        while not cloud.hanging:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    going.cancel()
    with pytest.raises(asyncio.CancelledError):
        await going
    await _nobody_waits(cloud)


async def _nobody_waits(cloud: FakeCloud) -> None:
    async with asyncio.timeout(2):
        while cloud.hanging:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_os_01_ten_thousand_servers_are_cut(cloud: FakeCloud) -> None:
    cloud.servers.clear()
    for number in range(10_000):
        add_server(cloud, f"s-{number}")
    on_ = on(cloud)
    listed = await call(on_, "list_servers", limit=300)
    assert (listed["count"], listed["cut"]) == (300, True)
    assert sum("servers/detail" in line for line in cloud.asked) == 1
    most = await call(on_, "list_servers", limit=1_000)
    assert most["cut"] and len(json.dumps(most).encode()) < on_.settings.result_bytes
    for number in range(50):
        add_network(cloud, f"n-{number}"), add_volume(cloud, f"v-{number}", 1)
    assert (await call(on_, "list_networks", limit=20))["cut"] and (await call(on_, "list_volumes", limit=20))["cut"]


async def test_os_05_an_answer_that_never_ends_is_not_read(cloud: FakeCloud) -> None:
    cloud.faults = [Fault("GET .*/servers/detail", Says(b" " * 17_000_000))]
    assert (await refused(on(cloud), "list_servers")).code == "too_large"
    packed = Says(b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    cloud.faults = [Fault("GET .*/servers/detail", packed)]
    assert (await refused(on(cloud), "list_servers")).code == "invalid"


@pytest.mark.parametrize(
    "says",
    [
        Says(b" " * 17_000_000, 202),
        Says(b"\x1f\x8b", 202, {"Content-Encoding": "gzip"}),
        Says(None, 302, {"Location": "http://elsewhere.example.org/"}),
    ],
)
async def test_os_05_what_writes_and_has_an_answer_that_is_not_read_may_have_been_done(
    cloud: FakeCloud, says: Says
) -> None:
    """OS-05: it is not called a failure after which it can be asked for again."""
    cloud.faults = [Fault("POST .*/volumes$", says)]
    error = await refused(on(cloud), "manage_volume", action="create", size_gb=1)
    assert error.code == "outcome_unknown", error


class _Nowhere:
    async def called(self, call: ToolInvocation, what: Any) -> None:
        """Nothing is recorded."""


@pytest.fixture
def guarded() -> Iterator[None]:
    """Log lines as the product writes them."""
    before, streams = logging.getLogRecordFactory(), (sys.stdout, sys.stderr)
    guard_output()
    yield
    logging.setLogRecordFactory(before)
    sys.stdout, sys.stderr = streams


async def test_os_05_no_secret_is_said_anywhere(
    cloud: FakeCloud, caplog: pytest.LogCaptureFixture, guarded: None
) -> None:
    """OS-05: not in results, errors or the most talkative log, and nothing keeps it when the call is over."""
    caplog.set_level(logging.DEBUG)
    echo = Says({"badRequest": {"message": f"no: {cloud.password}"}}, 400)
    cloud.faults = [Fault("GET .*/flavors/detail", echo)]
    fence, said = SkillGuard(on(cloud), _Nowhere()), list[str]()
    for name, arguments in (
        ("keystone_auth", {}),
        ("list_servers", {}),
        ("list_flavors", {}),
        ("server_action", {"server": "?"}),
        ("create_server", {"name": "x", "flavor": "m1.tiny", "image": "cirros", "networks": ["private"]}),
    ):
        try:
            said.append(json.dumps(await fence.around(skill(name)).run(ToolInvocation(WHO, None, "k", arguments))))
        except (AosError, KeyError) as error:
            said.append(f"{error!r} {error}")
    said += [record.getMessage() for record in caplog.records] + [caplog.text]
    assert "adminPass" in caplog.text  # the library does log what it reads
    for secret in (cloud.password, "canary-adminpass-77aa", *cloud.tokens_seen):
        assert not any(secret in one for one in said)
    assert cloud.tokens_seen and len(said) > 5
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, v3.Password)]


ENVIRONMENT = {
    "OS_AUTH_URL": "http://127.0.0.1:9/v3",
    "OS_USERNAME": "evil",
    "OS_PASSWORD": "evil",
    "OS_PROJECT_NAME": "evil",
    "OS_CLOUD": "evil",
    "OS_REGION_NAME": "evil",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "ALL_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
}
CLOUDS = "clouds: {evil: {auth: {auth_url: 'http://127.0.0.1:9/v3', username: evil}, region_name: evil}}\n"
ALONE = """
import asyncio, json, sys
from types import SimpleNamespace
from tests.fakes.openstack_caller import call, on
cloud = SimpleNamespace(url=sys.argv[1], password=sys.argv[2])
print(json.dumps(asyncio.run(call(on(cloud), "keystone_auth"))["username"]))
"""


def test_os_05_nothing_of_this_machines_own_setup_is_read(cloud: FakeCloud, tmp_path: Path) -> None:
    (tmp_path / "clouds.yaml").write_text(CLOUDS)
    root = Path(__file__).resolve().parents[2]
    environment = {**ENVIRONMENT, "PYTHONPATH": str(root), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", ALONE, cloud.url, cloud.password],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.strip() == '"demo"', done.stderr[-2_000:]
