"""`aos skills` for `.skill` packages: build, sign and verify them here, import and export them over HTTP."""

from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from cluster.basics.archive import MOST_TOTAL, FileBundle, pack_zip, unpack_zip
from cluster.basics.errors import Conflict, Invalid, NotFound
from cluster.basics.signature import new_key, sign_bundle, signer_of
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext
from cluster.console.commands.skill_commands import SkillName, agent_id, skills

PackageFile = Annotated[Path, typer.Argument(help="A .skill file.", exists=True, dir_okay=False)]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Where to write it; else <name>.skill here.")]
__all__ = ["skills"]
SHIPPED = "packs"  # the folder of the packages that ship, in the package `skills`


@skills.command("import")
def import_package(
    context: CommandContext,
    file: PackageFile,
    agent: Annotated[str | None, typer.Option(help="Give it the skills and the documents (id or name).")] = None,
    as_json: AsJson = False,
) -> None:
    """Register a package; its documents are read. Example: aos skills import presales-agent.skill --agent sales"""
    path = f"/api/agents/{agent_id(context.obj, agent)}/import-skill-pack" if agent else "/api/skills/import-package"
    found = context.obj.api.request("POST", path, files={"file": (file.name, _read_package(file))})
    lines = [f"{found['skill']['name']}, version {found['skill']['version']}: {_describe_signer(found)}"]
    lines += [f"  script {one['name']}, version {one['version']}" for one in found["scripts"]]
    lines += [f"  {one['change']}: references/{one['path']}" for one in found["documents"]]
    lines += [f"  not used: {path}" for path in found["ignored"]]
    if found["job_id"]:
        lines.append(f"Follow its documents: aos jobs watch {found['job_id']}")
    context.obj.plain(found, as_json, "\n".join(lines))


@skills.command("export")
def export_package(context: CommandContext, name: SkillName, out: Out = None, as_json: AsJson = False) -> None:
    """Write a skill with its scripts and documents as a package. Example: aos skills export presales-agent"""
    target = _write_atomically(out or Path(f"{name}.skill"), context.obj.api.download(f"/api/skills/{name}/package"))
    context.obj.plain({"file": str(target), "bytes": target.stat().st_size}, as_json, f"{target}, not signed")


@skills.command("build")
def build_package(
    context: CommandContext,
    folder: Annotated[Path, typer.Argument(help="Has a SKILL.md, and is called as the skill.", file_okay=False)],
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Make a package of a folder. Example: aos skills build ./presales-agent"""
    bundle = _read_folder(folder.resolve())
    target = _write_atomically(out or Path(f"{bundle.name}.skill"), pack_zip(bundle))
    body = {"file": str(target), "files": sorted(bundle.files)}
    context.obj.plain(body, as_json, f"{target}, {len(bundle.files)} files")


@skills.command("packs")
def build_shipped(
    context: CommandContext,
    out: Annotated[Path, typer.Option("--out", "-o", help="A folder, made if it is not there.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Make the packages that ship: presales, finance, infrastructure, legal. Example: aos skills packs -o packs"""
    out.mkdir(parents=True, exist_ok=True)
    made: list[str] = []
    with as_file(files("skills") / SHIPPED) as root:
        for manifest in sorted(root.glob("*/*/SKILL.md")):
            bundle = _read_folder(manifest.parent)
            made.append(str(_write_atomically(out / f"{bundle.name}.skill", pack_zip(bundle))))
    context.obj.plain({"files": made}, as_json, "\n".join(made))


@skills.command("keygen")
def make_key(
    context: CommandContext,
    out: Annotated[Path, typer.Option("--out", "-o", help="The private key's file; it must not be there.")],
    as_json: AsJson = False,
) -> None:
    """Make a key to sign packages with (mode 0600). Example: aos skills keygen -o skills.pem"""
    pem, public = new_key()
    try:
        out.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        raise Conflict(f"{out} is there already", fix="Choose another file: what it signed would be lost.") from None
    out.write_bytes(pem)
    body = {"file": str(out), "public_key": public}
    context.obj.plain(body, as_json, f"{out}\nPublic key, for skills.signers of servers that are to trust it: {public}")


@skills.command("sign")
def sign_package(
    context: CommandContext,
    file: PackageFile,
    key: Annotated[Path, typer.Option(help="The private key, from `aos skills keygen`.", exists=True)],
    as_json: AsJson = False,
) -> None:
    """Sign a package, in place. Example: aos skills sign presales-agent.skill --key skills.pem"""
    signed, public = sign_bundle(unpack_zip(_read_package(file)), key.read_bytes())
    _write_atomically(file, pack_zip(signed))
    context.obj.plain({"file": str(file), "signed_by": public}, as_json, f"{file} is signed with {public}")


@skills.command("verify")
def verify_package(
    context: CommandContext,
    file: PackageFile,
    signer: Annotated[str | None, typer.Option(help="The public key that it must be signed with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a package is whole, and by whom it is signed; exit 1 if not. Example: aos skills verify x.skill."""
    bundle = unpack_zip(_read_package(file))
    public = signer_of(bundle)
    if signer is not None and public != signer:
        raise Invalid(f"{file} is " + (f"signed with {public}" if public else "not signed"))
    said = f"whole, signed with {public}" if public else "not signed"
    context.obj.plain({"name": bundle.name, "signed_by": public}, as_json, f"{bundle.name}: {said}")


def _describe_signer(found: JSON) -> str:
    told = {
        "trusted": f"signed with the trusted key {found.get('signed_by')}",
        "unknown_key": f"signed with {found.get('signed_by')}, which the server does not know",
    }
    return told.get(found["trust"], "not signed")


def _read_folder(folder: Path) -> FileBundle:
    """A folder's files, without hidden ones and links. Raises NotFound, BadPackage or PackageTooLarge."""
    if not (folder / "SKILL.md").is_file():
        raise NotFound(f"{folder} has no SKILL.md")
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        below = path.relative_to(folder)
        hidden = any(part.startswith((".", "__pycache__")) for part in below.parts)
        if path.is_file() and not path.is_symlink() and not hidden:
            found[below.as_posix()] = path.read_bytes()
    return unpack_zip(pack_zip(FileBundle(folder.name, found)))


def _read_package(file: Path) -> bytes:
    if file.stat().st_size > MOST_TOTAL:
        raise Invalid(f"{file} is larger than {MOST_TOTAL:,} bytes")
    return file.read_bytes()


def _write_atomically(target: Path, content: bytes) -> Path:
    """Beside its name first, so that a crash leaves the old file or the new one."""
    unfinished = target.with_name(f".{target.name}.part")
    unfinished.write_bytes(content)
    unfinished.replace(target)
    return target
