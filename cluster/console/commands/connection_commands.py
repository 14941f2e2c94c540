"""`aos connections`: the language models that agents ask."""

import sys
from typing import Annotated

import typer
from rich.prompt import Prompt

from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext

ConnectionId = Annotated[str, typer.Argument(help="The connection's id, from `aos connections list`.")]
COLUMNS = ("id", "name", "provider", "model", "base_url", "has_key", "supports_tools", "enabled", "default")

connections = typer.Typer(no_args_is_help=True, help="List, add, test and remove connections to language models.")


@connections.command("list")
def list_connections(context: CommandContext, as_json: AsJson = False) -> None:
    """Every connection; keys are never shown. Example: aos connections list"""
    context.obj.print_items("/api/llm-connections", COLUMNS, as_json)


@connections.command("add")
def add_connection(
    context: CommandContext,
    name: Annotated[str, typer.Argument(help="What agents call it.")],
    url: Annotated[str, typer.Argument(help="Base URL, such as http://127.0.0.1:8080/v1.")],
    model: Annotated[str, typer.Argument(help="The model, as its provider names it.")],
    provider: Annotated[str | None, typer.Option(help="Told from the URL when left out.")] = None,
    key_stdin: Annotated[bool, typer.Option("--key-stdin", help="Read its key from standard input.")] = False,
    tools: Annotated[bool | None, typer.Option("--tools/--no-tools", help="Whether it takes tools natively.")] = None,
    price_in: Annotated[float, typer.Option(min=0, help="USD for a million tokens read.")] = 0,
    price_out: Annotated[float, typer.Option(min=0, help="USD for a million tokens written.")] = 0,
    default: Annotated[bool, typer.Option("--default", help="Ask it where an agent names none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a connection. A key is read from standard input, never from the command line, where others may see it.

    Example: aos connections add local http://127.0.0.1:8080/v1 qwen2.5 --default

    Example: aos connections add openai https://api.openai.com/v1 gpt-4o --key-stdin < key.txt
    """
    body: JSON = {"name": name, "base_url": url, "model": model, "price_in": price_in, "price_out": price_out}
    body |= {"default": default}
    body |= {k: v for k, v in {"provider": provider, "supports_tools": tools}.items() if v is not None}
    if key_stdin:
        tty = sys.stdin.isatty()
        body["key"] = Prompt.ask("Key", password=True, console=context.obj.out) if tty else sys.stdin.read().strip()
    found = context.obj.api.request("POST", "/api/llm-connections", json=body)
    shown = f"Added {found['name']} ({found['provider']}). Try it: aos connections test {found['id']}"
    context.obj.print(found, as_json, shown)


@connections.command("test")
def test_connection(context: CommandContext, connection_id: ConnectionId, as_json: AsJson = False) -> None:
    """Ask a connection for its models; exit 1 if it does not work. Example: aos connections test ID"""
    found = context.obj.api.request("POST", f"/api/llm-connections/{connection_id}/test")
    works = f"It works, at {found.get('endpoint')}, in {found['latency_ms']:.0f} ms."
    if found.get("model_listed") is False:
        works += " Its list of models does not name this one."
    context.obj.plain(found, as_json, works if found["ok"] else f"{found.get('reason')}: {found.get('detail', '')}")
    raise typer.Exit(0 if found["ok"] else 1)


@connections.command("remove")
def remove_connection(context: CommandContext, connection_id: ConnectionId, as_json: AsJson = False) -> None:
    """Forget a connection and its key. Example: aos connections remove ID"""
    context.obj.api.request("DELETE", f"/api/llm-connections/{connection_id}")
    context.obj.print({"id": connection_id, "status": "removed"}, as_json, f"Removed {connection_id}.")
