"""Paths that may be scanned: those below NFS_BASE_PATH."""

from pathlib import Path

from cluster.basics.errors import Invalid, NotFound
from configs.sections import ReadSettings
from pipelines.documents.sources.files import confine_path


def base_of(read: ReadSettings) -> Path:
    """The folder that scans are confined to. Raises Invalid: there is none."""
    if read.nfs_base_path is None:
        raise Invalid("folders cannot be scanned here", fix="Set NFS_BASE_PATH to the folder that may be scanned.")
    return Path(read.nfs_base_path)


def resolve_scan_path(base: Path, path: str) -> Path:
    """A path that is there, below the base. Raises Forbidden, NotFound: it leads elsewhere; there is none."""
    try:
        root = confine_path(base, path)
        root.stat()
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise NotFound("there is no such path", fix="It must exist on the server, below NFS_BASE_PATH.") from error
    return root
