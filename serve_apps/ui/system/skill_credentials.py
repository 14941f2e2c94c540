"""Credentials of skills: what is known of them, never their secrets; who may use them; adding, rotating, deleting."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, empty, link, pager, table
from serve_apps.ui.kit.formats import many, moment
from serve_apps.ui.kit.html import Child, Html, join, tag
from serve_apps.ui.sessions import Role
from serve_apps.ui.system.forms import Form, action, facts, grid
from serve_apps.ui.system.section import Done, Query, Section, Values, address, at, good, missing, query, route

PAGE_OF: Final = 50
ADD, CHANGE, ROTATE = Form("credentials.add"), Form("credentials.change"), Form("credentials.rotate")
DELETE, BIND, UNBIND = Form("credentials.delete"), Form("credentials.bind"), Form("credentials.unbind")
LABELS: Final[Mapping[str, str]] = {
    "ssh": "SSH",
    "http_basic": "User and password (HTTP)",
    "bearer_token": "Bearer token",
    "db_dsn": "Database address",
    "api_key": "API key",
    "custom": "Anything else",
}
LONG: Final = frozenset({"private_key", "known_hosts"})
SECRET, OPEN = "secret:", "open:"
PAIRS: Final = "One a line: name=value."
ANY: Final = ("", "any")
Credential = Mapping[str, Any]


async def show(api: Api, asked: Query) -> Html:
    """One credential, the form for another, or the list."""
    admin = api.session.role.reaches(Role.ADMIN)
    if "new" in asked and admin:
        return adding((await api.get("/api/credentials/types"))["items"], asked["new"])
    if "id" in asked:
        return await _one(api, asked["id"], admin)
    body = await api.get("/api/credentials", skip=at(asked), limit=PAGE_OF)
    return listing(body, at(asked), admin)


async def _one(api: Api, id_: str, admin: bool) -> Html:
    one = await _find(api, id_)
    bound = (await api.get(route("credentials", id_, "bindings")))["items"]
    if not admin:
        return credential(one, bound)
    agents = (await api.get("/api/agents", limit=1000))["items"]
    skills = (await api.get("/api/skills", limit=1000))["items"]
    kinds = (await api.get("/api/credentials/types"))["items"]
    known: dict[str, Mapping[str, Any]] = {kind["type"]: kind for kind in kinds}
    kind = known[one["type"]]
    choices = ([(each["id"], each["name"]) for each in agents], [(each["name"], each["name"]) for each in skills])
    return join(credential(one, bound, admin=True), _binding(one, *choices), _rotating(one, kind))


async def _find(api: Api, id_: str) -> Credential:
    skip, total = 0, 1
    while skip < total:
        body = await api.get("/api/credentials", skip=skip, limit=1000)
        for one in body["items"]:
            if one["id"] == id_:
                return one
        skip, total = skip + 1000, body["total"]
    raise missing("credential")


def listing(body: Mapping[str, Any], skip: int, admin: bool) -> Html:
    """All by name, without secrets."""
    new = action("Add a credential", address("credentials", new="choose")) if admin else None
    if not body["items"]:
        todo = join("Skills that sign in somewhere need one. ", new or "An administrator adds it.")
        return card("Credentials", empty("There is no credential.", todo))
    rows = [
        (
            link(one["name"], address("credentials", id=one["id"])),
            LABELS.get(one["type"], one["type"]),
            ", ".join(one["fields"]),
            _open_to(one),
            _state(one),
            moment(one["updated_at"], relative=True),
        )
        for one in body["items"]
    ]
    paged = pager(address("credentials"), skip, PAGE_OF, body["total"]) if body["total"] > PAGE_OF else None
    shown = table(("Name", "Type", "Sealed fields", "For", "State", "Changed"), rows)
    return card("Credentials", tag("p", "Secrets are sealed and never shown.", class_="quiet"), shown, paged, aside=new)


def _open_to(one: Credential) -> str:
    if not one["bound"]:
        return "every call of this workspace"
    return many(one["bindings"], "binding") if one["bindings"] else "nobody yet"


def _state(one: Credential) -> Html:
    if not one["is_active"]:
        return badge("off", "grey")
    return join(badge("on", "green"), join(" until ", moment(one["expires_at"])) if one["expires_at"] else None)


def adding(kinds: Sequence[Mapping[str, Any]], wanted: str) -> Html:
    """First the type, then the form that fits it."""
    back = link("← All credentials", address("credentials"))
    kind = next((one for one in kinds if one["type"] == wanted), None)
    if kind is None:
        tiles = [
            tag(
                "a",
                tag("b", LABELS.get(one["type"], one["type"])),
                tag("span", ", ".join([*one["open"], *one["secret"]]) or "fields of your own", class_="quiet"),
                href=address("credentials", new=one["type"]),
                class_="aos-tile",
            )
            for one in kinds
        ]
        return join(back, card("Which type?", tag("div", tiles, class_="aos-tiles")))
    form = ADD(
        grid(
            ADD.text("name", "Name", required=True, about="Skills and agents name it by this."),
            ADD.text("expires_at", "Not after", kind="datetime-local"),
        ),
        *_fields(ADD, kind),
        ADD.switch("bound", "Only for whom it is bound to", True, "Bind it to agents, skills or roles afterwards."),
        send="Seal and store",
        colour="primary",
        type=kind["type"],
    )
    return join(back, card(LABELS.get(kind["type"], kind["type"]), form))


def _fields(form: Form, kind: Mapping[str, Any]) -> list[Html]:
    needed = {name for group in kind["needs"] if len(group) == 1 for name in group}
    either = [" or ".join(group).replace("_", " ") for group in kind["needs"] if len(group) > 1]
    found = [_field(form, OPEN + name, name in needed, secret=False) for name in kind["open"]]
    found += [_field(form, SECRET + name, name in needed, secret=True) for name in kind["secret"]]
    more = form.area("more", "More sealed fields", about=PAIRS, rows=2)
    said = [tag("p", f"Needed: {one}.", class_="quiet") for one in either]
    return [*said, grid(*found), more]


def _field(form: Form, name: str, needed: bool, *, secret: bool) -> Html:
    plain = name.partition(":")[2]
    label = plain.replace("_", " ").capitalize() + (" (needed)" if needed else "")
    about = "Sealed, never shown again." if secret else "Shown."
    if plain in LONG:
        return form.area(name, label, about=about, rows=4)
    return form.text(name, label, about=about, kind="password" if secret else "text", required=needed)


def credential(one: Credential, bound: Sequence[Mapping[str, Any]], admin: bool = False) -> Html:
    """Details of one credential without its secrets, and its bindings."""
    known = facts(
        (
            ("Type", LABELS.get(one["type"], one["type"])),
            ("State", _state(one)),
            ("For", _open_to(one)),
            ("Sealed fields", ", ".join(one["fields"]) or "none"),
            *((name, str(value)) for name, value in one["extra"].items()),
            ("Made", moment(one["created_at"])),
            ("Changed", moment(one["updated_at"], relative=True)),
        )
    )
    id_ = {"id": one["id"], "name": one["name"]}
    acts: Child = None
    if admin:
        on, opened = ("false", "Switch off") if one["is_active"] else ("true", "Switch on"), one["bound"]
        acts = tag(
            "div",
            CHANGE.button(on[1], is_active=on[0], **id_),
            CHANGE.button(
                "Open to all calls" if opened else "Only for bindings", bound="false" if opened else "true", **id_
            ),
            DELETE.confirmed(
                "Delete …", "Skills that need it are refused from then on. Its bindings go with it.", "Delete", **id_
            ),
            class_="aos-row",
        )
    back = link("← All credentials", address("credentials"))
    return join(back, card(one["name"], known, acts), card("Who may use it", _bindings(one, bound, admin)))


def _bindings(one: Credential, bound: Sequence[Mapping[str, Any]], admin: bool) -> Html:
    if not bound:
        what = "Nobody may use it yet." if one["bound"] else "Every call of this workspace may use it."
        return empty(what, "Bind it to an agent, a skill or a role; then only those may use it.")
    rows = [
        (
            each["agent"] or "any agent",
            each["skill"] or "any skill",
            each["role"] or "any role",
            moment(each["created_at"]),
            UNBIND.button("Take back", id=one["id"], binding=each["id"]) if admin else None,
        )
        for each in bound
    ]
    return table(("Agent", "Skill", "Role of who asks", "Since", ""), rows)


def _binding(one: Credential, agents: Sequence[tuple[str, str]], skills: Sequence[tuple[str, str]]) -> Html:
    roles = [(role.value, role.value) for role in Role]
    form = BIND(
        grid(
            BIND.choice("agent_id", "Agent", (ANY, *agents)),
            BIND.choice("skill", "Skill", (ANY, *skills)),
            BIND.choice("role", "Role of who asks", (ANY, *roles)),
        ),
        send="Bind",
        colour="primary",
        id=one["id"],
    )
    return card("Bind it", tag("p", "Calls that fit all three may use it.", class_="quiet"), form)


def _rotating(one: Credential, kind: Mapping[str, Any]) -> Html:
    about = tag(
        "p",
        "All fields are replaced, so give them all again. Calls that have begun go on with the old ones.",
        class_="quiet",
    )
    form = ROTATE(*_fields(ROTATE, kind), send="Replace the secrets", colour="primary", id=one["id"])
    return tag("details", tag("summary", "Rotate"), about, form, class_="aos-card aos-fold")


def content(values: Values) -> dict[str, dict[str, str]]:
    """The sealed and the shown fields of a form."""
    sealed = {name.removeprefix(SECRET): value for name, value in values.items() if name.startswith(SECRET) and value}
    for line in values.get("more", "").splitlines():
        name, found, value = line.partition("=")
        if found and name.strip():
            sealed[name.strip()] = value.strip()
    # Both go as `values`: the API itself knows which fields of a type are shown.
    shown = {name.removeprefix(OPEN): value for name, value in values.items() if name.startswith(OPEN) and value}
    return {"values": {**sealed, **shown}}


async def add(api: Api, values: Values) -> Done:
    """Store one."""
    body: dict[str, Any] = {
        "name": values.get("name", ""),
        "type": values.get("type", ""),
        "bound": values.get("bound") == "true",
        **content(values),
    }
    if values.get("expires_at"):
        body["expires_at"] = values["expires_at"]
    made = await api.post("/api/credentials", body)
    return Done(good(tag("strong", made["name"]), " is sealed and stored."), query("credentials", id=made["id"]))


async def change(api: Api, values: Values) -> Done:
    """Switch it off or on, open or close it."""
    body = {name: values[name] == "true" for name in ("is_active", "bound") if name in values}
    after = await api.patch(route("credentials", values["id"]), body)
    return Done(
        good(
            tag("strong", after["name"]), " is for ", _open_to(after), " and ", "on." if after["is_active"] else "off."
        )
    )


async def rotate(api: Api, values: Values) -> Done:
    """Other secrets."""
    after = await api.patch(route("credentials", values["id"]), content(values))
    return Done(good("The secrets of ", tag("strong", after["name"]), " are replaced."))


async def delete(api: Api, values: Values) -> Done:
    """Forget it."""
    await api.delete(route("credentials", values["id"]))
    return Done(good(f"{values.get('name', 'It')} is deleted."), query("credentials"))


async def bind(api: Api, values: Values) -> Done:
    """Let somebody use it."""
    body = {name: values[name] for name in ("agent_id", "skill", "role") if values.get(name)}
    await api.post(route("credentials", values["id"], "bindings"), body)
    return Done(good("It is bound; nobody else may use it."))


async def unbind(api: Api, values: Values) -> Done:
    """Take a binding back."""
    await api.delete(route("credentials", values["id"], "bindings", values["binding"]))
    return Done(good("The binding is taken back."))


SECTION = Section(
    "credentials",
    "Credentials",
    Role.OPERATOR,
    show,
    {ADD.act: add, CHANGE.act: change, ROTATE.act: rotate, DELETE.act: delete, BIND.act: bind, UNBIND.act: unbind},
)
