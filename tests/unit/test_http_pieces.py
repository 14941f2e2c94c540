"""The API's small pieces without a server: marks, names, throttle, tokens, limits, streams, the matrix."""

import asyncio
import stat
from collections.abc import AsyncIterator
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from argon2 import PasswordHasher
from starlette.exceptions import HTTPException
from starlette.routing import Route
from starlette.types import Message
from starlette.websockets import WebSocket

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role, Scope, TenantId, UserId, WorkspaceId
from cluster.state.identity.identity import WorkspaceMember
from cluster.state.work.jobs import JobId
from configs.sections_identity import AuthSettings
from pipelines.documents.document import FailureReason, Span, Unreadable
from pipelines.documents.ingest.remedies import find_remedy
from pipelines.documents.sources.sniff import Kind
from serve_apps.agents.events import Event, EventKind
from serve_apps.agents.streams.encode import StreamChunk, Verbosity
from serve_apps.http.auth.guard import GuardedRoute
from serve_apps.http.auth.passwords import BoundedPasswordHasher
from serve_apps.http.auth.permissions import OPERATE, READ, MatrixMismatch, collect_permissions
from serve_apps.http.auth.revocation import AuthenticatedCaller
from serve_apps.http.auth.throttle import (
    ANYWHERE,
    FREE,
    GOOD_SECONDS,
    GuessLimiter,
    ProcessThrottle,
    TooManyAttempts,
    network_of,
)
from serve_apps.http.auth.tokens import TokenClaims, TokenRefused, TokenSigner, new_key, signing_secret
from serve_apps.http.body_limit import BodyLimit
from serve_apps.http.deps import AppDependencies
from serve_apps.http.problems import FileRefused
from serve_apps.http.routes.documents.documents import highlight_spans
from serve_apps.http.routes.documents.pictures import OneByOne
from serve_apps.http.routes.documents.uploads import clean_name, named_readers, origin_of
from serve_apps.http.streams.sse import HEARTBEAT_SECONDS, JobFeed, StreamPacing, stream_stored_events
from serve_apps.http.streams.turn_response import stream_turn
from serve_apps.http.streams.websocket import SocketConversation

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CLAIMS = TokenClaims(
    UserId("11111111-1111-1111-1111-111111111111"),
    TenantId("22222222-2222-2222-2222-222222222222"),
    WorkspaceId("33333333-3333-3333-3333-333333333333"),
    "44444444-4444-4444-4444-444444444444",
    3,
)
MEMBER = WorkspaceMember(CLAIMS.tenant, CLAIMS.workspace, CLAIMS.user, "me@x.example", Role.VIEWER, Role.VIEWER)


@pytest.mark.parametrize(
    ("spans", "expected"),
    [
        ([], "a&lt;b&gt;&amp;&quot;c"),
        ([(1, 4)], "a<mark>&lt;b&gt;</mark>&amp;&quot;c"),
        ([(0, 2), (1, 3), (3, 4)], "<mark>a&lt;b&gt;</mark>&amp;&quot;c"),
        ([(5, 99), (-5, 1), (3, 3)], "<mark>a</mark>&lt;b&gt;&amp;<mark>&quot;c</mark>"),
    ],
)
def test_gw_10_marks_are_ours_and_everything_else_is_escaped(spans: list[tuple[int, int]], expected: str) -> None:
    """GW-10: highlighted content."""
    assert highlight_spans('a<b>&"c', [Span(1, start, end) for start, end in spans]) == expected


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("C:\\x\\a.pdf", "a.pdf"),
        ("../../etc/passwd", "passwd"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("u\u0308.txt", "ü.txt"),
    ],
)
def test_a_file_keeps_only_a_harmless_name(given: str, kept: str) -> None:
    assert clean_name(given) == kept


@pytest.mark.parametrize("given", [None, "", "/", "..", "\x00\n", "a" * 300])
def test_a_file_without_a_name_is_refused(given: str | None) -> None:
    with pytest.raises(Invalid):
        clean_name(given)


def test_readers_include_the_sender_and_name_a_document_of_their_own() -> None:
    assert named_readers([], MEMBER) == ()
    readers = named_readers(["role:operator", "user:You@x.example"], MEMBER)
    assert readers == ("role:operator", "user:me@x.example", "user:you@x.example")
    assert origin_of("a.txt", ()) == "upload:a.txt" != origin_of("a.txt", readers)
    with pytest.raises(Invalid):
        named_readers(["*"], MEMBER)


async def test_guessing_gets_slower_and_is_forgotten_after_a_success() -> None:
    now = [0.0]
    throttle = ProcessThrottle(lambda: now[0], free=2, longest=8, remembered=2)
    await throttle.failed("a")
    await throttle.check("a")
    waits = []
    for _ in range(5):
        await throttle.failed("a")
        with pytest.raises(TooManyAttempts) as refused:
            await throttle.check("a")
        waits.append(refused.value.retry_after)
        now[0] += refused.value.retry_after
        await throttle.check("a")
    assert waits == [1, 2, 4, 8, 8]
    await throttle.succeeded("a")
    await throttle.failed("a")
    await throttle.check("a")
    for name in "bcd":
        await throttle.failed(name)
    assert len(throttle) == 2


async def test_addresses_that_are_made_up_do_not_make_guessing_free() -> None:
    """Behind a proxy a caller's address is what its header says: the account is counted from anywhere too."""
    throttle = ProcessThrottle(lambda: 0.0)
    for number in range(FREE * ANYWHERE - 1):
        guesses = GuessLimiter(throttle, "me@x.example", f"10.0.0.{number}")
        await guesses.check()
        await guesses.failed()
    other = GuessLimiter(throttle, "me@x.example", "10.0.1.1")
    await other.failed()
    with pytest.raises(TooManyAttempts):
        await GuessLimiter(throttle, "me@x.example", "10.0.2.2").check()
    await GuessLimiter(throttle, "you@x.example", "10.0.2.2").check()
    await other.succeeded()
    await GuessLimiter(throttle, "me@x.example", "10.0.2.2").check()


async def test_an_address_with_a_good_record_gets_through_while_others_guess() -> None:
    """A thousand addresses that guessed kept an account's owner out. They, too, have only so many guesses."""
    now = [0.0]
    throttle = ProcessThrottle(lambda: now[0])
    home, new = GuessLimiter(throttle, "me@x.example", "192.0.2.7"), GuessLimiter(throttle, "me@x.example", "192.0.2.8")
    await home.succeeded()
    for number in range(FREE * ANYWHERE * 2):
        await GuessLimiter(throttle, "me@x.example", f"10.0.0.{number}").failed()
    await home.check()
    with pytest.raises(TooManyAttempts):
        await new.check()
    await GuessLimiter(throttle, "you@x.example", "192.0.2.8").check()
    for _ in range(FREE):
        await home.failed()
    with pytest.raises(TooManyAttempts):
        await home.check()
    now[0] += GOOD_SECONDS + 1
    assert not await throttle.known("me@x.example 192.0.2.7"), "not for ever"


async def test_at_the_machine_itself_an_owner_signs_in_while_others_guess_without_end() -> None:
    """Whoever kept on guessing kept an administrator out of every new address, and of the machine, for ever."""
    throttle = ProcessThrottle(lambda: 0.0)
    for number in range(FREE * ANYWHERE):
        await GuessLimiter(throttle, "me@x.example", f"10.0.0.{number}").failed()
    with pytest.raises(TooManyAttempts):
        await GuessLimiter(throttle, "me@x.example", "10.0.2.2").check()
    for address in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        await GuessLimiter(throttle, "me@x.example", address).check()
    for number in range(FREE):  # its addresses are one, whoever makes them up
        await GuessLimiter(throttle, "me@x.example", f"127.0.0.{number + 1}").failed()
    with pytest.raises(TooManyAttempts):
        await GuessLimiter(throttle, "me@x.example", "127.1.2.3").check()


async def test_the_countless_addresses_of_one_line_are_counted_together() -> None:
    """IPv6: a network of 64 bits is one caller; an address of IPv4 stays one, however a socket tells it."""
    throttle = ProcessThrottle(lambda: 0.0)
    for number in range(FREE):
        await GuessLimiter(throttle, "me@x.example", f"2001:db8:1:2::{number + 1}").failed()
    with pytest.raises(TooManyAttempts):
        await GuessLimiter(throttle, "me@x.example", "2001:db8:1:2:aaaa::1").check()
    await GuessLimiter(throttle, "me@x.example", "2001:db8:1:3::1").check()
    assert [network_of(one) for one in ("::ffff:192.0.2.7", "192.0.2.8", "")] == ["192.0.2.7", "192.0.2.8", ""]


def test_only_the_consoles_own_word_for_an_address_is_believed() -> None:
    tokens, others = TokenSigner("s" * 32, AuthSettings()), TokenSigner("t" * 32, AuthSettings())
    word = tokens.vouch("192.0.2.7", NOW)
    assert tokens.vouched(word, NOW) == "192.0.2.7"
    assert tokens.vouched(word, NOW + timedelta(seconds=61)) is None
    for made_up in ("", "192.0.2.7", others.vouch("192.0.2.7", NOW), tokens.access(CLAIMS, NOW)):
        assert tokens.vouched(made_up, NOW) is None
    with pytest.raises(TokenRefused):
        tokens.verify(word, NOW)


async def test_a_wrong_hash_is_a_wrong_password_not_an_error() -> None:
    passwords = BoundedPasswordHasher(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    stored = await passwords.hash("right")
    assert await passwords.holds(stored, "right")
    assert not await passwords.holds(stored, "wrong")
    assert not await passwords.holds("garbage", "right")
    assert not await passwords.holds(None, "right")


def test_au_01_a_token_says_who_until_it_runs_out() -> None:
    """AU-01: configurable expiry."""
    tokens = TokenSigner("s" * 32, AuthSettings(access_minutes=5))
    text = tokens.access(CLAIMS, NOW)
    assert tokens.verify(text, NOW + timedelta(minutes=4, seconds=59)) == CLAIMS
    for moment in (NOW + timedelta(minutes=5), NOW - timedelta(minutes=2)):
        with pytest.raises(TokenRefused):
            tokens.verify(text, moment)
    for garbage in ("", "x", "a.b.c", text[:-3] + "abc", text + "é"):
        with pytest.raises(TokenRefused):
            tokens.verify(garbage, NOW)


def test_the_signing_secret_is_made_once_and_private(tmp_path: Path) -> None:
    made = signing_secret(AuthSettings(), tmp_path / "state")
    assert signing_secret(AuthSettings(), tmp_path / "state") == made and len(made) >= 48
    (file,) = (tmp_path / "state").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert signing_secret(AuthSettings(secret_key="k" * 32), tmp_path) == "k" * 32
    assert new_key().text != new_key().text


def test_au_04_an_app_with_a_route_without_a_permission_does_not_start() -> None:
    """AU-04: a forgotten permission fails closed, and so do two."""
    for dependencies in ([], [READ, OPERATE]):
        with pytest.raises(MatrixMismatch, match="/api/new"):
            GuardedRoute("/api/new", lambda: {}, dependencies=dependencies)
    with pytest.raises(MatrixMismatch, match="/api/new"):
        collect_permissions([Route("/api/new", lambda request: None)])
    assert collect_permissions([GuardedRoute("/api/new", lambda: {}, dependencies=[READ])]) == {
        ("GET", "/api/new"): READ
    }


@pytest.mark.parametrize(
    ("announced", "chunks", "passes"),
    [(b"10", [b"x" * 10], True), (b"11", [], False), (b"9" * 5_000, [], False), (None, [b"x" * 6, b"x" * 5], False)],
    ids=str,
)
async def test_bodies_are_counted(announced: bytes | None, chunks: list[bytes], passes: bool) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass

    messages = [{"type": "http.request", "body": c, "more_body": n < len(chunks)} for n, c in enumerate(chunks, 1)]

    async def receive() -> Any:
        return messages.pop(0)

    async def send(message: Any) -> None:
        raise AssertionError(message)

    headers = [] if announced is None else [(b"content-length", announced)]
    call = BodyLimit(app, lambda path: 10)({"type": "http", "path": "/", "headers": headers}, receive, send)
    if passes:
        await call
    else:
        with pytest.raises(HTTPException) as refused:
            await call
        assert refused.value.status_code == 413


class ScriptedDesk:
    """A job that stays as it is, with events that are written one look after another."""

    def __init__(self, state: str, *looks: list[tuple[int, str]]) -> None:
        self._state, self._looks = state, list(looks)

    async def show(self, scope: Scope, job: JobId) -> dict[str, Any]:
        return {"state": self._state if not self._looks else "running", "progress": {}, "ended": {}}

    async def events_after(self, scope: Scope, job: JobId, after: int, limit: int = 500) -> list[dict[str, Any]]:
        found = self._looks.pop(0) if self._looks else []
        return [{"seq": n, "type": kind, "payload": {}, "at": NOW} for n, kind in found if n > after]


async def test_a_stream_beats_while_nothing_happens_and_ends_when_its_time_is_up() -> None:
    seconds = iter(range(0, 1_000, 4))
    feed = JobFeed(ScriptedDesk("running"), MEMBER.scope, JobId("j"))
    stream = stream_stored_events(feed, 0, StreamPacing(0, 60), lambda: float(next(seconds)))
    beats = [part async for part in stream]
    assert len(beats) >= 2 and set(beats) == {": still here\n\n"}
    assert HEARTBEAT_SECONDS <= 15


async def test_a_stream_ends_with_the_job_and_not_at_an_end_it_got_over() -> None:
    desk = ScriptedDesk("completed", [(1, "queued"), (2, "partial")], [(3, "resume")], [(4, "completed")])
    feed = JobFeed(desk, MEMBER.scope, JobId("j"))
    parts = [part async for part in stream_stored_events(feed, 1, StreamPacing(0, 60), lambda: 0.0)]
    assert [part.split("\n")[0] for part in parts] == ["id: 2", "id: 3", "id: 4"]


async def test_a_reader_who_leaves_in_silence_ends_the_source_to_its_last_step() -> None:
    """Closing a turn takes a moment of its own; it is awaited, and not cancelled along with the response."""
    steps = list[str]()

    async def source() -> AsyncIterator[Event]:
        try:
            yield Event(1, EventKind.STATUS, {})
            await asyncio.sleep(30)
        finally:
            steps.append("closing")
            await asyncio.sleep(0.05)
            steps.append("closed")

    async def leaves() -> Message:
        await asyncio.sleep(0.05)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        steps.append(message["type"])

    response = await stream_turn(source(), Verbosity.DEFAULT, lambda *_: StreamChunk("status", "begun"), beat=30)
    await asyncio.wait_for(response({"type": "http", "method": "GET"}, leaves, send), 5)
    assert steps == ["http.response.start", "http.response.body", "closing", "closed"]


class BrokenParts:
    """Parts of which one is wrong inside."""

    @property
    def http(self) -> None:
        raise KeyError("inside")


@pytest.mark.parametrize(
    ("sent", "hidden"), [({"bytes": b"x"}, True), ({"text": "x"}, False)], ids=["bytes", "a fault of ours"]
)
async def test_a_socket_ends_in_silence_at_bytes_and_with_its_error_at_a_fault_of_ours(
    sent: dict[str, Any], hidden: bool
) -> None:
    messages = iter([{"type": "websocket.connect"}, {"type": "websocket.receive", **sent}])

    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        """Nobody reads it."""

    async def look() -> WorkspaceMember | None:
        return MEMBER

    socket, parts = WebSocket({"type": "websocket"}, receive, send), cast("AppDependencies", BrokenParts())
    await socket.accept()
    talk = SocketConversation(socket, parts, AuthenticatedCaller(MEMBER, "key", look))
    with nullcontext() if hidden else pytest.raises(KeyError, match="inside"):
        await talk.hear_all()


class Crashing:
    """Draws nothing; says why."""

    def picture(self, path: Path, kind: Kind, number: int, dpi: int) -> bytes:
        raise Unreadable(FailureReason.CRASHED, "the child died")

    def close(self) -> None:
        """Nothing to end."""


async def test_a_page_that_cannot_be_drawn_is_a_reason_and_the_next_one_is_tried(tmp_path: Path) -> None:
    from hashlib import sha256

    file = tmp_path / "a.pdf"
    file.write_bytes(b"x")
    pictures = OneByOne(Crashing())
    for _ in range(2):
        with pytest.raises(FileRefused) as refused:
            await pictures.draw(file, sha256(b"x").hexdigest(), "pdf", 1, 100)
        assert refused.value.reason is FailureReason.CRASHED
    await asyncio.wait_for(pictures.close(), 5)


def test_a_refused_file_says_what_to_do_about_its_reason() -> None:
    """An upload that could not be read came back with an empty `fix`."""
    assert FileRefused(FailureReason.ENCRYPTED, "locked").hint == find_remedy(FailureReason.ENCRYPTED).fix
    assert FileRefused(FailureReason.ENCRYPTED, "locked", fix="Ask its owner.").hint == "Ask its owner."
