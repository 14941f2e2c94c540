"""Credentials of skills: what is known of them, never their secrets; who may use them; adding, rotating, deleting."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import data_table, empty_card, empty_state, link_to, list_pager, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_moment
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_text, tag
from serve_apps.ui.kit.page import query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import ActForm, action_link, choice_tiles, fact_list, field_grid
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    find_listed,
    page_address,
    page_query,
)

PAGE_OF: Final = 50
ADD, CHANGE, ROTATE = ActForm("credentials.add"), ActForm("credentials.change"), ActForm("credentials.rotate")
DELETE, BIND, UNBIND = ActForm("credentials.delete"), ActForm("credentials.bind"), ActForm("credentials.unbind")
LABELS: Final[Mapping[str, str]] = {
    "ssh": "SSH",
    "http_basic": "User and password (HTTP)",
    "bearer_token": "Bearer token",
    "db_dsn": "Database address",
    "api_key": "API key",
    "custom": "Anything else",
    "oauth": "OAuth: people connect their own accounts",
}
LONG: Final = frozenset({"private_key", "known_hosts"})
SECRET, OPEN = "secret:", "open:"
PAIRS: Final = "One a line: name=value."
ANY: Final = ("", "any")
Credential = Record


async def _show_credentials(api: SessionApi, asked: Query) -> SafeHtml:
    admin = api.session.role.reaches(Role.ADMIN)
    if "new" in asked and admin:
        return _new_credential_form((await api.get("/api/credentials/types"))["items"], asked["new"])
    if "id" in asked:
        return await _show_credential(api, asked["id"], admin)
    body = await api.get("/api/credentials", skip=query_int(asked), limit=PAGE_OF)
    return _credential_list(body, query_int(asked), admin)


async def _show_credential(api: SessionApi, id_: str, admin: bool) -> SafeHtml:
    one = await find_listed(api, "/api/credentials", id_, "credential")
    bound = (await api.get(api_route("credentials", id_, "bindings")))["items"]
    if not admin:
        return _credential_view(one, bound)
    agents = (await api.get("/api/agents", limit=1000))["items"]
    skills = (await api.get("/api/skills", limit=1000))["items"]
    kinds = (await api.get("/api/credentials/types"))["items"]
    known: dict[str, Record] = {kind["type"]: kind for kind in kinds}
    kind = known[one["type"]]
    choices = ([(each["id"], each["name"]) for each in agents], [(each["name"], each["name"]) for each in skills])
    return join_html(_credential_view(one, bound, admin=True), _binding_form(one, *choices), _rotation_form(one, kind))


def _credential_list(body: Record, skip: int, admin: bool) -> SafeHtml:
    new = action_link("Add a credential", page_address("credentials", new="choose")) if admin else None
    if not body["items"]:
        todo = join_html("Skills that sign in somewhere need one. ", new or "An administrator adds it.")
        return empty_card("Credentials", "There is no credential.", todo)
    rows = []
    for one in body["items"]:
        link = link_to(one["name"], page_address("credentials", id=one["id"]))
        kind = LABELS.get(one["type"], one["type"])
        fields, changed = ", ".join(one["fields"]), format_moment(one["updated_at"], relative=True)
        rows.append((link, kind, fields, _open_to(one), _state_badge(one), changed))
    paged = list_pager(page_address("credentials"), skip, PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    shown = data_table(("Name", "Type", "Sealed fields", "For", "State", "Changed"), rows)
    return titled_card("Credentials", quiet_text("Secrets are sealed and never shown."), shown, paged, aside=new)


def _open_to(one: Credential) -> str:
    if not one["bound"]:
        return "every call of this workspace"
    return format_count(one["bindings"], "binding") if one["bindings"] else "nobody yet"


def _state_badge(one: Credential) -> SafeHtml:
    if not one["is_active"]:
        return state_badge("off", "grey")
    until = (" until ", format_moment(one["expires_at"])) if one["expires_at"] else None
    return join_html(state_badge("on", "green"), until)


def _new_credential_form(kinds: Sequence[Record], wanted: str) -> SafeHtml:
    back = link_to("← All credentials", page_address("credentials"))
    kind = next((one for one in kinds if one["type"] == wanted), None)
    if kind is None:
        fields = {one["type"]: ", ".join([*one["open"], *one["secret"]]) or "fields of your own" for one in kinds}
        tiles = ((LABELS.get(one, one), said, page_address("credentials", new=one)) for one, said in fields.items())
        return join_html(back, choice_tiles("Which type?", tiles))
    form = ADD(
        field_grid(
            ADD.text("name", "Name", required=True, about="Skills and agents name it by this."),
            ADD.text("expires_at", "Not after", kind="datetime-local"),
        ),
        *_credential_fields(ADD, kind),
        ADD.switch("bound", "Only for whom it is bound to", True, "Bind it to agents, skills or roles afterwards."),
        send="Seal and store",
        type=kind["type"],
    )
    return join_html(back, titled_card(LABELS.get(kind["type"], kind["type"]), form))


def _credential_fields(form: ActForm, kind: Record) -> list[SafeHtml]:
    needed = {name for group in kind["needs"] if len(group) == 1 for name in group}
    either = [" or ".join(group).replace("_", " ") for group in kind["needs"] if len(group) > 1]
    found = [_credential_field(form, OPEN + name, name in needed, secret=False) for name in kind["open"]]
    found += [_credential_field(form, SECRET + name, name in needed, secret=True) for name in kind["secret"]]
    more = form.area("more", "More sealed fields", about=PAIRS, rows=2)
    said = [quiet_text(f"Needed: {one}.") for one in either]
    return [*said, field_grid(*found), more]


def _credential_field(form: ActForm, name: str, needed: bool, *, secret: bool) -> SafeHtml:
    plain = name.partition(":")[2]
    label = plain.replace("_", " ").capitalize() + (" (needed)" if needed else "")
    about = "Sealed, never shown again." if secret else "Shown."
    if plain in LONG:
        return form.area(name, label, about=about, rows=4)
    return form.text(name, label, about=about, kind="password" if secret else "text", required=needed)


def _credential_view(one: Credential, bound: Sequence[Record], admin: bool = False) -> SafeHtml:
    known = fact_list(
        (
            ("Type", LABELS.get(one["type"], one["type"])),
            ("State", _state_badge(one)),
            ("For", _open_to(one)),
            ("Sealed fields", ", ".join(one["fields"]) or "none"),
            *((name, str(value)) for name, value in one["extra"].items()),
            ("Made", format_moment(one["created_at"])),
            ("Changed", format_moment(one["updated_at"], relative=True)),
        )
    )
    id_ = {"id": one["id"], "name": one["name"]}
    acts: Child = None
    if admin:
        on = CHANGE.button("Switch on", is_active="true", **id_)
        off = CHANGE.button("Switch off", is_active="false", **id_)
        shut = CHANGE.button("Only for bindings", bound="true", **id_)
        opened = CHANGE.button("Open to all calls", bound="false", **id_)
        about = "Skills that need it are refused from then on. Its bindings go with it."
        delete = DELETE.confirmed("Delete …", about, "Delete", **id_)
        acts = tag("div", off if one["is_active"] else on, opened if one["bound"] else shut, delete, class_="aos-row")
    if one["type"] == "oauth":
        acts = join_html(link_to("Connect or disconnect your own account", "/console/connections"), acts)
    back = link_to("← All credentials", page_address("credentials"))
    who = titled_card("Who may use it", _binding_table(one, bound, admin))
    return join_html(back, titled_card(one["name"], known, acts), who)


def _binding_table(one: Credential, bound: Sequence[Record], admin: bool) -> SafeHtml:
    if not bound:
        what = "Nobody may use it yet." if one["bound"] else "Every call of this workspace may use it."
        return empty_state(what, "Bind it to an agent, a skill or a role; then only those may use it.")
    rows = []
    for each in bound:
        whose = (each[name] or f"any {name}" for name in ("agent", "skill", "role"))
        take = UNBIND.button("Take back", id=one["id"], binding=each["id"]) if admin else None
        rows.append((*whose, format_moment(each["created_at"]), take))
    return data_table(("Agent", "Skill", "Role of who asks", "Since", ""), rows)


def _binding_form(one: Credential, agents: Sequence[tuple[str, str]], skills: Sequence[tuple[str, str]]) -> SafeHtml:
    roles = [(role.value, role.value) for role in Role]
    choices = (("agent_id", "Agent", agents), ("skill", "Skill", skills), ("role", "Role of who asks", roles))
    fields = [BIND.choice(name, label, (ANY, *those)) for name, label, those in choices]
    form = BIND(field_grid(*fields), send="Bind", id=one["id"])
    return titled_card("Bind it", quiet_text("Calls that fit all three may use it."), form)


def _rotation_form(one: Credential, kind: Record) -> SafeHtml:
    said = "All fields are replaced, so give them all again. Calls that have begun go on with the old ones."
    about = quiet_text(said)
    form = ROTATE(*_credential_fields(ROTATE, kind), send="Replace the secrets", id=one["id"])
    return tag("details", tag("summary", "Rotate"), about, form, class_="aos-card aos-fold")


def credential_content(values: Values) -> dict[str, dict[str, str]]:
    """The sealed and the shown fields of a form."""
    sealed = {name.removeprefix(SECRET): value for name, value in values.items() if name.startswith(SECRET) and value}
    for line in values.get("more", "").splitlines():
        name, found, value = line.partition("=")
        if found and name.strip():
            sealed[name.strip()] = value.strip()
    # Both go as `values`: the API itself knows which fields of a type are shown.
    shown = {name.removeprefix(OPEN): value for name, value in values.items() if name.startswith(OPEN) and value}
    return {"values": {**sealed, **shown}}


async def _add_credential(api: SessionApi, values: Values) -> ActResult:
    body: dict[str, Any] = {
        "name": values.get("name", ""),
        "type": values.get("type", ""),
        "bound": values.get("bound") == "true",
        **credential_content(values),
    }
    if values.get("expires_at"):
        body["expires_at"] = values["expires_at"]
    made = await api.post("/api/credentials", body)
    return act_done(tag("strong", made["name"]), " is sealed and stored.", to=page_query("credentials", id=made["id"]))


async def _change_credential(api: SessionApi, values: Values) -> ActResult:
    body = {name: values[name] == "true" for name in ("is_active", "bound") if name in values}
    after = await api.patch(api_route("credentials", values["id"]), body)
    said = f" is for {_open_to(after)} and {'on' if after['is_active'] else 'off'}."
    return act_done(tag("strong", after["name"]), said)


async def _rotate_secrets(api: SessionApi, values: Values) -> ActResult:
    after = await api.patch(api_route("credentials", values["id"]), credential_content(values))
    return act_done("The secrets of ", tag("strong", after["name"]), " are replaced.")


async def _delete_credential(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("credentials", values["id"]))
    return act_done(f"{values.get('name', 'It')} is deleted.", to=page_query("credentials"))


async def _bind_credential(api: SessionApi, values: Values) -> ActResult:
    body = {name: values[name] for name in ("agent_id", "skill", "role") if values.get(name)}
    await api.post(api_route("credentials", values["id"], "bindings"), body)
    return act_done("It is bound; nobody else may use it.")


async def _unbind_credential(api: SessionApi, values: Values) -> ActResult:
    await api.delete(api_route("credentials", values["id"], "bindings", values["binding"]))
    return act_done("The binding is taken back.")


SECTION = SystemSection(
    "credentials",
    "Credentials",
    Role.OPERATOR,
    _show_credentials,
    {
        ADD.act: _add_credential,
        CHANGE.act: _change_credential,
        ROTATE.act: _rotate_secrets,
        DELETE.act: _delete_credential,
        BIND.act: _bind_credential,
        UNBIND.act: _unbind_credential,
    },
)
