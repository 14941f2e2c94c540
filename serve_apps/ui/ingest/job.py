"""One job: how far each stage is, how fast and how long still, by which engines, and what failed and why."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from serve_apps.ui.kit.api import Api
from serve_apps.ui.kit.blocks import badge, card, columns, empty, figure, figures, heading, link, progress, table
from serve_apps.ui.kit.caveats import lines
from serve_apps.ui.kit.formats import many, moment, number, percent, span
from serve_apps.ui.kit.html import Html, join, tag
from serve_apps.ui.kit.page import PREFIX, Desk
from serve_apps.ui.sessions import Role

HERE: Final = f"{PREFIX}/ingest"
ENDED: Final = frozenset({"completed", "partial", "failed", "cancelled"})
COUNTABLE: Final = 20_000  # pages up to which engines are counted while a job runs
A_PAGE: Final = 25
STAGES: Final = {
    "survey": ("Look at files", "files"),
    "read": ("Read", "pages"),
    "index": ("Index", "documents"),
    "graph": ("Knowledge graph", "documents"),
}
KINDS: Final = {
    "scan": "Scan",
    "upload": "Upload",
    "process": "Processing",
    "reindex": "Re-index",
    "embed": "Embedding",
}


async def job_view(desk: Desk, api: Api, id_: str, skip: int) -> tuple[Html, bool]:
    """The page of one job, and whether it goes on."""
    job = await api.get(f"/api/jobs/{id_}")
    ended = job["state"] in ENDED
    count = ended or job["pages"]["expected"] <= COUNTABLE
    failed = job["pages"]["failed"] + job["documents"]["failed"]
    pace, units = await asyncio.gather(
        api.get(f"/api/jobs/{id_}/progress", engines=count),
        api.get(f"/api/jobs/{id_}/failures", skip=skip, limit=A_PAGE),
    )
    shown = join(
        _head(job, pace, api.session.role, failed),
        _error(job),
        _waits(job),
        _figures(job, pace, failed),
        columns(_stages(pace["stages"], ended), _engines(pace["engines"], ended)),
        _doubtful(desk, id_, units.get("caveats") or [], skip),
        _failures(desk, id_, pace["failures"], units["items"], skip) if failed else None,
    )
    return shown, not ended


def title_of(job: Mapping[str, Any], about: str | None) -> str:
    """A job's kind and subject in a few words."""
    kind = KINDS.get(job["kind"], str(job["kind"]).capitalize())
    return f"{kind} of {about}" if about else kind


def act(label: str, what: str, id_: str, kind: str = "", value: str = "") -> Html:
    """A button that asks the page for something."""
    return tag("button", label, type="button", class_=f"aos-button {kind}".strip(), data_act=what, value=value, id=id_)


def _head(job: Mapping[str, Any], pace: Mapping[str, Any], role: Role, failed: int) -> Html:
    state = job["state"]
    actions = [tag("a", "All jobs", href=HERE, class_="aos-button")]
    if role.reaches(Role.OPERATOR):
        if state in ("queued", "running") and not job["cancel_requested"]:
            actions.append(act("Cancel", "cancel", "cancel", "danger"))
        if state in ("cancelled", "failed", "partial"):
            actions.append(act("Resume", "resume", "resume"))
        if state in ("partial", "failed", "cancelled") and failed:
            actions.append(act("Retry what failed", "retry", "retry", "primary"))
    leaving = " stops after the pages it is at" if job["cancel_requested"] and state == "running" else ""
    kinds = sorted((job.get("passed_over") or {}).items())
    passed = ", passed over: " + ", ".join(f"{number(count)} {kind.replace('_', ' ')}" for kind, count in kinds)
    begun = moment(job["started_at"] or job["created_at"], relative=True)
    about = (badge(state), leaving, " begun ", begun, passed if kinds else "")
    return heading(title_of(job, pace["about"]), about, *actions)


def _error(job: Mapping[str, Any]) -> Html | None:
    if not job["error"]:
        return None
    fix = tag("p", tag("b", "What to try: "), "Mend the cause, then resume the job.")
    return tag("div", tag("strong", "The job failed."), tag("p", job["error"]), fix, class_="aos-problem", role="note")


def _waits(job: Mapping[str, Any]) -> Html | None:
    """Why it does not get on, the most important first."""
    found = job.get("waits") or []
    if not found:
        return None
    rows = [(badge(one["reason"].replace("_", " "), "amber"), one["detail"], one["fix"] or "–") for one in found]
    return card("What it waits for", table(("Reason", "What", "What to do"), rows))


def _figures(job: Mapping[str, Any], pace: Mapping[str, Any], failed: int) -> Html:
    pages, documents = job["pages"], job["documents"]
    running = job["state"] not in ENDED
    rate, same = pace["pages_per_second"], documents["unchanged"]
    whole = f"of {number(documents['expected'])}, {number(same)} unchanged"
    left = figure("Time left", span(pace["seconds_left"]), about="at this pace") if running else None
    return figures(
        figure("Pages read", number(pages["done"]), about=f"of {number(pages['expected'])}"),
        figure("Documents", number(same + documents["done"]), about=whole),
        figure("Failed", number(failed), about="pages and files", colour="red" if failed else None),
        _doubts(job),
        figure("Pages a second", "–" if rate is None else f"{rate:,.2f}", about="last minute" if running else "in all"),
        left or figure("Took", span(pace["elapsed_seconds"]), about="from its start"),
    )


def _doubts(job: Mapping[str, Any]) -> Html:
    """Documents that lack something or may be wrong, and the pages that make them so."""
    outcome = job.get("outcome") or {}
    count = outcome.get("degraded", 0) + outcome.get("partial", 0)
    about = f"documents, with {many(outcome.get('pages_with_caveats', 0), 'such page')}"
    return figure("Partial or doubtful", number(count), about=about, colour="amber" if count else None)


def _doubtful(desk: Desk, job: str, documents: Sequence[Mapping[str, Any]], skip: int) -> Html | None:
    """Table of partial or degraded documents with their caveats."""
    if not documents:
        return None
    rows = [
        (
            link(one["filename"], desk.link("documents", id=one["document_id"])),
            tag("div", badge(one["status"]), tag("div", "as before", class_="quiet") if one["unchanged"] else None),
            lines(one["caveats"]) or "Pages failed: see below.",
        )
        for one in documents
    ]
    shown = table(("Document", "State", "What is missing, or may be wrong"), rows)
    return card("Read, but not wholly or not surely", shown, _turn(job, skip, len(documents)))


def _stages(stages: Sequence[Mapping[str, Any]], ended: bool) -> Html:
    if not stages:
        what = "It found nothing to do." if ended else "It has not begun."
        return card("Stages", empty(what, "Stages show up once files were counted."))
    rows = []
    for one in stages:
        name, unit = STAGES.get(one["stage"], (one["stage"], ""))
        settled = one["done"] + one["failed"] + one["unchanged"]
        more = ", ".join(f"{number(one[kind])} {kind}" for kind in ("failed", "unchanged") if one[kind])
        rows.append(
            (name, tag("div", progress(settled, one["expected"], unit.capitalize()), tag("div", more, class_="quiet")))
        )
    return card("Stages", table(("Stage", "Done"), rows))


def _engines(engines: Sequence[Mapping[str, Any]] | None, ended: bool) -> Html:
    if engines is None:
        return card(
            "Engines", empty("Counted at the end.", "The job is too large to count its pages every few seconds.")
        )
    if not engines:
        todo = "Only its index was made, or nothing new was found." if ended else "They show up with the first pages."
        return card("Engines", empty("No page was read by it.", todo))
    rows = [
        (one["engine"], number(one["pages"]), percent(one["confidence"]), span(one["ms"] / 1000)) for one in engines
    ]
    return card("Engines", table(("Engine", "Pages", "Sure", "A page"), rows, numbers=(1, 2, 3)))


def _failures(
    desk: Desk, job: str, groups: Sequence[Mapping[str, Any]], units: Sequence[Mapping[str, Any]], skip: int
) -> Html:
    rows = [
        (
            tag("div", tag("b", one["title"]), tag("div", _stage(one["stage"]), class_="quiet")),
            number(one["count"]),
            one["fix"],
            badge("may pass", "amber") if one["retryable"] else badge("stays", "grey"),
        )
        for one in groups
    ]
    reasons = table(("Reason", "How often", "What to do", "On a retry"), rows, numbers=(1,))
    failed_ones = [
        (
            link(unit["filename"], desk.link("documents", id=unit["document_id"], page=unit["page"])),
            number(unit["page"]),
            str((unit["failure"] or {}).get("reason", "unknown")).replace("_", " "),
            (unit["failure"] or {}).get("detail") or "–",
        )
        for unit in units
    ]
    listed = (
        table(("File", "Page", "Reason", "Detail"), failed_ones, numbers=(1,))
        if failed_ones
        else empty(
            "None that you may see.", "They belong to documents for other readers, or to files without a document."
        )
    )
    return join(card("Failures by reason", reasons), card("What failed", listed, _turn(job, skip, len(units))))


def _stage(name: str) -> str:
    return STAGES.get(name, (name, ""))[0]


def _turn(job: str, skip: int, count: int) -> Html | None:
    """Back and forth; how many there are in all is not told by the API."""
    back = f"{HERE}?{urlencode({'job': job, 'skip': max(0, skip - A_PAGE)})}" if skip else None
    on = f"{HERE}?{urlencode({'job': job, 'skip': skip + A_PAGE})}" if count == A_PAGE else None
    if back is None and on is None:
        return None
    return tag(
        "nav",
        link("← Earlier", back) if back else None,
        link("Later →", on) if on else None,
        class_="aos-pager",
        aria_label="Pages of failures",
    )
