"""HTML that is safe by construction: what is not `SafeHtml` already is escaped, wherever it comes from."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any, Final

VOID: Final = frozenset({"br", "img", "input", "hr", "meta", "link", "circle", "line", "path", "rect", "polyline"})
# Gradio hands values through templates of its own, which read braces and dollars; as entities they are only text.
_TEMPLATE: Final = str.maketrans({"{": "&#123;", "}": "&#125;", "$": "&#36;", "`": "&#96;"})
_SCHEMES: Final = ("/", "?", "#", "./")
_LINKS: Final = frozenset({"href", "src", "action", "formaction"})


class SafeHtml(str):
    """Text that is HTML. Made by `tag` and `join_html`; `Html(...)` itself only around literals of the program."""

    __slots__ = ()


Record = Mapping[str, Any]  # an object of the API's JSON, which pages show
Child = SafeHtml | str | int | float | None | Iterable["Child"]


class UnsafeLink(ValueError):
    """A link of the console leads to the console: it begins with /, ? or #."""


def _escape_text(value: object) -> SafeHtml:
    return SafeHtml(escape(str(value), quote=True).translate(_TEMPLATE))


def tag(name: str, /, *children: Child, **attributes: str | int | float | bool | None) -> SafeHtml:
    """An element. `class_` is the class, an underscore a hyphen; attributes that are None or False are left out.

    Raises UnsafeLink: an address leads elsewhere, or is a script.
    """
    told = "".join(
        _attribute_html(key, value) for key, value in attributes.items() if value is not None and value is not False
    )
    if name in VOID and not children:
        open_ended = name in ("br", "img", "input", "hr", "meta", "link")
        return SafeHtml(f"<{name}{told}>" if open_ended else f"<{name}{told}/>")
    return SafeHtml(f"<{name}{told}>{join_html(*children)}</{name}>")


def join_html(*children: Child) -> SafeHtml:
    """Several after each other; None is nothing."""
    return SafeHtml("".join(_child_html(child) for child in children))


def svg_image(svg: str, alt: str, class_: str) -> SafeHtml:
    """A picture that is given as SVG: within an image it runs no script and loads nothing."""
    source = b64encode(svg.encode()).decode()
    words = f'alt="{_escape_text(alt)}" class="{_escape_text(class_)}"'
    return SafeHtml(f'<img src="data:image/svg+xml;base64,{source}" {words}>')


def quiet_text(*said: Child) -> SafeHtml:
    """A paragraph in the colour of what is only added."""
    return tag("p", said, class_="quiet")


def quiet_span(*said: Child) -> SafeHtml:
    """The same within a line."""
    return tag("span", said, class_="quiet")


def _child_html(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, SafeHtml):
        return child
    if isinstance(child, str | int | float):
        return _escape_text(child)
    return join_html(*child)


def _attribute_html(key: str, value: str | int | float | bool) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    if name in _LINKS and not _leads_home(str(value)):
        raise UnsafeLink(str(value))
    return f' {name}="{_escape_text(value)}"'


def _leads_home(link: str) -> bool:
    # Browsers read a backslash as a slash and skip control characters, so neither may stand in a link.
    plain = link.isprintable() and "\\" not in link
    return plain and link.startswith(_SCHEMES) and not link.startswith("//")
