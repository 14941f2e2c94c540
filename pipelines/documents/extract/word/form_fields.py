"""Form fields and content controls of a DOCX whose value stands in no run: older fields, and bound data."""

import re
from collections.abc import Mapping
from itertools import chain, islice

from lxml import etree

from pipelines.documents.extract.office.ooxml import OoxmlPackage, PartRelation
from pipelines.documents.extract.office.zip_package import DAMAGED

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
TICKED, EMPTY = "☒", "☐"
_OFF = ("0", "false", "off")
_NEAR = 200  # siblings of a field's begin among which its parts are looked for
_PATH = re.compile(r"(/(text\(\)|@?[\w:.-]+)(\[\d{1,6}\])?){1,40}")  # as Word writes them; others may cost without end
_PREFIX = re.compile(r"xmlns:([\w.-]+)\s*=\s*(?:'([^']*)'|\"([^\"]*)\")")
_PROPERTIES = {
    "core-properties": "6C3C8BC8-F283-45AE-878A-BAB7291924A1",
    "extended-properties": "6668398D-A668-4E3E-A5EB-62B293D839F1",
}  # ids that stand for the document's own properties, by the kind of their relation
_NO_TEXT = frozenset(f"{W}{name}" for name in ("picture", "richText", "docPartObj", "group"))


def field_state(node: etree._Element) -> str:
    """A box to tick, the chosen entry of a list, or the text of the older form fields, where no run holds it."""
    box, choice = node.find(f"{W}ffData/{W}checkBox"), node.find(f"{W}ffData/{W}ddList")
    if box is not None:
        ticked = is_on(box, "checked") if box.find(f"{W}checked") is not None else is_on(box, "default")
        return TICKED if ticked else EMPTY
    if choice is not None:
        entries = [item.get(f"{W}val", "") for item in choice.iterfind(f"{W}listEntry")]
        found = choice.find(f"{W}result") if choice.find(f"{W}result") is not None else choice.find(f"{W}default")
        at = found.get(f"{W}val", "0") if found is not None else "0"
        return entries[int(at)] if at.isdecimal() and int(at) < len(entries) else ""
    default = node.find(f"{W}ffData/{W}textInput/{W}default")
    return default.get(f"{W}val", "") if default is not None and not _has_result(node) else ""


def is_on(parent: etree._Element, name: str) -> bool:
    """A switch: on where it stands without a value."""
    found = parent.find(f"{{*}}{name}")
    if found is None:
        return False
    value = next((str(value) for key, value in found.attrib.items() if str(key).endswith("}val")), "1")
    return value not in _OFF


def _has_result(begin: etree._Element) -> bool:
    """True if a field has a result, be it an empty one: what was typed in stands there."""
    run = begin.getparent()
    depth = 0
    for node in islice(chain(begin.itersiblings(), run.itersiblings()), _NEAR):
        for mark in node.iter(f"{W}fldChar"):
            kind = mark.get(f"{W}fldCharType")
            if kind == "separate" and not depth:
                return True
            if kind == "end" and not depth:
                return False
            depth += {"begin": 1, "end": -1}.get(kind or "", 0)
    return True


class BoundData:
    """The data that content controls are bound to: Word shows it in place of the text that is stored with them."""

    def __init__(self, package: OoxmlPackage, relations: Mapping[str, PartRelation]) -> None:
        """`relations` are those of the main part."""
        self._package, self._relations = package, relations
        self._stores: dict[str, etree._Element] | None = None

    def fill_controls(self, root: etree._Element) -> None:
        """Put the bound text of each control into its runs, where they hold another."""
        for control in root.iter(f"{W}sdt"):
            binding, content = control.find(f"{W}sdtPr/{W}dataBinding"), control.find(f"{W}sdtContent")
            if binding is None or content is None or content.find(f".//{W}sdt") is not None:
                continue
            properties = control.find(f"{W}sdtPr")
            texts = list(content.iter(f"{W}t"))
            shown = " ".join("".join(one.text or "" for one in texts).split())
            dated = shown and properties.find(f"{W}date") is not None and not is_on(properties, "showingPlcHdr")
            if dated or any(one.tag in _NO_TEXT or one.tag.endswith("}checkbox") for one in properties):
                continue
            value = _listed_text(properties, self._bound_value(binding))
            if value.strip() and " ".join(value.split()) != shown:
                first, *others = texts or [_added_text(content)]
                first.text = value
                for one in others:
                    one.text = ""

    def _bound_value(self, binding: etree._Element) -> str:
        path, store = binding.get(f"{W}xpath", ""), binding.get(f"{W}storeItemID", "").strip("{}").upper()
        if not _PATH.fullmatch(path):
            return ""
        if self._stores is None:
            self._stores = self._data_stores()
        names = {one[0]: one[1] or one[2] for one in _PREFIX.findall(binding.get(f"{W}prefixMappings", ""))}
        for key, root in self._stores.items():
            if store in ("", key):
                try:
                    found = root.xpath(path, namespaces=names)
                except (etree.XPathError, ValueError):
                    return ""
                if isinstance(found, list) and found:
                    one = found[0]
                    return "".join(map(str, one.itertext())) if isinstance(one, etree._Element) else str(one)
        return ""

    def _data_stores(self) -> dict[str, etree._Element]:
        """Roots of the data parts and of the document's properties, by their ids; to a damaged one nothing is bound."""
        found = {}
        for relation in (*self._relations.values(), *self._package.relations("").values()):
            if relation.external or not (relation.kind == "customXml" or relation.kind in _PROPERTIES):
                continue
            try:
                found[_PROPERTIES.get(relation.kind) or self._store_id(relation.target)] = self._package.xml(
                    relation.target
                )
            except DAMAGED:
                continue
        return found

    def _store_id(self, part: str) -> str:
        beside = (one.target for one in self._package.relations(part).values() if one.kind == "customXmlProps")
        ids = [value for target in beside for key, value in self._package.xml(target).attrib.items() if "itemID" in key]
        return str(ids[0]).strip("{}").upper()


def _listed_text(properties: etree._Element, value: str) -> str:
    """The text that a list shows for a value."""
    for item in properties.iterfind(f"*/{W}listItem"):
        if item.get(f"{W}value") == value:
            return str(item.get(f"{W}displayText") or value)
    return value


def _added_text(content: etree._Element) -> etree._Element:
    paragraph = next(content.iter(f"{W}p"), content)
    return etree.SubElement(etree.SubElement(paragraph, f"{W}r"), f"{W}t")
