"""`aos chaos`: harm the own running instance on purpose, and prove that nothing was lost, doubled or changed."""

import json
import random
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.prompt import Confirm

from cluster.basics.errors import AosError, Conflict
from cluster.console.api import ApiClient, base_url
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession
from cluster.faults.kinds import BY_NAME, choose_kinds
from cluster.faults.plan import plan_faults
from configs.sections import Settings

if TYPE_CHECKING:
    from cluster.faults.campaign import CampaignChoices
    from cluster.faults.chats import ChatChoice
    from cluster.faults.kinds import FaultKind

HEALTH_PARTS = ("supervisor", "postgres", "redis", "ray", "serve", "gateway")  # of `aos doctor`
ASK_SECONDS = 5.0
INTERRUPTED = 130
QUESTION = "Which words stand beside harbour bridge?"
USAGE = 2

Kinds = Annotated[str, typer.Option("--kinds", help=f"By commas: {', '.join(BY_NAME)}. All that can be done, else.")]
Seed = Annotated[int | None, typer.Option("--seed", help="The same seed plans the same faults; drawn when left out.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="What the job reads; generated scans when left out.", exists=True)
]
Approve = Annotated[
    str | None, typer.Option("--approve", metavar="PATTERN", help="Approve calls of such tools; others are rejected.")
]
GenerateIn = Annotated[
    Path | None,
    typer.Option("--generate-in", help="Where scans are generated, below NFS_BASE_PATH; in the state directory, else."),
]


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """The options of a campaign, as they were typed; `seed` and `folder` are None where they were left out."""

    faults: int
    kinds: str
    seed: int | None
    pages: int
    folder: Path | None
    generate_in: Path | None
    every: float
    within: float
    dry_run: bool
    keep: bool
    yes: bool
    as_json: bool


def chaos(
    context: CommandContext,
    faults: Annotated[int, typer.Option("--faults", min=1, help="How many, one after the other.")] = 50,
    kinds: Kinds = "",
    seed: Seed = None,
    pages: Annotated[int, typer.Option("--pages", min=1, help="Generated scans, in documents of four.")] = 1000,
    folder: Folder = None,
    generate_in: GenerateIn = None,
    question: Annotated[str, typer.Option("--question", help="Of the chats; {n} becomes their number.")] = QUESTION,
    agent: Annotated[str, typer.Option("--agent", help="Whom the chats talk to.")] = "assistant",
    approve: Approve = None,
    every: Annotated[float, typer.Option("--every", min=0, help="Seconds of rest between two faults, at least.")] = 2,
    within: Annotated[float, typer.Option("--within", min=1, help="Seconds until all is well after each.")] = 60,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the plan and its seed.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the two workspaces and generated scans.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before harming this instance.")] = False,
    as_json: AsJson = False,
) -> None:
    """Kill, stop, slow and cut off parts of this running instance, and prove that nothing is lost or done twice.

    It hits only what this state directory's supervisor started; run it where `aos up` ran, as somebody who may make
    workspaces. A folder is read twice, into workspaces that are deleted afterwards: calmly, then under faults, with
    chats beside it, which stay in your own workspace. Proved is: the job ends as the calm one, every page and chunk is
    there once with the same text (one hash over all), every chat is answered, every approved call was executed once,
    and after each fault supervisor, servers, Ray, Serve and gateway are well in time. Whoever uses the instance notices
    it. Ctrl-C undoes what would stay.
    The last report is chaos/report.json in the state directory. Exit 0 proved, 1 it differs, 2 usage, 130 broken off.

    Example: aos chaos --dry-run --faults 10 --seed 7

    Example: aos chaos --faults 50 --pages 1000 --yes

    Example: aos chaos --kinds kill-gateway,cut-postgres --folder /srv/scans/sample --question "Who signed?"
    """
    from cluster.faults.chats import ChatChoice

    options = ChaosOptions(faults, kinds, seed, pages, folder, generate_in, every, within, dry_run, keep, yes, as_json)
    _plan_and_run(context.obj, options, ChatChoice(question, agent, approve))


def _plan_and_run(session: CommandSession, options: ChaosOptions, chats: "ChatChoice") -> None:
    from cluster.faults.campaign import CampaignChoices
    from cluster.faults.chaos_view import plan_body, plan_view
    from cluster.faults.generated_pages import forget_pages, generate_pages
    from cluster.faults.targets import left_out, require_own_instance, scannable_folder
    from cluster.state.settings.settings_rows import load_where_possible

    chosen = _known_kinds(options.kinds)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    settings = load_where_possible()
    require_own_instance(settings)
    impossible = left_out(settings, chosen)
    planned = plan_faults(seed, options.faults, [kind for kind in chosen if kind.name not in impossible])
    if not planned:
        raise typer.BadParameter("; ".join(f"{name}: {why}" for name, why in impossible.items()), param_hint="--kinds")
    if options.dry_run:
        body = plan_body(planned, impossible, seed, str(options.folder or options.pages))
        session.print(body, options.as_json, plan_view(planned, impossible, seed))
        return
    place = scannable_folder(settings, options.folder, options.generate_in, f"pages-{options.pages}-{seed}")
    _require_consent(session, settings, len(planned), yes=options.yes)
    try:
        choices = CampaignChoices(
            place,
            None if options.folder else generate_pages(place, options.pages, seed),
            planned,
            chats,
            f"{seed}-{time.time_ns() // 10**9}",
            every=options.every,
            within=options.within,
            keep=options.keep,
        )
        code = _run_campaign(session, settings, choices, impossible, seed, as_json=options.as_json)
    finally:
        if not options.folder and not options.keep:
            forget_pages(place)
    raise typer.Exit(code)


def _known_kinds(names: str) -> "tuple[FaultKind, ...]":
    try:
        return choose_kinds([name.strip() for name in names.split(",") if name.strip()])
    except AosError as error:
        raise typer.BadParameter(f"{error} {error.hint}", param_hint="--kinds") from error


def _require_consent(session: CommandSession, settings: Settings, count: int, *, yes: bool) -> None:
    """Raises Conflict where the API that would be asked is another instance's; ends where nobody consents."""
    if session.api.url != base_url(settings.http):
        raise Conflict(
            f"{session.api.url} is not the instance of {settings.state_dir}",
            fix="Leave --url and AOS_URL out: the instance that is harmed is the one that is asked.",
        )
    if yes:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody can be asked here whether this instance may be harmed", param_hint="--yes")
    what = f"{count} faults will be done to the running instance of {settings.state_dir}. Go on?"
    if not Confirm.ask(what, default=False, console=session.out):
        raise typer.Exit(USAGE)


def _run_campaign(
    session: CommandSession,
    settings: Settings,
    choices: "CampaignChoices",
    impossible: Mapping[str, str],
    seed: int,
    *,
    as_json: bool,
) -> int:
    """Run it, keep the report whatever happens, and print it; the exit code."""
    from cluster.faults.campaign import FaultCampaign
    from cluster.faults.chaos_view import proof_view
    from cluster.faults.harm import FaultDoer
    from cluster.faults.harm_record import chaos_folder, only_campaign, terminated_as_interrupted
    from cluster.faults.verdict import as_body
    from cluster.state.db.embedded import postgres_endpoints

    def report(line: str) -> None:
        if not as_json:
            session.aside(f"  {time.strftime('%H:%M:%S')} {line}")

    code = 1
    with only_campaign(settings.state_dir) as record, terminated_as_interrupted():
        campaign = FaultCampaign(
            session.api,
            lambda: postgres_endpoints(settings)[1] or "",
            FaultDoer(settings, record),
            settings.state_dir,
            health_of(settings, session.api),
            report,
        )
        try:
            campaign.run(choices)
        except KeyboardInterrupt:
            report("broken off: what was stopped goes on")
            code = INTERRUPTED
        finally:
            body = as_body(campaign.evidence, impossible, seed)
            _keep_report(chaos_folder(settings.state_dir) / "report.json", body, report)
    session.print(body, as_json, proof_view(campaign.evidence, impossible, seed))
    return 0 if body["proved"] and code != INTERRUPTED else code


def _keep_report(path: Path, body: Mapping[str, object], report: Callable[[str], None]) -> None:
    """A disk that takes no report must not hide the verdict: that is printed anyway."""
    try:
        path.write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        report(f"the report is not kept: {error}")


def health_of(settings: Settings, api: ApiClient) -> Callable[[str | None], str]:
    """Tells what is not well: by the doctor's probes, Serve's replicas, and a question that has to be embedded."""
    import httpx

    from cluster import connect, deploy, doctor
    from cluster.console.findings import GREEN, RED

    def replicas() -> str:
        """Of the workers all; of the others one is enough: they come and go with the load."""
        lines = []
        for app in deploy.list_applications(connect.ray_dashboard(settings)):
            for count in app.replicas.values():
                running, wanted = (int(number) for number in count.split("/"))
                if running < (wanted if app.name == deploy.READING else min(1, wanted)):
                    lines.append(f"{app.name}: {running} of {wanted} replicas")
        return "; ".join(lines)

    def search(workspace: str) -> str:
        headers = {"Authorization": f"Bearer {api.bearer() or ''}", "X-Workspace": workspace}
        body = {"query": "harbour bridge", "strategy": "vector", "rerank": False, "enhance": False, "cache": False}
        reply = httpx.post(f"{api.url}/api/documents/search", json=body, headers=headers, timeout=ASK_SECONDS)
        if reply.status_code == httpx.codes.UNAUTHORIZED:
            api.renewed()
        if reply.status_code != httpx.codes.OK:
            return f"a search is answered {reply.status_code}"
        fallback = reply.json()["fallback"]
        return f"a question is not embedded: {fallback}" if fallback else ""

    def look(workspace: str | None) -> str:
        for part in HEALTH_PARTS:
            for found in doctor.run_probe(part, settings):
                if found.colour is RED or (part == "supervisor" and found.colour is not GREEN):
                    return f"{found.part}: {found.detail}"[:300]
        try:
            return replicas() or ("" if workspace is None else search(workspace))
        except (httpx.HTTPError, AosError) as error:
            return f"{type(error).__name__}: {error}"[:300]

    return look
