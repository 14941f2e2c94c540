"""HTML that is safe by construction: what is not `Html` already is escaped, wherever it comes from."""

from collections.abc import Iterable
from html import escape
from typing import Final

VOID: Final = frozenset({"br", "img", "input", "hr", "meta", "link", "circle", "line", "path", "rect", "polyline"})
# Gradio hands values through templates of its own, which read braces and dollars; as entities they are only text.
_TEMPLATE: Final = str.maketrans({"{": "&#123;", "}": "&#125;", "$": "&#36;", "`": "&#96;"})
_SCHEMES: Final = ("/", "?", "#", "./")
_LINKS: Final = frozenset({"href", "src", "action", "formaction"})


class Html(str):
    """Text that is HTML. Made by `tag` and `join`; `Html(...)` itself only around literals of the program."""

    __slots__ = ()


Child = Html | str | int | float | None | Iterable["Child"]


class UnsafeLink(ValueError):
    """A link of the console leads to the console: it begins with /, ? or #."""


def text(value: object) -> Html:
    """Anything as text."""
    return Html(escape(str(value), quote=True).translate(_TEMPLATE))


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """An element. `class_` is the class, an underscore a hyphen; attributes that are None or False are left out.

    Raises:
        UnsafeLink: an address leads elsewhere, or is a script.
    """
    told = "".join(
        _attribute(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in VOID and not children:
        return (
            Html(f"<{name}{told}>")
            if name in ("br", "img", "input", "hr", "meta", "link")
            else Html(f"<{name}{told}/>")
        )
    return Html(f"<{name}{told}>{join(*children)}</{name}>")


def join(*children: Child) -> Html:
    """Several after each other; None is nothing."""
    return Html("".join(_child(child) for child in children))


def _child(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str | int | float):
        return text(child)
    return join(*child)


def _attribute(key: str, value: str | int | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if name in _LINKS and not _leads_home(str(value)):
        raise UnsafeLink(str(value))
    return f' {name}="{text(value)}"'


def _leads_home(link: str) -> bool:
    # Browsers read a backslash as a slash and skip control characters, so neither may stand in a link.
    plain = link.isprintable() and "\\" not in link
    return plain and link.startswith(_SCHEMES) and not link.startswith("//")
