"""Skills of a workspace: versions that never change, and which agent has which."""

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from psycopg.types.json import Jsonb

from cluster.basics.errors import Conflict, Invalid, NotFound, TooLarge
from cluster.basics.ids import uuid_of
from cluster.basics.scope import Scope
from cluster.state.agent_store import AgentStore
from cluster.state.canonical_json import dump_canonical
from cluster.state.db.postgres import Database, Row, Transaction, load_queries
from skills.framework.builtin import BASE, shipped_names, shipped_skill
from skills.framework.catalogue import check_spec
from skills.framework.execution_scope import scope_of
from skills.framework.frozen_skill import plain_manifest, skill_fingerprint
from skills.framework.manifest import Kind, Manifest, as_json, manifest_of
from skills.framework.schemas import refused_key

MOST_SKILLS = 1_000  # of a workspace, by name
MOST_ATTACHED = 64  # of an agent: a model is told of all of them in every request
MOST_CODE = 100_000  # characters
MOST_TEXT = 50_000  # characters; that of an internal skill is in every prompt
MOST_SCHEMA = 20_000  # characters of JSON
MOST_VERSIONS = 200  # that are shown

_OVER = "Call it otherwise, or import with replace=true, which gives every agent that has the skill the new one."


class SkillNotFound(NotFound):
    """There is no such skill here."""

    code = "skill_not_found"


@dataclass(frozen=True, slots=True)
class StoredSkill:
    """A version of a skill."""

    manifest: Manifest
    sha256: str = ""  # of manifest, text and code; empty for what ships
    by: str | None = None  # who registered it; None for what ships
    at: datetime | None = None  # when; None for what ships

    @property
    def ships(self) -> bool:
        """True for a skill that ships and belongs to every workspace."""
        return self.at is None


@dataclass(frozen=True, slots=True)
class AttachedSkill:
    """A skill of an agent."""

    name: str
    pinned: int | None  # the version that it stays with; None for the newest
    at: datetime
    stored: StoredSkill | None  # what a turn would have now; None where the skill is gone


class SkillStore:
    """Store of the skills registered in a workspace, and of their attachments to agents."""

    def __init__(self, database: Database) -> None:
        self._db, self._agents = database, AgentStore(database)
        self._sql = load_queries(Path(__file__).with_suffix(".sql"))

    @staticmethod
    def check(manifest: Manifest) -> None:
        """Check that a skill could be registered at all.

        Raises:
            Conflict: the name belongs to a skill that ships.
            BadManifest: options or text that its kind does not take.
            Invalid, TooLarge: code where its kind has none, none where it has, too much of it.
        """
        _check_manifest(manifest)

    async def register(
        self, tx: Transaction, scope: Scope, manifest: Manifest, package: str | None = None, *, over: bool = True
    ) -> tuple[StoredSkill, bool]:
        """Keep a skill, and whether that made a version: the content of the newest one makes none.

        `package`: that it came in; `over`: also where the newest version came from elsewhere.

        Raises:
            Conflict: the name belongs to a skill that ships, or (not `over`) from elsewhere, or there are too many.
            BadManifest, Invalid, TooLarge: as `check`.
        """
        self.check(manifest)
        values = {"workspace": scope.workspace, "name": manifest.name}
        await tx.one(self._sql["hold"], **values)
        row = await tx.one(self._sql["newest"], version=None, **values)
        sha256 = skill_fingerprint(manifest)
        if row is not None and row["sha256"] == sha256:
            return _stored_from_row(row), False
        if row is not None and not over and row["package"] != package:
            whose = f"came from the package {row['package']}" if row["package"] else "came from no package"
            raise Conflict(f"{manifest.name} is a skill of this workspace, and {whose}", fix=_OVER)
        if row is None:
            counted = await tx.one(self._sql["count"], workspace=scope.workspace)
            if counted is not None and counted["total"] >= MOST_SKILLS:
                raise Conflict(f"this workspace has {MOST_SKILLS:,} skills")
        version = 1 if row is None else row["version"] + 1
        front = Jsonb(as_json(replace(manifest, version=version)))
        said = {"manifest": front, "body": manifest.text, "code": manifest.code, "sha256": sha256}
        of = {"tenant": scope.tenant, "version": version, "user": scope.user, "package": package}
        made = await tx.one(self._sql["add"], **of, **said, **values)
        assert made is not None
        return _stored_from_row(made), True

    async def newest(self, scope: Scope) -> list[StoredSkill]:
        """The newest version of everything registered here, by name."""
        async with self._db.transaction(scope) as tx:
            return list(map(_stored_from_row, await tx.all(self._sql["newest_of_each"], workspace=scope.workspace)))

    async def versions(self, scope: Scope, name: str) -> list[StoredSkill]:
        """Every version of a skill, the newest first. Raises SkillNotFound: it neither ships nor is registered here."""
        if name in shipped_names():
            return [StoredSkill(shipped_skill(name))]
        async with self._db.transaction(scope) as tx:
            rows = await tx.all(self._sql["versions"], workspace=scope.workspace, name=name, limit=MOST_VERSIONS)
        if not rows:
            raise SkillNotFound(f"skill {name}")
        return [_stored_from_row(row) for row in rows]

    async def get(self, tx: Transaction, scope: Scope, name: str, version: int | None = None) -> StoredSkill:
        """One version, the newest where none is named. Raises SkillNotFound: there is none."""
        if name in shipped_names() and version in (None, shipped_skill(name).version):
            return StoredSkill(shipped_skill(name))
        row = await tx.one(self._sql["newest"], workspace=scope.workspace, name=name, version=version)
        if row is None:
            raise SkillNotFound(f"skill {name}" + ("" if version is None else f", version {version}"))
        return _stored_from_row(row)

    async def attach(
        self, tx: Transaction, scope: Scope, agent: str, name: str, version: int | None = None
    ) -> tuple[StoredSkill, bool]:
        """Give an agent a skill from its next turn on, and whether that changed anything.

        `version`: stay with this one; None follows the newest.

        Raises:
            NotFound: there is no such agent here.
            SkillNotFound: there is no such skill or version here.
            Conflict: every agent has it anyway, or this one has too many.
        """
        await self._agents.require(tx, scope, agent)
        if name in BASE:
            raise Conflict(f"every agent has {name}", fix="List an agent's `tools` in its config to leave some out.")
        stored = await self.get(tx, scope, name, version)
        held = await tx.all(self._sql["attached"], agent=agent, workspace=scope.workspace)
        if name not in (others := {row["skill"] for row in held} - {None}) and len(others) >= MOST_ATTACHED:
            raise Conflict(f"the agent has {MOST_ATTACHED} skills", fix="Take one away that it does not need.")
        of = {"agent": agent, "name": name, "version": None if stored.ships else version}
        changed = await tx.run(self._sql["attach"], **of, **scope.keys, user=scope.user)
        return stored, changed > 0

    async def detach(self, tx: Transaction, scope: Scope, agent: str, name: str) -> None:
        """Take a skill away; turns that have begun keep it.

        Raises NotFound: there is no such agent here; SkillNotFound: the agent does not have it.
        """
        await self._agents.require(tx, scope, agent)
        if not await tx.run(self._sql["detach"], agent=agent, name=name, workspace=scope.workspace):
            raise SkillNotFound(f"skill {name} of agent {agent}")

    async def remove(self, tx: Transaction, scope: Scope, name: str, *, detach: bool = False) -> list[str]:
        """Forget every version of a skill; gives the ids of the agents that had it. Turns that have begun keep it.

        `detach`: take it away from agents that have it; else they keep it from being removed.

        Raises SkillNotFound: nothing of that name is registered here; Conflict: it ships, or agents have it.
        """
        if name in shipped_names():
            raise Conflict(f"{name} ships with the program", fix="Take it away from agents, or switch its kind off.")
        values = {"workspace": scope.workspace, "name": name}
        await tx.one(self._sql["hold"], **values)
        having = await tx.all(self._sql["having"], **values)
        if having and not detach:
            called = ", ".join(row["agent"] for row in having[:5]) + (" and others" if having[5:] else "")
            raise Conflict(f"agents have {name}: {called}", fix="Take it away from them, or say detach=true.")
        await tx.run(self._sql["detach_all"], **values)
        if not await tx.run(self._sql["remove"], **values):
            raise SkillNotFound(f"skill {name}")
        return [str(row["id"]) for row in having]

    async def attached(self, scope: Scope, agent: str) -> list[AttachedSkill]:
        """Skills attached to an agent, by name. Raises NotFound: there is no such agent here."""
        async with self._db.transaction(scope) as tx:
            return await self.attached_in(tx, scope, agent)

    async def attached_in(self, tx: Transaction, scope: Scope, agent: str) -> list[AttachedSkill]:
        """As `attached`, in the caller's transaction."""
        values = {"agent": uuid_of(agent, "agent"), "workspace": scope.workspace}
        rows = await tx.all(self._sql["attached"], **values)
        if not rows:
            raise NotFound(f"agent {agent}")
        return [_attached_from_row(row) for row in rows if row["skill"] is not None]


def _check_manifest(manifest: Manifest) -> None:
    if manifest.name in shipped_names():
        raise Conflict(f"{manifest.name} is a skill that ships", fix="Choose another name.")
    if manifest.kind is Kind.DELEGATE:
        scope_of(manifest)
    if (manifest.kind is Kind.PYTHON) != bool(manifest.code.strip()):
        raise Invalid("a python skill needs code" if manifest.kind is Kind.PYTHON else "only python skills have code")
    check_spec(manifest.spec)
    if len(dump_canonical(manifest.parameters)) > MOST_SCHEMA:
        raise TooLarge(f"the parameters of {manifest.name} are longer than {MOST_SCHEMA:,} characters")
    if refused := refused_key(manifest.parameters):
        raise Invalid(f"parameters: {refused} is not taken; write the schema out, and say in words what a text holds")
    for what, text, most in (("code", manifest.code, MOST_CODE), ("text", manifest.text, MOST_TEXT)):
        if len(text) > most:
            raise TooLarge(f"the {what} of {manifest.name} has {len(text):,} characters; {most:,} are taken")


def _stored_from_row(row: Row) -> StoredSkill:
    manifest = manifest_of({**row["manifest"], "version": row["version"]}, text=row["body"], code=row["code"])
    by = None if row["created_by"] is None else str(row["created_by"])
    return StoredSkill(plain_manifest(manifest), row["sha256"], by, row["created_at"])


def _attached_from_row(row: Row) -> AttachedSkill:
    """An attachment from its row; a skill that ships goes before a registered one of the same name."""
    name = row["skill"]
    known = None if row["name"] is None else _stored_from_row(row)
    stored = StoredSkill(shipped_skill(name)) if name in shipped_names() else known
    return AttachedSkill(name, row["pinned"], row["attached_at"], stored)
