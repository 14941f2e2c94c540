"""Agents as rows: found by id or name, listed, made, changed and deleted, with the one that every workspace has."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import scoped_id
from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, SqlStore, Transaction, field_values, unique_or_conflict


@dataclass(frozen=True, slots=True)
class NewAgent:
    """An agent to be; `auto_link_uploads` links every upload to it, with `whole_workspace` it needs no links."""

    name: str
    description: str = ""
    system_prompt: str = ""
    auto_link_uploads: bool = False
    config: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    whole_workspace: bool = False


@dataclass(frozen=True, slots=True)
class AgentChange:
    """A change to an agent; None keeps a value. Keys of config and metadata are merged, those that are None go."""

    name: str | None = None
    description: str | None = None
    system_prompt: str | None = None
    auto_link_uploads: bool | None = None
    whole_workspace: bool | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DefaultAgent:
    """The agent that every workspace has as soon as somebody asks for it; `opened` puts on record that it came."""

    agent: NewAgent
    opened: Callable[[Transaction, Scope, str], Awaitable[None]]


class AgentStore(SqlStore, queries="agent_store.sql"):
    """Every statement about agents; what each was given or may search is kept beside skills and documents."""

    def __init__(self, database: Database, standing: DefaultAgent | None = None) -> None:
        """`standing`: where there is one, made when somebody asks for it."""
        super().__init__(database)
        self._standing = standing

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of the workspace's agents, and how many there are."""
        async with self._db.transaction(scope) as tx:
            total = await tx.one(self._sql["count"], workspace=scope.workspace)
            if self._standing is not None and total == {"total": 0}:
                await self._open_default(tx, scope, self._standing)
            queries = self._sql["list"], self._sql["count"]
            return await tx.page(*queries, workspace=scope.workspace, skip=skip, limit=limit)

    async def add(self, tx: Transaction, scope: Scope, agent: NewAgent) -> Row:
        """An agent of the workspace. Raises Conflict where the name is taken."""
        with unique_or_conflict(f"the agent {agent.name} exists already"):
            row = await tx.only(self._sql["add"], **_agent_values(agent), **scope.keys)
        return {**row, "documents": 0}

    async def show(self, scope: Scope, agent: str) -> Row:
        """One agent by its id. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            return await self._agent(tx, scope, agent)

    async def find(self, scope: Scope, agent: str) -> Row:
        """One agent by its id or by its display name. Raises NotFound where there is none."""
        async with self._db.transaction(scope) as tx:
            return await self.look_up(tx, scope, agent)

    async def look_up(self, tx: Transaction, scope: Scope, agent: str) -> Row:
        """As `find`, in the caller's transaction."""
        return await self._agent(tx, scope, await self._resolve_agent(tx, scope, agent))

    async def require(self, tx: Transaction, scope: Scope, agent: str) -> None:
        """Hold an agent until the transaction ends, for what is given to it. Raises NotFound where there is none."""
        await tx.required(f"agent {agent}", self._sql["require"], **scoped_id(scope, "agent", agent))

    async def change(self, tx: Transaction, scope: Scope, agent: str, change: AgentChange) -> Row:
        """The agent as it is then; runs that have begun keep the one they began with.

        Raises NotFound or Conflict: no such agent here, or the name is taken.
        """
        if change.whole_workspace is not None:
            await lock_corpus(tx, scope)
        values = _agent_values(change) | scoped_id(scope, "agent", agent)
        with unique_or_conflict(f"the agent {change.name} exists already"):
            await tx.required(f"agent {agent}", self._sql["change"], **values)
        if change.whole_workspace is not None:
            await mark_corpus_changed(tx, scope)
        return await self._agent(tx, scope, agent)

    async def delete(self, tx: Transaction, scope: Scope, agent: str) -> None:
        """Delete an agent, its conversations and their runs; its documents stay.

        Raises NotFound where there is none, Conflict where a turn of it has not ended.
        """
        values = scoped_id(scope, "agent", agent)
        await lock_corpus(tx, scope)
        await tx.required(f"agent {agent}", self._sql["lock"], **values)
        if (run := await tx.one(self._sql["busy"], **values)) is not None:
            raise Conflict(f"run {run['id']} of it is {run['state']}", fix="Cancel the run, or decide its approval.")
        await tx.run(self._sql["delete"], **values)
        await mark_corpus_changed(tx, scope)

    async def resolve(self, scope: Scope, agent: str | None) -> str | None:
        """The id of an agent that is named by id or by display name; None stays None.

        Raises NotFound where there is none.
        """
        if agent is None:
            return None
        async with self._db.transaction(scope) as tx:
            return await self._resolve_agent(tx, scope, agent)

    async def _resolve_agent(self, tx: Transaction, scope: Scope, agent: str) -> str:
        row = await tx.one(self._sql["resolve"], agent=agent, workspace=scope.workspace)
        if row is None and self._standing is not None and agent == self._standing.agent.name:
            await self._open_default(tx, scope, self._standing)
            row = await tx.one(self._sql["resolve"], agent=agent, workspace=scope.workspace)
        if row is None:
            raise NotFound(f"agent {agent}")
        return str(row["id"])

    async def _open_default(self, tx: Transaction, scope: Scope, standing: DefaultAgent) -> None:
        """Of several that ask at the same moment one makes it; the others wait for that and find it."""
        if (row := await tx.one(self._sql["open"], **_agent_values(standing.agent), **scope.keys)) is not None:
            await standing.opened(tx, scope, str(row["id"]))

    async def _agent(self, tx: Transaction, scope: Scope, agent: str) -> Row:
        return await tx.required(f"agent {agent}", self._sql["show"], **scoped_id(scope, "agent", agent))


def _agent_values(agent: NewAgent | AgentChange) -> dict[str, Any]:
    return field_values(agent) | {"config": Jsonb(dict(agent.config)), "metadata": Jsonb(dict(agent.metadata))}
