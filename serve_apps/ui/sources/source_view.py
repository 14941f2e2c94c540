"""One source: how it stands, what waits for a person, what its newest sync came to, and its last syncs."""

from collections.abc import Sequence
from typing import Final

from serve_apps.ui.kit.blocks import data_table, empty_card, link_to, state_badge, titled_card
from serve_apps.ui.kit.formats import format_count, format_duration, format_moment, format_number, format_size
from serve_apps.ui.kit.html import Child, Record, SafeHtml, join_html, quiet_span, quiet_text, tag
from serve_apps.ui.kit.page import PREFIX
from serve_apps.ui.sources.source_list import AT_WORK, next_sync, standing, told_counts
from serve_apps.ui.system.forms import ActForm, fact_list
from serve_apps.ui.system.section import page_address

TEST, SYNC, DRY = ActForm("sources.test"), ActForm("sources.sync"), ActForm("sources.dry")
PAUSE, RESUME = ActForm("sources.pause"), ActForm("sources.resume")
APPROVE, DECLINE = ActForm("sources.approve"), ActForm("sources.decline")
REMOVE = ActForm("sources.remove")
WHY: Final = {
    "incomplete": "The listing has errors: what is missing in it may well be there.",
    "empty": "The source lists nothing at all, where there was something.",
    "many": "More documents are gone at once than may leave without a question.",
}
SORTS: Final = {
    "added": "New",
    "changed": "Changed",
    "altered": "Moved, renamed or with other readers",
    "removed": "Removed",
    "waiting": "Waiting for you",
    "faults": "Could not be listed",
}


def source_head(one: Record, kind: Record, admin: bool) -> SafeHtml:
    """What is known of it, and what can be done."""
    settings = [tag("div", f"{name}: ", tag("code", str(value))) for name, value in one["settings"].items()]
    gone = "deleted for good at once" if one["erase_after_days"] == 0 else _erasure(one)
    every = f"every {format_duration(one['every_minutes'] * 60)}" if one["every_minutes"] else "only when asked"
    known = fact_list(
        (
            ("State", standing(one)),
            ("Kind", kind["title"]),
            ("Where", settings or "–"),
            ("Credential", one["credential"] or "none"),
            ("Synchronised", every),
            ("Last sync that worked", format_moment(one["last_success_at"])),
            ("Next sync", next_sync(one)),
            ("Documents", format_number(one["items"])),
            ("Left the source", format_number(one["gone"])),
            ("Not fetched", format_number(one["failed"])),
            ("May leave at once", f"up to {one['max_removed_percent']} %"),
            ("What has left is", gone),
        )
    )
    refresh = tag("a", "Refresh", href=page_address("sources", id=one["id"]), class_="aos-button")
    acts = tag("div", _acts(one, admin), class_="aos-row")
    return titled_card(one["name"], known, _troubles(one), acts, aside=refresh)


def _erasure(one: Record) -> str:
    days = one["erase_after_days"]
    return "kept, and nobody sees it" if days is None else f"deleted for good after {format_count(days, 'day')}"


def _acts(one: Record, admin: bool) -> list[Child]:
    id_ = {"id": one["id"], "name": one["name"]}
    switch = PAUSE.button("Pause", **id_) if one["enabled"] else RESUME.button("Resume", "primary", **id_)
    acts: list[Child] = [
        SYNC.button("Sync now", "primary", **id_),
        DRY.button("Dry run", **id_),
        TEST.button("Test", **id_),
        switch,
    ]
    return [*acts, *_removals(one)] if admin else acts


def _removals(one: Record) -> list[SafeHtml]:
    id_, count = {"id": one["id"], "name": one["name"]}, format_count(one["items"], "document")
    keep = (
        f"Its {count} stay with the readers that they have now, as if somebody had uploaded them, and change no more."
    )
    delete = f"A job deletes the source with its {count} for good, but for those that a legal hold keeps."
    found = [REMOVE.confirmed("Remove with its documents …", delete, "Delete all", documents="delete", **id_)]
    if not one["has_rights"]:  # of the others nobody would confirm the rights any more, and the API refuses
        found.insert(0, REMOVE.confirmed("Remove, keep documents …", keep, "Remove it", documents="keep", **id_))
    return found


def _troubles(one: Record) -> SafeHtml | None:
    told: list[SafeHtml] = []
    if one["hidden_at"]:
        stale = "Documents of it are hidden: nobody has confirmed who may see them for "
        said = f"{stale}{format_count(one['stale_after_hours'], 'hour')}. A sync that works shows them again."
        told.append(tag("div", said, class_="aos-bad", role="alert"))
    if error := one["last_error"]:
        fix = tag("p", tag("b", "What to try: "), error["fix"]) if error.get("fix") else None
        when = format_moment(error["at"], relative=True) if error.get("at") else None
        head = tag("strong", "The newest sync could not be done wholly. "), when
        told.append(tag("div", head, tag("p", error["detail"]), fix, class_="aos-problem", role="alert"))
    if not one["enabled"] and one["has_rights"] and not one["hidden_at"]:
        hours = format_count(one["stale_after_hours"], "hour")
        told.append(quiet_text(f"While it is paused its documents are hidden {hours} after the last sync that worked."))
    return join_html(*told) if told else None


def waiting_card(one: Record) -> SafeHtml | None:
    """Removals that wait for a person: why, which, and what a yes and a no do."""
    waiting = one["waiting"]
    if not waiting:
        return None
    count = format_count(waiting["removals"], "document")
    paths = tag("ul", [tag("li", path) for path in waiting["paths"]])
    more = waiting["removals"] - len(waiting["paths"])
    rest = quiet_text(f"and {format_number(more)} more") if more > 0 else None
    listed = link_to("See all of them", page_address("sources", id=one["id"], only="waiting"))
    kept = {"id": one["id"], "removals": str(waiting["removals"])}
    yes = f"{count} leave search at once, and are {_erasure(one)}. What is in the source again by then stays."
    no = f"{count} stay. The next sync that misses them asks again: look at the source, or pause it."
    acts = (
        APPROVE.confirmed("Let them leave …", yes, f"Let {count} leave", **kept),
        DECLINE.confirmed("Keep them …", no, f"Keep {count}", **kept),
    )
    why = tag("p", tag("b", "Why: "), WHY.get(waiting["reason"], waiting["reason"]))
    row = tag("div", acts, class_="aos-row")
    return titled_card(f"{count} would leave, and wait for you", why, paths, rest, listed, row)


def plan_card(one: Record) -> SafeHtml:
    """What the newest sync or dry run came to, with some paths of each sort."""
    plan = one["last_plan"]
    if not plan:
        todo = "A dry run says what a sync would do, and does nothing."
        return empty_card("Newest sync", "It was never synchronised.", todo)
    counts = plan["counts"]
    what = "The dry run would come to: " if plan["dry_run"] else "It came to: "
    listed = f"{format_count(counts.get('listed', 0), 'item')} listed"
    others = [
        f"{format_number(counts[name])} {name}" for name in ("unchanged", "waiting", "faults") if counts.get(name)
    ]
    said = tag("p", what, ", ".join([listed, *told_counts(counts), *others]), ".")
    rows = [(name, tag("ul", [tag("li", path) for path in plan["samples"][key]])) for key, name in _sorts(plan)]
    when = quiet_text(format_moment(plan["at"], relative=True), " ", _job_link(plan["job"], "its job"))
    table = data_table(("What", "Some of them"), rows) if rows else None
    return titled_card("Dry run" if plan["dry_run"] else "Newest sync", said, when, table)


def _sorts(plan: Record) -> list[tuple[str, str]]:
    return [(key, name) for key, name in SORTS.items() if plan["samples"].get(key)]


def sync_table(one: Record, jobs: Sequence[Record], paces: Sequence[Record]) -> SafeHtml:
    """Its last syncs with what failed in each, by reason; `paces` are of the first of `jobs`."""
    if not jobs:
        return empty_card("Last syncs", "There was none.", "Sync now starts one; a period starts them by themselves.")
    plan, rows = one["last_plan"] or {}, []
    for n, job in enumerate(jobs):
        dry = quiet_span(" dry run") if plan.get("job") == job["id"] and plan.get("dry_run") else None
        name = join_html(_job_link(job["id"], format_moment(job["created_at"])), dry)
        took = format_duration(paces[n]["elapsed_seconds"]) if n < len(paces) and job["state"] not in AT_WORK else "–"
        failed = _failures(job, paces[n]["failures"]) if n < len(paces) else _job_link(job["id"], "see the job")
        rows.append((name, state_badge(job["state"]), took, failed))
    return titled_card("Last syncs", data_table(("Begun", "State", "Took", "What failed, and what to try"), rows))


def _failures(job: Record, groups: Sequence[Record]) -> Child:
    if job["error"]:
        return job["error"]
    if not groups:
        return "nothing"
    return tag("ul", [tag("li", f"{format_number(one['count'])} × {one['title']}. {one['fix']}") for one in groups])


def _job_link(job: str, said: Child) -> SafeHtml:
    return link_to(said, f"{PREFIX}/ingest?job={job}")


def trial_view(found: Record) -> SafeHtml:
    """What a test found."""
    if not found["paths"] and not found["faults"]:
        return tag("div", "It answers, and holds nothing.", class_="aos-good", role="status")
    items = [tag("li", path) for path in found["paths"]] + ([tag("li", "…")] if found["more"] else [])
    said = tag("div", tag("strong", "It answers. Its first items:"), tag("ul", items), class_="aos-good", role="status")
    return said if found["ok"] else join_html(_faults(found["faults"]), said if found["paths"] else None)


def preview_view(found: Record, rights: SafeHtml) -> SafeHtml:
    """What a dry run of a source that is not stored yet has seen."""
    least = "At least " if found["more"] else ""
    size = f", {format_size(found['bytes'])}" if found["bytes"] else ""
    unsized = f" ({format_number(found['unsized'])} tell no size)" if found["unsized"] and found["bytes"] else ""
    endings = ", ".join(f"{format_number(count)} {name}" for name, count in found["endings"].items())
    head = tag(
        "p", tag("strong", f"{least}{format_count(found['items'], 'item')}{size}{unsized} would come. "), endings
    )
    stored = quiet_text("Nothing was stored, and no document was read.")
    paths = tag("ul", [tag("li", path) for path in found["paths"]])
    faults = _faults(found["faults"]) if found["faults"] else None
    return join_html(faults, tag("div", head, paths, rights, stored, class_="aos-good", role="status"))


def _faults(faults: Sequence[str]) -> SafeHtml:
    listed = tag("ul", [tag("li", one) for one in faults])
    return tag("div", tag("strong", "Not all of it could be listed:"), listed, class_="aos-bad", role="alert")
