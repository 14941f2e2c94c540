"""The form in which a person decides: what is asked for, its arguments to be edited, approve or reject."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import html_part
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.kit.value_tables import value_view

MOST_FIELDS: Final = 10
RECONCILE: Final = "reconcile"
Updates = dict[Any, Any]
Asked = Mapping[str, Any]


def decision_card(asked: Asked, may_decide: bool) -> SafeHtml:
    """Card of an approval request; a person who may not decide is told who may."""
    uncertain = asked.get("category") == RECONCILE
    happened = f"Did {asked['tool']} happen? It was begun, and nobody knows."
    title = happened if uncertain else f"{asked['tool']} waits for a person"
    about = tag("p", asked["reason"]) if asked.get("reason") else None
    until = asked.get("expires_at")
    left = quiet_text("Without a decision it expires ", format_moment(until, relative=True), ".")
    arguments = asked.get("arguments") or {}
    body = value_view(arguments) if uncertain or not may_decide or len(arguments) > MOST_FIELDS else None
    who = None if may_decide else tag("p", "An operator or administrator decides this; it then goes on by itself.")
    return titled_card(title, about, body, who, left if until and not uncertain else None, aside=state_badge("pending"))


def _argument_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def edited_arguments(asked: Asked, texts: Sequence[str]) -> dict[str, Any] | None:
    """The arguments as they were edited; None where nothing was changed.

    Raises Problem: a field does not hold what its argument is made of.
    """
    before: dict[str, Any] = dict(asked.get("arguments") or {})
    after = dict(before)
    for (name, value), text in zip(list(before.items())[:MOST_FIELDS], texts, strict=False):
        if text == _argument_text(value):
            continue
        after[name] = text if isinstance(value, str) else _parse_argument(name, text)
    return None if after == before else after


def _parse_argument(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        fix = "Write it as it stood there: a number, true or false, or a list in brackets."
        raise ApiProblem(ProblemReport(f"{name} cannot be read.", str(error), fix, 0, "not_json")) from error


async def send_decision(api: SessionApi, asked: Asked, choice: str, texts: Sequence[str], notes: str) -> Any:
    """Send a decision; raises Problem."""
    body: dict[str, Any] = {"decision": choice, "notes": notes}
    if choice == "approve" and (arguments := edited_arguments(asked, texts)) is not None:
        body["arguments"] = arguments
    return await api.post(f"/api/approvals/{asked['id']}", body)


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """The form's components; `asked` holds what is asked while it is shown."""

    around: gr.Column
    asked: gr.State
    about: gr.HTML
    fields: tuple[gr.Textbox, ...]
    notes: gr.Textbox
    choices: Mapping[str, gr.Button]  # buttons by the decision they send

    @classmethod
    def declare(cls) -> "DecisionForm":
        """Declare the form in a page; hidden at first."""
        asked = gr.State(None)
        with gr.Column(visible=False, elem_classes="aos-decide") as around:
            about = html_part()
            labels = [f"Argument {n + 1}" for n in range(MOST_FIELDS)]
            fields = tuple(gr.Textbox(visible=False, label=label, max_lines=8) for label in labels)
            notes = gr.Textbox(label="Reason, or a remark for the record", max_lines=4)
            with gr.Row(elem_classes="aos-buttons"):
                choices = {
                    "approve": gr.Button("Approve", variant="primary", size="md"),
                    "reject": gr.Button("Reject", variant="stop", size="md"),
                    "happened": gr.Button("It happened", variant="primary", size="md", visible=False),
                    "run": gr.Button("It did not: run it", size="md", visible=False),
                    "give_up": gr.Button("Give up", variant="stop", size="md", visible=False),
                }
        return cls(around, asked, about, fields, notes, choices)

    @property
    def all(self) -> list[Any]:
        """Outputs of an event that changes it."""
        return [self.around, self.asked, self.about, *self.fields, self.notes, *self.choices.values()]

    def opened(self, asked: Asked, may_decide: bool, trouble: SafeHtml | None = None) -> Updates:
        """Shown, with what is asked; `trouble` is why the last decision was not taken."""
        uncertain = asked.get("category") == RECONCILE
        editable = [] if uncertain or not may_decide else list((asked.get("arguments") or {}).items())[:MOST_FIELDS]
        shown_fields: Updates = {box: gr.update(visible=False, value="") for box in self.fields}
        for box, (name, value) in zip(self.fields, editable, strict=False):
            text, label = _argument_text(value), name.replace("_", " ")
            shown_fields[box] = gr.update(visible=True, label=label, value=text, lines=min(8, text.count("\n") + 1))
        offered = ("happened", "run", "give_up") if uncertain else ("approve", "reject")
        seen = {name: may_decide and name in offered for name in self.choices}
        return {
            self.around: gr.update(visible=True),
            self.asked: dict(asked),
            self.about: join_html(trouble, decision_card(asked, may_decide)),
            **shown_fields,
            self.notes: gr.update(visible=may_decide, value=""),
            **{button: gr.update(visible=seen[name]) for name, button in self.choices.items()},
        }

    def closed(self) -> Updates:
        """Hidden."""
        return {self.around: gr.update(visible=False), self.asked: None}
