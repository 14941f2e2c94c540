"""One job: how far each stage is, how fast and how long still, by which engines, and what failed and why."""

import asyncio
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from serve_apps.ui.kit.api import SessionApi
from serve_apps.ui.kit.blocks import (
    card_columns,
    data_table,
    empty_card,
    empty_state,
    key_figure,
    key_figures,
    link_to,
    page_heading,
    progress_bar,
    state_badge,
    titled_card,
)
from serve_apps.ui.kit.caveats import caveat_list
from serve_apps.ui.kit.formats import format_count, format_duration, format_moment, format_number, format_percent
from serve_apps.ui.kit.html import Record, SafeHtml, join_html, tag
from serve_apps.ui.kit.page import PREFIX, ConsoleContext
from serve_apps.ui.sessions import Role

HERE: Final = f"{PREFIX}/ingest"
ENDED: Final = frozenset({"completed", "partial", "failed", "cancelled"})
COUNTABLE: Final = 20_000  # pages up to which engines are counted while a job runs
A_PAGE: Final = 25
STAGES: Final = {
    "amend": ("Rights of files to come", "files"),
    "alter": ("Names and readers", "documents"),
    "leave": ("Leave search", "documents"),
    "erase": ("Erase", "documents"),
    "fetch": ("Fetch", "files"),
    "survey": ("Look at files", "files"),
    "read": ("Read", "pages"),
    "index": ("Index", "documents"),
    "graph": ("Knowledge graph", "documents"),
}
KINDS: Final = {
    "scan": "Scan",
    "sync": "Sync of a source",
    "upload": "Upload",
    "process": "Processing",
    "reindex": "Re-index",
    "embed": "Embedding",
    "graph": "Graph after corrections",
}


async def job_view(console: ConsoleContext, api: SessionApi, id_: str, skip: int) -> tuple[SafeHtml, bool]:
    """The page of one job, and whether it goes on."""
    job = await api.get(f"/api/jobs/{id_}")
    ended = job["state"] in ENDED
    count = ended or job["pages"]["expected"] <= COUNTABLE
    failed = job["pages"]["failed"] + job["documents"]["failed"]
    pace, units = await asyncio.gather(
        api.get(f"/api/jobs/{id_}/progress", engines=count),
        api.get(f"/api/jobs/{id_}/failures", skip=skip, limit=A_PAGE),
    )
    mend = tag("p", tag("b", "What to try: "), "Mend the cause, then resume the job.")
    error = tag("strong", "The job failed."), tag("p", job["error"]), mend
    shown = join_html(
        _job_head(job, pace, api.session.role, failed),
        tag("div", error, class_="aos-problem", role="note") if job["error"] else None,
        _waits(job),
        _job_figures(job, pace, failed),
        card_columns(_stage_table(pace["stages"], ended), _engine_table(pace["engines"], ended)),
        _doubtful_table(console, id_, units.get("caveats") or [], skip),
        _failure_table(console, id_, pace["failures"], units["items"], skip) if failed else None,
    )
    return shown, not ended


def title_of(job: Record, about: str | None) -> str:
    """A job's kind and subject in a few words."""
    kind = KINDS.get(job["kind"], str(job["kind"]).capitalize())
    return f"{kind} of {about}" if about else kind


def act_button(label: str, what: str, id_: str, kind: str = "", value: str = "") -> SafeHtml:
    """A button that asks the page for something."""
    return tag("button", label, type="button", class_=f"aos-button {kind}".strip(), data_act=what, value=value, id=id_)


def _job_head(job: Record, pace: Record, role: Role, failed: int) -> SafeHtml:
    state = job["state"]
    actions = [tag("a", "All jobs", href=HERE, class_="aos-button")]
    if role.reaches(Role.OPERATOR):
        if state in ("queued", "running") and not job["cancel_requested"]:
            actions.append(act_button("Cancel", "cancel", "cancel", "danger"))
        if state in ("cancelled", "failed", "partial"):
            actions.append(act_button("Resume", "resume", "resume"))
        if state in ("partial", "failed", "cancelled") and failed:
            actions.append(act_button("Retry what failed", "retry", "retry", "primary"))
    leaving = " stops after the pages it is at" if job["cancel_requested"] and state == "running" else ""
    kinds = sorted((job.get("passed_over") or {}).items())
    passed = ", passed over: " + ", ".join(f"{format_number(count)} {kind.replace('_', ' ')}" for kind, count in kinds)
    begun = format_moment(job["started_at"] or job["created_at"], relative=True)
    about = (state_badge(state), leaving, " begun ", begun, passed if kinds else "")
    return page_heading(title_of(job, pace["about"]), about, *actions)


def _waits(job: Record) -> SafeHtml | None:
    """Reasons for which a job does not get on, the most important first."""
    found = job.get("waits") or []
    if not found:
        return None
    rows = [(state_badge(one["reason"].replace("_", " "), "amber"), one["detail"], one["fix"] or "–") for one in found]
    return titled_card("What it waits for", data_table(("Reason", "What", "What to do"), rows))


def _job_figures(job: Record, pace: Record, failed: int) -> SafeHtml:
    pages, documents = job["pages"], job["documents"]
    running = job["state"] not in ENDED
    rate, same = pace["pages_per_second"], documents["unchanged"]
    whole = f"of {format_number(documents['expected'])}, {format_number(same)} unchanged"
    outcome = job.get("outcome") or {}
    doubtful = outcome.get("degraded", 0) + outcome.get("partial", 0)
    pages_so = f"documents, with {format_count(outcome.get('pages_with_caveats', 0), 'such page')}"
    left = key_figure("Time left", format_duration(pace["seconds_left"]), about="at this pace")
    took = key_figure("Took", format_duration(pace["elapsed_seconds"]), about="from its start")
    speed, span = "–" if rate is None else f"{rate:,.2f}", "last minute" if running else "in all"
    return key_figures(
        key_figure("Pages read", format_number(pages["done"]), about=f"of {format_number(pages['expected'])}"),
        key_figure("Documents", format_number(same + documents["done"]), about=whole),
        key_figure("Failed", format_number(failed), None, "pages and files", "red" if failed else None),
        key_figure("Partial or doubtful", format_number(doubtful), None, pages_so, "amber" if doubtful else None),
        key_figure("Pages a second", speed, about=span),
        left if running else took,
    )


def _doubtful_table(console: ConsoleContext, job: str, documents: Sequence[Record], skip: int) -> SafeHtml | None:
    if not documents:
        return None
    rows = []
    for one in documents:
        before = tag("div", "as before", class_="quiet") if one["unchanged"] else None
        link = link_to(one["filename"], console.link("documents", id=one["document_id"]))
        doubts = caveat_list(one["caveats"]) or "Pages failed: see below."
        rows.append((link, tag("div", state_badge(one["status"]), before), doubts))
    shown = data_table(("Document", "State", "What is missing, or may be wrong"), rows)
    return titled_card("Read, but not wholly or not surely", shown, _failure_pager(job, skip, len(documents)))


def _stage_table(stages: Sequence[Record], ended: bool) -> SafeHtml:
    if not stages:
        what = "It found nothing to do." if ended else "It has not begun."
        return empty_card("Stages", what, "Stages show up once files were counted.")
    rows = []
    for one in stages:
        name, unit = STAGES.get(one["stage"], (one["stage"], ""))
        settled = one["done"] + one["failed"] + one["unchanged"]
        more = ", ".join(f"{format_number(one[kind])} {kind}" for kind in ("failed", "unchanged") if one[kind])
        bar = progress_bar(settled, one["expected"], unit.capitalize())
        rows.append((name, tag("div", bar, tag("div", more, class_="quiet"))))
    return titled_card("Stages", data_table(("Stage", "Done"), rows))


def _engine_table(engines: Sequence[Record] | None, ended: bool) -> SafeHtml:
    if engines is None:
        todo = "The job is too large to count its pages every few seconds."
        return empty_card("Engines", "Counted at the end.", todo)
    if not engines:
        todo = "Only its index was made, or nothing new was found." if ended else "They show up with the first pages."
        return empty_card("Engines", "No page was read by it.", todo)
    rows = []
    for one in engines:
        pages, sure = format_number(one["pages"]), format_percent(one["confidence"])
        rows.append((one["engine"], pages, sure, format_duration(one["ms"] / 1000)))
    return titled_card("Engines", data_table(("Engine", "Pages", "Sure", "A page"), rows, numbers=(1, 2, 3)))


def _failure_table(
    console: ConsoleContext, job: str, groups: Sequence[Record], units: Sequence[Record], skip: int
) -> SafeHtml:
    rows = []
    for one in groups:
        stage = tag("div", STAGES.get(one["stage"], (one["stage"],))[0], class_="quiet")
        name = tag("div", tag("b", one["title"]), stage)
        stays = state_badge("may pass", "amber") if one["retryable"] else state_badge("stays", "grey")
        rows.append((name, format_number(one["count"]), one["fix"], stays))
    reasons = data_table(("Reason", "How often", "What to do", "On a retry"), rows, numbers=(1,))
    failed_ones = []
    for unit in units:
        failure = unit["failure"] or {}
        link = link_to(unit["filename"], console.link("documents", id=unit["document_id"], page=unit["page"]))
        reason = str(failure.get("reason", "unknown")).replace("_", " ")
        failed_ones.append((link, format_number(unit["page"]), reason, failure.get("detail") or "–"))
    shown = data_table(("File", "Page", "Reason", "Detail"), failed_ones, numbers=(1,))
    todo = "They belong to documents for other readers, or to files without a document."
    listed = shown if failed_ones else empty_state("None that you may see.", todo)
    failed = titled_card("What failed", listed, _failure_pager(job, skip, len(units)))
    return join_html(titled_card("Failures by reason", reasons), failed)


def _failure_pager(job: str, skip: int, count: int) -> SafeHtml | None:
    """Back and forth; how many there are in all is not told by the API."""
    at = f"{HERE}?{urlencode({'job': job})}&skip="
    earlier = link_to("← Earlier", f"{at}{max(0, skip - A_PAGE)}") if skip else None
    later = link_to("Later →", f"{at}{skip + A_PAGE}") if count == A_PAGE else None
    shown = tag("nav", earlier, later, class_="aos-pager", aria_label="Pages of failures")
    return shown if earlier or later else None
