"""Search hits, answers, documents and jobs as a person reads them."""

from collections.abc import Iterable

from rich.console import Group
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cluster.console.api import JSON

EXCERPT = 240  # characters of a hit's text
DOUBTFUL = ("degraded", "partial", "failed")  # what a document can be where something is missing or may be wrong


def caveat_lines(found: JSON) -> list[str]:
    """The caveats of something that was read, missing or doubtful parts, a line each: kind, pages, and the detail."""
    caveats = found.get("caveats") or ()
    return [f"{one['kind'].replace('_', ' ')}{_pages_suffix(one)}: {one['detail']}" for one in caveats]


def _pages_suffix(caveat: JSON) -> str:
    pages = caveat.get("pages") or ([caveat["page"]] if caveat.get("page") else [])
    if not pages:
        return ""
    more = caveat.get("page_count", 0) - len(pages)
    said = ", ".join(map(str, pages)) + (f" and {more} more" if more > 0 else "")
    return f" ({'page' if len(pages) == 1 and more <= 0 else 'pages'} {said})"


def shorten(text: str, most: int) -> str:
    """At most so many characters of a text, marked where it goes on."""
    return text if len(text) <= most else f"{text[:most]} …"


def hits_table(answer: JSON) -> Table:
    """Search results, best first, with the page each stands on."""
    engine = answer.get("keyword_engine", "?")
    count, took = answer.get("total_results", 0), answer.get("execution_time_ms", 0)
    title = f"{count} hits in {took:.0f} ms, keyword engine {engine}"
    table = Table(title=title, title_justify="left", show_lines=True)
    for name in ("score", "file", "page"):
        table.add_column(name, justify="left" if name == "file" else "right")
    table.add_column("text", ratio=1)
    for hit in answer["results"]:
        text = " ".join(str(hit["text"]).split())
        told = Text(shorten(text, EXCERPT))
        for line in caveat_lines(hit):
            told.append(f"\n! {line}", style="yellow")
        table.add_row(f"{hit['score']:.3f}", escape(str(hit["filename"])), str(hit["page"]), told)
    return table


def render_explain(answer: JSON) -> Group:
    """Search results under what each stage of the search did, and how long it took."""
    told = answer["explain"]
    table = Table(title=f"strategy {told['strategy']}, generation {told['generation']}", title_justify="left")
    for name in ("stage", "", "what it did, or why it did not", "kept", "ms"):
        table.add_column(name)
    for stage in told["stages"]:
        took = told["timings_ms"].get(stage["name"])
        kept, ms = stage["kept"], "" if took is None else f"{took:.1f}"
        state, rows = "on" if stage["on"] else "off", "" if kept is None else str(kept)
        table.add_row(stage["name"], state, escape(stage["detail"]), rows, ms)
    if told["cache"]:
        table.add_row("cache", told["cache"]["outcome"], escape(told["cache"]["reason"]), "", "")
    return Group(table, hits_table(answer))


def render_answer(body: JSON) -> Text:
    """An answer, labelled with how it was made, and its citations."""
    text = Text.assemble((f"[{body['mode']}] ", "bold"))
    text.append(str(body["answer"]).strip() + "\n")
    for cited in body.get("citations", []):
        text.append(f"\n[{cited['n']}] {cited['filename']}, page {cited['page']}{confidence_text(cited)}", style="cyan")
        text.append(f"\n    “{' '.join(str(cited['quote']).split())}”")
        for line in caveat_lines(cited):
            text.append(f"\n    ! {line}", style="yellow")
    if body.get("fallback"):
        text.append(f"\n\n{body['fallback']}", style="yellow")
    if body.get("id"):
        text.append(f"\n\nWhy: aos why {body['id']}", style="dim")
    return text


def confidence_text(cited: JSON) -> str:
    """The OCR confidence of the cited text; nothing for native text."""
    value = cited.get("ocr_confidence")
    return "" if value is None else f", OCR confidence {float(value):.2f}"


def rows_table(items: Iterable[JSON], columns: tuple[str, ...]) -> Table:
    """Any list as a table of the named keys; a missing key is an empty cell.

    Counts show as done/expected, an outcome as what is missing or doubtful, caveats by their kinds, and what a job
    waits for by its reasons.
    """
    table = Table()
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for item in items:
        table.add_row(*(escape(_cell_text(item.get(column))) for column in columns))
    return table


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    for key in ("kind", "reason"):
        if isinstance(value, list) and all(isinstance(one, dict) and key in one for one in value):
            return ", ".join(str(one[key]).replace("_", " ") for one in value)
    if isinstance(value, dict) and "degraded" in value:
        return ", ".join(f"{value[name]} {name}" for name in DOUBTFUL if value.get(name))
    if isinstance(value, dict):
        failed = f", {value['failed']} failed" if value.get("failed") else ""
        return f"{value.get('done', 0)}/{value.get('expected', 0)}{failed}"
    return str(value)


def wait_lines(job: JSON) -> list[str]:
    """The reasons that a job waits for, a line each, with what can be done about it."""
    return [f"waits: {one['detail']}. {one['fix']}".strip() for one in job.get("waits") or ()]


def passed_over(found: JSON) -> str:
    """Counts of the files that a scan passed over, in words; empty where there was nothing of the kind."""
    kinds = sorted((found.get("passed_over") or {}).items())
    return "passed over: " + ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in kinds) if kinds else ""


def estimate_text(found: JSON) -> str:
    """A scan's dry-run estimate: numbers of files that were not looked at are inferred, and said to be."""
    least, about = "" if found["complete"] else "at least ", "" if found["exact"] else "about "
    lines = [
        f"{found['root']}: {least}{found['files']} files, {about}{found['unchanged']} of them unchanged, "
        f"{about}{found['pages']} pages to read"
    ]
    if not found["exact"]:
        lines.append(f"  inferred from the {found['looked_at']} files that there was time to look at")
    for title, counts in (("kinds", found["kinds"]), ("cannot be read", found["reasons"])):
        if counts:
            lines.append(f"  {title}: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    if passed := passed_over(found):
        lines.append(f"  {passed}")
    if found["seconds"] is not None:
        lines.append(f"  about {found['seconds']:.0f} s, at {found['pages_per_second']:.1f} pages/s as in recent jobs")
    return "\n".join(lines)
