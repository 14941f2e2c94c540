"""Charts of office documents as the tables of their numbers, read from the chart's XML, of whatever type it is."""

import re
from collections.abc import Iterator

from lxml import etree

from pipelines.documents.document import CaveatKind
from pipelines.documents.extract.office.ooxml import OoxmlPackage
from pipelines.documents.extract.opened import markdown_table
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.sheets.number_format import format_general, format_number, number_of

_MOST_SERIES, _MOST_POINTS = 200, 5_000
_OTHER_BOOK = re.compile(r"'?[^'!]*\[")  # `[1]Sheet1!$A$1`: what stands before the sheet's name is the file's
_PLACEHOLDER = re.compile(r"\[[A-Z ]+\]")  # stands for a number that is there
_PARSER = {"resolve_entities": False, "no_network": True, "load_dtd": False}


def chart_blocks(xml: bytes, gathered: PictureCollector, *, data: bool = True) -> list[str]:
    """A chart's titles, and with `data` a table: a row each category, a column each series.

    What is beyond the limits is noted. Raises what `DAMAGED` names.
    """
    root = etree.fromstring(xml, etree.XMLParser(**_PARSER))
    titles = list(dict.fromkeys(filter(None, map(_node_text, root.iterfind(".//{*}title")))))
    blocks = (
        ["\n".join(f"{'Chart' if not at else 'Axis'}: {title}" for at, title in enumerate(titles))] if titles else []
    )
    if data and (table := markdown_table(_chart_rows(root, gathered))):
        blocks.append("\n".join(table))
    return blocks


def label_lines(package: OoxmlPackage, part: str) -> list[str]:
    """What people wrote over a chart: in boxes, and in place of a point's number."""
    drawings = [one.target for one in package.relations(part).values() if one.kind == "chartUserShapes"]
    roots = [package.xml(one) for one in drawings if package.holds(one)]
    boxes = [one for root in roots for one in root.iterfind(".//{*}txBody/{*}p")]
    labels = package.xml(part).iterfind(".//{*}dLbl/{*}tx")
    return [text for one in (*labels, *boxes) if (text := _node_text(one)) and not _PLACEHOLDER.search(text)]


def has_own_data(xml: bytes) -> bool:
    """True for a chart that holds its numbers itself: its series refer to no cells, or to those of another file."""
    root = etree.fromstring(xml, etree.XMLParser(**_PARSER))
    references = [one.text or "" for one in root.iterfind(".//{*}ser//{*}f")]
    return not references or any(map(_OTHER_BOOK.match, references))


def _chart_rows(root: etree._Element, gathered: PictureCollector) -> list[list[str]]:
    """Series of all plots in one table, aligned by their categories' positions."""
    every = [*root.iterfind(".//{*}ser"), *_extended_series(root)]
    series = every[:_MOST_SERIES]
    names: dict[int, str] = {}
    columns: list[tuple[str, dict[int, str]]] = []
    for at, one in enumerate(series, 1):
        names = {**_point_texts(one, "cat", "xVal"), **names}
        title = _node_text(one.find("{*}tx")) or f"Series {at}"
        for part, suffix in (("val", ""), ("yVal", ""), ("bubbleSize", " (size)")):
            if values := _point_texts(one, part):
                columns.append((title + suffix, values))
    if not columns:
        return []
    met = {index for _, values in columns for index in values}
    beyond = sum(index >= _MOST_POINTS for index in met)
    if beyond or len(every) > len(series):
        left_out = f"{len(every) - len(series)} further series and {beyond} further points of each are left out"
        limits = f"a chart is read up to {_MOST_SERIES} series of {_MOST_POINTS} points"
        gathered.note(CaveatKind.CUT_SHORT, f"{limits}: {left_out}")
    head = ["", *(title for title, _ in columns)]
    count = min(max(met) + 1, _MOST_POINTS)
    return [head, *([names.get(row, ""), *(values.get(row, "") for _, values in columns)] for row in range(count))]


def _extended_series(root: etree._Element) -> Iterator[etree._Element]:
    """The newer chart types (waterfall, treemap, funnel …) keep each series' data apart: put in the older form."""
    sets = {item.get("id"): item for item in root.iterfind(".//{*}chartData/{*}data")}
    for item in root.iterfind(".//{*}series"):
        link = item.find("{*}dataId")
        found = sets.get(link.get("val")) if link is not None else None
        if found is not None:
            made = etree.Element("{c}ser")
            made.extend(list(item.iterfind("{*}tx")))
            for kind, name in (("strDim", "cat"), ("numDim", "val")):
                holder = etree.SubElement(made, f"{{c}}{name}")
                for level in found.iterfind(f"{{*}}{kind}/{{*}}lvl"):
                    holder.extend(list(level))
            yield made


def _point_texts(series: etree._Element, *parts: str) -> dict[int, str]:
    """Values by their index; the levels of a category of several levels are joined, the outermost first."""
    found: dict[int, str] = {}
    for part in parts:
        holder = series.find(f"{{*}}{part}")
        if holder is None:
            continue
        code = holder.find(".//{*}formatCode")
        for point in holder.iter("{*}pt"):
            index = point.get("idx", "")
            value = (point.findtext("{*}v") if len(point) else point.text) or ""
            if index.isdecimal() and value:
                text = _format_value(value, point.get("formatCode") or (code.text if code is not None else "") or "")
                found[int(index)] = f"{text} {found[int(index)]}" if int(index) in found else text
    return found


def _format_value(value: str, code: str) -> str:
    try:
        number = number_of(value)
    except ValueError:
        return value
    if code in ("", "General"):
        return format_general(number)
    return format_number(number, code)


def _node_text(node: etree._Element | None) -> str:
    """The text in it, rich or cached."""
    if node is None:
        return ""
    pieces = [item.text or "" for item in node.iter("{*}t", "{*}v") if not len(item)]
    return " ".join("".join(pieces).split())
