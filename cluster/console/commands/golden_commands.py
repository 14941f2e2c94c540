"""`aos eval`: golden sets, how well the product does on them, and a gate for scripts."""

import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer
from rich.markup import escape
from rich.table import Table

from cluster.basics.errors import Invalid, NotFound
from cluster.console import printing
from cluster.console.api import JSON, ApiRefusal
from cluster.console.commands.documents.document_commands import AT_ONCE, AsJson, CommandContext, CommandSession

SETS = "/api/golden-sets"
RUNS = "/api/golden-runs"
POLL_SECONDS = 0.2
COLUMNS = ("name", "questions", "gate", "least_recall", "last_run", "description")
FORMATS = {".yaml": "yaml", ".yml": "yaml", ".jsonl": "jsonl"}

SetName = Annotated[str, typer.Argument(help="The set's name or id, from `aos eval sets`.")]
RunId = Annotated[str, typer.Argument(help="The run's id, from `aos eval run` or `aos eval runs`.")]

golden = typer.Typer(no_args_is_help=True, help="Measure search and answers on questions whose answers are known.")


@golden.command("sets")
def list_sets(context: CommandContext, as_json: AsJson = False) -> None:
    """Every golden set. Example: aos eval sets"""
    context.obj.print_items(SETS, COLUMNS, as_json, limit=AT_ONCE)


@golden.command("import")
def import_set(
    context: CommandContext,
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Questions as .yaml or .jsonl.")],
    name: Annotated[
        str | None, typer.Option("--set", help="The set; made where it is missing. Else the file's name.")
    ] = None,
    gate: Annotated[bool | None, typer.Option("--gate/--no-gate", help="The next index has to pass it.")] = None,
    least_recall: Annotated[float | None, typer.Option(min=0, max=1, help="That it has to find in any case.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Remove questions that the file does not have.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fill a set from a file. Each entry: question, documents, passages, answers, or unanswerable: true.

    Example: aos eval import contracts.yaml --set contracts --gate
    """
    written = _file_format(file)
    wanted = name or file.stem
    facts = {key: value for key, value in (("gate", gate), ("least_recall", least_recall)) if value is not None}
    set_id = context.obj.find_id(SETS, wanted)
    if set_id is None:
        set_id = str(context.obj.api.request("POST", SETS, json={"name": wanted, **facts})["id"])
    elif facts:
        context.obj.api.request("PATCH", f"{SETS}/{set_id}", json=facts)
    body = {"text": file.read_text(encoding="utf-8"), "format": written, "replace": replace}
    found = context.obj.api.request("POST", f"{SETS}/{set_id}/import", json=body)
    said = f"{wanted}: {found['written']} questions written, {found['questions']} there now."
    context.obj.plain(found, as_json, said)


@golden.command("export")
def export_set(
    context: CommandContext,
    name: SetName,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .yaml or .jsonl file.")],
) -> None:
    """Write a set's questions to a file. Example: aos eval export contracts -o contracts.yaml"""
    written = _file_format(output)
    output.write_bytes(context.obj.api.download(f"{SETS}/{_require_set_id(context.obj, name)}/export?format={written}"))
    context.obj.out.print(f"{name} is in {output}")


@golden.command("add")
def add_question(
    context: CommandContext,
    name: SetName,
    question: Annotated[str, typer.Argument(help="What is asked.")],
    document: Annotated[
        list[str] | None, typer.Option(help="A filename or id that answers it; again for more.")
    ] = None,
    passage: Annotated[list[str] | None, typer.Option(help="A text that a right passage has.")] = None,
    answer: Annotated[list[str] | None, typer.Option(help="A right answer; again for others.")] = None,
    unanswerable: Annotated[bool, typer.Option("--unanswerable", help="An abstention is right.")] = False,
    as_json: AsJson = False,
) -> None:
    """Save one question as golden. Example: aos eval add contracts "When does it end?" --document lease.pdf"""
    body: JSON = {"question": question, "answerable": not unanswerable}
    body |= {"documents": document or [], "passages": passage or [], "answers": answer or []}
    found = context.obj.api.request("POST", f"{SETS}/{_require_set_id(context.obj, name)}/questions", json=body)
    context.obj.plain(found, as_json, f"{name}: {found['questions']} questions; this one is {found['keys'][0]}.")


@golden.command("remove")
def remove_set(context: CommandContext, name: SetName, as_json: AsJson = False) -> None:
    """Take a set away with its questions and runs. Example: aos eval remove contracts"""
    context.obj.api.request("DELETE", f"{SETS}/{_require_set_id(context.obj, name)}")
    context.obj.plain({"set": name, "status": "removed"}, as_json, f"{name} is gone.")


@golden.command("run")
def run_set(
    context: CommandContext,
    name: SetName,
    answers: Annotated[bool, typer.Option("--answers/--no-answers", help="Ask for answers, too.")] = True,
    generation: Annotated[
        int | None, typer.Option(help="Search this generation, live or not; without answers.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="As this agent (id or name).")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=8, help="Questions at once.")] = 1,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow it to its end.")] = True,
    as_json: AsJson = False,
) -> None:
    """Put every question to the product. Exit 0 where all of it ran, 1 where a part did not.

    Example: aos eval run contracts --json > today.json
    """
    body: JSON = {"concurrency": concurrency}
    body |= {"generation": generation} if generation is not None else {"answers": answers}
    body |= {"agent_id": agent} if agent else {}
    found = context.obj.api.request("POST", f"{SETS}/{_require_set_id(context.obj, name)}/runs", json=body)
    while wait and found["state"] in ("running", "interrupted"):
        time.sleep(POLL_SECONDS)
        found = context.obj.api.request("GET", f"{RUNS}/{found['id']}")
        if found["state"] == "interrupted":
            found = _resume_run(context.obj, found["id"])
    context.obj.print(found, as_json, _run_table(found))
    raise typer.Exit(1 if found["state"] in ("failed", "cancelled") else 0)


@golden.command("runs")
def list_runs(context: CommandContext, name: SetName, as_json: AsJson = False) -> None:
    """The runs of a set, latest first. Example: aos eval runs contracts"""
    columns = ("id", "state", "done", "total", "generation_id", "fingerprint", "created_at")
    context.obj.print_items(f"{SETS}/{_require_set_id(context.obj, name)}/runs", columns, as_json)


@golden.command("show")
def show_run(context: CommandContext, run: RunId, as_json: AsJson = False) -> None:
    """Figures of a run. Example: aos eval show RUN --json > baseline.json"""
    found = context.obj.api.request("GET", f"{RUNS}/{run}")
    context.obj.print(found, as_json, _run_table(found))


@golden.command("compare")
def compare_runs(
    context: CommandContext,
    baseline: RunId,
    candidate: RunId,
    measure: Annotated[str, typer.Option(help="Whose questions are listed where they differ.")] = "ndcg@10",
    as_json: AsJson = False,
) -> None:
    """Two runs of the same questions: each measure's difference with its interval, and the questions that changed.

    Example: aos eval compare RUN1 RUN2 --measure recall@10
    """
    found = context.obj.api.request("GET", f"{RUNS}/{candidate}/compare/{baseline}", params={"measure": measure})
    rows = [
        {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in row.items()}
        for row in found["differences"]
    ]
    columns = ("measure", "n", "baseline", "candidate", "delta", "low", "high", "p", "better", "worse")
    context.obj.print(found, as_json, printing.rows_table(rows, columns))
    if not as_json and found["changed"]:
        changed = printing.rows_table(found["changed"], ("key", "question", "baseline", "candidate"))
        context.obj.print(found, False, changed)


@golden.command("gate")
def gate_run(
    context: CommandContext,
    run: RunId,
    baseline: Annotated[
        str | None, typer.Option(help="Another run's id, or a file that `aos eval show RUN --json` wrote.")
    ] = None,
    least: Annotated[
        list[str] | None, typer.Option(help="MEASURE=VALUE that the run has to reach by itself; again for more.")
    ] = None,
    tolerance: Annotated[float, typer.Option(min=0, help="How much worse a measure may be.")] = 0.02,
    measure: Annotated[list[str] | None, typer.Option(help="Only this measure; again for more. Else all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Exit 1 where a run is worse than a baseline by more than the tolerance, or than what is demanded of it.

    A run of which a part did not run never passes.

    Example: aos eval gate RUN --baseline baseline.json --measure recall@10

    Example: aos eval gate RUN --least answer_contained=0.8 --least citations_valid=1
    """
    if baseline is None and not least:
        raise Invalid("there is nothing to hold the run against", fix="Give --baseline, --least, or both.")
    if measure and baseline is None:
        raise Invalid("--measure chooses among those of a baseline", fix="Give --baseline, or only --least.")
    api, demanded = context.obj.api, _parse_demands(least or ())
    found = api.request("GET", f"{RUNS}/{run}")
    reasons = shortfall_reasons(found, demanded)
    if baseline is not None:
        file = Path(baseline)
        before = _read_baseline(file) if file.is_file() else api.request("GET", f"{RUNS}/{_parse_run_id(baseline)}")
        reasons = list(dict.fromkeys([*reasons, *regression_reasons(before, found, tolerance, measure)]))
    verdict = {"run": run, "passed": not reasons, "reasons": reasons, "tolerance": tolerance, "least": demanded}
    context.obj.plain(verdict, as_json, "\n".join(["worse:", *reasons]) if reasons else "it passes")
    raise typer.Exit(1 if reasons else 0)


def regression_reasons(
    before: Mapping[str, Any], found: Mapping[str, Any], tolerance: float, only: list[str] | None = None
) -> list[str]:
    """The reasons why a run must not pass the gate beside a baseline; empty where it may."""
    reasons = _incomplete_reasons(found)
    means = {name: value for name, value in before["figures"].items() if "mean" in value}
    for name in only or means:
        if name not in means:
            reasons.append(f"{name}: the baseline has no such measure")
            continue
        was, now = means[name], found["figures"].get(name)
        if now is None or now["n"] < was["n"]:
            reasons.append(f"{name}: measured at {now['n'] if now else 0:g} questions, the baseline at {was['n']:g}")
        elif now["mean"] < was["mean"] - tolerance - 1e-9:
            reasons.append(f"{name}: {now['mean']:.4f}, the baseline {was['mean']:.4f}")
    return reasons


def shortfall_reasons(found: Mapping[str, Any], demanded: Mapping[str, float]) -> list[str]:
    """The reasons why a run must not pass the gate by itself: means below what is demanded; empty where it may."""
    reasons = _incomplete_reasons(found)
    for name, least in demanded.items():
        mean = found["figures"].get(name, {}).get("mean")
        if mean is None:
            reasons.append(f"{name}: the run has no such measure")
        elif mean < least - 1e-9:
            reasons.append(f"{name}: {mean:.4f}, demanded {least:.4f}")
    return reasons


def _incomplete_reasons(found: Mapping[str, Any]) -> list[str]:
    reasons = [f"{one['questions']} questions: {one['what']}" for one in found["failures"]]
    return reasons if reasons or found["state"] == "completed" else [f"the run is {found['state']}"]


def _parse_demands(texts: Sequence[str]) -> dict[str, float]:
    demanded: dict[str, float] = {}
    for text in texts:
        name, _, value = (part.strip() for part in text.partition("="))
        try:
            least = float(value)
        except ValueError:
            least = math.nan
        if not name or not math.isfinite(least) or name in demanded:
            raise Invalid(f"{text} is not MEASURE=VALUE, or is there twice", fix="Write answer_contained=0.8, once.")
        demanded[name] = least
    return demanded


def _run_table(run: JSON) -> Table:
    title = f"{escape(run['set_name'])}, run {run['id']}: {run['state']}, {run['done']}/{run['total']}"
    table = Table(title=title, title_justify="left")
    for column in ("measure", "value", "questions"):
        table.add_column(column)
    for name, value in run["figures"].items():
        shown = f"p50 {value['p50']:.0f}, p95 {value['p95']:.0f}" if "p50" in value else f"{value['mean']:.4f}"
        table.add_row(name, shown, f"{value['n']:g}")
    for one in run["failures"]:
        table.add_row("did not run", escape(one["what"]), str(one["questions"]), style="red")
    return table


def _file_format(file: Path) -> str:
    if (written := FORMATS.get(file.suffix.lower())) is None:
        raise Invalid(f"{file.name} is neither .yaml nor .jsonl")
    return written


def _read_baseline(file: Path) -> JSON:
    try:
        found: JSON = json.loads(file.read_text(encoding="utf-8"))
        found["figures"].items()
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise Invalid(f"{file} holds no run", fix="Write one with: aos eval show RUN --json") from error
    return found


def _resume_run(session: CommandSession, run: str) -> JSON:
    """Somebody else may be quicker, or it may have ended meanwhile; otherwise what hinders it is told."""
    try:
        return session.api.request("POST", f"{RUNS}/{run}/resume")
    except ApiRefusal:
        found = session.api.request("GET", f"{RUNS}/{run}")
        if found["state"] == "interrupted":
            raise
        return found


def _parse_run_id(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError:
        raise NotFound(f"{text} is neither a file nor a run's id") from None


def _require_set_id(session: CommandSession, wanted: str) -> str:
    return session.require_id(SETS, wanted, "golden set", "aos eval sets shows them.")
