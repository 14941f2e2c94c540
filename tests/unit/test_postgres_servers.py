"""Several Postgres servers in one connection string, and the fence around one that was replaced."""

import socket
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from cluster.console.findings import GREEN, RED, YELLOW, StatusColour
from cluster.doctor_replication import probe_replication, replication_finding
from cluster.state.db import embedded
from cluster.state.db.primary import (
    PATIENCE,
    PrimarySearch,
    StaleServer,
    TimelineFence,
    patient_conninfo,
    server_addresses,
    server_conninfos,
    server_name,
)
from cluster.state.db.replication import Follower, ServerState
from configs.settings import InvalidConfiguration, load_settings

URL = "postgresql://aos_app:p%2Fw@one,two:5433/aos"


def test_of_several_servers_the_one_that_takes_writes_is_meant_and_none_is_waited_for_long() -> None:
    said = conninfo_to_dict(patient_conninfo(URL))
    assert (said["host"], said["port"], said["password"]) == ("one,two", ",5433", "p/w")
    assert said["target_session_attrs"] == "read-write"
    assert said["connect_timeout"] == "10" and said["tcp_user_timeout"] == "20000"


def test_what_a_connection_string_says_itself_stays() -> None:
    own = f"{URL}?target_session_attrs=primary&connect_timeout=3"
    said = conninfo_to_dict(patient_conninfo(own))
    assert (said["target_session_attrs"], said["connect_timeout"]) == ("primary", "3")
    assert patient_conninfo(patient_conninfo(own)) == patient_conninfo(own)


def test_of_one_server_its_role_is_not_asked() -> None:
    for one in ("postgresql://aos_app@one/aos", "host=one user=aos_app dbname=aos"):
        assert "target_session_attrs" not in conninfo_to_dict(patient_conninfo(one))


def test_what_is_no_connection_string_is_left_to_who_connects() -> None:
    assert patient_conninfo("postgresql://[one/aos") == "postgresql://[one/aos"


def test_each_server_has_a_connection_string_of_its_own() -> None:
    found = server_conninfos(patient_conninfo(URL))
    assert [server_name(one) for one in found] == ["one:5432", "two:5433"]
    assert all(conninfo_to_dict(one)["target_session_attrs"] == "read-write" for one in found)
    assert [server_name(one) for one in server_conninfos("host=one,two port=6432")] == ["one:6432", "two:6432"]
    assert [server_name(one) for one in server_conninfos("host=one dbname=aos")] == ["one:5432"]
    unequal = "host=one,two,three port=1,2"
    assert server_conninfos(unequal) == [unequal]  # who connects with it says what is wrong


@pytest.mark.parametrize(
    "given", ["postgresql://app:p?w@one/aos", "postgresql://app:a&b=c@one/aos", "host=one password=x://y dbname=aos"]
)
def test_no_password_is_taken_for_a_part_of_a_url(given: str) -> None:
    assert conninfo_to_dict(patient_conninfo(given)) == PATIENCE | conninfo_to_dict(given)


@pytest.mark.parametrize(
    "given",
    [
        {"DATABASE_URL": URL, "DATABASE_ADMIN_URL": URL.replace("aos_app", "owner")},
        {"DATABASE_URL": URL, "POSTGRES_ADMIN_USER": "owner", "POSTGRES_ADMIN_PASSWORD": "x7"},
        {"POSTGRES_HOST": "one,two", "POSTGRES_ADMIN_USER": "owner", "POSTGRES_PASSWORD": "p/w"},
    ],
)
def test_settings_take_several_servers_for_the_application_and_the_owner(given: dict[str, str], tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path), **given})
    application, owner = embedded.postgres_endpoints(settings)
    assert owner is not None
    for conninfo, user in ((application, "aos_app"), (owner, "owner")):
        said = conninfo_to_dict(conninfo)
        assert (said["host"], said["user"], said["target_session_attrs"]) == ("one,two", user, "read-write")
    assert embedded.timeline_fence(settings) is not None


def test_a_published_password_is_refused_in_a_url_of_several_servers_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfiguration, match="published default"):
        load_settings({"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": URL.replace("p%2Fw", "changeme")})


def test_an_embedded_server_has_no_successor(tmp_path: Path) -> None:
    settings = load_settings({"AOS_STATE_DIR": str(tmp_path)})
    assert embedded.timeline_fence(settings) is None


def test_of_one_server_the_doctor_says_nothing(tmp_path: Path) -> None:
    one = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": "postgresql://aos_app@one/aos"}
    assert list(probe_replication(load_settings(one))) == []


def test_a_server_of_an_older_timeline_is_refused_by_every_process(tmp_path: Path) -> None:
    first, second = TimelineFence(tmp_path), TimelineFence(tmp_path)
    first.compare("7713", 1)
    second.compare("7713", 1)
    first.compare("7713", 3)
    with pytest.raises(StaleServer, match="timeline 1, and 3"):
        second.compare("7713", 1)
    with pytest.raises(StaleServer):
        TimelineFence(tmp_path).compare("7713", 2)
    second.compare("9000", 1)  # another database cluster
    (tmp_path / "postgres-timelines" / "7713").unlink()  # somebody decided
    first.compare("7713", 1)  # a process that was there before, too
    TimelineFence(tmp_path).compare("7713", 1)


def test_whoever_was_admitted_last_is_asked_first(tmp_path: Path) -> None:
    fence, servers = TimelineFence(tmp_path), server_conninfos(URL)
    assert fence.in_order(servers) == servers
    fence.admit(servers[1], ("7713", 1))
    assert fence.in_order(servers) == servers[::-1]


def test_each_address_of_a_name_may_be_a_server_of_its_own() -> None:
    asked = []

    def resolve(host: str, port: object, **_: object) -> list[tuple[object, ...]]:
        asked.append((host, port))
        if host == "away":
            raise socket.gaierror("no such name")
        return [(0, 0, 0, "", (address, port)) for address in {"one": ["10.0.0.1"] * 2}.get(host, ["10.0.0.1", "::2"])]

    found = [conninfo_to_dict(one) for one in server_addresses("host=several dbname=aos", resolve)]
    assert [(one["host"], one["hostaddr"]) for one in found] == [("several", "10.0.0.1"), ("several", "::2")]
    assert all(one["target_session_attrs"] == "read-write" for one in found)
    for itself in (
        "host=one port=6432",
        "host=away",
        "host=/run/postgresql",
        "host=one hostaddr=10.0.0.9",
        "dbname=aos",
    ):
        assert server_addresses(itself, resolve) == [itself]
    assert asked == [("several", 5432), ("one", "6432"), ("away", 5432)]


def test_of_two_addresses_the_one_that_was_admitted_comes_first(tmp_path: Path) -> None:
    fence = TimelineFence(tmp_path)
    servers = ["host=several hostaddr=10.0.0.1", "host=several hostaddr=10.0.0.2"]
    fence.admit(servers[1], None)
    assert fence.in_order(servers) == servers[::-1]


def test_a_server_that_cannot_be_used_is_passed_over_and_what_is_no_such_error_rises(tmp_path: Path) -> None:
    search = PrimarySearch("host=/one,/two,/three", TimelineFence(tmp_path))
    for at, _ in enumerate(search.servers):
        with search.attempt():
            raise StaleServer("it was replaced") if at == 1 else psycopg.OperationalError(f"{at} is away")
    told = search.failure()
    assert isinstance(told, StaleServer) and str(told) == "0 is away; it was replaced; 2 is away"
    with pytest.raises(psycopg.ProgrammingError), search.attempt():
        raise psycopg.ProgrammingError("a query that makes no sense")


def test_where_nothing_can_be_kept_this_process_knows_it_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "postgres-timelines").write_text("a file")
    fence = TimelineFence(tmp_path)
    fence.compare("7713", 2)
    with pytest.raises(StaleServer):
        fence.compare("7713", 1)


WELL = Follower("streaming", True, 0, 0.0)
LOOSE = Follower("streaming", False, 0, 0.0)


@pytest.mark.parametrize(
    ("servers", "colour", "words"),
    [
        ([ServerState("a", "primary", timeline=1, followers=(WELL,)), ServerState("b", "standby")], GREEN, "synchron"),
        ([ServerState("a", "primary"), ServerState("b", "away", "refused")], YELLOW, "no standby follows"),
        (
            [ServerState("a", "primary", followers=(LOOSE,)), ServerState("b", "standby")],
            YELLOW,
            "no standby is synchronous",
        ),
        (
            [ServerState("a", "primary", followers=(Follower("streaming", True, 2**30, 9.0),))],
            YELLOW,
            "the standby is far behind",
        ),
        ([ServerState("a", "primary", followers=(Follower("", False, 0, 0.0),))], GREEN, "DATABASE_ADMIN_URL"),
        ([ServerState("a", "primary", timeline=1), ServerState("b", "primary", timeline=2)], RED, "2 servers take"),
        ([ServerState("a", "away", "refused"), ServerState("b", "standby")], RED, "no server takes writes"),
    ],
)
def test_the_doctor_tells_who_takes_writes_and_who_stands_by(
    servers: list[ServerState], colour: StatusColour, words: str
) -> None:
    found = replication_finding(servers)
    assert found.colour is colour and words in found.detail
    assert bool(found.fix) is (colour is not GREEN)
