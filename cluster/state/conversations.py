"""Conversations in Postgres: sessions, their messages numbered without a gap, facts and summaries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Forbidden, NotFound
from cluster.basics.ids import as_uuid
from cluster.basics.scope import Role, Scope
from cluster.state.db.postgres import Row, SqlStore, Transaction

LONGEST_KEY = 128  # characters of a client's own name for a session
_TITLE = 80

Speaker = Literal["user", "assistant"]
Status = Literal["open", "closed"]


@dataclass(frozen=True, slots=True)
class ConversationSession:
    """A conversation of one user.

    Attributes:
        key: the client's own name for it.
        messages: how many it has, which is the number of the last one.
    """

    id: str
    agent: str | None
    user: str
    key: str | None
    title: str
    status: Status
    messages: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewMessage:
    """Something said; `findings` counts what was masked or marked in it before, by kind.

    `classification`: of an answer, the highest class of the documents that it cites.
    """

    role: Speaker
    text: str
    run: str | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    classification: str | None = None

    @property
    def content(self) -> dict[str, Any]:
        """As it is stored."""
        of = {} if self.classification is None else {"classification": self.classification}
        return {"text": self.text, "findings": dict(self.findings), **of}


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it is kept; `seq` counts from 1 within its session."""

    seq: int
    role: Speaker
    text: str
    run: str | None
    findings: Mapping[str, int]
    at: datetime
    classification: str | None = None


@dataclass(frozen=True, slots=True)
class ConversationSummary:
    """A summary of a session's messages up to and including message `upto`."""

    upto: int
    text: str


@dataclass(frozen=True, slots=True)
class SessionFact:
    """Something worth remembering; categories and importances are those of the table."""

    category: str
    importance: str
    text: str


class ConversationStore(SqlStore, queries="conversations.sql"):
    """A user sees their own sessions only; an administrator of the workspace may also read those of others."""

    async def open(
        self, tx: Transaction, scope: Scope, wanted: str | None, agent: str | None, title: str = ""
    ) -> ConversationSession:
        """The session that a message belongs to.

        `wanted` is a session's UUID, or the user's own name for one, made where there is none; None makes a new one,
        with this `title`; otherwise the first message gives one. `agent` is who is spoken to in a new session.

        Raises NotFound where the UUID is none of this user's sessions, Conflict where the session is closed.
        """
        values = _user_values(scope) | {"agent": agent}
        if wanted is None:
            row = await tx.one(self._sql["open_new"], title=title[:_TITLE], **values)
        elif (id_ := as_uuid(wanted)) is not None:
            row = await tx.one(self._sql["show"], session=id_, everyone=False, **values)
        else:
            row = await tx.one(self._sql["open_by_key"], key=wanted[:LONGEST_KEY], **values)
        if row is None:
            raise NotFound(f"session {wanted}", fix="Leave the session out to begin one, or use a name of your own.")
        session = _read_session(row)
        if session.status == "closed":
            raise Conflict(f"session {session.id} is closed", fix="Begin another one, or open this one again.")
        return session

    async def show(self, scope: Scope, session: str) -> ConversationSession:
        """One session, by its UUID or by the reader's own name for it.

        Raises NotFound where there is none of this id, or it is another user's and the reader no administrator.
        """
        async with self._db.transaction(scope) as tx:
            return await self._require_session(tx, scope, session)

    async def page(
        self, scope: Scope, *, agent: str | None = None, everyone: bool = False, skip: int = 0, limit: int = 50
    ) -> tuple[list[ConversationSession], int]:
        """A page of sessions, the one used last first, and how many there are.

        Raises Forbidden where `everyone` is asked for by who is no administrator.
        """
        if everyone and scope.role is not Role.ADMIN:
            raise Forbidden("only an administrator may list other people's sessions")
        values = _user_values(scope) | {"agent": agent, "everyone": everyone}
        async with self._db.transaction(scope) as tx:
            rows, total = await tx.page(self._sql["list"], self._sql["count"], skip=skip, limit=limit, **values)
        return [_read_session(row) for row in rows], total

    async def change(
        self, tx: Transaction, scope: Scope, session: str, *, title: str | None = None, status: Status | None = None
    ) -> None:
        """Rename, close or open one's own session again; None leaves it as it is.

        Raises NotFound where there is none.
        """
        values = _own_session_values(scope, session) | {"title": title, "status": status}
        await tx.required(f"session {session}", self._sql["change"], **values)

    async def delete(self, tx: Transaction, scope: Scope, session: str) -> None:
        """One's own session, its messages, facts, summary and runs, for good.

        Raises NotFound where it is none of this user's, Conflict where a turn of it has not ended: an approved action
        must not lose its record.
        """
        values = _own_session_values(scope, session)
        await tx.required(f"session {session}", self._sql["lock"], **values)
        if (run := await tx.one(self._sql["busy"], **values)) is not None:
            raise Conflict(f"run {run['id']} of it is {run['state']}", fix="Cancel the run, or decide its approval.")
        await tx.run(self._sql["delete"], **values)

    async def append(
        self, tx: Transaction, scope: Scope, session: str, messages: Sequence[NewMessage]
    ) -> list[StoredMessage]:
        """Add messages; their numbers follow the last one without a gap, also where others write at the same time.

        Raises:
            NotFound: it is none of this user's sessions.
            Conflict: it is closed; the answer to what was said before is still taken.
        """
        values = _own_session_values(scope, session)
        said = next((" ".join(m.text.split())[:_TITLE] for m in messages if m.role == "user"), "")
        held = await tx.required(f"session {session}", self._sql["hold"], title=said, **values)
        if held["status"] == "closed" and any(message.role == "user" for message in messages):
            raise Conflict(f"session {session} is closed")
        rows = await tx.all(
            self._sql["append"],
            roles=[m.role for m in messages],
            contents=[Jsonb(m.content) for m in messages],
            runs=[m.run for m in messages],
            **values,
        )
        return sorted((_read_message(row) for row in rows), key=lambda stored: stored.seq)

    async def last(self, tx: Transaction, scope: Scope, session: str, *, upto: int, limit: int) -> list[StoredMessage]:
        """The newest messages up to number `upto`, oldest first; nobody's name is checked here, `open` did that."""
        rows = await tx.all(self._sql["last"], session=session, upto=upto, limit=limit, **scope.keys)
        return [_read_message(row) for row in reversed(rows)]

    async def messages(self, scope: Scope, session: str, *, after: int = 0, limit: int = 100) -> list[StoredMessage]:
        """The messages after a number, oldest first. Raises NotFound as `show`."""
        async with self._db.transaction(scope) as tx:
            found = await self._require_session(tx, scope, session)
            rows = await tx.all(self._sql["after"], session=found.id, after=after, limit=limit, **scope.keys)
        return [_read_message(row) for row in rows]

    async def summary(self, tx: Transaction, scope: Scope, session: str) -> ConversationSummary | None:
        """The session's summary; None where nothing was summarised yet."""
        row = await tx.one(self._sql["summary"], session=session, **scope.keys)
        return None if row is None else ConversationSummary(int(row["upto_seq"]), row["summary"])

    async def summarise(self, tx: Transaction, scope: Scope, session: str, summary: ConversationSummary) -> None:
        """Keep a summary, unless one that reaches further is there already."""
        values = _user_values(scope) | {"session": session, "upto": summary.upto, "summary": summary.text}
        await tx.run(self._sql["summarise"], **values)

    async def facts(self, tx: Transaction, scope: Scope, session: str) -> list[SessionFact]:
        """The facts learned in this session, the important first."""
        return [read_fact(row) for row in await tx.all(self._sql["facts"], session=session, **scope.keys)]

    async def known(self, tx: Transaction, scope: Scope, session: ConversationSession, limit: int) -> list[SessionFact]:
        """Facts about this session's user from it and from their other sessions with the same agent."""
        values = {"session": session.id, "user": session.user, "agent": session.agent, "limit": limit}
        return [read_fact(row) for row in await tx.all(self._sql["known"], **values, **scope.keys)]

    async def learn(self, tx: Transaction, scope: Scope, session: str, facts: Sequence[SessionFact]) -> int:
        """Keep facts of one's own session; returns how many are new."""
        return await tx.run(
            self._sql["learn"],
            session=session,
            categories=[fact.category for fact in facts],
            importances=[fact.importance for fact in facts],
            facts=[fact.text for fact in facts],
            **_user_values(scope),
        )

    async def _require_session(self, tx: Transaction, scope: Scope, session: str) -> ConversationSession:
        id_ = as_uuid(session)
        values = _user_values(scope) | {"everyone": scope.role is Role.ADMIN, "session": id_, "key": session}
        return _read_session(
            await tx.required(f"session {session}", self._sql["show_by_key" if id_ is None else "show"], **values)
        )


def _user_values(scope: Scope) -> dict[str, Any]:
    if scope.user is None:
        raise Forbidden("a conversation belongs to a person")
    return {**scope.keys, "user": scope.user}


def _own_session_values(scope: Scope, session: str) -> dict[str, Any]:
    return {**_user_values(scope), "session": as_uuid(session)}


def _read_session(row: Row) -> ConversationSession:
    agent = None if row["agent_id"] is None else str(row["agent_id"])
    same = {key: row[key] for key in ("key", "title", "status", "messages", "created_at", "updated_at")}
    return ConversationSession(id=str(row["id"]), agent=agent, user=str(row["user_id"]), **same)


def _read_message(row: Row) -> StoredMessage:
    content, run = row["content"], None if row["run_id"] is None else str(row["run_id"])
    findings = content.get("findings", {})
    of = content.get("classification")
    return StoredMessage(row["seq"], row["role"], content["text"], run, findings, row["created_at"], of)


def read_fact(row: Row) -> SessionFact:
    """A fact as it is stored."""
    return SessionFact(row["category"], row["importance"], row["fact"])
