"""The signed manifest of an exported workspace: made last, and checked with every file before anything is imported."""

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from cluster.basics.errors import Conflict, Forbidden, Invalid, NotFound
from cluster.state.canonical_json import json_digest
from cluster.state.signed_receipts import ForgedReceipt, ReceiptSigner, verify_receipt
from pipelines.documents.portable.datasets import DOCUMENT_DATASETS, FORMAT, FORMAT_VERSION, WORKSPACE_DATASETS
from pipelines.documents.sources.files import hash_file

MANIFEST: Final = "manifest.json"
MOST_BYTES: Final = 64 << 20  # of a manifest
_PART: Final = re.compile(rf"({'|'.join(DOCUMENT_DATASETS)})/([0-9]{{6}})\.parquet")
_WHOLE: Final = re.compile(rf"workspace/({'|'.join(WORKSPACE_DATASETS)})\.parquet")
_HASH: Final = re.compile(r"[0-9a-f]{64}")


class NoExport(NotFound):
    """This folder holds no exported workspace."""

    code = "no_export"
    fix = "Name what `aos export WORKSPACE --to FOLDER` wrote; one that was cut off goes on when it is run again."


class BrokenExport(Invalid):
    """The exported workspace is not what was signed: a file is missing, was changed, or has another form."""

    code = "broken_export"
    fix = "Copy the folder again from where it was made, or export again."


class NewerExport(Invalid):
    """A newer version of the product wrote this."""

    code = "newer_export"
    fix = "Update this installation, then import again."


class ForgedExport(Invalid):
    """The manifest was not signed like this."""

    code = "forged_export"
    fix = "Copy the folder again from where it was made, or export again."


class UnknownSigner(Forbidden):
    """Another installation signed this, and nobody said that it is to be trusted."""

    code = "unknown_signer"


class ExportFolderTaken(Conflict):
    """The folder holds something else."""

    code = "export_folder_taken"
    fix = "Name an empty folder, or one that is not there yet."


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True)


class FileFacts(_Strict):
    """A file of the folder."""

    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    bytes: int = Field(ge=0)
    rows: int = Field(ge=0)


class WorkspaceFacts(_Strict):
    """The workspace that was exported."""

    id: str
    name: str
    tenant: str
    language: str
    ocr_languages: list[str] | None = None
    chunk_strategy: str | None = None


class VectorSpaceFacts(_Strict):
    """The embedder and the chunker that chunks and vectors were made with."""

    embedder: str
    fingerprint: str
    dimension: int
    chunker: str


class ExportManifest(_Strict):
    """What the folder holds."""

    format: str
    format_version: int
    product: str
    schema_version: str
    made_at: str
    workspace: WorkspaceFacts
    vector_space: VectorSpaceFacts | None
    counts: dict[str, int]
    files: dict[str, FileFacts]
    left_out: dict[str, Any]

    @property
    def parts(self) -> list[str]:
        """The numbers of the parts, in order."""
        return sorted({found.group(2) for name in self.files if (found := _PART.fullmatch(name))})


@dataclass(frozen=True, slots=True)
class VerifiedExport:
    """A folder whose every file is as it was signed."""

    folder: Path
    manifest: ExportManifest
    id: str  # the digest of the manifest: the same folder is the same export
    signer: str  # the public key

    def file(self, dataset: str, part: str) -> Path | None:
        """The file of a dataset; None where it has no rows."""
        name = f"{dataset}/{part}.parquet" if dataset in DOCUMENT_DATASETS else f"workspace/{dataset}.parquet"
        return self.folder / name if name in self.manifest.files else None


def blob_path(folder: Path, file_hash: str) -> Path:
    """Where bytes are, by their SHA-256 in hex. Raises BrokenExport: it is none."""
    if not _HASH.fullmatch(file_hash):
        raise BrokenExport("a version names bytes by something that is no hash")
    return folder / "blobs" / file_hash[:2] / file_hash


def file_facts(path: Path, rows: int) -> FileFacts:
    """Of a file that was just written."""
    return FileFacts(sha256=hash_file(path), bytes=path.stat().st_size, rows=rows)


def write_json(path: Path, body: Mapping[str, Any]) -> None:
    """A file that is there once all of it is."""
    unfinished = path.with_name(f"{path.name}.part")
    with unfinished.open("w", encoding="utf-8") as file:
        json.dump(body, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def write_manifest(folder: Path, manifest: ExportManifest, signer: ReceiptSigner) -> dict[str, Any]:
    """Sign it with the instance's key, as receipts are."""
    signed = signer.sign(manifest.model_dump(mode="json"))
    write_json(folder / MANIFEST, signed)
    return signed


def verify_export(folder: Path, own_key: str, trusted: str | None) -> VerifiedExport:
    """Check the signature, then every file that the manifest names.

    Args:
        own_key: this installation's public key, which is trusted.
        trusted: another that somebody vouches for.

    Raises NoExport, NewerExport, ForgedExport, UnknownSigner, BrokenExport.
    """
    body = _read_manifest(folder)
    signer = _signer_of(body, own_key, trusted)
    try:
        manifest = ExportManifest.model_validate(body)
    except ValidationError as error:
        raise BrokenExport(f"the manifest has another form: {error.errors()[0]['loc']}") from error
    for name, facts in manifest.files.items():
        _check_file(folder, name, facts)
    return VerifiedExport(folder, manifest, json_digest(body)[:32], signer)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if not path.is_file() or path.is_symlink():
        raise NoExport(f"no {MANIFEST} in {folder}")
    if path.stat().st_size > MOST_BYTES:
        raise BrokenExport("the manifest is too large")
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BrokenExport("the manifest is no JSON") from error
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise NoExport(f"{path} is of something else")
    version = body.get("format_version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BrokenExport("the manifest names no version of the format")
    if version > FORMAT_VERSION:
        raise NewerExport(f"format {version} by version {body.get('product')}; this one reads up to {FORMAT_VERSION}")
    return body


def _signer_of(body: Mapping[str, Any], own_key: str, trusted: str | None) -> str:
    try:
        verify_receipt(body)
    except ForgedReceipt as error:
        raise ForgedExport(str(error)) from error
    public = str(body["key"]["public"])
    if public not in (own_key, trusted):
        fix = "Compare it with `aos erasures key` where it was made; if it is the same, add --trust-key KEY."
        raise UnknownSigner(f"it was signed with key {public}", fix=fix)
    return public


def _check_file(folder: Path, name: str, facts: FileFacts) -> None:
    """Raises BrokenExport: the name leads elsewhere, or the file is not the one that was signed."""
    if not (_PART.fullmatch(name) or _WHOLE.fullmatch(name)):
        raise BrokenExport(f"the manifest names a file that no export has: {name[:100]!r}")
    path = folder / name
    if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
        raise BrokenExport(f"{name} is missing")
    if path.stat().st_size != facts.bytes or hash_file(path) != facts.sha256:
        raise BrokenExport(f"{name} was changed")
