"""The components of Chat Studio, declared once, and how they look before, while and after an answer is written."""

from dataclasses import dataclass, fields
from typing import Any, Final

import gradio as gr

from serve_apps.ui.chat.conversations import ChatExchange, exchanges_view
from serve_apps.ui.kit.blocks import empty_state, page_heading
from serve_apps.ui.kit.decision_form import DecisionForm, Updates
from serve_apps.ui.kit.page import ConsoleContext, html_part
from serve_apps.ui.kit.rating import rating_buttons

AUTO, DOCUMENTS = "auto", "documents"
SOURCES: Final = [("Whatever fits", AUTO), ("Documents only", DOCUMENTS)]
MOST_FILES: Final = 20
INTRO: Final = "Ask, and open the page behind every claim. What an agent wants to do to the world waits for a person."


@dataclass(frozen=True, slots=True)
class ChatComponents:
    """Attributes:
    exchanges: of this conversation, the last one is the one that is talked about.
    session, run: ids, hidden; the browser hands them back.
    resume, judge: shown where there is something to go on with, or to say.
    """

    past: gr.HTML
    live: gr.HTML
    form: DecisionForm
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
    def declare(cls) -> "ChatComponents":
        """Conversation on the left, others and its own settings on the right; below each other on a phone."""
        found: dict[str, Any] = {"exchanges": gr.State([])}
        html_part(page_heading("Chat Studio", INTRO))
        with gr.Row(elem_classes="aos-chat"):
            with gr.Column(scale=4, min_width=320):
                found |= _talk_column()
            with gr.Column(scale=1, min_width=250):
                found |= _side_column()
        return cls(**found)

    @property
    def all(self) -> list[Any]:
        """Outputs of an event that changes anything."""
        own = [getattr(self, one.name) for one in fields(self) if one.name != "form"]
        return [*own, *self.form.all]

    def asked(self, console: ConsoleContext, exchanges: list[ChatExchange]) -> Updates:
        """A message was sent, the answer has not begun."""
        return {
            self.exchanges: exchanges,
            self.past: exchanges_view(console, exchanges[:-1]),
            self.live: exchanges_view(console, exchanges[-1:], live=True),
            self.message: gr.update(value=""),
            self.thanks: "",
            self.run: "",
            **self.form.closed(),
            **self._writing_buttons(True),
        }

    def writing(self, console: ConsoleContext, exchanges: list[ChatExchange]) -> Updates:
        """As far as it is written."""
        run = exchanges[-1].turn.run
        return {self.live: exchanges_view(console, exchanges[-1:], live=True), self.run: run}

    def rested(self, console: ConsoleContext, exchanges: list[ChatExchange], may_decide: bool) -> Updates:
        """Nothing moves: the turn is over, or waits for a person."""
        if not exchanges:
            past = empty_state("Nothing was said yet.", "Choose an agent and ask. Its sources open at the very place.")
            return {self.exchanges: [], self.past: past, **self._writing_buttons(False)}
        turn = exchanges[-1].turn
        form = self.form.closed() if turn.approval is None else self.form.opened(turn.approval, may_decide)
        return {
            self.exchanges: exchanges,
            self.past: exchanges_view(console, exchanges[:-1]),
            self.live: exchanges_view(console, exchanges[-1:]),
            self.run: turn.run,
            **form,
            **self._writing_buttons(False),
            self.resume: gr.update(visible=turn.state == "interrupted"),
            self.judge: gr.update(visible=turn.state == "completed" and bool(turn.run)),
        }

    def _writing_buttons(self, now: bool) -> Updates:
        return {
            self.send: gr.update(visible=not now),
            self.stop: gr.update(visible=now),
            self.resume: gr.update(visible=False),
            self.judge: gr.update(visible=False),
        }


def _talk_column() -> dict[str, Any]:
    found: dict[str, Any] = {"past": html_part(), "live": html_part(), "form": DecisionForm.declare()}
    found["resume"] = gr.Button("Go on with this answer", visible=False, variant="primary", size="md")
    found |= rating_buttons()
    found["thanks"] = html_part()
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


def _side_column() -> dict[str, Any]:
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
        found["done"] = html_part()
    found["others"] = html_part()
    found["session"] = gr.Textbox(visible=False)
    found["run"] = gr.Textbox(visible=False)
    return found
