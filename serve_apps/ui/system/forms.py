"""Forms of the page System: labelled fields, refusals put to their field, confirmations, secrets shown once."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from serve_apps.ui.kit.blocks import problem_card, titled_card
from serve_apps.ui.kit.html import Child, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.problem import ProblemReport

Option = tuple[str, str]
_COMPLAINT: Final = re.compile(r"(?:body\.)?([A-Za-z_][\w.]*)(?: \([A-Z0-9_]+\))?: (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ActForm:
    """A form whose values are sent to an act, by the script beside this module; `act` also names its fields' ids."""

    act: str

    def text(
        self,
        name: str,
        label: Child,
        value: str = "",
        about: Child = None,
        *,
        kind: str = "text",
        required: bool = False,
        hint: str = "",
        options: Iterable[str] = (),
        **more: str | int | float | bool | None,
    ) -> SafeHtml:
        """A line of text; `options` are suggested."""
        suggested, id_ = [tag("option", value=option) for option in options], f"{self._field_id(name)}-options"
        more |= {"placeholder": hint or None, "list": id_ if suggested else None}
        more |= {"autocomplete": "new-password" if kind == "password" else "off"}
        box = tag("input", **self.known(name), type=kind, value=value, required=required, **more)
        listed = tag("datalist", suggested, id=id_) if suggested else None
        return self.around(name, label, join_html(box, listed), about)

    def area(self, name: str, label: Child, value: str = "", about: Child = None, *, rows: int = 3) -> SafeHtml:
        """Several lines of text."""
        # The first line break after the tag is not part of the value.
        box = tag("textarea", "\n" + value, **self.known(name), rows=rows)
        return self.around(name, label, box, about)

    def choice(
        self, name: str, label: Child, options: Sequence[Option], value: str = "", about: Child = None
    ) -> SafeHtml:
        """A select field; each option is a value and its label."""
        listed = [tag("option", said, value=one, selected=one == value) for one, said in options]
        return self.around(name, label, tag("select", listed, **self.known(name)), about)

    def switch(self, name: str, label: Child, value: bool = False, about: Child = None) -> SafeHtml:
        """Yes or no."""
        box = tag("input", **self.known(name), type="checkbox", checked=value)
        return self.around(name, tag("span", box, " ", label), None, about)

    def known(self, name: str) -> dict[str, str]:
        """Attributes by which a field is sent, and found by its label and by what is wrong with it."""
        return {"id": self._field_id(name), "name": name, "aria_describedby": f"{self._field_id(name)}-said"}

    def around(self, name: str, label: Child, box: Child, about: Child = None) -> SafeHtml:
        """A field with its label, what there is to know, and a place for what is wrong with it."""
        id_ = self._field_id(name)
        said = tag("small", about, class_="quiet") if about else None
        wrong = tag("small", class_="aos-wrong", data_error=name, id=f"{id_}-said")
        return tag("div", tag("label", label, for_=id_), box, said, wrong, class_="aos-field")

    def kept(self, **values: str) -> SafeHtml:
        """A hidden field that is sent along."""
        return join_html([tag("input", type="hidden", name=key, value=values[key], data_always=True) for key in values])

    def __call__(
        self, *inside: Child, send: str, colour: str = "primary", changed: bool = False, **kept: str
    ) -> SafeHtml:
        """The form; with `changed` only what was changed is sent."""
        button = tag("button", send, type="submit", class_=f"aos-button {colour}".strip())
        return self.bare(join_html(*inside), tag("div", button, class_="aos-actions"), changed=changed, **kept)

    def bare(self, *inside: Child, changed: bool = False, **kept: str) -> SafeHtml:
        """The form with buttons of its own."""
        how = {"data_act": self.act, "data_only": "changed" if changed else None, "novalidate": changed}
        return tag("form", self.kept(**kept), inside, class_="aos-form", **how)

    def button(self, send: str, colour: str = "", **kept: str) -> SafeHtml:
        """A form that is only its button."""
        button = tag("button", send, type="submit", class_=f"aos-button {colour}".strip())
        return tag("form", self.kept(**kept), button, class_="aos-inline", data_act=self.act)

    def confirmed(self, ask: str, about: Child, send: str, **kept: str) -> SafeHtml:
        """A button that first says what it will do."""
        sure = tag("div", tag("p", about), self.button(send, "danger", **kept), class_="aos-sure")
        return tag("details", tag("summary", ask, class_="aos-button"), sure, class_="aos-confirm")

    def _field_id(self, name: str) -> str:
        return f"{self.act}-{name}".replace(".", "-")


def query_form(part: str, *inside: Child) -> SafeHtml:
    """A form whose values become the URL's query."""
    button = tag("button", "Show", type="submit", class_="aos-button")
    part_ = tag("input", type="hidden", name="part", value=part)
    return tag("form", part_, inside, tag("div", button, class_="aos-actions"), class_="aos-filters", data_go=True)


def field_grid(*fields: Child) -> SafeHtml:
    """Fields beside each other where there is room."""
    return tag("div", fields, class_="aos-fields")


def action_link(said: str, where: str) -> SafeHtml:
    """A link to a form, as a button."""
    return tag("a", said, href=where, class_="aos-button primary")


def choice_tiles(title: str, tiles: Iterable[tuple[str, str, str]]) -> SafeHtml:
    """A card of what can be chosen: its name, what there is to know, and where it leads."""
    drawn = [tag("a", tag("b", name), quiet_span(about), href=where, class_="aos-tile") for name, about, where in tiles]
    return titled_card(title, tag("div", drawn, class_="aos-tiles"))


def fact_list(those: Iterable[tuple[str, Child]]) -> SafeHtml:
    """A definition list of names and values."""
    return tag("dl", [tag("div", tag("dt", name), tag("dd", value)) for name, value in those], class_="aos-facts")


def secret_shown_once(what: str, secret: str, about: str) -> SafeHtml:
    """A secret that is shown this once, with a button that copies it."""
    copy = tag("button", "Copy", type="button", class_="aos-button", data_copy=secret)
    shown = tag("div", tag("code", secret, class_="aos-secret"), copy, class_="aos-once")
    return join_html(tag("strong", what), shown, quiet_text(about))


def field_complaints(told: ProblemReport) -> dict[str, str]:
    """Validation messages of a refusal, by field name."""
    found: dict[str, str] = {}
    for line in re.split(r"\n|; (?=body\.)", told.detail):
        if match := _COMPLAINT.fullmatch(line.strip()):
            found[match[1]] = match[2]
    return found


def refusal_view(told: ProblemReport, names: Mapping[str, str] | None = None) -> SafeHtml:
    """A problem, with what the script puts to the fields; `names` is the field of what the API calls otherwise."""
    known = names or {}
    marks = [
        tag("span", hidden=True, data_field=known.get(name, name), data_said=said)
        for name, said in field_complaints(told).items()
    ]
    return join_html(problem_card(told), marks)
