"""A `.skill` package: a skill, the documents it stands on and its scripts, in one ZIP that may be signed."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import yaml

from cluster.basics.archive import BadPackage, FileBundle, PackageTooLarge, pack_zip, unpack_zip
from cluster.basics.errors import Forbidden, InvalidSettings
from cluster.basics.signature import SIGNATURE, signer_of
from skills.framework.builtin import CODE, MANIFEST
from skills.framework.manifest import BadManifest, Kind, Manifest, as_json, read_manifest

REFERENCES, SCRIPTS = "references/", "scripts/"
MOST_SCRIPTS = 32
CATEGORY = "Package/"  # of scripts that name none: by this they are found again when the package is exported


class PackageUntrusted(Forbidden):
    """None of the keys that are trusted here has signed this package."""

    code = "package_untrusted"
    fix = "Have it signed (aos skills sign), and list the public key under `skills.signers`."


class Trust(StrEnum):
    """Trust in a package's signature."""

    TRUSTED = "trusted"  # signed with a key of `skills.signers`
    UNKNOWN_KEY = "unknown_key"  # whole, as somebody signed it
    UNSIGNED = "unsigned"


@dataclass(frozen=True, slots=True)
class SkillPackage:
    """Content of a package."""

    manifest: Manifest  # the skill itself
    references: Mapping[str, bytes]  # documents, by their path below `references/`
    scripts: tuple[Manifest, ...] = ()  # its Python skills
    ignored: tuple[str, ...] = ()  # files that nothing here has a use for, by path
    trust: Trust = Trust.UNSIGNED  # what is known of its signer
    signed_by: str = ""  # the public key in base64, empty where it is not signed


def read_package(data: bytes, signers: Sequence[str] = (), *, signed_only: bool = False) -> SkillPackage:
    """Read a `.skill` file and check every part of it; nothing is written anywhere.

    Raises:
        BadPackage, PackageTooLarge, BadManifest: it is not one, or holds too much; as `unpack`.
        BadSignature: it is not as it was signed.
        PackageUntrusted: `signed_only`, and none of `signers` (public keys in base64) has signed it.
    """
    bundle = unpack_zip(data)
    trust, signed_by = _signer_trust(bundle, signers)
    if signed_only and trust is not Trust.TRUSTED:
        raise PackageUntrusted(f"{bundle.name} is " + ("signed with another key" if signed_by else "not signed"))
    if MANIFEST not in bundle.files:
        raise BadPackage(f"{bundle.name}/ has no {MANIFEST}")
    manifest = read_manifest(_decode_text(MANIFEST, bundle.files[MANIFEST]))
    if manifest.name != bundle.name:
        raise BadPackage(f"the folder is called {bundle.name}, the skill {manifest.name}", fix="Give both one name.")
    used = {MANIFEST, SIGNATURE}
    if manifest.kind is Kind.PYTHON and CODE in bundle.files:
        manifest = replace(manifest, code=_decode_text(CODE, bundle.files[CODE]))
        used.add(CODE)
    scripts = dict(_script_skills(bundle))
    used |= {path for stem in scripts for path in (f"{SCRIPTS}{stem}.md", f"{SCRIPTS}{stem}.py")}
    names = [manifest.name, *(one.name for one in scripts.values())]
    if len(set(names)) < len(names):
        raise BadPackage(f"{bundle.name}: two of its skills have one name")
    if len(scripts) > MOST_SCRIPTS:
        raise PackageTooLarge(f"{len(scripts)} scripts; {MOST_SCRIPTS} are taken")
    inside = ((path, content) for path, content in bundle.files.items() if path.startswith(REFERENCES))
    references = {path.removeprefix(REFERENCES): content for path, content in inside}
    ignored = tuple(path for path in bundle.files if path not in used and not path.startswith(REFERENCES))
    return SkillPackage(manifest, references, tuple(scripts.values()), ignored, trust, signed_by)


def write_package(manifest: Manifest, references: Mapping[str, bytes], scripts: Iterable[Manifest] = ()) -> bytes:
    """The `.skill` file that `read_package` reads so; the same parts give the same bytes. It is not signed."""
    files = {MANIFEST: _skill_markdown(manifest)}
    if manifest.code:
        files[CODE] = manifest.code.encode()
    for one in scripts:
        files |= {f"{SCRIPTS}{one.name}.md": _skill_markdown(one), f"{SCRIPTS}{one.name}.py": one.code.encode()}
    files |= {f"{REFERENCES}{path}": content for path, content in references.items()}
    return pack_zip(FileBundle(manifest.name, files))


def _signer_trust(bundle: FileBundle, signers: Sequence[str]) -> tuple[Trust, str]:
    signed_by = signer_of(bundle)
    if signed_by is None:
        return Trust.UNSIGNED, ""
    try:
        known = {b64decode(one, validate=True) for one in signers}  # one key has more than one spelling in base64
    except NotBase64:
        raise InvalidSettings("skills.signers holds what is not base64") from None
    return (Trust.TRUSTED if b64decode(signed_by) in known else Trust.UNKNOWN_KEY), signed_by


def _script_skills(bundle: FileBundle) -> Iterable[tuple[str, Manifest]]:
    """`scripts/x.py` is a skill where `scripts/x.md` describes it; by the path that both share."""
    for path, content in bundle.files.items():
        stem = path.removeprefix(SCRIPTS).removesuffix(".py")
        about = f"{SCRIPTS}{stem}.md"
        if not path.startswith(SCRIPTS) or not path.endswith(".py") or about not in bundle.files:
            continue
        manifest = read_manifest(_decode_text(about, bundle.files[about]))
        if manifest.kind not in (Kind.PYTHON, Kind.INTERNAL):  # without a type it is what it can only be
            raise BadManifest(f"{about}: a script is of type python")
        category = manifest.category or f"{CATEGORY}{bundle.name}"
        yield stem, replace(manifest, kind=Kind.PYTHON, category=category, code=_decode_text(path, content))


def _decode_text(path: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadPackage(f"{path} is not UTF-8") from None
    if "\0" in text:
        raise BadPackage(f"{path} has NUL in it")
    return text


def _skill_markdown(manifest: Manifest) -> bytes:
    """A SKILL.md with what differs from the defaults."""
    front, usual = as_json(manifest), as_json(Manifest(manifest.name, manifest.description))
    del front["version"]
    said = {key: one for key, one in front.items() if key in ("name", "description") or one != usual[key]}
    shown = yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=110)
    return f"---\n{shown}---\n\n{manifest.text}\n".encode()
