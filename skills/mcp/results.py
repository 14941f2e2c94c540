"""Parsing of a server's results: JSON, or an error by name."""

from collections.abc import Sequence
from typing import Any, assert_never

import httpx2
from mcp import MCPError
from mcp.types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    PARSE_ERROR,
    AudioContent,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from mcp.types import Tool as RemoteTool
from pydantic import ValidationError

from cluster.basics.errors import AosError, Permanent
from cluster.state.canonical_json import json_digest
from skills.http_client.http_answer import ServiceGarbled
from skills.mcp.sanitize import plain_line

MOST_SAID = 400  # characters of what a server says of a failure


class RemoteToolFailed(Permanent):
    """The tool of the MCP server says that it has failed."""

    code, status = "mcp_tool_failed", 422


class RemoteRefused(Permanent):
    """The MCP server does not take the call."""

    code, status = "mcp_refused", 502


class RemoteToolGone(Permanent):
    """The MCP server has no such tool any more."""

    code, status = "mcp_tool_gone", 409
    fix = "List the server's tools again, and register what is there."


class RemoteToolChanged(Permanent):
    """The MCP server describes this tool otherwise than when it was registered, so it is not called."""

    code, status = "mcp_tool_changed", 409
    fix = "List the server's tools again, look what has changed, and register the tool anew."


def tool_identity(tool: RemoteTool) -> str:
    """A digest of what a call stands on: its arguments, and what it claims to change."""
    hints = tool.annotations
    claims = None if hints is None else [hints.read_only_hint, hints.destructive_hint]
    return json_digest([tool.name, tool.input_schema, claims])


def checked_identity(tools: Sequence[RemoteTool], name: str, known: str | None) -> str:
    """The identity of the tool of this name. Raises RemoteToolGone, RemoteToolChanged: not there, not what is known."""
    named = [one for one in tools if one.name == name]
    if len(named) != 1:
        raise RemoteToolGone(f"{plain_line(name, 100)} is there {len(named)} times")
    if known is not None and tool_identity(named[0]) != known:
        raise RemoteToolChanged(plain_line(name, 100))
    return tool_identity(named[0])


def result_json(result: CallToolResult) -> dict[str, Any]:
    """Structured `data`, else `text`; pictures and sounds are only named. Raises RemoteToolFailed: it says so."""
    texts, parts, cut = list[str](), list[dict[str, Any]](), False
    for block in result.content:
        match block:
            case TextContent():
                texts.append(block.text)
            case EmbeddedResource(resource=TextResourceContents() as resource):
                texts.append(resource.text)
            case ResourceLink():
                parts.append({"type": "link", "uri": plain_line(block.uri, 2_000), "name": plain_line(block.name, 200)})
            case ImageContent() | AudioContent():
                cut = True
                size = len(block.data.rstrip("=")) * 3 // 4  # of base64
                parts.append({"type": block.type, "media_type": plain_line(block.mime_type, 100), "bytes": size})
            case EmbeddedResource():
                cut = True
                parts.append({"type": "resource", "uri": plain_line(block.resource.uri, 2_000)})
            case _:
                assert_never(block)
    said = "\n".join(texts).replace("\0", "")
    if result.is_error:
        raise RemoteToolFailed(plain_line(said, MOST_SAID) or "it does not say why")
    made: dict[str, Any] = {"text": said} if said or not parts else {}
    if result.structured_content is not None:
        made = {"data": result.structured_content}
    return made | ({"parts": parts} if parts else {}) | ({"cut": True} if cut else {})


def garbled_error(error: BaseException, server: str) -> ServiceGarbled | None:
    """A name for what the library raised of an answer that has not the form that it should have; None for the rest."""
    if isinstance(error, MCPError):
        is_no_message = error.error.code == PARSE_ERROR
        return ServiceGarbled(f"{server} answers with something that is no message") if is_no_message else None
    if isinstance(error, ValidationError | RuntimeError | httpx2.HTTPError):
        return ServiceGarbled(f"{server} answers in another form than it should: {type(error).__name__}")
    return None


def named_failure(error: Exception, server: str, otherwise: AosError) -> AosError:
    """A name for MCPError, or for what `garbled_error` knows; `otherwise` where it says that the connection ended."""
    if (named := garbled_error(error, server)) is not None or not isinstance(error, MCPError):
        return named or otherwise
    if error.error.code in (CONNECTION_CLOSED, INTERNAL_ERROR):
        return otherwise
    return RemoteRefused(f"{server}: {plain_line(error.error.message, MOST_SAID)} ({error.error.code})")
