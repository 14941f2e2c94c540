"""Office Open XML packages: their parts and relations, and the Strict variety rewritten to the one parsers know."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO
from urllib.parse import unquote

from lxml import etree

from pipelines.documents.extract.office.zip_package import Source, parse_part

_STRICT = b"http://purl.oclc.org/ooxml/"
_STRICT_NAME = re.compile(rb"http://purl\.oclc\.org/ooxml/([A-Za-z]+)/([A-Za-z/]*)")
_RENAMED = {b"extendedProperties": b"extended-properties", b"customProperties": b"custom-properties"}
_MOST_CHANGED = 512 * 2**20


def to_transitional(source: Source) -> Source:
    """The package itself, or for one in Strict Open XML (ISO 29500-1) a copy with the names of the Transitional one.

    The two differ in their namespaces and relationship types; the elements are the same.
    """
    with zipfile.ZipFile(source) as archive:
        if "_rels/.rels" not in archive.namelist() or _STRICT not in archive.read("_rels/.rels"):
            return source
        changed = io.BytesIO()
        with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as copy:
            for part in archive.infolist():
                data = archive.read(part)
                if part.filename.endswith((".xml", ".rels")) and len(data) < _MOST_CHANGED:
                    data = _STRICT_NAME.sub(_transitional_name, data)
                copy.writestr(part.filename, data)
    changed.seek(0)
    return changed


def _transitional_name(match: re.Match[bytes]) -> bytes:
    first, rest = match.groups()
    names = b"/".join(_RENAMED.get(name, name) for name in rest.split(b"/"))
    return b"http://schemas.openxmlformats.org/" + first + b"/2006/" + names


@dataclass(frozen=True, slots=True)
class PartRelation:
    """A relationship of a part: the last word of its type, and the part or the address it refers to."""

    kind: str
    target: str
    external: bool


_KINDS = {"blip": "image", "imagedata": "image", "chart": "chart", "dm": "diagramData", "control": "control"}


def named_relations(node: etree._Element, relations: Mapping[str, PartRelation]) -> Iterator[PartRelation]:
    """The relationships that an element names by their ids; one that is not there is as one to another file."""
    for name, value in node.attrib.items():
        if "relationships}" not in str(name) or not value:
            continue
        if (found := relations.get(str(value))) is not None:
            yield found
            continue
        place = str(name if node.tag.endswith("}relIds") else node.tag).rpartition("}")[2]
        if place in _KINDS or place.lower() in ("oleobj", "oleobject", "objectembed"):
            yield PartRelation(_KINDS.get(place, "oleObject"), "", external=True)


class OoxmlPackage:
    """The parts of a package, found whatever the case of their names."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive
        self._names = {name.replace("\\", "/").lower(): name for name in archive.namelist()}

    def name(self, part: str) -> str:
        """The part's name in the archive. Raises KeyError where there is none."""
        return self._names[part.lower()]

    def xml(self, part: str) -> etree._Element:
        """A part's root element."""
        return parse_part(self.archive, self.name(part))

    def blob(self, part: str) -> bytes:
        """A part's bytes."""
        return self.archive.read(self.name(part))

    def open(self, part: str) -> BinaryIO:
        """A part as a stream."""
        return self.archive.open(self.name(part))  # type: ignore[return-value]

    def holds(self, part: str) -> bool:
        """True if the package has such a part."""
        return part.lower() in self._names

    def relations(self, part: str) -> Mapping[str, PartRelation]:
        """The relationships of a part, by the ids it uses."""
        folder, name = posixpath.split(part)
        rels = posixpath.join(folder, "_rels", f"{name}.rels")
        if not self.holds(rels):
            return {}
        found = {}
        for item in self.xml(rels).iterfind("{*}Relationship"):
            target, external = item.get("Target", ""), item.get("TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            found[item.get("Id", "")] = PartRelation(item.get("Type", "").rpartition("/")[2], target, external)
        return found
