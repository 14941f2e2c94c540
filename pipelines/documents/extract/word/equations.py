"""Office equations in a linear form: fractions with `/`, roots, powers, sums, matrices; as one would type them."""

import re
from collections.abc import Callable

from lxml import etree

from pipelines.documents.extract.text.raised import lowered, raised

_COMPOSITE = re.compile(r"[\s+\-−±∓=<>≤≥≠≈·×*/,;|]")
_ATOM = re.compile(r"\d+(?:[.,]\d+)?|\w['′]*|[A-Za-z]+\([^()]*\)|\([^()]*\)|\[[^\[\]]*\]")
_SCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"


def linear(node: etree._Element) -> str:
    """The equation below a node (`m:oMath`, `m:oMathPara` or any part of one) on one line."""
    return " ".join(_children(node).split())


def _children(node: etree._Element) -> str:
    return "".join(_visit(child) for child in node if isinstance(child.tag, str))


def _visit(node: etree._Element) -> str:
    name = node.tag.rpartition("}")[2]
    if name == "t":
        return node.text or ""
    if name in ("rPr", "ctrlPr", "del", "moveFrom") or name.endswith("Pr"):
        return ""
    writer = _WRITERS.get(name)
    return writer(node) if writer else _children(node)


def _part(node: etree._Element, name: str) -> str:
    found = node.find(f"{{*}}{name}")
    return _children(found).strip() if found is not None else ""


def _setting(node: etree._Element, name: str, default: str) -> str:
    """A value of the element's properties; an element without a value means that it is empty."""
    found = node.find(f"{{*}}{etree.QName(node).localname}Pr/{{*}}{name}")
    if found is None:
        return default
    return next((str(value) for key, value in found.attrib.items() if str(key).endswith("val")), "")


def _grouped(text: str, *, strictly: bool = False) -> str:
    """In brackets where it would come apart; `strictly` spares a number, a letter, a bracket only."""
    bare = text.rstrip(_SCRIPTS)
    atom = bool(_ATOM.fullmatch(bare)) or bare == ""
    return text if atom or (not strictly and not _COMPOSITE.search(text)) else f"({text})"


def _fraction(node: etree._Element) -> str:
    over, under = _part(node, "num"), _part(node, "den")
    if _setting(node, "type", "bar") == "noBar":
        return f"({over} over {under})"
    return f"{_grouped(over)}/{_grouped(under, strictly=True)}"


def _root(node: etree._Element) -> str:
    degree = _part(node, "deg")
    sign = (
        "√" if degree in ("", "2") else {"3": "∛", "4": "∜"}.get(degree, f"{_script(degree, raised, '^').lstrip('^')}√")
    )
    return sign + _grouped(_part(node, "e"), strictly=True)


def _script(text: str, shift: Callable[[str], str], sign: str) -> str:
    """Raised or lowered letters where there are such for all of it, else `^(…)` or `_(…)`."""
    if not text:
        return ""
    shifted = shift(text)
    return shifted if shifted != text and "[" not in shifted else sign + _grouped(text, strictly=True)


def _scripted(node: etree._Element) -> str:
    """Base with what stands below and above it."""
    base = _grouped(_part(node, "e"))
    return base + _script(_part(node, "sub"), lowered, "_") + _script(_part(node, "sup"), raised, "^")


def _before(node: etree._Element) -> str:
    return _script(_part(node, "sub"), lowered, "_") + _script(_part(node, "sup"), raised, "^") + _part(node, "e")


def _sum(node: etree._Element) -> str:
    """An operator with its limits: ∑_(i=1)^n i²."""
    sign = _setting(node, "chr", "∫") or "∫"
    limits = "".join(
        mark + _grouped(limit, strictly=True)
        for mark, limit in (("_", _part(node, "sub")), ("^", _part(node, "sup")))
        if limit
    )
    return f"{sign}{limits} {_part(node, 'e')} "


def _delimited(node: etree._Element) -> str:
    separator = _setting(node, "sepChr", "|")
    inner = f" {separator} ".join(_children(part).strip() for part in node.iterfind("{*}e"))
    return _setting(node, "begChr", "(") + inner + _setting(node, "endChr", ")")


def _function(node: etree._Element) -> str:
    argument = _part(node, "e")
    return f"{_part(node, 'fName')}{argument if argument.startswith('(') else f'({argument})'}"


def _limit(node: etree._Element) -> str:
    mark = "_" if node.tag.endswith("limLow") else "^"
    return f"{_part(node, 'e')}{mark}{_grouped(_part(node, 'lim'), strictly=True)} "


def _accent(node: etree._Element) -> str:
    return _part(node, "e") + (_setting(node, "chr", "\u0302") or "\u0302")


def _bar(node: etree._Element) -> str:
    return _part(node, "e") + ("\u0305" if _setting(node, "pos", "bot") == "top" else "\u0332")


def _rows(node: etree._Element) -> str:
    return "; ".join(_children(row).strip() for row in node.iterfind("{*}e"))


def _matrix(node: etree._Element) -> str:
    rows = [", ".join(_children(cell).strip() for cell in row.iterfind("{*}e")) for row in node.iterfind("{*}mr")]
    return "[" + "; ".join(rows) + "]"


_WRITERS: dict[str, Callable[[etree._Element], str]] = {
    "f": _fraction,
    "rad": _root,
    "sSup": _scripted,
    "sSub": _scripted,
    "sSubSup": _scripted,
    "sPre": _before,
    "nary": _sum,
    "d": _delimited,
    "func": _function,
    "limLow": _limit,
    "limUpp": _limit,
    "acc": _accent,
    "bar": _bar,
    "eqArr": _rows,
    "m": _matrix,
    "br": lambda node: "; ",
}
