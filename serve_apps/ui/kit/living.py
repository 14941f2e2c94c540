"""HTML of ours that people act in: links and forms that stay on the page, buttons that ask for something.

A link to the page itself (without a target), and a form without an act, show it anew for their query. `data_act`
on a button: the page's handler gets `act`, the button's `value` and the form's `fields`. `parse_action` reads
such an event. No field may be called `path`: Gradio takes whatever has one for a file of its own.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import gradio as gr

from serve_apps.ui.kit.html import SafeHtml, tag
from serve_apps.ui.kit.page import html_part, query_int

SCRIPT: Final = Path(__file__).with_name("living.js")


@dataclass(frozen=True, slots=True)
class PageAction:
    """Action that a person triggered on the page."""

    query: Mapping[str, str]  # of the page's address
    act: str = ""  # of the button, as its value; empty where a page was only to be shown
    value: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)  # of the form around the button

    def number(self, name: str, least: int = 0) -> int:
        """A whole number of the query, `least` where there is none."""
        return max(least, query_int(self.query, name))


def interactive_html(value: SafeHtml | None = None, visible: bool = True) -> gr.HTML:
    """As `html_part`, with the script; its events are `select` (show) and `click` (act)."""
    return html_part(value, visible, SCRIPT.read_text(encoding="utf-8"))


def parse_action(event: gr.EventData) -> PageAction:
    """From what the script sent: whatever it is, only text of it is taken."""
    told = event._data if isinstance(event._data, dict) else {}
    fields = told.get("fields")
    query, act, value = (one if isinstance(one := told.get(name), str) else "" for name in ("query", "act", "value"))
    sent = {str(name): str(value) for name, value in fields.items()} if isinstance(fields, dict) else {}
    return PageAction(dict(parse_qsl(query.removeprefix("?"))), act, value, sent)


def opening_action(request: gr.Request) -> PageAction:
    """Action from the query of the address with which the page was opened."""
    return PageAction({str(name): str(value) for name, value in dict(request.query_params).items()})


class RenderMarker:
    """Marks what is shown, so that the same HTML shown again still counts as an answer."""

    def __init__(self) -> None:
        """Counts from 1."""
        self._turns = itertools.count(1)

    def mark(self, inside: SafeHtml, address: str | None = None) -> SafeHtml:
        """The same HTML in a frame that is new each time; `address` becomes that of the window."""
        return tag("div", inside, data_turn=next(self._turns), data_address=address)
