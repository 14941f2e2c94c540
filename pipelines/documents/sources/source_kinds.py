"""The kinds of sources that can be synchronised, by name; each is a module of its own."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from pipelines.documents.sources.source_port import SourceKind

_PLACES: Final[Mapping[str, str]] = {
    "folder": "folder_source:KIND",
    "s3": "s3_source:KIND",
    "smb": "smb_source:KIND",
    "webdav": "webdav_source:KIND",
    "nextcloud": "webdav_source:NEXTCLOUD",
    "imap": "imap_source:KIND",
    "git": "git_source:KIND",
    "web": "web_source:KIND",
    "onedrive": "cloud.onedrive_source:KIND",
    "google_drive": "cloud.google_drive_source:KIND",
    "dropbox": "cloud.dropbox_source:KIND",
    "box": "cloud.box_source:KIND",
    "composio": "cloud.composio_source:KIND",
}
WATCHED: Final = ("folder",)
"""Names of those that can be watched."""


class _KindsOnDemand(Mapping[str, SourceKind]):
    """Each is imported when it is asked for: the libraries of all are thirty megabytes in every process."""

    def __getitem__(self, name: str) -> SourceKind:
        module, _, attribute = _PLACES[name].partition(":")
        kind: SourceKind = getattr(import_module(f"pipelines.documents.sources.{module}"), attribute)
        return kind

    def __contains__(self, name: object) -> bool:
        return name in _PLACES

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


SOURCE_KINDS: Final[Mapping[str, SourceKind]] = _KindsOnDemand()
