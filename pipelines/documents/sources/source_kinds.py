"""The kinds of sources that can be synchronised, by name; each is a module of its own."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from pipelines.documents.sources import folder_source, git_source, s3_source, web_source
from pipelines.documents.sources.source_port import SourceKind

SOURCE_KINDS: Final[Mapping[str, SourceKind]] = MappingProxyType(
    {kind.name: kind for kind in (folder_source.KIND, s3_source.KIND, git_source.KIND, web_source.KIND)}
)
