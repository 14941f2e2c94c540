"""The forms that define a source: by the settings of its kind, tried before they are stored, and changed later."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.blocks import link_to, titled_card
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.problem import ApiProblem, ProblemReport
from serve_apps.ui.system.forms import ActForm, choice_tiles, field_grid
from serve_apps.ui.system.section import Values, page_address

ADD, CHANGE = ActForm("sources.add"), ActForm("sources.change")
TEST_NEW, PREVIEW = "sources.try", "sources.preview"
SETTING: Final = "setting:"
READERS: Final = "user:<email>, group:<name> or role:<role>, separated by commas. Empty: everybody of the workspace."
GROUPS: Final = "One a line: name in the source = name here. A group without a line has the same name here."
ERASE: Final = "Days after a document has left; then it is deleted for good. Empty: it is kept, and nobody sees it."
PERIOD: Final = "Minutes. Empty: only when somebody asks for it."
GUARD: Final = "More of its documents gone at once waits for a person."
STALE: Final = "Hours without a sync that worked; then its documents are hidden, as nobody confirms who may see them."
NUMBERS: Final = ("every_minutes", "max_removed_percent", "erase_after_days", "stale_after_hours")
EMPTY_NUMBERS: Final = frozenset({"every_minutes", "erase_after_days"})
FRESH: Final[Record] = {
    "name": "",
    "settings": {},
    "credential": None,
    "readers": [],
    "group_names": {},
    "every_minutes": 60,
    "max_removed_percent": 20,
    "erase_after_days": None,
    "stale_after_hours": 72,
}


def kind_choice(kinds: Sequence[Record]) -> SafeHtml:
    """Which kind of source it is to be."""
    back = link_to("← All sources", page_address("sources"))
    tiles = [(one["title"], _about_kind(one), page_address("sources", new=one["name"])) for one in kinds]
    return join_html(back, choice_tiles("Add a source: of which kind?", tiles))


def _about_kind(kind: Record) -> str:
    rights = "Rights follow the source." if kind["has_rights"] else "You say who may see its documents."
    return f"{rights} Needs {', '.join(kind['required'])}." if kind["required"] else rights


def new_source_form(kind: Record, credentials: Sequence[str]) -> SafeHtml:
    """A form for a kind, with a test and a dry run that store nothing."""
    back = link_to("← Another kind", page_address("sources", new="choose"))
    paused = ADD.switch("paused", "paused at first", about="Nothing is fetched until you resume it or synchronise it.")
    tries = (
        _try_button("Test", TEST_NEW),
        _try_button("Dry run", PREVIEW),
        tag("button", "Add it", type="submit", class_="aos-button primary"),
    )
    about = "Test lists its first items; the dry run says what the first sync would bring and who would see it."
    fields = _source_fields(ADD, kind, FRESH, credentials)
    form = ADD.bare(*fields, paused, tag("div", tries, class_="aos-actions"), kind=kind["name"])
    return join_html(back, titled_card(f"Add a source: {kind['title']}", quiet_text(about), form))


def change_form(one: Record, kind: Record, credentials: Sequence[str]) -> SafeHtml:
    """What can be changed of a source."""
    about = "Readers follow with the next sync, which is due at once where it has a period. What is new is tried first."
    fields = _source_fields(CHANGE, kind, one, credentials)
    form = CHANGE(*fields, send="Save it", id=one["id"])
    folded = tag("details", tag("summary", "Change it …", class_="aos-button"), quiet_text(about), form)
    return titled_card("Settings, readers and rules", folded)


def _source_fields(form: ActForm, kind: Record, now: Record, credentials: Sequence[str]) -> list[Child]:
    settings = [_setting_field(form, kind, name, about, now) for name, about in kind["settings"].items()]
    credential = None
    if kind["takes_credential"]:
        names = sorted({*credentials, *([now["credential"]] if now["credential"] else [])})
        options = [("", "none"), *((name, name) for name in names)]
        about = "By which it signs in; stored under Credentials, where its secrets stay sealed."
        credential = form.choice("credential", "Credential", options, now["credential"] or "", about)
    groups = "\n".join(f"{theirs} = {ours}" for theirs, ours in now["group_names"].items())
    rights: tuple[Child, ...] = ()
    if not kind["has_rights"]:
        rights = (form.text("readers", "Who may see it", ", ".join(now["readers"]), READERS),)
    if kind["has_rights"] or kind["rights_setting"]:
        stale = _number(form, "stale_after_hours", "Hidden when unconfirmed for", now, STALE, 1, 87_600)
        rights = (*rights, form.area("group_names", "Names of groups", groups, GROUPS), stale)
    rules = (
        _number(form, "every_minutes", "Synchronise every", now, PERIOD, 1, 525_600),
        _number(form, "max_removed_percent", "Percent that may leave at once", now, GUARD, 0, 100),
        _number(form, "erase_after_days", "Delete for good after", now, ERASE, 0, 36_500),
    )
    name = form.text("name", "Name", now["name"], required=True)
    return [field_grid(name, *settings, credential), field_grid(*rights, *rules)]


def _setting_field(form: ActForm, kind: Record, name: str, about: str, now: Record) -> SafeHtml:
    label = name.replace("_", " ").capitalize()
    value = str(now["settings"].get(name, ""))
    return form.text(SETTING + name, label, value, about, required=name in kind["required"])


def _number(form: ActForm, name: str, label: str, now: Record, about: str, least: int, most: int) -> SafeHtml:
    value = "" if now[name] is None else str(now[name])
    needed = name not in EMPTY_NUMBERS
    return form.text(name, label, value, about, kind="number", required=needed, min=least, max=most, step=1)


def _try_button(said: str, act: str) -> SafeHtml:
    """It sends the same fields to another act, and does not ask for the name."""
    return tag("button", said, type="submit", class_="aos-button", data_act=act, formnovalidate=True)


def definition_of(values: Values) -> dict[str, Any]:
    """What the fields say, as the API takes it. Raises ApiProblem: a number or a line cannot be read."""
    settings = {
        name.removeprefix(SETTING): value.strip()
        for name, value in values.items()
        if name.startswith(SETTING) and value.strip()
    }
    body: dict[str, Any] = {"name": values.get("name", "").strip(), "settings": settings}
    if "credential" in values:
        body["credential"] = values["credential"] or None
    if "readers" in values:
        body["readers"] = [one.strip() for one in values["readers"].split(",") if one.strip()]
    if "group_names" in values:
        body["group_names"] = _group_names(values["group_names"])
    return body | {name: _whole(name, values[name]) for name in NUMBERS if name in values}


def changes_between(before: Record, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Only what is otherwise: what is sent along unchanged would be tried and refused for nothing."""
    return {name: value for name, value in wanted.items() if before[name] != value}


def _group_names(text: str) -> dict[str, str]:
    pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
    for theirs, sign, ours in pairs:
        if not (theirs.strip() and sign and ours.strip()):
            raise _unreadable("group_names", f"{theirs.strip()[:80]!r} has no name here", "Write: theirs = ours.")
    return {theirs.strip(): ours.strip() for theirs, _, ours in pairs}


def _whole(name: str, text: str) -> int | None:
    given = text.strip()
    if not given and name in EMPTY_NUMBERS:
        return None
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise _unreadable(name, f"{given[:20]!r} is no whole number", "Write digits only.")
    return int(given)


def _unreadable(name: str, why: str, fix: str) -> ApiProblem:
    return ApiProblem(ProblemReport("This cannot be read.", f"{name}: {why}", fix, 422, "invalid"))
