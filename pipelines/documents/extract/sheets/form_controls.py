"""Form controls over the cells of an XLSX sheet, as its older drawings (VML) keep them: labels, and what is chosen."""

import re
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.sheets.grid import CellGrid
from pipelines.documents.extract.sheets.xlsx import REFERENCE, column_index

_MARKS = {"1": "☒", "2": "■"}  # ticked, and neither ticked nor empty
_NO_CONTROLS = ("Note", "Pict")  # boxes of comments, and pictures of objects that are parts of their own


def control_lines(root: etree._Element, grid: CellGrid, gathered: PictureCollector) -> Iterator[tuple[str, str]]:
    """The label of each control, and what it shows; the grid holds the entries of its lists."""
    for data in root.iter("{*}ClientData"):
        kind = data.get("ObjectType", "")
        if kind in _NO_CONTROLS:
            continue
        boxes = data.getparent().iterfind("{*}textbox")
        label = " ".join(" ".join("".join(box.itertext()) for box in boxes).split())
        if kind in ("Checkbox", "Radio"):
            yield label, f"{_MARKS.get((data.findtext('{*}Checked') or '').strip(), '☐')} {label}".rstrip()
        elif kind in ("Drop", "List"):
            if (chosen := _chosen_entries(data, grid)) is None:
                detail = f"what is chosen in a list on sheet “{grid.name}”: its entries are not on the sheet"
                gathered.note(CaveatKind.PARTS_SKIPPED, detail)
            elif chosen:
                yield label, f"[chosen] {chosen}"
        elif label:
            yield label, label


def _chosen_entries(data: etree._Element, grid: CellGrid) -> str | None:
    """The entries in the cells that a list refers to, by their 1-based numbers; None where they are not in the grid."""
    numbers = re.findall(r"[1-9]\d{0,6}", data.findtext("{*}MultiSel") or data.findtext("{*}Sel") or "")
    if not numbers:
        return ""
    sheet, _, cells = (data.findtext("{*}FmlaRange") or "").strip().rpartition("!")
    first = REFERENCE.fullmatch(cells.partition(":")[0])
    if first is None or sheet.strip("'").replace("''", "'") not in ("", grid.name):
        return None
    column, top = column_index(first[1]), int(first[2]) - 1
    texts = [grid.rows.get(top + int(number) - 1, {}).get(column) for number in numbers]
    return None if None in texts else "; ".join(filter(None, texts))
