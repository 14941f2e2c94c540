"""`aos why`: from each claim of an answer to its page, how that was read, its file and the job that read it."""

from typing import Annotated

import typer
from rich.text import Text

from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

HASH = 12  # characters of a file's SHA-256: as many as people compare


def why(
    context: CommandContext,
    answer: Annotated[str, typer.Argument(help="An answer's id, which `aos ask` prints.")],
    as_json: AsJson = False,
) -> None:
    """Show what an answer rests on: claim, passage, page and box, engine and confidence, file and job.

    Example: aos why 7d9f0c52-3c1e-4a4f-9a55-0d6f3a2b1c11
    """
    found = context.obj.api.request("GET", f"/api/answers/{answer}/why")
    context.obj.print(found, as_json, None if as_json else render_reasons(found))


def render_reasons(body: JSON) -> Text:
    """An answer's reasons as a person reads them; what documents say is no markup."""
    text = Text(f"{body['question']}\n", style="bold")
    made = [body["mode"], body["model"], f"generation {body['generation']}", body["abstained"], body["fallback"]]
    text.append(", ".join(str(one) for one in made if one) + "\n", style="not bold dim")
    text.append(_describe_judges(body.get("judged")), style="not bold dim")
    cited = {one["n"]: one for one in body["citations"]}
    for claim in body["claims"]:
        text.append(f"\n{claim['text'] or '(not shown: it can only be read with its passage)'}\n", style="not bold")
        if not claim["supported"]:
            text.append("    nothing supports this\n", style="not bold red")
        if claim["basis"] == "attributed":
            text.append("    found by its words: the model quoted nothing for it\n", style="not bold dim")
        for n in claim["citations"]:
            said = _describe_citation(cited[n]) if n in cited else f"    [{n}] is not kept\n"
            text.append(said, style="not bold cyan")
    if calculation := body["calculation"]:
        of = f"{calculation['rows']} rows of {', '.join(calculation['documents'])}"
        text.append(f"\nCalculated from {of}:\n{calculation['sql']}\n", style="not bold dim")
    for stated in body["conflicts"]:
        said = "; ".join(f"[{one['n']}] {one['value'] or 'not shown'}" for one in stated)
        text.append(f"\nThe sources contradict each other: {said}\n", style="not bold yellow")
    for one in body["dropped"]:
        text.append(f"\nLeft out, {one['why']}: {one['text']}\n", style="not bold dim")
    return text


def _describe_judges(judged: JSON | None) -> str:
    """The rules that judged a question in another language than English, which all of them know."""
    if not judged or judged["language"] == "en":
        return ""
    return (
        f"language {judged['language'] or 'without a stemmer'}, judged by {', '.join(judged['rules']) or 'no rule'}\n"
    )


def _describe_citation(one: JSON) -> str:
    if one["withheld"] and one["filename"] is None:
        return f"    [{one['n']}] {one['withheld']}\n"
    sure = "" if one["ocr_confidence"] is None else f", confidence {one['ocr_confidence']:.2f}"
    boxes = (f", box {x0:.2f},{y0:.2f}–{x1:.2f},{y1:.2f} on page {at}" for at, x0, y0, x1, y1 in one["boxes"])
    box = "".join(boxes)
    old = "" if one["is_current"] else " (an earlier version)"
    lines = [
        f"[{one['n']}] {one['filename']}{old}, page {one['page']}, characters {one['start']}–{one['end']}{box}",
        f"read by {one['engine'] or 'nothing'}{sure}",
        f"file {one['kind']}, SHA-256 {str(one['file_hash'])[:HASH]}",
    ]
    if job := one["job"]:
        lines.append(f"job {job['id']} ({job['kind']}, {job['state']})")
    lines += [f"! {line}" for line in printing.caveat_lines(one)]
    if one["withheld"]:
        lines.append(one["withheld"])
    return "    " + "\n        ".join(lines) + "\n"
