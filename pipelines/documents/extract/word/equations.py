"""Office equations in a linear form: fractions with `/`, roots, powers, sums, matrices; as one would type them."""

import re
from collections.abc import Callable

from lxml import etree

from pipelines.documents.extract.text.raised import as_subscript, as_superscript

_COMPOSITE = re.compile(r"[\s+\-−±∓=<>≤≥≠≈·×*/,;|]")
_ATOM = re.compile(r"\d+(?:[.,]\d+)?|\w['′]*|[A-Za-z]+\([^()]*\)|\([^()]*\)|\[[^\[\]]*\]")
_SCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"


def linear_equation(node: etree._Element) -> str:
    """The equation below a node (`m:oMath`, `m:oMathPara` or any part of one) on one line."""
    return " ".join(_children_text(node).split())


def _children_text(node: etree._Element) -> str:
    return "".join(_element_text(child) for child in node if isinstance(child.tag, str))


def _element_text(node: etree._Element) -> str:
    name = node.tag.rpartition("}")[2]
    if name == "t":
        return node.text or ""
    if name in ("rPr", "ctrlPr", "del", "moveFrom") or name.endswith("Pr"):
        return ""
    writer = _WRITERS.get(name)
    return writer(node) if writer else _children_text(node)


def _part_text(node: etree._Element, name: str) -> str:
    found = node.find(f"{{*}}{name}")
    return _children_text(found).strip() if found is not None else ""


def _property_value(node: etree._Element, name: str, default: str) -> str:
    """A value of the element's properties; an element without a value means that it is empty."""
    found = node.find(f"{{*}}{etree.QName(node).localname}Pr/{{*}}{name}")
    if found is None:
        return default
    return next((str(value) for key, value in found.attrib.items() if str(key).endswith("val")), "")


def _group_text(text: str, *, strictly: bool = False) -> str:
    """In brackets where it would come apart; `strictly` spares a number, a letter, a bracket only."""
    bare = text.rstrip(_SCRIPTS)
    atom = bool(_ATOM.fullmatch(bare)) or bare == ""
    return text if atom or (not strictly and not _COMPOSITE.search(text)) else f"({text})"


def _fraction_text(node: etree._Element) -> str:
    over, under = _part_text(node, "num"), _part_text(node, "den")
    if _property_value(node, "type", "bar") == "noBar":
        return f"({over} over {under})"
    return f"{_group_text(over)}/{_group_text(under, strictly=True)}"


def _root_text(node: etree._Element) -> str:
    degree = _part_text(node, "deg")
    sign = (
        "√"
        if degree in ("", "2")
        else {"3": "∛", "4": "∜"}.get(degree, f"{_script_text(degree, as_superscript, '^').lstrip('^')}√")
    )
    return sign + _group_text(_part_text(node, "e"), strictly=True)


def _script_text(text: str, shift: Callable[[str], str], sign: str) -> str:
    """Raised or lowered letters where there are such for all of it, else `^(…)` or `_(…)`."""
    if not text:
        return ""
    shifted = shift(text)
    return shifted if shifted != text and "[" not in shifted else sign + _group_text(text, strictly=True)


def _scripted_base(node: etree._Element) -> str:
    """Base with what stands below and above it."""
    base = _group_text(_part_text(node, "e"))
    below, above = _part_text(node, "sub"), _part_text(node, "sup")
    return base + _script_text(below, as_subscript, "_") + _script_text(above, as_superscript, "^")


def _prescripted_base(node: etree._Element) -> str:
    below, above = _part_text(node, "sub"), _part_text(node, "sup")
    return _script_text(below, as_subscript, "_") + _script_text(above, as_superscript, "^") + _part_text(node, "e")


def _nary_operator(node: etree._Element) -> str:
    """An operator with its limits: ∑_(i=1)^n i²."""
    sign = _property_value(node, "chr", "∫") or "∫"
    limits = "".join(
        mark + _group_text(limit, strictly=True)
        for mark, limit in (("_", _part_text(node, "sub")), ("^", _part_text(node, "sup")))
        if limit
    )
    return f"{sign}{limits} {_part_text(node, 'e')} "


def _delimited_text(node: etree._Element) -> str:
    separator = _property_value(node, "sepChr", "|")
    inner = f" {separator} ".join(_children_text(part).strip() for part in node.iterfind("{*}e"))
    return _property_value(node, "begChr", "(") + inner + _property_value(node, "endChr", ")")


def _function_text(node: etree._Element) -> str:
    argument = _part_text(node, "e")
    return f"{_part_text(node, 'fName')}{argument if argument.startswith('(') else f'({argument})'}"


def _limit_text(node: etree._Element) -> str:
    mark = "_" if node.tag.endswith("limLow") else "^"
    return f"{_part_text(node, 'e')}{mark}{_group_text(_part_text(node, 'lim'), strictly=True)} "


def _accented_text(node: etree._Element) -> str:
    return _part_text(node, "e") + (_property_value(node, "chr", "\u0302") or "\u0302")


def _barred_text(node: etree._Element) -> str:
    return _part_text(node, "e") + ("\u0305" if _property_value(node, "pos", "bot") == "top" else "\u0332")


def _equation_rows(node: etree._Element) -> str:
    return "; ".join(_children_text(row).strip() for row in node.iterfind("{*}e"))


def _matrix_text(node: etree._Element) -> str:
    rows = [", ".join(_children_text(cell).strip() for cell in row.iterfind("{*}e")) for row in node.iterfind("{*}mr")]
    return "[" + "; ".join(rows) + "]"


_WRITERS: dict[str, Callable[[etree._Element], str]] = {
    "f": _fraction_text,
    "rad": _root_text,
    "sSup": _scripted_base,
    "sSub": _scripted_base,
    "sSubSup": _scripted_base,
    "sPre": _prescripted_base,
    "nary": _nary_operator,
    "d": _delimited_text,
    "func": _function_text,
    "limLow": _limit_text,
    "limUpp": _limit_text,
    "acc": _accented_text,
    "bar": _barred_text,
    "eqArr": _equation_rows,
    "m": _matrix_text,
    "br": lambda node: "; ",
}
