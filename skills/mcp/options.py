"""Options of a skill of type mcp: the server that carries it out, and the tool there."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from skills.http_client.login import TokenEndpoint


class McpServerSpec(BaseModel):
    """The server: a URL, or a command."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    # Of an MCP endpoint over streamable HTTP; only where `agents.http_allow` lets requests go.
    url: str | None = Field(None, max_length=2_000)
    # Of a program that speaks MCP over its pipes; only one that `skills.mcp_commands` names.
    command: str | None = Field(None, min_length=1, max_length=1_000)
    args: tuple[str, ...] = Field((), max_length=50)  # of the program
    # Name of a variable to the field of the credential that the program finds there.
    env: dict[str, str] = Field(default_factory=dict, max_length=20)
    # Where the key of a credential of type api_key goes.
    header: str = Field("X-API-Key", pattern=r"^[A-Za-z0-9-]{1,60}$")
    oauth: TokenEndpoint | None = None  # where a credential with `client_id` and `client_secret` gets its token

    @model_validator(mode="after")
    def _one_way(self) -> "McpServerSpec":
        if (self.url is None) == (self.command is None):
            raise ValueError("url or command: one of them")
        if self.url is not None and (self.args or self.env):
            raise ValueError("args and env are for a command")
        if self.command is not None and self.oauth is not None:
            raise ValueError("oauth is for a url")
        if any("\0" in one for one in (self.command or "", *self.args, *self.env)):
            raise ValueError("a NUL in it")
        return self

    @property
    def argv(self) -> list[str]:
        """The command line."""
        return [self.command or "", *self.args]


class McpOptions(McpServerSpec):
    """One tool of a server."""

    tool: str = Field(min_length=1, max_length=200)  # its name there
    # Of what the server said of it when it was registered; another one is not called.
    sha256: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")

    @property
    def place(self) -> McpServerSpec:
        """The server of this skill."""
        return McpServerSpec(**{name: getattr(self, name) for name in McpServerSpec.model_fields})
