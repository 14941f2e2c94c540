"""Frame around every page: the bar with workspace and person, the navigation, a head that loads from here only."""

import re
from typing import Final
from urllib.parse import urlencode

from serve_apps.ui.kit.html import SafeHtml, join_html, tag
from serve_apps.ui.kit.page import PREFIX, ConsolePage
from serve_apps.ui.sessions import ConsoleSession

NAME: Final = "AOS"
# Gradio's template names pictures and a manifest elsewhere.
FOREIGN: Final = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*/>|<link rel="manifest"[^>]*/>')
HEAD: Final = join_html(
    tag("link", rel="stylesheet", href=f"{PREFIX}/console.css"),
    tag("link", rel="icon", href=f"{PREFIX}/icon.svg", type="image/svg+xml"),
    tag("script", src=f"{PREFIX}/console.js", defer=True),
)


def frame_document(
    document: bytes, page: ConsolePage, pages: tuple[ConsolePage, ...], session: ConsoleSession
) -> bytes:
    """Gradio's document with our head, bar and navigation."""
    title = tag("title", f"{page.title} · {NAME}")
    document = FOREIGN.sub(b"", document)
    document = document.replace(b"</head>", join_html(HEAD, title).encode() + b"</head>", 1)
    skip = tag("a", "Skip to the page", href="#main", class_="aos-skip")
    around = join_html(skip, _top_bar(session, page), _page_nav(page, pages, session))
    return document.replace(b"<gradio-app", around.encode() + b'<gradio-app id="main" role="main"', 1)


def _top_bar(session: ConsoleSession, page: ConsolePage) -> SafeHtml:
    icon = tag("img", src=f"{PREFIX}/icon.svg", alt="", width=22, height=22)
    brand = tag("a", icon, tag("b", NAME), href=f"{PREFIX}/")
    out = tag("form", tag("button", "Sign out"), method="post", action=f"{PREFIX}/sign-out")
    where = f"{PREFIX}/password?{urlencode({'next': page.address})}"
    password = tag("a", "Password", href=where, title="Change your password", class_="own")
    person = tag("span", session.email, class_="who", title=f"{session.email}, {session.role}")
    role = tag("span", session.role, class_="aos-badge grey")
    right = tag("div", _workspace_choice(session, page), person, role, password, out, class_="right")
    # console.js sends the workspace along with whatever the page asks for.
    known = {"data_title": f"{page.title} · {NAME}", "data_workspace": session.workspace}
    return tag("header", brand, right, class_="aos-bar", **known)


def _workspace_choice(session: ConsoleSession, page: ConsolePage) -> SafeHtml | None:
    place = session.place
    if place is None:
        return None
    if len(session.places) == 1:
        return tag("span", place.name, class_="place", title="Workspace")
    options = [tag("option", one.name, value=one.id, selected=one is place) for one in session.places]
    choice = tag("select", options, name="workspace", aria_label="Workspace", data_submits=True)
    back = tag("input", type="hidden", name="next", value=page.address)
    return tag("form", choice, back, tag("noscript", tag("button", "Go")), method="post", action=f"{PREFIX}/workspace")


def _page_nav(current: ConsolePage, pages: tuple[ConsolePage, ...], session: ConsoleSession) -> SafeHtml:
    links = []
    for one in (one for one in pages if session.role.reaches(one.least)):
        icon = tag("svg", tag("path", d=one.icon), viewBox="0 0 24 24", aria_hidden="true")
        here = "page" if one is current else None
        links.append(tag("a", icon, tag("span", one.title), href=one.address, aria_current=here))
    return tag("nav", links, class_="aos-nav", aria_label="Pages")
