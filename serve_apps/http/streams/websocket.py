"""WS /api/v1/ws/agent: a conversation over one socket, answered in stream chunks (S4)."""

import asyncio
import json
from contextlib import aclosing, suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from pydantic import Field, TypeAdapter, ValidationError

from cluster.basics.errors import AosError, Conflict, Forbidden, Invalid, NotFound, TooLarge, Unauthenticated
from serve_apps.agents.streams.encode import Chunk, Reading, Verbosity, s4
from serve_apps.agents.turn_ports import Incoming, RunId
from serve_apps.http.auth.guard import admit, agree, check_age, denied, parts_of
from serve_apps.http.auth.permissions import SOCKET
from serve_apps.http.auth.revocation import CredentialEnded, Entry
from serve_apps.http.deps import Parts
from serve_apps.http.fields import Body
from serve_apps.http.streams.response import BUG, Begun, beating, begin, failure
from serve_apps.http.streams.turn_response import AgentKey, Documents, Said, SessionKey, Verbose, incoming

router = APIRouter(tags=["chat"])

PATH = "/api/v1/ws/agent"
PROTOCOL = "aos.bearer"  # Sec-WebSocket-Protocol: aos.bearer, <token>: what a browser can send in place of a header
SIGN_IN_SECONDS = 10.0
CLOSING_SECONDS = 5.0  # between a turn's last chunk and its end
CANCELLING_SECONDS = 6.0  # between asking a turn to end and closing it
FAREWELL_SECONDS = 1.0  # for the last words to a client that may not be reading
NOT_LET_IN = 4401  # 4000-4999 are for applications (RFC 6455 §7.4.2)
ALIVE = Chunk("status", "", {"heartbeat": True})


class SignIn(Body):
    """The first message, where neither header nor subprotocol carried a token; later a newer token of the same user."""

    type: Literal["auth"]
    token: Annotated[str, Field(max_length=10_000)]


class Say(Body):
    """A message to an agent."""

    type: Literal["message"]
    agent_id: AgentKey = ""
    session_id: SessionKey | None = None
    message: Said
    document_ids: Documents = None
    user_id: Annotated[str | None, Field(max_length=200)] = None
    stream: bool = True
    verbose: Verbose = False


class Command(Body):
    """`cancel` ends the turn that runs, `ping` is answered with a chunk, `pong` with nothing."""

    type: Literal["cancel", "ping", "pong"]


_MESSAGES: TypeAdapter[SignIn | Say | Command] = TypeAdapter(
    Annotated[SignIn | Say | Command, Field(discriminator="type")]
)


@router.websocket(PATH)
async def agent(socket: WebSocket) -> None:
    """Sign in, then any number of turns, one at a time."""
    parts = parts_of(socket)
    offered = [one.strip() for one in socket.headers.get("sec-websocket-protocol", "").split(",")]
    await socket.accept(PROTOCOL if PROTOCOL in offered else None)
    try:
        entry = await _admitted(socket, parts, offered)
    except (AosError, ValidationError, TimeoutError) as error:
        known = error if isinstance(error, AosError) else Unauthenticated("send {type: auth, token: ...} first")
        await _send(socket, s4(failure(1, known), ""))
        await socket.close(NOT_LET_IN, known.title[:100])
        return
    except WebSocketDisconnect:
        return
    talk = Talk(socket, parts, entry)
    hearing, ending = asyncio.create_task(talk.hear_all()), asyncio.create_task(talk.ended())
    try:
        await asyncio.wait({hearing, ending}, return_when=asyncio.FIRST_COMPLETED)
        if hearing.done():
            hearing.result()
            return
    finally:
        for task in (hearing, ending):
            task.cancel()
        await asyncio.wait({hearing, ending})
        await talk.end()
    with suppress(TimeoutError):
        async with asyncio.timeout(FAREWELL_SECONDS):
            await _send(socket, s4(failure(1, CredentialEnded()), ""))
            await socket.close(NOT_LET_IN, CredentialEnded().title[:100])


class Talk:
    """Conversation of one signed-in socket."""

    def __init__(self, socket: WebSocket, parts: Parts, entry: Entry) -> None:
        """One turn runs at a time."""
        self._socket, self._parts, self._entry, self._me = socket, parts, entry, entry.member
        self._turn: asyncio.Task[None] | None = None
        self._run: RunId | None = None
        self._over = True  # the running turn has told its last chunk
        self._renewed = asyncio.Event()

    async def hear_all(self) -> None:
        """Take messages until the client has left."""
        with suppress(WebSocketDisconnect, KeyError):  # KeyError: bytes came where text belongs
            while True:
                await self.hear(await self._socket.receive_text())

    async def ended(self) -> None:
        """Wait until the credential has ended: the one that was shown last, if there was a newer one."""
        while True:
            self._renewed.clear()
            ending = asyncio.create_task(self._parts.watch.ended(self._entry))
            renewed = asyncio.create_task(self._renewed.wait())
            try:
                await asyncio.wait({ending, renewed}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in (ending, renewed):
                    task.cancel()
                await asyncio.wait({ending, renewed})
            if not self._renewed.is_set():
                return

    async def hear(self, text: str) -> None:
        """Take one message; what is wrong with it is answered, and the socket stays open."""
        try:
            if len(text) > self._parts.http.max_body_bytes:
                raise TooLarge(f"a message has at most {self._parts.http.max_body_bytes} characters")
            await self._obey(_parsed(text))
        except AosError as error:
            await self._failed(error)

    async def end(self) -> None:
        """Stop the turn that runs: closing the orchestrator's events stops its model."""
        turn, self._turn = self._turn, None
        if turn is not None and not turn.done():
            turn.cancel()
            await asyncio.wait({turn})

    async def _obey(self, said: SignIn | Say | Command) -> None:
        if isinstance(said, SignIn):
            await self._sign_in_again(said.token)
            return
        agree(self._me, said.tenant_id, said.workspace_id)
        if isinstance(said, Say):
            agree(self._me, None, None, said.user_id)
            check_age(self._parts, self._entry.credential)
            if not self._over and self._turn is not None and not self._turn.done():
                raise Conflict("a turn is running", fix="Wait for its last chunk, or send {type: cancel}.")
            message, verbosity = incoming(
                said.agent_id,
                said.message,
                said.session_id,
                said.verbose,
                stream=said.stream,
                documents=said.document_ids,
            )
            if self._turn is not None:
                await asyncio.wait({self._turn}, timeout=CLOSING_SECONDS)
            await self.end()
            self._over = False
            self._turn = asyncio.create_task(self._converse(message, verbosity, said.stream))
        elif said.type == "ping":
            await self._tell(Chunk("status", "pong"))
        elif said.type == "cancel":
            await self._cancel()

    async def _sign_in_again(self, token: str) -> None:
        """A socket outlives its token: a newer one takes its place. Whose socket it is stays."""
        entry = await admit(self._socket, self._parts, (SOCKET, PATH), token)
        if (entry.member.user, entry.member.workspace) != (self._me.user, self._me.workspace):
            raise Conflict("this socket belongs to somebody else", fix="Open another one.")
        self._entry, self._me = entry, entry.member
        self._renewed.set()

    async def _cancel(self) -> None:
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
            await self._tell(Chunk("status", "cancelled", {"run_id": self._run}, True))

    async def _converse(self, message: Incoming, verbosity: Verbosity, stream: bool) -> None:
        self._run = None
        try:
            begun = await begin(self._parts.orchestrator.process(self._me.scope, message))
            self._run = RunId(str(begun.first.data.get("run_id", "")))
            await self._pass_on(begun, verbosity, stream)
        except AosError as error:
            self._over = True
            await self._failed(error)
        except Exception:
            self._over = True
            await self._tell(s4(BUG, ""))
            raise

    async def _pass_on(self, begun: Begun, verbosity: Verbosity, stream: bool) -> None:
        reading = Reading()
        async with aclosing(beating(begun, self._parts.pace.beat)) as beats:
            async for event in beats:
                if event is None:
                    await self._tell(ALIVE)
                elif (fresh := reading.take(event)) is not None:
                    chunk = s4(event, fresh, verbosity)
                    if chunk is not None and (stream or chunk.is_final):
                        self._over = chunk.is_final
                        await self._tell(chunk)

    async def _failed(self, error: AosError) -> None:
        if isinstance(error, Forbidden):
            await denied(self._parts, self._me, f"{SOCKET} {PATH}", PATH, error)
        await self._tell(s4(failure(1, error), ""))

    async def _tell(self, chunk: Chunk | None) -> None:
        await _send(self._socket, chunk)


async def _admitted(socket: WebSocket, parts: Parts, offered: list[str]) -> Entry:
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
    return await admit(socket, parts, (SOCKET, PATH), token)


def _parsed(text: str) -> SignIn | Say | Command:
    try:
        return _MESSAGES.validate_python(json.loads(text))
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:5])
        raise Invalid("; ".join(problems)[:500]) from None
    except (ValueError, RecursionError):
        raise Invalid("a message is a JSON object with a `type`") from None


async def _send(socket: WebSocket, chunk: Chunk | None) -> None:
    if chunk is None:
        return
    body: dict[str, Any] = chunk.json()
    # Whoever has left is noticed by the loop that reads; nothing is lost by not telling them.
    with suppress(WebSocketDisconnect, RuntimeError):
        await socket.send_text(json.dumps(body))
