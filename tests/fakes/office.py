"""Office files made by hand, or changed after a library made them, and the reader that opens them."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, Page
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from tests.fakes import files

_ODF = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"'
    for name, full in (
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("style", "style"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("svg", "svg-compatible"),
    )
)
WORD = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:w14="http://schemas.microsoft.com/office/word/2010/wordml"'
)
_OFFICE_RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STRICT = (
    ("http://schemas.openxmlformats.org/officeDocument/2006", "http://purl.oclc.org/ooxml/officeDocument"),
    *(
        (f"http://schemas.openxmlformats.org/{name}/2006/main", f"http://purl.oclc.org/ooxml/{name}/main")
        for name in ("wordprocessingml", "spreadsheetml", "presentationml", "drawingml")
    ),
)


def pages(path: Path, settings: ReadSettings | None = None, filename: str | None = None) -> list[Page]:
    """All pages, pictures read by the fake that tells their size."""
    desk = ExtractionWorker(settings or ReadSettings(), OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, filename)
    return [desk.page(path, kind, number) for number in range(1, count + 1)]


def text(path: Path, settings: ReadSettings | None = None) -> str:
    """The text of all pages."""
    return "\n\n".join(page.text for page in pages(path, settings))


def marks(path: Path, settings: ReadSettings | None = None) -> dict[CaveatKind, int]:
    """How often each kind of caveat is counted."""
    found: dict[CaveatKind, int] = {}
    for page in pages(path, settings):
        for caveat in page.caveats:
            found[caveat.kind] = found.get(caveat.kind, 0) + caveat.count
    return found


def rewritten(path: Path, change: Callable[[str, str], str], more: Mapping[str, bytes] | None = None) -> Path:
    """The package with its XML parts changed, and parts added or replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for name, data in parts.items():
        if name.endswith((".xml", ".rels")):
            parts[name] = change(name, data.decode("utf-8")).encode("utf-8")
    return files.package(path, {**parts, **(more or {})})


def related(path: Path, owner: str, relations: Mapping[str, tuple[str, str]], more: Mapping[str, bytes]) -> Path:
    """The package with parts added that `owner` refers to: by relation id, the relation's kind and its target."""
    folder, _, name = owner.rpartition("/")
    rels = f"{folder}/_rels/{name}.rels"
    lines = "".join(
        f'<Relationship Id="{key}" Type="{kind if ":" in kind else f"{_OFFICE_RELATION}/{kind}"}" Target="{target}"/>'
        for key, (kind, target) in relations.items()
    )

    def change(part: str, content: str) -> str:
        if part == rels:
            content = content.replace("</Relationships>", lines + "</Relationships>")
        return content

    with zipfile.ZipFile(path) as archive:
        there = rels in archive.namelist()
    empty = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    own = {} if there else {rels: f"{empty}{lines}</Relationships>".encode()}
    return rewritten(path, change, {**more, **own})


def strict(path: Path) -> Path:
    """The package with the names of Strict Open XML (ISO/IEC 29500-1)."""

    def change(name: str, content: str) -> str:
        for usual, other in STRICT:
            content = content.replace(usual, other)
        return content

    return rewritten(path, change)


def word(path: Path, body: str, more: Mapping[str, bytes] | None = None) -> Path:
    """A DOCX whose body is this XML, without any part that it does not need."""
    relation = f'<Relationship Id="r1" Type="{_OFFICE_RELATION}/officeDocument" Target="word/document.xml"/>'
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    return files.package(
        path,
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/word/document.xml" ContentType="{main}"/></Types>',
            "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f"{relation}</Relationships>",
            "word/document.xml": f"<w:document {WORD}><w:body>{body}</w:body></w:document>",
            **(more or {}),
        },
    )


def open_document(
    path: Path, kind: str, body: str, styles: str = "", more: Mapping[str, str | bytes] | None = None
) -> Path:
    """An OpenDocument package of a kind (`text`, `spreadsheet`, `presentation`) with this body."""
    return files.package(
        path,
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f'<office:document-content {_ODF} xmlns:xlink="http://www.w3.org/1999/xlink">'
            f"<office:automatic-styles>{styles}</office:automatic-styles>"
            f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            **(more or {}),
        },
    )
