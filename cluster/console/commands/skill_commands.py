"""`aos skills`: what ships, what the workspace registered, and which agent has what."""

from typing import Annotated

import typer

from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.documents.document_commands import AsJson, CommandContext, CommandSession

SkillName = Annotated[str, typer.Argument(help="The skill's name, from `aos skills list`.")]
AgentName = Annotated[str, typer.Argument(help="The agent's name or id.")]
COLUMNS = ("name", "type", "category", "risk", "version", "origin", "description")
EXCERPT = 60  # characters of a description in the list

skills = typer.Typer(no_args_is_help=True, help="List and show skills; give them to agents and take them away.")


@skills.command("list")
def list_skills(context: CommandContext, as_json: AsJson = False) -> None:
    """Every skill, and how many there are by category and by type. Example: aos skills list"""
    found = context.obj.api.request("GET", "/api/skills")
    rows = [{**one, "description": printing.shorten(str(one["description"]), EXCERPT)} for one in found["items"]]
    context.obj.print(found, as_json, printing.rows_table(rows, COLUMNS))
    if not as_json:
        counts = found["counts"]
        context.obj.aside(f"{found['total']} skills: {counts['shipped']} shipped, {counts['stored']} registered here")
        context.obj.aside("by category: " + ", ".join(f"{name} {n}" for name, n in counts["by_category"].items()))
        context.obj.aside("by type: " + ", ".join(f"{name} {n}" for name, n in counts["by_type"].items()))


@skills.command("show")
def show_skill(context: CommandContext, name: SkillName, as_json: AsJson = False) -> None:
    """One skill with its arguments, its text, its code and its versions. Example: aos skills show calculator"""
    found = context.obj.api.request("GET", f"/api/skills/{name}")
    newest = found["versions"][0]
    told = ("name", "description", "type", "category", "risk", "version", "origin", "timeout", "credential")
    lines = [f"{key}: {found.get(key)}" for key in told if found.get(key) not in (None, "")]
    lines.append(f"may be used by: {', '.join(found['permissions'])}")
    lines += [
        f"argument {key}: {_describe_schema(schema)}"
        for key, schema in found["parameters"].get("properties", {}).items()
    ]
    lines += [f"\n{newest[part].strip()}" for part in ("text", "code") if newest[part].strip()]
    if len(found["versions"]) > 1:
        lines += ["", *(f"version {one['version']}, {one['created_at']}" for one in found["versions"])]
    context.obj.plain(found, as_json, "\n".join(lines))


@skills.command("attach")
def attach_skill(
    context: CommandContext,
    agent: AgentName,
    name: SkillName,
    version: Annotated[int | None, typer.Option(min=1, help="Stay with this one; else follow the newest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give an agent a skill, from its next turn on. Example: aos skills attach assistant summarise_ticket"""
    body: JSON = {"name": name} | ({} if version is None else {"version": version})
    found = context.obj.api.request("POST", f"/api/agents/{agent_id(context.obj, agent)}/skills", json=body)
    has = next((one["version"] for one in found["items"] if one["name"] == name), None)
    context.obj.plain(found, as_json, f"{agent} has {name}, version {has}.")


@skills.command("detach")
def detach_skill(context: CommandContext, agent: AgentName, name: SkillName, as_json: AsJson = False) -> None:
    """Take a skill away from an agent. Example: aos skills detach assistant summarise_ticket"""
    context.obj.api.request("DELETE", f"/api/agents/{agent_id(context.obj, agent)}/skills/{name}")
    context.obj.plain({"agent": agent, "name": name, "status": "detached"}, as_json, f"{agent} no longer has {name}.")


@skills.command("remove")
def remove_skill(
    context: CommandContext,
    name: SkillName,
    detach: Annotated[bool, typer.Option(help="Take it away from the agents that have it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget a registered skill with all its versions. Example: aos skills remove summarise_ticket --detach"""
    context.obj.api.request("DELETE", f"/api/skills/{name}", params={"detach": detach})
    context.obj.plain({"name": name, "status": "removed"}, as_json, f"{name} is no skill of this workspace any more.")


def agent_id(session: CommandSession, wanted: str) -> str:
    """The id of an agent that is named by id or by display name."""
    return session.require_id("/api/agents", wanted, "agent", "GET /api/agents lists them.")


def _describe_schema(schema: object) -> str:
    if not isinstance(schema, dict):
        return ""
    return " ".join(str(schema[key]) for key in ("type", "description") if key in schema)
