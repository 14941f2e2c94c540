"""Words of neighbouring HTML elements: where they stand apart although nothing is written between them."""

import re
from itertools import pairwise
from typing import Final

from bs4.element import NavigableString, Tag

_FORMATS: Final = frozenset(
    (
        *("b", "i", "em", "strong", "u", "s", "strike", "small", "big", "font", "mark", "ins", "del", "sub", "sup"),
        *("tt", "code", "kbd", "samp", "var", "wbr", "bdo", "bdi", "nobr", "ruby", "rb", "dfn"),
    )
)
_ALWAYS_APART: Final = frozenset(("a", "label", "button", "time", "legend", "option"))
_BOXED: Final = re.compile(
    r"display\s*:\s*(block|flex|grid|inline-block|inline-flex|table-cell|list-item)", re.IGNORECASE
)


def needs_space(before: Tag, node: Tag) -> bool:
    """True if a space belongs between two elements that follow each other without one.

    Formatting may begin within a word (`<b>W</b>ort`); other elements are things of their own, such as a label and
    its value, unless the text around them shows that its spaces are written.
    """
    left, right = before.get_text(), node.get_text()
    if not left or not right:
        return False
    last, first = left[-1], right[0]
    if not (last.isalnum() and first.isalnum()):
        return False
    if _is_box(before) or _is_box(node) or (before.name in _ALWAYS_APART and node.name in _ALWAYS_APART):
        return True
    if len(left.strip()) == 1 and len(right.strip()) == 1:
        return False  # letter by letter
    if last.isdigit() or first.isdigit() or (last.islower() and first.isupper() and len(left.strip()) > 1):
        return not {before.name, node.name} & {"sub", "sup"}
    if before.name in _FORMATS or node.name in _FORMATS or len(left.strip()) == 1 or len(right.strip()) == 1:
        return False
    return not _has_written_spaces(node)


def _is_box(node: Tag) -> bool:
    return bool(_BOXED.search(str(node.get("style") or "")))


def _has_written_spaces(node: Tag) -> bool:
    """True if the elements beside this one are separated by spaces of their own, as in running text."""
    texts = [str(one) if isinstance(one, NavigableString) else one.get_text() for one in _sibling_nodes(node)]
    return any(a[-1:].isspace() or b[:1].isspace() for a, b in pairwise(texts))


def _sibling_nodes(node: Tag) -> list[Tag | NavigableString]:
    parent = node.parent
    return [one for one in parent.children if isinstance(one, Tag | NavigableString)] if parent is not None else []
