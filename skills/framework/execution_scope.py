"""Execution scope of a skill that a model carries out: its tools, replies and calls per tool."""

from pydantic import BaseModel, ConfigDict, Field

from skills.framework.manifest import BadManifest, Manifest, options_of


class ExecutionScope(BaseModel):
    """Limits of a skill that a model carries out: tools (of the agent's own), replies, calls per tool, connection."""

    model_config = ConfigDict(extra="forbid")
    tools: tuple[str, ...] = Field((), max_length=64)
    max_turns: int = Field(10, ge=1, le=50)
    calls_per_tool: int = Field(3, ge=1, le=50)
    model: str | None = Field(None, min_length=1, max_length=200)


def scope_of(manifest: Manifest) -> ExecutionScope:
    """Its options. Raises BadManifest: they have another form, or there is no text to go by."""
    if not manifest.text.strip():
        raise BadManifest(f"{manifest.name} is of type delegate and has no text, which is its prompt")
    return options_of(manifest, ExecutionScope)
