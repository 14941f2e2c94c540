"""XLSX: what each sheet stores, cell by cell as a person sees it, with comments, text boxes, charts and pictures."""

import re
import zipfile
from collections.abc import Iterator
from typing import Any

from lxml import etree
from openpyxl.formula.tokenizer import TokenizerError
from openpyxl.formula.translate import Translator, TranslatorError
from openpyxl.styles.numbers import BUILTIN_FORMATS
from openpyxl.utils.datetime import from_ISO8601, to_excel

from pipelines.documents.document import Caveat, CaveatKind
from pipelines.documents.extract.office.ooxml import OoxmlPackage, PartRelation
from pipelines.documents.extract.sheets.grid import CellGrid, column_name
from pipelines.documents.extract.sheets.number_format import format_number, number_of, shown_text
from pipelines.documents.extract.text.raised import as_subscript, as_superscript

MOST_CELLS = 2_000_000  # that hold something, in one workbook; the sheet that passes it is cut short
_PARSING = {"resolve_entities": False, "no_network": True, "load_dtd": False}
_FOREIGN_DATES = {*range(27, 32), 36, *range(50, 55), 57, 58}  # built-in formats that depend on an East Asian system
_FOREIGN_TIMES = {32, 33, 34, 35, 55, 56}
REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})", re.IGNORECASE)
_EDGE_CODE = re.compile(r'&(?:"[^"]*"|[LCR]|\d+|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|[A-Z&])')
_REFERRING = ("drawing", "oleObject", "control")
_COUNTING = {"page", "of", "seite", "von", "sheet", "blatt", "de", "sur", "página", "pagina", "di"}
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")


class XlsxWorkbook:
    """A workbook's strings and formats, and its sheets one after the other."""

    def __init__(self, package: OoxmlPackage) -> None:
        """Find the parts. Raises what `DAMAGED` names."""
        self.package = package
        start = next((one.target for one in package.relations("").values() if one.kind == "officeDocument"), None)
        self._part = start or "xl/workbook.xml"
        root = package.xml(self._part)
        self._relations = package.relations(self._part)
        self.sheets = list(root.iterfind("{*}sheets/{*}sheet"))
        properties, calculation = root.find("{*}workbookPr"), root.find("{*}calcPr")
        self.base_1904 = properties is not None and properties.get("date1904") in ("1", "true")
        # Libraries that cannot calculate store 0 for every formula and ask for a calculation when the file is opened.
        self.zeros_are_guesses = calculation is not None and calculation.get("fullCalcOnLoad") in ("1", "true")
        self.missing: list[str] = []  # kinds of parts that the workbook names and the file does not hold
        self.strings = list(self._shared_strings())
        self.formats = list(self._cell_formats())
        self.cells_left = MOST_CELLS

    def part_of(self, sheet: etree._Element) -> PartRelation | None:
        """The relation of a sheet in the list to its part."""
        ids = [value for name, value in sheet.attrib.items() if str(name).endswith("}id")]
        return self._relations.get(str(ids[0])) if ids else None

    def _part_path(self, kind: str) -> str | None:
        found = next((one.target for one in self._relations.values() if one.kind == kind and not one.external), None)
        if found and not self.package.holds(found):
            self.missing.append(kind)
            return None
        return found

    def _shared_strings(self) -> Iterator[str]:
        part = self._part_path("sharedStrings")
        if part is None:
            return
        with self.package.open(part) as file:
            for _, item in etree.iterparse(file, tag="{*}si", **_PARSING):
                yield rich_text(item)
                _free_element(item)

    def _cell_formats(self) -> Iterator[str]:
        """The number format of each cell style."""
        part = self._part_path("styles")
        if part is None:
            return
        root = self.package.xml(part)
        own = {item.get("numFmtId"): item.get("formatCode", "") for item in root.iterfind("{*}numFmts/{*}numFmt")}
        for item in root.iterfind("{*}cellXfs/{*}xf"):
            number = item.get("numFmtId", "0")
            yield own[number] if number in own else built_in(int(number) if number.isdecimal() else 0)


def built_in(number: int) -> str:
    """The code of a format that files name by its number only."""
    if number in _FOREIGN_DATES:
        return "yyyy-mm-dd"
    return "h:mm:ss" if number in _FOREIGN_TIMES else str(BUILTIN_FORMATS.get(number, "General"))


def rich_text(item: etree._Element) -> str:
    """The text of a string, its raised and lowered runs kept apart; readings of Japanese words are left out."""
    pieces = []
    for child in item:
        kind = etree.QName(child).localname if isinstance(child.tag, str) else ""
        if kind == "t":
            pieces.append(_unescape_text(child.text or ""))
        elif kind == "r":
            text = _unescape_text(child.findtext("{*}t") or "")
            align = child.find("{*}rPr/{*}vertAlign")
            style = align.get("val") if align is not None else ""
            pieces.append(
                as_superscript(text) if style == "superscript" else as_subscript(text) if style == "subscript" else text
            )
    return "".join(pieces)


def read_cells(book: XlsxWorkbook, part: str, grid: CellGrid) -> dict[str, str]:
    """Fill a grid from a sheet's XML, which is streamed: only what is stored costs anything.

    Gives the drawings, objects and controls that lie over the cells, by the ids of their parts.
    """
    reader = _CellReader(book, grid)
    with book.package.open(part) as file:
        for event, node in etree.iterparse(file, events=("start", "end"), **_PARSING):
            name = node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""
            if event == "start":
                if name == "row":
                    reader.begin_row(node)
            elif name == "c":
                reader.cell(node)
                _free_element(node)
            elif name == "row":
                _free_element(node)
            elif name in ("mergeCell", "col"):
                reader.layout(name, node)
            elif name in ("oddHeader", "oddFooter") and (text := _header_text(node.text or "")):
                grid.notes.append(text)
            elif name in _REFERRING:
                reader.reference(name, node)
            if book.cells_left < 0:
                detail = (
                    f"sheet “{grid.name}” ends at row {reader.row + 1}: over {MOST_CELLS} cells; split the workbook"
                )
                grid.caveats.append(Caveat(CaveatKind.CUT_SHORT, detail))
                break
    if reader.linked:
        detail = f"linked objects that are not in the file, sheet “{grid.name}”"
        grid.caveats.append(Caveat(CaveatKind.PARTS_SKIPPED, detail, len(reader.linked)))
    return reader.references


def _header_text(text: str) -> str:
    """A page header or footer without its codes; nothing for one that only counts pages."""
    text = " ".join(_EDGE_CODE.sub(" ", text).split())
    return text if any(word.lower() not in _COUNTING for word in re.findall(r"[^\W\d_]{2,}", text)) else ""


class _CellReader:
    """Keeps the position while the cells of a sheet come in."""

    def __init__(self, book: XlsxWorkbook, grid: CellGrid) -> None:
        self._book, self._grid = book, grid
        self._column = -1
        self._row_is_hidden = False
        self._shared: dict[str, Translator] = {}
        self.row = -1
        self.references: dict[str, str] = {}
        self.linked: set[str] = set()  # shapes that show an object of another file

    def begin_row(self, node: etree._Element) -> None:
        number = node.get("r", "")
        self.row = int(number) - 1 if number.isdecimal() else self.row + 1
        self._column = -1
        self._row_is_hidden = node.get("hidden") in ("1", "true")

    def cell(self, node: etree._Element) -> None:
        place = REFERENCE.fullmatch(node.get("r") or "")
        self._column = column_index(place[1]) if place else self._column + 1
        text = self._cell_text(node)
        if text and text.strip():
            self._grid.put(self.row, self._column, text)
            self._book.cells_left -= 1
            if self._row_is_hidden:
                self._grid.hidden_rows.add(self.row)

    def layout(self, name: str, node: etree._Element) -> None:
        if name == "mergeCell":
            first, _, last = node.get("ref", "").partition(":")
            start, end = REFERENCE.fullmatch(first), REFERENCE.fullmatch(last)
            if start and end:
                rows, columns = (
                    sorted((int(start[2]) - 1, int(end[2]) - 1)),
                    sorted((column_index(start[1]), column_index(end[1]))),
                )
                self._grid.merged.append((rows[0], columns[0], rows[1], columns[1]))
        elif node.get("hidden") in ("1", "true"):
            self._grid.hidden_columns.append((int(node.get("min", "1")) - 1, int(node.get("max", "1")) - 1))

    def reference(self, name: str, node: etree._Element) -> None:
        if name == "oleObject" and node.get("link"):
            self.linked.add(node.get("shapeId", ""))
        for key, value in node.attrib.items():
            if str(key).endswith("relationships}id"):
                self.references[str(value)] = name

    def _cell_text(self, node: etree._Element) -> str:
        kind, style = node.get("t", "n"), node.get("s", "0")
        formats = self._book.formats
        code = formats[int(style)] if style.isdecimal() and int(style) < len(formats) else ""
        if kind == "inlineStr":
            inline = node.find("{*}is")
            return shown_text(rich_text(inline), code) if inline is not None else ""
        value = node.findtext("{*}v")
        formula = node.find("{*}f")
        if formula is not None:
            text = self._formula_text(node, formula)
            uncalculated = not value and kind != "str"
            if text and (uncalculated or (self._book.zeros_are_guesses and value == "0" and kind == "n")):
                self._grid.formulas += 1
                return text
        if not value:
            return ""
        if kind == "e" and node.get("vm") is not None:
            detail = f"sheet “{self._grid.name}”: pictures placed in cells"
            self._grid.caveats.append(Caveat(CaveatKind.PICTURES_UNREAD, detail))
            return ""
        return self._value_text(value, kind, code)

    def _value_text(self, value: str, kind: str, code: str) -> str:
        if kind == "s":
            return shown_text(self._book.strings[int(value)], code)
        if kind == "b":
            return "TRUE" if value.strip() in ("1", "true") else "FALSE"
        if kind in ("str", "e"):
            return shown_text(_unescape_text(value), code)
        try:
            if kind == "d":
                return format_number(float(to_excel(from_ISO8601(value))), code or "yyyy-mm-dd")
            number = number_of(value)
        except (ValueError, OverflowError):
            return value
        return format_number(number, code, base_1904=self._book.base_1904)

    def _formula_text(self, node: etree._Element, formula: etree._Element) -> str:
        """The formula as it stands in its cell; one that is shared is written for the first of its cells only."""
        here = node.get("r") or f"{column_name(self._column)}{self.row + 1}"
        text, index = formula.text or "", formula.get("si", "")
        shared = formula.get("t") == "shared"
        if text:
            if shared:
                self._shared[index] = Translator(f"={text}", origin=here)
            return f"={text}"
        if shared and index in self._shared:
            try:
                return str(self._shared[index].translate_formula(here))
            except (TranslatorError, TokenizerError, ValueError):
                return "=?"
        return ""


def column_index(letters: str) -> int:
    """0 for `A`, 26 for `AA`."""
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number - 1


def _unescape_text(text: str) -> str:
    """`_x000D_` and its like stand for characters that XML cannot hold."""
    if "_x" not in text:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text).replace("\r\n", "\n").replace("\r", "\n")


def _free_element(node: Any) -> None:
    """Free an element that was read, and what stood before it."""
    node.clear()
    parent = node.getparent()
    while parent is not None and node.getprevious() is not None:
        del parent[0]


def open_book(archive: zipfile.ZipFile) -> XlsxWorkbook:
    """A workbook in an open archive. Raises what `DAMAGED` names."""
    return XlsxWorkbook(OoxmlPackage(archive))
