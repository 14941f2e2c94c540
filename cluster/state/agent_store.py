"""Agents as rows: found by id or name, listed, made, changed and deleted, with the one that every workspace has."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, NotFound
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope
from cluster.state.corpus import lock_corpus, mark_corpus_changed
from cluster.state.db.postgres import Database, Row, Transaction, load_queries


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


class AgentStore:
    """Every statement about agents; what each was given or may search is kept beside skills and documents."""

    def __init__(self, database: Database, standing: DefaultAgent | None = None) -> None:
        """Queries are read from agent_store.sql beside this file."""
        self._db, self._standing = database, standing
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    async def page(self, scope: Scope, skip: int, limit: int) -> tuple[list[Row], int]:
        """A page of the workspace's agents, and how many there are."""
        async with self._db.transaction(scope) as tx:
            total = await tx.one(self._sql["count"], workspace=scope.workspace)
            if self._standing is not None and total == {"total": 0}:
                await self._open_default(tx, scope, self._standing)
                total = await tx.one(self._sql["count"], workspace=scope.workspace)
            rows = await tx.all(self._sql["list"], workspace=scope.workspace, skip=skip, limit=limit)
        return rows, int(total["total"]) if total else 0

    async def add(self, tx: Transaction, scope: Scope, agent: NewAgent) -> Row:
        """An agent of the workspace.

        Raises:
            Conflict: the name is taken.
        """
        try:
            row = await tx.one(self._sql["add"], **_agent_values(scope, agent))
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"the agent {agent.name} exists already") from error
        assert row is not None
        return {**row, "documents": 0}

    async def show(self, scope: Scope, agent: str) -> Row:
        """One agent by its id.

        Raises:
            NotFound: there is no such agent here.
        """
        async with self._db.transaction(scope) as tx:
            return await self._agent(tx, scope, agent)

    async def find(self, scope: Scope, agent: str) -> Row:
        """One agent by its id or by its display name.

        Raises:
            NotFound: there is no such agent here.
        """
        async with self._db.transaction(scope) as tx:
            return await self.look_up(tx, scope, agent)

    async def look_up(self, tx: Transaction, scope: Scope, agent: str) -> Row:
        """As `find`, in the caller's transaction."""
        return await self._agent(tx, scope, await self._resolve_agent(tx, scope, agent))

    async def require(self, tx: Transaction, scope: Scope, agent: str) -> None:
        """Hold an agent until the transaction ends, for what is given to it.

        Raises:
            NotFound: there is no such agent here.
        """
        if await tx.one(self._sql["require"], agent=uuid_of(agent, "agent"), workspace=scope.workspace) is None:
            raise NotFound(f"agent {agent}")

    async def change(self, tx: Transaction, scope: Scope, agent: str, change: AgentChange) -> Row:
        """The agent as it is then; runs that have begun keep the one they began with.

        Raises:
            NotFound, Conflict: no such agent here, or the name is taken.
        """
        if change.whole_workspace is not None:
            await lock_corpus(tx, scope)
        try:
            found = await tx.one(
                self._sql["change"],
                agent=uuid_of(agent, "agent"),
                workspace=scope.workspace,
                name=change.name,
                description=change.description,
                system_prompt=change.system_prompt,
                auto_link_uploads=change.auto_link_uploads,
                whole_workspace=change.whole_workspace,
                config=Jsonb(dict(change.config)),
                metadata=Jsonb(dict(change.metadata)),
            )
        except psycopg.errors.UniqueViolation as error:
            raise Conflict(f"the agent {change.name} exists already") from error
        if found is None:
            raise NotFound(f"agent {agent}")
        if change.whole_workspace is not None:
            await mark_corpus_changed(tx, scope)
        return await self._agent(tx, scope, agent)

    async def delete(self, tx: Transaction, scope: Scope, agent: str) -> None:
        """Delete an agent, its conversations and their runs; its documents stay.

        Raises:
            NotFound: there is no such agent here.
            Conflict: a turn of it has not ended.
        """
        values = {"agent": uuid_of(agent, "agent"), "workspace": scope.workspace}
        await lock_corpus(tx, scope)
        if await tx.one(self._sql["lock"], **values) is None:
            raise NotFound(f"agent {agent}")
        if (run := await tx.one(self._sql["busy"], **values)) is not None:
            raise Conflict(f"run {run['id']} of it is {run['state']}", fix="Cancel the run, or decide its approval.")
        await tx.run(self._sql["delete"], **values)
        await mark_corpus_changed(tx, scope)

    async def resolve(self, scope: Scope, agent: str | None) -> str | None:
        """The id of an agent that is named by id or by display name; None stays None.

        Raises:
            NotFound: there is no such agent here.
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
        row = await tx.one(self._sql["open"], **_agent_values(scope, standing.agent))
        if row is not None:
            await standing.opened(tx, scope, str(row["id"]))

    async def _agent(self, tx: Transaction, scope: Scope, agent: str) -> Row:
        row = await tx.one(self._sql["show"], agent=uuid_of(agent, "agent"), workspace=scope.workspace)
        if row is None:
            raise NotFound(f"agent {agent}")
        return row


def _agent_values(scope: Scope, agent: NewAgent) -> dict[str, Any]:
    return {
        **scope.keys,
        "name": agent.name,
        "description": agent.description,
        "system_prompt": agent.system_prompt,
        "auto_link_uploads": agent.auto_link_uploads,
        "config": Jsonb(dict(agent.config)),
        "metadata": Jsonb(dict(agent.metadata)),
        "whole_workspace": agent.whole_workspace,
    }
