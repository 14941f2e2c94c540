"""`aos chat`: a conversation with an agent; what needs approval is shown and asked for in place."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

import typer
from rich.prompt import Confirm, Prompt

from cluster.basics.errors import Invalid
from cluster.console import printing
from cluster.console.api import JSON, ApiRefusal, ServerSentEvent
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession

DONE, FAILED, WAITS = 0, 1, 3  # exit codes
_ENDS = frozenset({"completed", "failed", "cancelled", "interrupted"})
# What a terminal would obey: a model's text, or what it read, must not move the cursor or ring the bell.
_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


@dataclass(slots=True)
class ChatTurn:
    """The outcome of one message, as far as its events tell; `state` is `completed` once it was answered.

    `asks`: the agent has asked something, and the next message of the conversation answers it.
    """

    run: str = ""
    session: str = ""
    last: str | None = None
    approval: JSON | None = None
    asks: bool = False
    state: str = ""

    @property
    def over(self) -> bool:
        """Nothing more will be told."""
        return self.state in _ENDS

    @property
    def exit_code(self) -> int:
        """0 answered, 3 waits for a person, 1 anything else."""
        if self.approval is not None or self.asks:
            return WAITS
        return DONE if self.state == "completed" else FAILED


def chat(
    context: CommandContext,
    agent: Annotated[str, typer.Argument(help="An agent's name or id; `assistant` is always there.")],
    message: Annotated[str | None, typer.Argument(help="Left out: one message a line, until the input ends.")] = None,
    session_key: Annotated[str | None, typer.Option("--session", help="Go on with this conversation.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", help="Show plans, thoughts and what tools were given.")] = False,
    as_json: AsJson = False,
) -> None:
    """Talk to an agent. Exit 0 answered, 3 waits for approval or asks something, 1 failed.

    What it asks is answered by the next message of the same conversation.

    Example: aos chat assistant "Which contracts end in May?"

    Example: aos chat assistant --session contracts
    """
    if message is not None:
        raise typer.Exit(_send_message(context.obj, agent, message, session_key, verbose, as_json)[0])
    if as_json:
        raise Invalid("--json needs a message", fix='aos chat AGENT "MESSAGE" --json')
    asked = sys.stdin.isatty()
    code = DONE
    while line := _next_line(context.obj, asked):
        code, session_key = _send_message(context.obj, agent, line, session_key, verbose, False)
    raise typer.Exit(code)


def _next_line(session: CommandSession, asked: bool) -> str:
    """The next line that is not empty; empty at the end of the input."""
    while True:
        try:
            line = Prompt.ask(">", console=session.out) + "\n" if asked else next(sys.stdin, "")
        except EOFError:
            return ""
        if line.strip() or not line:
            return line.strip()


def _send_message(
    session: CommandSession, agent: str, message: str, key: str | None, verbose: bool, as_json: bool
) -> tuple[int, str | None]:
    path = f"/api/chat/{quote(agent, safe='')}"
    body: JSON = {"message": message} | ({"session_id": key} if key else {})
    if as_json:
        found = session.api.request("POST", path, json=body | {"stream": False})
        session.print(found, True, None)
        waits = found["requires_approval"] or found.get("requires_input")
        code = WAITS if waits else FAILED if found["error"] else DONE
        return code, found["conversation_id"]
    turn = ChatTurn()
    show_events(session, turn, session.api.events("POST", path, json=body | {"stream": True, "verbose": verbose}))
    while turn.approval is not None and _ask_decision(session, turn):
        turn.approval = None
        follow_run(session, turn, to_question=True)
    if turn.approval is None and not turn.asks and not turn.over:
        session.aside(f"The stream ended before the answer. Go on with: aos runs resume {turn.run}")
    return turn.exit_code, turn.session or key


def follow_run(session: CommandSession, turn: ChatTurn, *, to_question: bool = False) -> None:
    """Show a run's stored events from where we are to its end, or to what it asks."""
    while not turn.over and not turn.asks and turn.approval is None:
        told = session.api.events("GET", f"/api/runs/{turn.run}/events", turn.last)
        show_events(session, turn, told, to_question=to_question)
        if not to_question:
            turn.approval, turn.asks = None, False  # somebody else decides; the stream only ran out of time


def show_events(
    session: CommandSession, turn: ChatTurn, told: Iterable[ServerSentEvent], *, to_question: bool = False
) -> None:
    """Print what happens as it happens. A live stream is read to its end, also behind a question: it ends there."""
    for event in told:
        turn.last = event.id or turn.last
        content, data = str(event.data.get("content", "")), event.data.get("data", {})
        match event.name:
            case "content" if "n" in data:
                page = f", page {data['page']}" if data.get("page") else ""
                session.aside(f"\n[{data['n']}] {_strip_controls(str(data.get('filename', '')))}{page}", end="")
                for line in printing.caveat_lines(data):
                    session.aside(_strip_controls(f"\n    ! {line}"), end="")
            case "content":
                sys.stdout.write(_strip_controls(content))
                sys.stdout.flush()
            case "trace_info":
                turn.run = str(data.get("run_id") or turn.run)
                turn.session = str(data.get("session_id") or turn.session)
                turn.state = str(data.get("state") or turn.state)
            case "tool_start":
                given = " " + json.dumps(data["arguments"], ensure_ascii=False) if "arguments" in data else ""
                session.aside(_strip_controls(f"[{data.get('name')}{given}]"))
            case "thinking" | "plan" | "step_start" | "skill_activity":
                if data.get("kind") == "approval_decided":
                    turn.approval = None
                if data.get("kind") == "input_given":
                    turn.asks = False
                session.aside(_strip_controls(f"[{event.name}] {content or json.dumps(data, ensure_ascii=False)}"))
            case "awaiting_input" if "input" in data:
                turn.asks = True
                sys.stdout.write(_strip_controls(content))
                if to_question:
                    return
            case "awaiting_input":
                turn.approval = data["approval"]
                _show_question(session, data["approval"])
                if to_question:
                    return
            case "error":
                turn.state = "failed"
                fix = f"\n  fix: {data['fix']}" if data.get("fix") else ""
                sys.stderr.write(_strip_controls(f"error: {data.get('title', '')} {content}{fix}") + "\n")
            case "done":
                turn.state = "completed"
    sys.stdout.write("\n")


def _strip_controls(text: str) -> str:
    return text.translate(_CONTROLS)


def _show_question(session: CommandSession, asked: JSON) -> None:
    session.aside(_strip_controls(f"\nApproval needed: {asked.get('tool')}"))
    session.aside(_strip_controls(json.dumps(asked.get("arguments", {}), indent=1, ensure_ascii=False)))
    if asked.get("reason"):
        session.aside(_strip_controls(f"because: {asked['reason']}"))


def _ask_decision(session: CommandSession, turn: ChatTurn) -> bool:
    """Ask for a decision, if there is a person here, and send it, if they may."""
    asked = turn.approval or {}
    later = f"Decide later: aos approvals approve {asked.get('id')}"
    if not sys.stdin.isatty():
        session.aside(later)
        return False
    yes = Confirm.ask("Allow this?", default=False, console=session.out)
    try:
        decision = {"decision": "approve" if yes else "reject"}
        session.api.request("POST", f"/api/approvals/{asked.get('id')}", json=decision)
    except ApiRefusal as error:
        session.aside(f"{error}\n{later}, by somebody who may.")
        return False
    return True
