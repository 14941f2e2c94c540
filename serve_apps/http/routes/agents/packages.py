"""`.skill` packages over HTTP: in with their documents, on to an agent, and out again."""

import asyncio
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response, UploadFile
from pydantic import BaseModel

from cluster.basics.archive import MOST_ENTRIES, PackageTooLarge
from cluster.basics.errors import DiskFull, Overloaded, Permanent
from cluster.state.identity.identity import WorkspaceMember
from serve_apps.http.auth.guard import GuardedRoute, Its, Me
from serve_apps.http.auth.permissions import OPERATE, READ
from serve_apps.http.deps import AppDependencies
from serve_apps.http.fields import AgentInQuery, storable_json
from serve_apps.http.routes.agents.skill_checks import check_skill, skill_detail
from serve_apps.http.routes.agents.skill_shapes import SkillInPath, SkillShape
from serve_apps.http.routes.documents.package_references import (
    Change,
    PackageReference,
    delete_references,
    enqueue_references,
    read_back,
    store_references,
)
from skills.framework.manifest import BadManifest, Kind, Manifest, as_json
from skills.framework.package import CATEGORY, SkillPackage, Trust, read_package, write_package
from skills.framework.skill_store import StoredSkill

router = APIRouter(route_class=GuardedRoute, tags=["skills"])

Over = Annotated[bool, Query(description="Also skills of these names that came from elsewhere.")]
MEDIA_TYPE = "application/zip"


class ImportedDocument(BaseModel):
    """A reference: `change` is what its bytes are to the workspace; `arriving` ones wait in a job already."""

    path: str
    document_id: str
    change: Change


class Imported(BaseModel):
    """Result of an import: `created` names skills with a new version; `job_id` reads the documents, if any.

    `ignored` are files of the package that nothing here has a use for; `signed_by` is a public key in base64.
    """

    skill: SkillShape
    scripts: list[SkillShape]
    created: list[str]
    agent_id: UUID | None
    attached: list[str]
    documents: list[ImportedDocument]
    job_id: UUID | None
    trust: Trust
    signed_by: str | None
    ignored: list[str]


@router.post(
    "/api/skills/import-package", status_code=202, responses={200: {"model": Imported}}, dependencies=[OPERATE]
)
async def import_package(
    file: UploadFile, me: Me, parts: Its, response: Response, agent_id: AgentInQuery = None, replace: Over = False
) -> Imported:
    """Register a package's skills and let its documents be read: 202 with a job, 200 where nothing is left to read.

    The same package again changes nothing; a changed reference becomes a version of its document. A skill
    that the workspace has from elsewhere stays as it is, and nothing is imported: 409, unless `replace` says otherwise.
    """
    agent = await parts.agent_store.resolve(me.scope, agent_id)
    return await _import_package(parts, me, file, agent, response, over=replace)


@router.post(
    "/api/agents/{agent_id}/import-skill-pack",
    status_code=202,
    responses={200: {"model": Imported}},
    dependencies=[OPERATE],
)
@router.post(
    "/api/universal-agents/{agent_id}/import-skill-pack",
    status_code=202,
    responses={200: {"model": Imported}},
    dependencies=[OPERATE],
)
async def import_skill_pack(
    agent_id: UUID, file: UploadFile, me: Me, parts: Its, response: Response, replace: Over = False
) -> Imported:
    """As import-package, and give the agent the skills and the documents."""
    await parts.agent_store.show(me.scope, str(agent_id))
    return await _import_package(parts, me, file, str(agent_id), response, over=replace)


@router.get(
    "/api/skills/{skill_name}/package",
    responses={200: {"content": {MEDIA_TYPE: {}}}},
    response_class=Response,
    dependencies=[READ],
)
async def export_package(skill_name: SkillInPath, me: Me, parts: Its) -> Response:
    """A skill as a `.skill` file, with its scripts and the documents that came with it; not signed."""
    newest = (await parts.skills.versions(me.scope, skill_name))[0].manifest
    mark = f"{CATEGORY}{skill_name}"
    scripts = [one.manifest for one in await parts.skills.newest(me.scope) if one.manifest.category == mark]
    references = await read_back(parts, me, skill_name, MOST_ENTRIES)
    made = await asyncio.to_thread(write_package, newest, references, [one for one in scripts if one.code])
    headers = {"Content-Disposition": f'attachment; filename="{skill_name}.skill"'}
    return Response(made, media_type=MEDIA_TYPE, headers=headers)


async def _import_package(
    parts: AppDependencies, me: WorkspaceMember, file: UploadFile, agent: str | None, response: Response, *, over: bool
) -> Imported:
    """All of it, or nothing."""
    package = await _read_upload(parts, file)
    skills = (package.manifest, *package.scripts)
    for manifest in skills:
        _check_storable_manifest(manifest)
        await check_skill(parts, me, manifest)
    references = await store_references(parts, me, package.manifest.name, package.references)
    try:
        made = await _register_package(parts, me, package, references, agent, over=over)
    # Nothing was accepted; after any other end the job may exist and need the bytes.
    except (DiskFull, Overloaded, Permanent):
        await delete_references(parts, references)
        raise
    response.status_code = 200 if made.job_id is None else 202
    return made


async def _read_upload(parts: AppDependencies, file: UploadFile) -> SkillPackage:
    most, settings = parts.http.max_upload_bytes, parts.ground.settings
    data = await file.read(most + 1)
    if len(data) > most:
        raise PackageTooLarge(f"the file is larger than {most} bytes")
    return await asyncio.to_thread(read_package, data, settings.signers, signed_only=settings.signed_only)


async def _register_package(
    parts: AppDependencies,
    me: WorkspaceMember,
    package: SkillPackage,
    references: list[PackageReference],
    agent: str | None,
    *,
    over: bool,
) -> Imported:
    name, kept, created, attached = package.manifest.name, list[StoredSkill](), list[str](), list[str]()
    async with parts.database.transaction(me.scope) as tx:
        for manifest in (package.manifest, *package.scripts):
            one, new = await parts.skills.register(tx, me.scope, manifest, name, over=over)
            kept.append(one)
            if new:
                created.append(manifest.name)
            if agent is not None and (await parts.skills.attach(tx, me.scope, agent, manifest.name))[1]:
                attached.append(manifest.name)
        job = await enqueue_references(parts, tx, me, name, references, agent)
        named = [one.document for one in references if one.location][:100]
        detail: dict[str, Any] = {"agent": agent, "trust": str(package.trust), "signed_by": package.signed_by}
        detail["documents"] = named
        registered = [skill_detail(one) for one in kept if one.manifest.name in created]
        detail |= {"registered": registered, "attached": attached}
        await parts.audit.record(tx, me.scope, "skill.import", name, detail=detail)
    return Imported(
        skill=SkillShape.of(kept[0]),
        scripts=[SkillShape.of(one) for one in kept[1:]],
        created=created,
        agent_id=None if agent is None else UUID(agent),
        attached=attached,
        documents=[ImportedDocument(path=r.path, document_id=r.document, change=r.change) for r in references],
        job_id=None if job is None else UUID(job),
        trust=package.trust,
        signed_by=package.signed_by or None,
        ignored=list(package.ignored),
    )


def _check_storable_manifest(manifest: Manifest) -> None:
    try:
        storable_json([as_json(manifest), manifest.text, manifest.code])
    except ValueError as error:
        raise BadManifest(f"{manifest.name}: {error}") from None
    if manifest.kind is Kind.INTERNAL and not manifest.text:
        raise BadManifest(f"{manifest.name} is internal and has no text: nothing would come of it")
