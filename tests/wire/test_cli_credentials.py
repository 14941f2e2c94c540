"""`aos credentials` against a real HTTP server: secrets come in by standard input or a terminal, never as arguments."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.cli import run_command
from skills.framework.credentials import SECRET_WORDS, SORTS
from tests.fakes.api_server import ApiServer, serve_api

PEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n"
ROW = {
    "id": "c1",
    "name": "web",
    "type": "ssh",
    "fields": ["private_key"],
    "extra": {"host": "h"},
    "is_active": True,
    "bound": False,
    "bindings": 0,
    "expires_at": None,
}
TYPES = {
    "items": [{"type": t, "secret": list(s.secret), "open": list(s.open), "needs": []} for t, s in SORTS.items()],
    "secret_words": list(SECRET_WORDS),
}
Fed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    monkeypatch.setenv("AOS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("AOS_TOKEN", "access-1")
    answers = {
        "GET /api/credentials": {"items": [ROW], "total": 1},
        "GET /api/credentials/types": TYPES,
        "POST /api/credentials": (201, ROW),
        "DELETE /api/credentials/c1": {},
        "POST /api/credentials/c1/bindings": (201, {"id": "b1", "agent": "Admin", "skill": "reboot", "role": None}),
        "GET /api/agents": {"items": [{"id": "a1", "name": "Admin"}]},
    }
    with serve_api(answers) as fake:
        monkeypatch.setenv("AOS_URL", fake.url)
        yield fake


@pytest.fixture
def fed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Fed:
    """A command with a text on standard input."""

    def feed(text: str, *arguments: str) -> tuple[int, str, str]:
        (tmp_path / "typed").write_text(text)
        with (tmp_path / "typed").open() as typed:
            monkeypatch.setattr(sys, "stdin", typed)
            code = run_command(["credentials", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return feed


@pytest.mark.parametrize(
    ("text", "arguments", "values", "extra"),
    [
        (PEM, ["web", "ssh", "--set", "host=h=1"], {"private_key": PEM}, {"host": "h=1"}),
        ("word\n", ["web", "ssh", "--set", "username=root"], {"password": "word"}, {"username": "root"}),
        ("word\r\n", ["g", "bearer_token"], {"token": "word"}, {}),
        ("a b", ["g", "custom", "--field", "pin"], {"pin": "a b"}, {}),
        (
            '{"key": "k-1", "user": "u-1"}',
            ["g", "api_key", "--set", "url=h"],
            {"key": "k-1", "user": "u-1"},
            {"url": "h"},
        ),
        ("{braces", ["g", "api_key", "--field", "key"], {"key": "{braces"}, {}),
        ("", ["g", "api_key"], {}, {}),
    ],
)
def test_a_credential_is_added_from_standard_input(
    api: ApiServer, fed: Fed, text: str, arguments: list[str], values: dict[str, str], extra: dict[str, str]
) -> None:
    """CV-03: what is secret and what is not, by the types that the server tells."""
    code, out, err = fed(text, "add", *arguments)
    assert (code, err) == (0, "")
    (call,) = api.of("POST /api/credentials")
    assert (call.body["name"], call.body["type"]) == (arguments[0], arguments[1])
    assert (call.body["values"], call.body["extra"], call.body["bound"]) == (values, extra, False)
    assert "Stored web (ssh), sealed: private_key." in out
    assert not any(value in out for value in values.values())


@pytest.mark.parametrize("given", ["password=canary", "db_password=canary", "API_KEY=canary", "dsn=canary", "canary"])
def test_a_secret_among_the_arguments_is_refused(api: ApiServer, fed: Fed, given: str) -> None:
    """CV-02: arguments are seen by everybody on the machine."""
    code, out, err = fed("word", "add", "web", "ssh", "--set", given)
    assert code == 1 and "canary" not in out + err and api.of("POST /api/credentials") == []
    assert fed("word", "add", "web", "nothing")[0] == 1
    assert fed("{canary", "add", "web", "api_key")[0] == 1


def test_credentials_are_listed_bound_and_removed(api: ApiServer, fed: Fed) -> None:
    """GW-08, AU-05: by name or by id."""
    code, out, _ = fed("", "list")
    assert code == 0 and "private_key" in out and "host=h" in out
    assert json.loads(fed("", "list", "--json")[1])["items"] == [ROW]
    code, out, _ = fed("", "bind", "web", "--agent", "Admin", "--skill", "reboot")
    assert code == 0 and "web is for agent Admin, skill reboot." in out
    (call,) = api.of("POST /api/credentials/c1/bindings")
    assert call.body == {"agent_id": "a1", "skill": "reboot", "role": None}
    assert fed("", "remove", "c1")[0] == 0 and len(api.of("DELETE /api/credentials/c1")) == 1
    assert fed("", "remove", "other")[0] == 1 and fed("", "bind", "web", "--agent", "none")[0] == 1
    other: dict[str, Any] = {**ROW, "id": "c2", "context_id": "s"}
    api.answers["GET /api/credentials"] = {"items": [ROW, other], "total": 2}
    code, _, err = fed("", "remove", "web")
    assert code == 1 and "c1, c2" in err
