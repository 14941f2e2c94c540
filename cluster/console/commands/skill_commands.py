"""`aos skills`: what ships, what the workspace registered, and which agent has what."""

from typing import Annotated

import typer

from cluster.basics.errors import NotFound
from cluster.console import printing
from cluster.console.api import JSON
from cluster.console.commands.document_commands import AsJson, CommandSession

SkillName = Annotated[str, typer.Argument(help="The skill's name, from `aos skills list`.")]
AgentName = Annotated[str, typer.Argument(help="The agent's name or id.")]
COLUMNS = ("name", "type", "category", "risk", "version", "origin", "description")
EXCERPT = 60  # characters of a description in the list

skills = typer.Typer(no_args_is_help=True, help="List and show skills; give them to agents and take them away.")


@skills.command("list")
def list_skills(context: typer.Context, as_json: AsJson = False) -> None:
    """Every skill, and how many there are by category and by type. Example: aos skills list"""
    session: CommandSession = context.obj
    found = session.api.request("GET", "/api/skills")
    session.print(found, as_json, printing.rows_table([_shorten_description(one) for one in found["items"]], COLUMNS))
    if not as_json:
        counts = found["counts"]
        session.aside(f"{found['total']} skills: {counts['shipped']} shipped, {counts['stored']} registered here")
        session.aside("by category: " + ", ".join(f"{name} {n}" for name, n in counts["by_category"].items()))
        session.aside("by type: " + ", ".join(f"{name} {n}" for name, n in counts["by_type"].items()))


@skills.command("show")
def show_skill(context: typer.Context, name: SkillName, as_json: AsJson = False) -> None:
    """One skill with its arguments, its text, its code and its versions. Example: aos skills show calculator"""
    session: CommandSession = context.obj
    found = session.api.request("GET", f"/api/skills/{name}")
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
    session.plain(found, as_json, "\n".join(lines))


@skills.command("attach")
def attach_skill(
    context: typer.Context,
    agent: AgentName,
    name: SkillName,
    version: Annotated[int | None, typer.Option(min=1, help="Stay with this one; else follow the newest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Give an agent a skill, from its next turn on. Example: aos skills attach assistant summarise_ticket"""
    session: CommandSession = context.obj
    body: JSON = {"name": name} | ({} if version is None else {"version": version})
    found = session.api.request("POST", f"/api/agents/{agent_id(session, agent)}/skills", json=body)
    has = next((one["version"] for one in found["items"] if one["name"] == name), None)
    session.plain(found, as_json, f"{agent} has {name}, version {has}.")


@skills.command("detach")
def detach_skill(context: typer.Context, agent: AgentName, name: SkillName, as_json: AsJson = False) -> None:
    """Take a skill away from an agent. Example: aos skills detach assistant summarise_ticket"""
    session: CommandSession = context.obj
    session.api.request("DELETE", f"/api/agents/{agent_id(session, agent)}/skills/{name}")
    session.plain({"agent": agent, "name": name, "status": "detached"}, as_json, f"{agent} no longer has {name}.")


@skills.command("remove")
def remove_skill(
    context: typer.Context,
    name: SkillName,
    detach: Annotated[bool, typer.Option(help="Take it away from the agents that have it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget a registered skill with all its versions. Example: aos skills remove summarise_ticket --detach"""
    session: CommandSession = context.obj
    session.api.request("DELETE", f"/api/skills/{name}", params={"detach": detach})
    session.plain({"name": name, "status": "removed"}, as_json, f"{name} is no skill of this workspace any more.")


def agent_id(session: CommandSession, wanted: str) -> str:
    """The id of an agent that is named by id or by display name."""
    found = session.find_id("/api/agents", wanted)
    if found is None:
        raise NotFound(f"no agent is called {wanted}", fix="GET /api/agents lists them.")
    return found


def _shorten_description(one: JSON) -> JSON:
    text = str(one["description"])
    cut = text if len(text) <= EXCERPT else f"{text[:EXCERPT]} …"
    return {**one, "description": cut}


def _describe_schema(schema: object) -> str:
    if not isinstance(schema, dict):
        return ""
    return " ".join(str(schema[key]) for key in ("type", "description") if key in schema)
