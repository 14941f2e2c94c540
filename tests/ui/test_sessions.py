"""Sessions of the console: bounded, expiring, and known by an opaque key only."""

from dataclasses import dataclass, replace

import pytest
from starlette.requests import Request

from serve_apps.ui.session_guard import return_address, same_origin
from serve_apps.ui.sessions import MOST_OF_ONE, Role, SessionStore, TokenGrant, WorkspaceMembership

GRANT = TokenGrant("access", "refresh", "user", "tenant", "w1", Role.VIEWER, False)


@dataclass
class Seconds:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_ends_after_its_time() -> None:
    clock = Seconds()
    sessions = SessionStore(60, clock)
    key, session = sessions.begin("a@b.example", GRANT)
    clock.now = 59.9
    assert sessions.find(key) is session
    clock.now = 60
    assert sessions.find(key) is None
    assert session.over and len(sessions) == 0


def test_a_key_is_not_guessed_from_what_is_kept() -> None:
    sessions = SessionStore(60, Seconds())
    key, _ = sessions.begin("a@b.example", GRANT)
    other, _ = sessions.begin("a@b.example", GRANT)
    assert key != other and len(key) >= 43
    assert all(sessions.find(wrong) is None for wrong in (None, "", "x", key[:-1], key + "x", "\ud800"))
    assert key not in repr(vars(sessions))


def test_signing_out_ends_one_session_at_once() -> None:
    sessions = SessionStore(60, Seconds())
    (gone, session), (stays, _) = sessions.begin("a@b.example", GRANT), sessions.begin("a@b.example", GRANT)
    sessions.end(gone)
    assert sessions.find(gone) is None and session.over and sessions.find(stays) is not None


def test_the_oldest_goes_where_there_are_too_many() -> None:
    sessions = SessionStore(60, Seconds(), most=2)
    keys = [sessions.begin(f"{n}@b.example", GRANT)[0] for n in range(3)]
    assert [sessions.find(key) is None for key in keys] == [True, False, False]


def test_one_person_does_not_sign_the_others_out() -> None:
    sessions = SessionStore(60, Seconds(), most=1000)
    other, _ = sessions.begin("b@b.example", replace(GRANT, user="another"))
    own = [sessions.begin("a@b.example", GRANT)[0] for _ in range(40)]
    assert sessions.find(other) is not None and len(sessions) == MOST_OF_ONE + 1
    assert sessions.find(own[0]) is None and sessions.find(own[-1]) is not None


def test_the_role_is_that_of_the_workspace_one_looks_at() -> None:
    _, session = SessionStore(60, Seconds()).begin("a@b.example", GRANT)
    session.places = (WorkspaceMembership("w1", "one", Role.VIEWER), WorkspaceMembership("w2", "two", Role.ADMIN))
    assert session.role is Role.VIEWER
    session.chosen = "w2"
    assert session.role is Role.ADMIN


def test_roles_are_ordered() -> None:
    assert [role.reaches(Role.OPERATOR) for role in Role] == [False, False, True, True]


@pytest.mark.parametrize(
    "wanted",
    [
        "",
        "https://else.example",
        "//else.example",
        "/consolex",
        "/console/\\\\else",
        "/console/\nx",
        "/api/jobs",
        "/console/gradio_api/file=https://else.example/a.png",
        "/console/runs/../gradio_api/x",
    ],
)
def test_nobody_is_sent_elsewhere_after_signing_in(wanted: str) -> None:
    assert return_address(wanted) == "/console/"


def test_one_comes_back_to_where_one_was() -> None:
    assert return_address("/console/runs?id=1&page=2") == "/console/runs?id=1&page=2"


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ({"origin": "http://aos.test"}, True),
        ({"origin": "https://aos.test"}, True),  # a proxy that ends TLS speaks http to us
        ({"origin": "http://else.example"}, False),
        ({"origin": "http://aos.test.else.example"}, False),
        ({"origin": "null"}, False),
        ({}, False),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "cross-site"}, False),
    ],
)
def test_only_our_own_pages_may_send(headers: dict[str, str], own: bool) -> None:
    sent = [(name.encode(), value.encode()) for name, value in ({"host": "aos.test"} | headers).items()]
    assert same_origin(Request({"type": "http", "method": "POST", "path": "/", "headers": sent})) is own
