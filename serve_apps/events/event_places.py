"""Places that an event may point at: a folder of the workspace's own blobs, or below the folder that may be scanned."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cluster.basics.errors import Forbidden, NotFound
from cluster.basics.scope import Scope
from pipelines.documents.sources.files import confine_path
from pipelines.documents.store.blobs import BlobStore, Location, location_of

FILE: Final = "file:"
BLOB: Final = "blob:"
OURS: Final = ("members", "staging")  # folders that the product keeps for itself


class KeyRefused(Forbidden):
    """This document key leads nowhere that events may point at."""

    code = "document_key_refused"
    fix = "Use a key of the workspace's blobs below a folder (incoming/a.pdf), or file: and a path below NFS_BASE_PATH."


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where an event's bytes are; `origin` names the document in its workspace, `scanned` in a folder left in place."""

    location: Location
    origin: str
    name: str
    scanned: bool


def find_place(blobs: BlobStore, base: Path | None, scope: Scope, key: str) -> EventPlace:
    """The place behind a document key.

    Raises:
        KeyRefused: it is of another kind, of another workspace, what the product keeps for itself, or leads outside.
        NotFound: there is no such file.
    """
    if key.startswith(FILE):
        if base is None:
            raise KeyRefused("there is no folder that may be scanned")
        path = _confined(base, key.removeprefix(FILE))
        place = location_of(path)
        return EventPlace(place, place, path.name, scanned=True)
    own = f"{scope.tenant}/{scope.workspace}"
    if key.startswith(BLOB) and not key.startswith(f"{BLOB}{own}/"):
        raise KeyRefused(f"{key[:200]} is of another workspace")
    rest = key.removeprefix(f"{BLOB}{own}/")
    parts = rest.split("/")
    if ":" in parts[0] or len(parts) < 2 or parts[0] in OURS or any(part in ("", ".", "..") for part in parts):
        raise KeyRefused(f"{key[:200]} is no key of this workspace below a folder")
    location = Location(f"{BLOB}{own}/{rest}")
    if blobs.size(location) is None:
        raise NotFound("there is no such file", fix="Upload it before the event is sent.")
    return EventPlace(location, f"upload:events/{rest}", parts[-1], scanned=False)


def require_unlinked(path: Path, place: EventPlace) -> None:
    """Raises KeyRefused where the file of a key, or a folder of it, is a link: it may lead to another workspace."""
    steps = place.location.removeprefix(BLOB).split("/")
    if place.scanned or path.parts[-len(steps) :] != tuple(steps):  # looked at already; a copy out of a bucket
        return
    if any(one.is_symlink() for one in (path, *path.parents[: len(steps) - 1])):
        raise KeyRefused("the key leads elsewhere by a link")


def _confined(base: Path, path: str) -> Path:
    try:
        found = confine_path(base, path)
        if not found.is_file():
            raise NotFound("there is no such file", fix="Upload it before the event is sent.")
    except Forbidden as error:
        raise KeyRefused(error.detail) from error
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise NotFound("there is no such file") from error
    return found
