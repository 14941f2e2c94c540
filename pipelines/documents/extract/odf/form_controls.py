"""Form controls of OpenDocument files: their labels, and what is typed in, ticked or chosen."""

from collections.abc import Iterator

from lxml import etree

from pipelines.documents.extract.odf.namespaces import FORM, TEXT

_TICKED, _EMPTY, _NEITHER = "☒", "☐", "■"
_VALUES = frozenset(("text", "textarea", "formatted-text", "number", "date", "time", "combobox", "file", "value-range"))
_LABELS = frozenset(("fixed-text", "button", "frame"))
_SILENT = frozenset(("password", "hidden", "image", "image-frame"))  # nothing of these is shown as text


def control_texts(forms: etree._Element) -> Iterator[tuple[str, str]]:
    """The id and the shown text of each control; none for those that show tables or data of other kinds."""
    for control in forms.iter(f"{FORM}*"):
        name = _plain_attributes(control).get("id")
        if name and (text := _control_text(control)) is not None:
            yield name, text


def _control_text(control: etree._Element) -> str | None:
    kind, label = control.tag.removeprefix(FORM), control.get(f"{FORM}label", "")
    if kind == "checkbox":
        state = control.get(f"{FORM}current-state") or control.get(f"{FORM}state", "unchecked")
        return f"{ {'checked': _TICKED, 'unchecked': _EMPTY}.get(state, _NEITHER) } {label}".rstrip()
    if kind == "radio":
        chosen = control.get(f"{FORM}current-selected") or control.get(f"{FORM}selected")
        return f"{_TICKED if chosen == 'true' else _EMPTY} {label}".rstrip()
    if kind == "listbox":
        return _chosen_options(control)
    if kind in _VALUES:
        value = control.get(f"{FORM}current-value") or control.get(f"{FORM}value", "")
        return value or "\n".join("".join(one.itertext()) for one in control.iter(f"{TEXT}p"))
    return label if kind in _LABELS else "" if kind in _SILENT else None


def _chosen_options(control: etree._Element) -> str | None:
    """The chosen entries of a list; None for one that takes its entries from elsewhere."""
    options = control.findall(f"{FORM}option")
    if not options:
        return None
    now = any(one.get(f"{FORM}current-selected") for one in options)
    state = f"{FORM}current-selected" if now else f"{FORM}selected"
    chosen = "; ".join(one.get(f"{FORM}label", "") for one in options if one.get(state) == "true")
    return f"[chosen] {chosen}" if chosen else ""


def field_mark_text(mark: etree._Element) -> str:
    """A box to tick or the chosen entry of a list, where a file of Word was saved as OpenDocument."""
    values: dict[str, list[str]] = {}
    for item in mark.iterfind("{*}param"):
        own = _plain_attributes(item)
        values.setdefault(own.get("name", "").rpartition(".")[2], []).append(own.get("value", ""))
    if _plain_attributes(mark).get("type", "").endswith("FORMCHECKBOX"):
        return _TICKED if values.get("Checkbox_Checked", [""])[0] in ("true", "1") else _EMPTY
    entries, chosen = values.get("Dropdown_ListEntry", []), values.get("Dropdown_Selected", [""])[0]
    return entries[int(chosen)] if chosen.isdecimal() and int(chosen) < len(entries) else ""


def _plain_attributes(node: etree._Element) -> dict[str, str]:
    """Attributes by their names alone: producers differ in the namespace."""
    return {str(key).rpartition("}")[2]: str(value) for key, value in node.attrib.items()}
