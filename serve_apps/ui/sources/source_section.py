"""System → Sources: what is shown for the address, and what can be done there."""

import asyncio
from typing import Any, Final

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import link_to
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import PREFIX, query_int
from serve_apps.ui.sessions import Role
from serve_apps.ui.sources import source_form, source_items, source_view
from serve_apps.ui.sources.source_list import PAGE_OF, source_list
from serve_apps.ui.system.section import (
    ActResult,
    Query,
    SystemSection,
    Values,
    act_done,
    api_route,
    missing_problem,
    page_address,
    page_query,
)

LIST: Final = "/api/sources"
SYNCS: Final = 5
FILTERS: Final = frozenset(name for name, _ in source_items.ONLY if name)


async def _show_sources(api: SessionApi, asked: Query) -> SafeHtml:
    admin = api.session.role.reaches(Role.ADMIN)
    if "id" in asked:
        return await _show_source(api, asked, admin)
    if "new" in asked and admin:
        kinds = (await api.get(f"{LIST}/kinds"))["items"]
        if asked["new"] == "choose":
            return source_form.kind_choice(kinds)
        return source_form.new_source_form(_kind_of(kinds, asked["new"]), await _credential_names(api))
    return source_list(await api.get(LIST, skip=query_int(asked), limit=PAGE_OF), query_int(asked), admin)


async def _show_source(api: SessionApi, asked: Query, admin: bool) -> SafeHtml:
    one, kinds = await asyncio.gather(api.get(api_route("sources", asked["id"])), api.get(f"{LIST}/kinds"))
    only = asked["only"] if asked.get("only") in FILTERS else "all"
    where = {"skip": query_int(asked), "limit": source_items.PAGE_OF}
    rights, items, jobs = await asyncio.gather(
        api.get(api_route("sources", one["id"], "rights")),
        api.get(api_route("sources", one["id"], "items"), only=only, q=asked.get("q", "")[:300], **where),
        api.get(api_route("sources", one["id"], "jobs"), limit=SYNCS),
    )
    paces = await asyncio.gather(
        *(api.get(api_route("jobs", job["id"], "progress"), engines=False) for job in jobs["items"])
    )
    kind = _kind_of(kinds["items"], one["kind"])
    return join_html(
        link_to("← All sources", page_address("sources")),
        source_view.source_head(one, kind, admin),
        source_view.waiting_card(one),
        source_view.plan_card(one),
        source_view.sync_table(one, jobs["items"], paces),
        source_items.rights_card(rights),
        source_items.item_table(one, items, asked),
        source_form.change_form(one, kind, await _credential_names(api)) if admin else None,
    )


def _kind_of(kinds: list[Record], name: str) -> Record:
    found = next((one for one in kinds if one["name"] == name), None)
    if found is None:
        raise missing_problem("kind of source")
    return found


async def _credential_names(api: SessionApi) -> list[str]:
    return [one["name"] for one in (await api.get("/api/credentials", limit=1000))["items"]]


async def _test_new(api: SessionApi, values: Values) -> ActResult:
    body = source_form.definition_of(values)
    wanted = {"kind": values["kind"], "settings": body["settings"], "credential": body.get("credential")}
    return ActResult(source_view.trial_view(await api.post(f"{LIST}/test", wanted)), keeps=True)


async def _preview(api: SessionApi, values: Values) -> ActResult:
    body = source_form.definition_of(values)
    names = ("settings", "credential", "readers", "group_names")
    wanted = {"kind": values["kind"], **{name: body[name] for name in names if name in body}}
    found = await api.post(f"{LIST}/dry-run", wanted)
    rights = source_items.rights_view(found["rights"])
    return ActResult(source_view.preview_view(found, rights), keeps=True)


async def _add_source(api: SessionApi, values: Values) -> ActResult:
    body: dict[str, Any] = {**source_form.definition_of(values), "kind": values["kind"]}
    made = await api.post(LIST, body | {"enabled": values.get("paused") != "true"})
    starts = made["enabled"] and made["every_minutes"]
    then = (
        " is added; its first sync begins within a minute." if starts else " is added. Sync now fetches its documents."
    )
    return act_done(tag("strong", made["name"]), then, to=page_query("sources", id=made["id"]))


async def _change_source(api: SessionApi, values: Values) -> ActResult:
    before = await api.get(api_route("sources", values["id"]))
    changes = source_form.changes_between(before, source_form.definition_of(values))
    if not changes:
        return act_done("Nothing was changed.")
    after = await api.patch(api_route("sources", values["id"]), changes)
    return act_done(tag("strong", after["name"]), " is changed.")


async def _test_source(api: SessionApi, values: Values) -> ActResult:
    return ActResult(source_view.trial_view(await api.post(api_route("sources", values["id"], "test"))), keeps=True)


async def _sync_source(api: SessionApi, values: Values) -> ActResult:
    return _started(await api.post(api_route("sources", values["id"], "sync")), "The sync has begun: ")


async def _dry_run(api: SessionApi, values: Values) -> ActResult:
    done = await api.post(api_route("sources", values["id"], "sync"), params={"dry_run": True})
    return _started(done, "The dry run has begun; Refresh shows what it came to: ")


async def _approve(api: SessionApi, values: Values) -> ActResult:
    done = await api.post(api_route("sources", values["id"], "approve"), _removals(values))
    return _started(done, "They leave: ")


async def _decline(api: SessionApi, values: Values) -> ActResult:
    await api.post(api_route("sources", values["id"], "decline"), _removals(values))
    return act_done("They stay. The next sync that misses them asks again.")


async def _pause(api: SessionApi, values: Values) -> ActResult:
    after = await api.post(api_route("sources", values["id"], "pause"))
    return act_done(tag("strong", after["name"]), " is paused. What is under way goes on.")


async def _resume(api: SessionApi, values: Values) -> ActResult:
    after = await api.post(api_route("sources", values["id"], "resume"))
    return act_done(tag("strong", after["name"]), " synchronises by itself again.")


async def _remove(api: SessionApi, values: Values) -> ActResult:
    how = "delete" if values.get("documents") == "delete" else "keep"
    done = await api.delete(api_route("sources", values["id"]), documents=how)
    name, to = tag("strong", values.get("name", "It")), page_query("sources")
    if done["job_id"] is None:
        return act_done(name, " is removed; its documents stay.", to=to)
    what = "its documents" if how == "delete" else "those that had left it; its other documents stay"
    return act_done(name, f" is deleted with {what}: ", _job_link(done["job_id"]), to=to)


def _removals(values: Values) -> dict[str, int]:
    """As many as were shown: the API refuses another number."""
    given = values.get("removals", "")
    return {"removals": int(given) if given.isascii() and given.isdecimal() else 0}


def _started(done: Record, said: str) -> ActResult:
    under_way = "A sync is under way already: "
    return act_done(said if done["fresh"] else under_way, _job_link(done["job_id"]))


def _job_link(job: str) -> SafeHtml:
    return join_html(link_to("follow the job", f"{PREFIX}/ingest?job={job}"), ".")


SECTION = SystemSection(
    "sources",
    "Sources",
    Role.OPERATOR,
    _show_sources,
    {
        source_form.TEST_NEW: _test_new,
        source_form.PREVIEW: _preview,
        source_form.ADD.act: _add_source,
        source_form.CHANGE.act: _change_source,
        source_view.TEST.act: _test_source,
        source_view.SYNC.act: _sync_source,
        source_view.DRY.act: _dry_run,
        source_view.APPROVE.act: _approve,
        source_view.DECLINE.act: _decline,
        source_view.PAUSE.act: _pause,
        source_view.RESUME.act: _resume,
        source_view.REMOVE.act: _remove,
    },
)
