"""Files named as workbooks that are something else: the HTML, XML or plain tables that programs export so."""

import re
from dataclasses import replace
from pathlib import Path

from pipelines.documents.document import Caveat, CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.opened import ExtractionContext, OpenedDocument, UnpagedDocument
from pipelines.documents.extract.sheets.spreadsheet_xml import open_spreadsheet_xml
from pipelines.documents.extract.word.imported_parts import imported_blocks
from pipelines.documents.sources.sniff import Kind, wide_encoding

_HEAD = 8192
_HTML = re.compile(rb"<\s*(html|table|!doctype\s+html|head|body|meta|style)\b", re.IGNORECASE)
_WORKBOOK_XML = b"urn:schemas-microsoft-com:office:spreadsheet"
_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def open_misnamed(path: Path, context: ExtractionContext) -> OpenedDocument:
    """Read a file by what it is; the caveat `read_as` says so.

    Raises Unreadable: UNSUPPORTED for what is neither a table nor a workbook.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    what, document = _open_content(path, head, context)
    detail = f"the name says it is an Excel workbook, the content is {what}: read as that"
    return DocumentWithCaveat(document, Caveat(CaveatKind.READ_AS, detail))


def _open_content(path: Path, head: bytes, context: ExtractionContext) -> tuple[str, OpenedDocument]:
    from pipelines.documents.extract.extraction_worker import (
        find_opener,  # the table of openers names this module's callers
    )

    narrow = _narrow_ascii(head)
    if head.startswith(b"PK"):
        return "a newer workbook (XLSX)", find_opener(Kind.XLSX)(path, context)
    if _WORKBOOK_XML in narrow:
        return "XML (Excel 2003)", open_spreadsheet_xml(path, context)
    if narrow.lstrip()[:13].lower().startswith((b"mime-version:", b"content-type:")):
        if path.stat().st_size > context.read.max_unpacked_bytes:
            raise Unreadable(FailureReason.TOO_LARGE, f"more than {context.read.max_unpacked_bytes} bytes")
        return "a web archive", UnpagedDocument(*imported_blocks(path.read_bytes(), context))
    if _HTML.search(narrow):
        return "HTML", find_opener(Kind.HTML)(path, context)
    if _is_delimited(narrow):
        return "a table in plain text", find_opener(Kind.CSV)(path, context)
    raise Unreadable(
        FailureReason.UNSUPPORTED, "the name says it is a workbook, the content is a text that is no table"
    )


def _narrow_ascii(head: bytes) -> bytes:
    """The beginning as bytes of ASCII, whatever the width of its letters."""
    for mark in _MARKS:
        head = head.removeprefix(mark)
    return head.replace(b"\0", b"") if b"\0" in head or wide_encoding(head) else head


def _is_delimited(head: bytes) -> bool:
    """True if the first lines are cut alike by a tab, a semicolon or a comma."""
    lines = [line for line in head.replace(b"\r", b"\n").split(b"\n") if line.strip()][:-1] or [head]
    for sign in (b"\t", b";", b","):
        counts = [line.count(sign) for line in lines[:20]]
        if len(counts) > 1 and min(counts) > 0 and len(set(counts)) <= max(1, len(counts) // 3):
            return True
    return False


class DocumentWithCaveat:
    """A document with a caveat on its first page."""

    def __init__(self, document: OpenedDocument, caveat: Caveat) -> None:
        """Take the document; it is read as it was."""
        self._document, self._caveat = document, caveat
        self.pages = document.pages

    def page(self, number: int) -> Page:
        """The document's page."""
        page = self._document.page(number)
        return replace(page, caveats=(self._caveat, *page.caveats)) if number == 1 else page

    def picture(self, number: int, dpi: int) -> bytes:
        """The document's picture."""
        return self._document.picture(number, dpi)

    def close(self) -> None:
        """Let go of it."""
        self._document.close()
