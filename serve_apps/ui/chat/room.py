"""The components of Chat Studio, declared once, and how they look before, while and after an answer is written."""

from dataclasses import dataclass, fields
from typing import Any, Final

import gradio as gr

from serve_apps.ui.chat.conversations import Exchange, drawn
from serve_apps.ui.kit.blocks import empty, heading
from serve_apps.ui.kit.decision_form import Form, Updates
from serve_apps.ui.kit.html_component import part
from serve_apps.ui.kit.page import Desk
from serve_apps.ui.kit.rating import judging

AUTO, DOCUMENTS = "auto", "documents"
SOURCES: Final = [("Whatever fits", AUTO), ("Documents only", DOCUMENTS)]
MOST_FILES: Final = 20
INTRO: Final = "Ask, and open the page behind every claim. What an agent wants to do to the world waits for a person."


@dataclass(frozen=True, slots=True)
class Room:
    """Attributes:
    exchanges: of this conversation, the last one is the one that is talked about.
    session, run: ids, hidden; the browser hands them back.
    resume, judge: shown where there is something to go on with, or to say.
    """

    past: gr.HTML
    live: gr.HTML
    form: Form
    resume: gr.Button
    judge: gr.Row
    up: gr.Button
    down: gr.Button
    word: gr.Textbox
    thanks: gr.HTML
    message: gr.Textbox
    send: gr.Button
    stop: gr.Button
    agent: gr.Dropdown
    source: gr.Radio
    files: gr.Dropdown
    others: gr.HTML
    about: gr.Accordion
    title: gr.Textbox
    rename: gr.Button
    delete: gr.Button
    sure: gr.Button
    done: gr.HTML
    exchanges: gr.State
    session: gr.Textbox
    run: gr.Textbox

    @classmethod
    def declare(cls) -> "Room":
        """Conversation on the left, others and its own settings on the right; below each other on a phone."""
        found: dict[str, Any] = {"exchanges": gr.State([])}
        part(heading("Chat Studio", INTRO))
        with gr.Row(elem_classes="aos-chat"):
            with gr.Column(scale=4, min_width=320):
                found |= _talk()
            with gr.Column(scale=1, min_width=250):
                found |= _side()
        return cls(**found)

    @property
    def all(self) -> list[Any]:
        """Outputs of an event that changes anything."""
        own = [getattr(self, one.name) for one in fields(self) if one.name != "form"]
        return [*own, *self.form.all]

    def asked(self, desk: Desk, exchanges: list[Exchange]) -> Updates:
        """A message was sent, the answer has not begun."""
        return {
            self.exchanges: exchanges,
            self.past: drawn(desk, exchanges[:-1]),
            self.live: drawn(desk, exchanges[-1:], live=True),
            self.message: gr.update(value=""),
            self.thanks: "",
            self.run: "",
            **self.form.closed(),
            **self._writing(True),
        }

    def writing(self, desk: Desk, exchanges: list[Exchange]) -> Updates:
        """As far as it is written."""
        run = exchanges[-1].turn.run
        return {self.live: drawn(desk, exchanges[-1:], live=True), self.run: run}

    def rested(self, desk: Desk, exchanges: list[Exchange], may_decide: bool) -> Updates:
        """Nothing moves: the turn is over, or waits for a person."""
        if not exchanges:
            hint = "Choose an agent and ask. Its sources open at the very place."
            return {self.exchanges: [], self.past: empty("Nothing was said yet.", hint), **self._writing(False)}
        turn = exchanges[-1].turn
        form = self.form.closed() if turn.approval is None else self.form.opened(turn.approval, may_decide)
        return {
            self.exchanges: exchanges,
            self.past: drawn(desk, exchanges[:-1]),
            self.live: drawn(desk, exchanges[-1:]),
            self.run: turn.run,
            **form,
            **self._writing(False),
            self.resume: gr.update(visible=turn.state == "interrupted"),
            self.judge: gr.update(visible=turn.state == "completed" and bool(turn.run)),
        }

    def _writing(self, now: bool) -> Updates:
        return {
            self.send: gr.update(visible=not now),
            self.stop: gr.update(visible=now),
            self.resume: gr.update(visible=False),
            self.judge: gr.update(visible=False),
        }


def _talk() -> dict[str, Any]:
    found: dict[str, Any] = {"past": part(), "live": part(), "form": Form.declare()}
    found["resume"] = gr.Button("Go on with this answer", visible=False, variant="primary", size="md")
    found |= judging()
    found["thanks"] = part()
    with gr.Column(elem_classes="aos-composer"):
        found["message"] = gr.Textbox(
            label="Your message",
            placeholder="Ask something; Enter sends it",
            lines=1,
            max_lines=10,
            max_length=100_000,
            autofocus=True,
            container=False,
            show_label=False,
        )
        with gr.Row(elem_classes="aos-buttons"):
            found["send"] = gr.Button("Send", variant="primary", size="md", min_width=100, scale=0)
            found["stop"] = gr.Button("Stop", variant="stop", size="md", min_width=100, scale=0, visible=False)
    return found


def _side() -> dict[str, Any]:
    found: dict[str, Any] = {}
    found["agent"] = gr.Dropdown([], label="Agent", interactive=True)
    found["source"] = gr.Radio(SOURCES, value=AUTO, label="Answer from")
    found["files"] = gr.Dropdown(
        [],
        label="About these files",
        multiselect=True,
        max_choices=MOST_FILES,
        interactive=True,
        info="The newest; without any, whatever fits.",
    )
    gr.Button("New conversation", link="/console/chat", size="md")
    with gr.Accordion("This conversation", open=False, visible=False) as found["about"]:
        found["title"] = gr.Textbox(label="Title", max_length=200)
        with gr.Row(elem_classes="aos-buttons"):
            found["rename"] = gr.Button("Rename", size="sm", min_width=80)
            found["delete"] = gr.Button("Delete", variant="stop", size="sm", min_width=80)
        found["sure"] = gr.Button("Yes, delete it for good", variant="stop", size="sm", visible=False)
        found["done"] = part()
    found["others"] = part()
    found["session"] = gr.Textbox(visible=False)
    found["run"] = gr.Textbox(visible=False)
    return found
