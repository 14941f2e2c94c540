"""The kinds of sources that can be synchronised, by name; each is a module of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pipelines.documents.sources import (
    folder_source,
    git_source,
    imap_source,
    s3_source,
    smb_source,
    web_source,
    webdav_source,
)
from pipelines.documents.sources.cloud import box_source, dropbox_source, google_drive_source, onedrive_source
from pipelines.documents.sources.source_port import SourceKind

_CLOUDS: Final = (onedrive_source.KIND, google_drive_source.KIND, dropbox_source.KIND, box_source.KIND)
_SERVERS: Final = (
    smb_source.KIND,
    webdav_source.KIND,
    webdav_source.NEXTCLOUD,
    imap_source.KIND,
    git_source.KIND,
    web_source.KIND,
)

SOURCE_KINDS: Final[Mapping[str, SourceKind]] = MappingProxyType(
    {kind.name: kind for kind in (folder_source.KIND, s3_source.KIND, *_SERVERS, *_CLOUDS)}
)
