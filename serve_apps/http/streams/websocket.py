"""WS /api/v1/ws/agent: a conversation over one socket, answered in stream chunks (S4)."""

import asyncio
import json
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import Field, TypeAdapter, ValidationError

from cluster.basics.errors import AosError, Conflict, Forbidden, Invalid, NotFound, TooLarge, Transient, Unauthenticated
from cluster.state.limits.limit_errors import RateLimited
from cluster.state.limits.rules import LimitedResource
from serve_apps.agents.streams.encode import StreamChunk, StreamCursor, Verbosity, s4
from serve_apps.agents.turn_ports import IncomingMessage, RunId
from serve_apps.http.auth.guard import audit_denial, authorize_caller, check_age, parts_of, require_same_scope
from serve_apps.http.auth.permissions import READ, SOCKET
from serve_apps.http.auth.request_limits import admit_member, caller_of
from serve_apps.http.auth.revocation import AuthenticatedCaller, CredentialEnded
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import RequestBody
from serve_apps.http.streams.response import (
    BUG,
    AcceptedEvents,
    await_first_event,
    error_event,
    first_of,
    with_heartbeat,
)
from serve_apps.http.streams.turn_response import AgentKey, Documents, Said, SessionKey, Verbose, incoming_message

router = APIRouter(tags=["chat"])

PATH = "/api/v1/ws/agent"
PROTOCOL = "aos.bearer"  # Sec-WebSocket-Protocol: aos.bearer, <token>: what a browser can send in place of a header
SIGN_IN_SECONDS = 10.0
CLOSING_SECONDS = 5.0  # between a turn's last chunk and its end
CANCELLING_SECONDS = 6.0  # between asking a turn to end and closing it
FAREWELL_SECONDS = 1.0  # for the last words to a client that may not be reading
NOT_LET_IN, TOO_MANY = 4401, 4429  # 4000-4999 are for applications (RFC 6455 §7.4.2)
TRY_LATER = 1013  # of the registry of close codes
ALIVE = StreamChunk("status", "", {"heartbeat": True})


class SignIn(RequestBody):
    """The first message, where neither header nor subprotocol carried a token; later a newer token of the same user."""

    type: Literal["auth"]
    token: Annotated[str, Field(max_length=10_000)]


class SocketMessage(RequestBody):
    """A message to an agent."""

    type: Literal["message"]
    agent_id: AgentKey = ""
    session_id: SessionKey | None = None
    message: Said
    document_ids: Documents = None
    user_id: Annotated[str | None, Field(max_length=200)] = None
    stream: bool = True
    verbose: Verbose = False


class SocketCommand(RequestBody):
    """`cancel` ends the turn that runs, `ping` is answered with a chunk, `pong` with nothing."""

    type: Literal["cancel", "ping", "pong"]


_MESSAGES: TypeAdapter[SignIn | SocketMessage | SocketCommand] = TypeAdapter(
    Annotated[SignIn | SocketMessage | SocketCommand, Field(discriminator="type")]
)


@router.websocket(PATH, dependencies=[READ])
async def agent(socket: WebSocket) -> None:
    """Sign in, then any number of turns, one at a time."""
    parts = parts_of(socket)
    offered = [one.strip() for one in socket.headers.get("sec-websocket-protocol", "").split(",")]
    await socket.accept(PROTOCOL if PROTOCOL in offered else None)
    try:
        entry = await _authorize_socket(socket, parts, offered)
    except (AosError, ValidationError, TimeoutError) as error:
        known = error if isinstance(error, AosError) else Unauthenticated("send {type: auth, token: ...} first")
        await _send_json(socket, s4(error_event(1, known), ""))
        await socket.close(_close_code(known), known.title[:100])
        return
    except WebSocketDisconnect:
        return
    try:
        async with parts.limits.stream(caller_of(entry.member)):
            await _converse(socket, parts, entry)
    except RateLimited as error:
        await _send_json(socket, s4(error_event(1, error), ""))
        await socket.close(TOO_MANY, error.title[:100])


def _close_code(error: AosError) -> int:
    """Why nobody was signed in: whom a part of the system that is away keeps out may come back as he is."""
    if isinstance(error, RateLimited):
        return TOO_MANY
    return TRY_LATER if isinstance(error, Transient) else NOT_LET_IN


async def _converse(socket: WebSocket, parts: AppDependencies, entry: AuthenticatedCaller) -> None:
    talk = SocketConversation(socket, parts, entry)
    try:
        async with first_of(talk.hear_all(), talk.ended()) as (hearing, _):
            if hearing.done():
                hearing.result()
                return
    finally:
        await talk.end()
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_SECONDS):
            await _send_json(socket, s4(error_event(1, CredentialEnded()), ""))
            await socket.close(NOT_LET_IN, CredentialEnded().title[:100])


class SocketConversation:
    """Conversation of one signed-in socket."""

    def __init__(self, socket: WebSocket, parts: AppDependencies, entry: AuthenticatedCaller) -> None:
        """One turn runs at a time."""
        self._socket, self._parts, self._entry, self._me = socket, parts, entry, entry.member
        self._turn: asyncio.Task[None] | None = None
        self._run: RunId | None = None
        self._over = True  # the running turn has told its last chunk
        self._renewed = asyncio.Event()

    async def hear_all(self) -> None:
        """Take messages until the client has left, or sends bytes where text belongs."""
        with suppress(WebSocketDisconnect):
            while True:
                try:
                    text = await self._socket.receive_text()
                except KeyError:  # bytes
                    return
                await self.hear(text)

    async def ended(self) -> None:
        """Wait until the credential has ended: the one that was shown last, if there was a newer one."""
        while True:
            self._renewed.clear()
            async with first_of(self._parts.watch.ended(self._entry), self._renewed.wait()):
                pass
            if not self._renewed.is_set():
                return

    async def hear(self, text: str) -> None:
        """Take one message; what is wrong with it is answered, and the socket stays open."""
        try:
            if len(text) > self._parts.http.max_body_bytes:
                raise TooLarge(f"a message has at most {self._parts.http.max_body_bytes} characters")
            await self._handle_message(_parse_message(text))
        except AosError as error:
            await self._send_error(error)

    async def end(self) -> None:
        """Stop the turn that runs: closing the orchestrator's events stops its model."""
        turn, self._turn = self._turn, None
        if turn is not None and not turn.done():
            turn.cancel()
            await asyncio.wait({turn})

    async def _handle_message(self, said: SignIn | SocketMessage | SocketCommand) -> None:
        if isinstance(said, SignIn):
            await self._sign_in_again(said.token)
            return
        require_same_scope(self._me, said.tenant_id, said.workspace_id)
        if isinstance(said, SocketMessage):
            require_same_scope(self._me, None, None, said.user_id)
            check_age(self._parts, self._entry.credential)
            if not self._over and self._turn is not None and not self._turn.done():
                raise Conflict("a turn is running", fix="Wait for its last chunk, or send {type: cancel}.")
            chosen: dict[str, Any] = {"stream": said.stream, "documents": said.document_ids}
            message, verbosity = incoming_message(said.agent_id, said.message, said.session_id, said.verbose, **chosen)
            if self._turn is not None:
                await asyncio.wait({self._turn}, timeout=CLOSING_SECONDS)
            await self.end()
            await admit_member(self._socket, self._parts, self._me, LimitedResource.CHAT)
            self._over = False
            self._turn = asyncio.create_task(self._run_turn(message, verbosity, said.stream))
        elif said.type == "ping":
            await self._send_chunk(StreamChunk("status", "pong"))
        elif said.type == "cancel":
            await self._cancel_turn()

    async def _sign_in_again(self, token: str) -> None:
        """A socket outlives its token: a newer one takes its place. Whose socket it is stays."""
        entry = await authorize_caller(self._socket, self._parts, (SOCKET, PATH), READ, token)
        if (entry.member.user, entry.member.workspace) != (self._me.user, self._me.workspace):
            raise Conflict("this socket belongs to somebody else", fix="Open another one.")
        self._entry, self._me = entry, entry.member
        self._renewed.set()

    async def _cancel_turn(self) -> None:
        if self._over or self._turn is None or self._turn.done():
            raise NotFound("no turn is running")
        if self._run is not None:
            with suppress(Conflict):  # it has just ended
                await self._parts.orchestrator.cancel(self._me.scope, self._run)
            # Its runner hears of it with the next beat of its lease, and tells how it ended.
            await asyncio.wait({self._turn}, timeout=CANCELLING_SECONDS)
        told = self._over
        await self.end()
        if not told:
            await self._send_chunk(StreamChunk("status", "cancelled", {"run_id": self._run}, True))

    async def _run_turn(self, message: IncomingMessage, verbosity: Verbosity, stream: bool) -> None:
        self._run = None
        async with AsyncExitStack() as ending:
            ending.push_async_exit(self._tell_of_bug)
            try:
                begun = await await_first_event(self._parts.orchestrator.process(self._me.scope, message))
                self._run = RunId(str(begun.first.data.get("run_id", "")))
                await self._pass_on(begun, verbosity, stream)
            except AosError as error:
                self._over = True
                await self._send_error(error)

    async def _tell_of_bug(self, _: object, error: BaseException | None, __: object) -> None:
        """What nobody named is told, and goes on to the log."""
        if isinstance(error, Exception):
            self._over = True
            await self._send_chunk(s4(BUG, ""))

    async def _pass_on(self, begun: AcceptedEvents, verbosity: Verbosity, stream: bool) -> None:
        reading = StreamCursor()
        async with aclosing(with_heartbeat(begun, self._parts.pace.beat)) as beats:
            async for event in beats:
                if event is None:
                    await self._send_chunk(ALIVE)
                elif (fresh := reading.take(event)) is not None:
                    chunk = s4(event, fresh, verbosity)
                    if chunk is not None and (stream or chunk.is_final):
                        self._over = chunk.is_final
                        await self._send_chunk(chunk)

    async def _send_error(self, error: AosError) -> None:
        if isinstance(error, Forbidden):
            await audit_denial(self._parts, self._me, f"{SOCKET} {PATH}", PATH, error)
        await self._send_chunk(s4(error_event(1, error), ""))

    async def _send_chunk(self, chunk: StreamChunk | None) -> None:
        await _send_json(self._socket, chunk)


async def _authorize_socket(socket: WebSocket, parts: AppDependencies, offered: list[str]) -> AuthenticatedCaller:
    """By header, subprotocol, first message, or query, in this order."""
    kind, _, token = socket.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer":
        token = next((one for one in offered if one and one != PROTOCOL), "") if PROTOCOL in offered else ""
    token = token or socket.query_params.get("token", "")
    if not token:
        async with asyncio.timeout(SIGN_IN_SECONDS):
            first = await socket.receive()
        if first["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(first.get("code", 1000))
        token = SignIn.model_validate_json(first.get("text") or "").token
    return await authorize_caller(socket, parts, (SOCKET, PATH), READ, token, LimitedResource.READS)


def _parse_message(text: str) -> SignIn | SocketMessage | SocketCommand:
    try:
        return _MESSAGES.validate_python(json.loads(text))
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        raise Invalid("; ".join(problems)[:500]) from None
    except (ValueError, RecursionError):
        raise Invalid("a message is a JSON object with a `type`") from None


async def _send_json(socket: WebSocket, chunk: StreamChunk | None) -> None:
    if chunk is None:
        return
    body: dict[str, Any] = chunk.json()
    # Whoever has left is noticed by the loop that reads; nothing is lost by not telling them.
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.send_text(json.dumps(body))
