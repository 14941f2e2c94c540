"""The configuration: four coloured groups and all other settings, where each value is from, when a change counts."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import empty_state, state_badge, titled_card
from serve_apps.ui.kit.formats import format_moment
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system import restart_banner
from serve_apps.ui.system.forms import ActForm
from serve_apps.ui.system.section import ActResult, Query, SystemSection, Values, success_note

MASK: Final = "••••••••"
PATH: Final = "/api/admin/config"
OTHER: Final = "grey"
SOURCES: Final[Mapping[str, str]] = {
    "default": "built in",
    "yaml": "from a file",
    "row": "set here",
    "environment": "from the environment",
}
FORM: Final = ActForm("config.save")
SHORT: Final = frozenset({
    "ai", "api", "cors", "cpu", "cpus", "db", "dpi", "ef", "gpu", "http", "id", "ip", "k1", "llm", "mcp", "nfs", "ocr",
    "pdf", "rrf", "sql", "ttl", "url", "vllm",
})  # fmt: skip
Setting = Record


async def _show_config(api: SessionApi, asked: Query) -> SafeHtml:
    return config_form(await api.get(PATH))


def config_form(body: Record) -> SafeHtml:
    """The answer of the API as a form; only what was changed in it is sent."""
    coloured = [_coloured_group(group) for group in body["groups"] if group["colour"] != OTHER]
    others = [_folded_group(group) for group in body["groups"] if group["colour"] == OTHER and group["keys"]]
    save = tag(
        "div",
        tag("span", "Nothing is changed.", data_count=True, role="status"),
        tag("button", "Discard", type="reset", class_="aos-button", disabled=True),
        tag("button", "Save", type="submit", class_="aos-button primary", disabled=True),
        class_="aos-save",
    )
    told = {"placeholder": "Search by name, key or description", "aria_label": "Search the other settings"}
    search = tag("input", type="search", data_filter="#other-settings", **told, class_="aos-search")
    found = tag("span", class_="quiet", data_found=True, role="status")
    rest = titled_card("All other settings", tag("div", search, found), tag("div", others, id="other-settings"))
    form = FORM.bare(tag("div", coloured, class_="aos-groups"), rest, save, changed=True, version=str(body["version"]))
    waiting = restart_banner.waiting_parts(body["needs_restart"])
    return join_html(waiting, _left_out(body["left_out"]), form, restart_banner.by_choice())


def _left_out(rows: Mapping[str, str]) -> SafeHtml | None:
    if not rows:
        return None
    listed = [tag("li", tag("code", name), ": ", why) for name, why in rows.items()]
    return titled_card("Stored settings that do not count", tag("ul", listed), aside=state_badge("look at it", "amber"))


def _coloured_group(group: Record) -> SafeHtml:
    said = _same_reasons(group["keys"])
    fields = [setting_field(one, named=one["name"], told=one["why"] in said) for one in group["keys"]]
    head = join_html(tag("h2", group["title"]), quiet_text(group["about"]))
    return tag("section", head, fields, _fixed_reasons(said, group["keys"]), class_=f"aos-group {group['colour']}")


def _folded_group(group: Record) -> SafeHtml:
    count, about = quiet_span(len(group["keys"])), quiet_text(group["about"])
    said = _same_reasons(group["keys"])
    fields = [setting_field(one, group["title"], told=one["why"] in said) for one in group["keys"]]
    summary = tag("summary", tag("b", setting_label(group["title"])), " ", count)
    fixed, shown = _fixed_reasons(said, group["keys"]), tag("div", fields, class_="aos-settings")
    return tag("details", summary, about, fixed, shown, data_group=True)


def _same_reasons(settings: Sequence[Setting]) -> set[str]:
    """Reasons shared by several settings that cannot be edited here; each is shown once."""
    reasons = [one["why"] for one in settings if one["why"]]
    return {why for why in reasons if reasons.count(why) > 1}


def _fixed_reasons(said: set[str], settings: Sequence[Setting]) -> list[SafeHtml]:
    whose = {why: ", ".join(one["name"] for one in settings if one["why"] == why) for why in sorted(said)}
    return [tag("p", tag("code", said), " not here: ", why, ".", class_="aos-why quiet") for why, said in whose.items()]


def setting_label(name: str) -> str:
    """A name as a label: NFS_BASE_PATH as “NFS base path”."""
    words = name.replace("_", " ").lower().split()
    told = [word.upper() if word in SHORT else word for word in words]
    return " ".join([told[0][:1].upper() + told[0][1:], *told[1:]]) if told else name


def setting_field(one: Setting, group: str = "", *, named: str = "", told: bool = False) -> SafeHtml:
    """A setting: its name, its value where it may be changed, and what there is to know about it.

    The search also finds it by its `group`; `named` is another name than the key's last part; with `told` it is said
    elsewhere why it cannot be changed.
    """
    name = setting_label(named or one["key"].rpartition(".")[2])
    words = " ".join((group, one["key"], one["name"], name)).lower()
    label = join_html(tag("b", name), tag("span", "changed, not saved", class_="aos-dirty"))
    shown = MASK if one["secret"] and one["value"] else _written_value(one["value"]).replace("\n", ", ") or "not set"
    box = _setting_input(one) if one["editable"] else tag("output", shown, class_="aos-fixed")
    return tag("div", FORM.around(one["key"], label, box, _setting_notes(one, told)), data_words=words)


def _setting_input(one: Setting) -> SafeHtml:
    known, value = FORM.known(one["key"]), _written_value(one["value"])
    if one["secret"]:
        known |= {"type": "password", "value": MASK if one["value"] else "", "autocomplete": "new-password"}
        return tag("input", **known, data_masked=True)
    if one["type"] in ("switch", "choice"):
        each_of = (True, False) if one["type"] == "switch" else one["choices"]
        labels = [("off", "on")[each] if isinstance(each, bool) else str(each) for each in each_of]
        options = [(_written_value(each), label) for each, label in zip(each_of, labels, strict=True)]
        if one["nullable"] or value not in dict(options):
            options = [("", "not set"), *options]
        listed = [tag("option", said_, value=each, selected=each == value) for each, said_ in options]
        return tag("select", listed, **known)
    if one["type"] == "list":
        rows = min(8, max(2, len(one["value"] or ()) + 1))
        return tag("textarea", "\n" + value, **known, rows=rows)
    numeric = one["type"] in ("integer", "number")
    hint, mode = "not set" if one["nullable"] else None, "decimal" if numeric else None
    return tag("input", **known, type="text", inputmode=mode, value=value, placeholder=hint, autocomplete="off")


def _setting_notes(one: Setting, told: bool) -> SafeHtml:
    source = state_badge(SOURCES.get(one["source"]) or str(one["source"]), "blue" if one["source"] == "row" else "grey")
    when = join_html(" ", format_moment(one["changed_at"], relative=True)) if one["changed_at"] else None
    back = None
    if one["source"] == "row" and one["editable"]:
        back = tag("button", "Take back", type="button", data_forget=one["key"], class_="aos-link")
    lines: list[Child] = [tag("code", one["name"]), " ", source, when, back]
    if not one["editable"]:
        return join_html(lines, None if told else tag("span", "Not here: ", one["why"], class_="aos-note"))
    return join_html(lines, tag("span", f"{_bounds_text(one)} {change_reach(one)}".strip(), class_="aos-note"))


def _bounds_text(one: Setting) -> str:
    least, above, most = one["minimum"], one["above"], one["maximum"]
    known = ((least, "at least"), (above if least is None else None, "above"), (most, "at most"))
    bounds = ", ".join(f"{said} {value:g}" for value, said in known if value is not None)
    told = [f"{bounds.capitalize()}."] if bounds else []
    if one["type"] == "list":
        told.append(f"One a line, of: {', '.join(map(str, one['choices']))}." if one["choices"] else "One a line.")
    return " ".join(told)


def change_reach(one: Setting) -> str:
    """Effect of a change: which processes apply it live, and which need a restart."""
    live, restart = ", ".join(one["live"]), ", ".join(one["restart"])
    if restart == "whole":
        return "Needs all of it to be started anew."
    if not restart:
        return f"Live within seconds ({live})." if live else "Live within seconds."
    return f"Live in {live}; needs a restart of {restart}." if live else f"Needs a restart of {restart}."


def _written_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "\n".join(_written_value(item) for item in value) if isinstance(value, list) else str(value)


def read_value(text: str, one: Setting) -> Any:
    """Parse a field's text into the type of its setting; an unparsable number is sent as text for the API to refuse."""
    if one["nullable"] and not text and not one["secret"]:
        return None
    if one["type"] == "list":
        return [line.strip() for line in text.splitlines() if line.strip()]
    if one["type"] == "switch":
        return {"true": True, "false": False}.get(text, text)
    if one["type"] == "choice":
        return next((choice for choice in one["choices"] if _written_value(choice) == text), text)
    if one["type"] in ("integer", "number"):
        try:
            return int(text) if one["type"] == "integer" else float(text)
        except ValueError:
            return text
    return None if one["nullable"] and not text else text


async def save_settings(api: SessionApi, values: Values) -> ActResult:
    """Write what was changed, or take one row back."""
    known = {one["key"]: one for group in (await api.get(PATH))["groups"] for one in group["keys"]}
    changes = {name: read_value(text, known[name]) for name, text in values.items() if name in known}
    if "forget" in values:
        changes = {values["forget"]: None}
    after = await api.put(PATH, {"version": int(values.get("version", "0")), "values": changes})
    return ActResult(saved_notice(after))


def saved_notice(after: Record) -> SafeHtml:
    """Notice that lists the changed settings and when each takes effect."""
    changed: Sequence[str] = after["changed"]
    if not changed:
        return empty_state("Nothing was changed.", "What was sent is what counts already, or is decided by a file.")
    known = {one["key"]: one for group in after["groups"] for one in group["keys"]}
    reach = {name: change_reach(known[name]) if name in known else "gone." for name in changed}
    lines = [tag("li", tag("code", name), ": ", said) for name, said in reach.items()]
    return success_note(tag("strong", f"{len(changed)} saved" if len(changed) > 1 else "Saved"), tag("ul", lines))


SECTION = SystemSection(
    "config", "Configuration", Role.ADMIN, _show_config, {"config.save": save_settings, **restart_banner.ACTS}
)
