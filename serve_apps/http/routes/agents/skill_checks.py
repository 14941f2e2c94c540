"""Checks that a skill has to pass before it is stored, and its lines in the audit log."""

from typing import Any

from cluster.state.audit import Outcome
from cluster.state.db.postgres import Transaction
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.deps import AppDependencies
from skills.framework.builtin import build_tool
from skills.framework.manifest import Kind, Manifest
from skills.framework.skill_store import StoredSkill
from skills.python.trial import SampleFailed, Tried, try_script


async def check_skill(
    parts: AppDependencies, me: WorkspaceMember, manifest: Manifest, sample: dict[str, Any] | None = None
) -> tuple[Tried | None, dict[str, Any] | None]:
    """Check that a skill can be carried out here as described; a script is tried: how, and what it gave.

    A trial that fails is in the trail: its code ran, as far as it came.

    Raises:
        BadManifest, SkillDisabled, NotCallable: its kind does not take it.
        SampleFailed, SandboxMissing: its code does not work, or nothing can be tried here.
    """
    parts.skills.check(manifest)
    if manifest.kind not in (Kind.INTERNAL, Kind.DELEGATE):
        build_tool(manifest, parts.ground)
    if manifest.kind is not Kind.PYTHON:
        return None, None
    try:
        how, given = await try_script(parts.ground.scripts, manifest.code, sample, manifest.seconds)
    except SampleFailed as error:
        await on_record(parts, me, manifest, Outcome.FAILED, {"code": error.code})
        raise
    return how, dict(given) if how == "sample" else None


async def on_record(
    parts: AppDependencies, me: WorkspaceMember, manifest: Manifest, outcome: Outcome, detail: dict[str, Any]
) -> None:
    """A trial's line in the audit trail."""
    async with parts.database.transaction(me.scope) as tx:
        await parts.audit.record(tx, me.scope, "skill.try", manifest.name, outcome, detail)


async def register_skill(
    parts: AppDependencies, tx: Transaction, me: WorkspaceMember, manifest: Manifest
) -> tuple[StoredSkill, bool]:
    """As `SkillStore.register`; a new version is in the trail."""
    stored, new = await parts.skills.register(tx, me.scope, manifest)
    if new:
        detail = skill_detail(stored)
        await parts.audit.record(tx, me.scope, "skill.register", stored.manifest.name, detail=detail)
    return stored, new


def skill_detail(stored: StoredSkill) -> dict[str, Any]:
    """What the trail has of a version of a skill that was registered."""
    kept = stored.manifest
    known = {"skill": kept.name, "version": kept.version, "kind": str(kept.kind), "risk": str(kept.risk)}
    return {**known, "sha256": stored.sha256}


async def attach_skill(
    parts: AppDependencies, tx: Transaction, me: WorkspaceMember, agent: str, name: str, version: int | None = None
) -> bool:
    """As `SkillStore.attach`, and in the trail where it changed something."""
    stored, changed = await parts.skills.attach(tx, me.scope, agent, name, version)
    if changed:
        detail = {"skill": name, "version": stored.manifest.version, "pinned": version is not None}
        await parts.audit.record(tx, me.scope, "skill.attach", agent, detail=detail)
    return changed
