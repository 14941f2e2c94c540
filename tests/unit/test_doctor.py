"""The doctor and the supervisor where nothing runs: no crash, no stranger's process touched."""

import os
from pathlib import Path

import pytest

from cluster import doctor_postgres, doctor_replication, supervisor
from cluster.basics.errors import Conflict, InvalidSettings
from cluster.console.findings import is_red
from cluster.state import supervised
from configs.settings import load_settings


@pytest.mark.parametrize(("version", "colour"), [("0.8.1", "yellow"), ("0.8.4", "green"), ("0.10.0", "green")])
def test_old_pgvector_is_pointed_out(version: str, colour: str) -> None:
    found = {finding.part: finding for finding in doctor_postgres.extension_findings({"vector": version})}
    assert found["pgvector"].colour == colour
    assert found["keyword search"].colour == "yellow", "no BM25 extension: results say which ranking was used"
    assert is_red(list(doctor_postgres.extension_findings({})))


@pytest.mark.parametrize(("worn", "colour"), [("it finds 0%", "yellow"), (None, "green")])
def test_a_keyword_index_that_is_not_asked_is_pointed_out(worn: str | None, colour: str) -> None:
    *_, found = doctor_postgres.extension_findings({"vector": "0.8.4", "pg_textsearch": "1.0.0"}, worn)
    assert found.part == "keyword search" and found.colour == colour and (worn or "BM25") in found.detail


@pytest.mark.parametrize(
    ("version", "writes", "colour"),
    [
        ("1.0.0", ["bulk_load_threshold"], "yellow"),
        ("1.0.0", [], "green"),
        ("1.3.0-dev", ["bulk_load_threshold"], "green"),
    ],
)
def test_an_index_that_writes_words_unsorted_is_pointed_out(version: str, writes: list[str], colour: str) -> None:
    *_, found = doctor_postgres.extension_findings({"vector": "0.8.4", "pg_textsearch": version}, None, writes)
    assert found.colour == colour and (colour == "green" or "bulk_load_threshold = 0" in found.fix)


def test_no_status_and_a_strangers_pid_mean_it_does_not_run(tmp_path: Path) -> None:
    assert supervised.read_status(tmp_path) is None
    (tmp_path / "supervisor.pid").write_text(f"{os.getpid()}\n")
    assert supervised.find_supervisor(tmp_path) is None
    assert supervisor.stop_instance(tmp_path) is False


def test_a_second_supervisor_is_refused(tmp_path: Path) -> None:
    import fcntl

    with (tmp_path / "supervisor.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Conflict, match="already runs"):
            supervisor.run_supervisor(load_settings({"AOS_STATE_DIR": str(tmp_path)}), lambda line: None)


def test_an_external_postgres_needs_to_know_who_migrates(tmp_path: Path) -> None:
    environment = {"AOS_STATE_DIR": str(tmp_path), "DATABASE_URL": "postgresql://a@db/x", "REDIS_URL": "redis://c"}
    with pytest.raises(InvalidSettings) as refused:
        supervisor.prepare_state(load_settings(environment), lambda line: None)
    assert "DATABASE_ADMIN_URL" in refused.value.hint


def _node(*gcs: str, state: str = "ALIVE") -> dict[str, object]:
    return {"raylet": {"state": state}, **({"gcs": {"cmdline": ["/ray/gcs_server", *gcs]}} if gcs else {})}


@pytest.mark.parametrize(
    ("nodes", "colour", "said"),
    [
        ([_node("--gcs_server_port=1"), _node()], "yellow", "knows none of its 2 nodes"),
        ([_node("--redis_address=r", "--redis_password=s3cr3t"), _node(), _node()], "green", "knows its 3 nodes"),
        ([_node(), _node()], "yellow", "tells nothing of it yet"),
    ],
)
def test_a_head_that_would_know_none_of_its_nodes_is_pointed_out(nodes: list[object], colour: str, said: str) -> None:
    (found,) = doctor_replication.head_findings({"data": {"summary": nodes}})
    assert found.colour == colour and said in found.detail and "s3cr3t" not in found.detail + found.fix


def test_of_one_node_nothing_is_said_and_of_dead_ones_neither() -> None:
    for nodes in ([], [_node("--x")], [_node("--x"), _node(state="DEAD")]):
        assert doctor_replication.head_findings({"data": {"summary": nodes}}) == []
