"""The command line of a skill: a template of elements, each quoted for the remote shell, or what a person wrote."""

import re
import shlex
from collections.abc import Mapping
from itertools import pairwise
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role
from skills.framework.manifest import BadManifest, Manifest, Risk

HOST = "host"  # the argument that chooses among the credential's machines; it is part of no command
COMMAND = "command"  # the argument of a free command
SPARE = 2  # seconds after which the machine ends a command by itself that we should have ended

_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_TRUSTED = frozenset({Role.OPERATOR, Role.ADMIN})


class SshOptions(BaseModel):
    """Options of an SSH skill: its command template, or a command as an argument.

    Attributes:
        command: elements of a command line; one that is `{name}` and nothing else is an argument's place.
        command_argument: the whole line is the argument `command`, for a shell there to read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    command: list[Annotated[StrictStr, Field(min_length=1, max_length=4_000)]] = Field(default=[], max_length=100)
    command_argument: StrictBool = False

    @model_validator(mode="after")
    def _check_command(self) -> "SshOptions":
        if bool(self.command) == self.command_argument:
            raise ValueError("command or command_argument: one of them")
        return self


def check_ssh_skill(manifest: Manifest, options: SshOptions) -> None:
    """Nothing, where template, parameters, risk and roles fit together.

    Raises:
        BadManifest: they do not; the place is named.
    """
    known = {name: one for name, one in manifest.parameters.get("properties", {}).items() if name != HOST}
    if options.command_argument:
        if set(known) != {COMMAND} or COMMAND not in manifest.parameters.get("required", ()):
            raise BadManifest(f"{manifest.name}: a free command has one parameter, `command`, which is required")
        if manifest.risk is not Risk.DESTRUCTIVE or not set(manifest.permissions) <= _TRUSTED:
            raise BadManifest(f"{manifest.name}: a free command is destructive, and for operators and admins")
        return
    template = options.command
    used = {found[1] for part in template if (found := _HOLE.fullmatch(part))}
    inside = {name for part in template for name in _HOLE.findall(part) if name in known} - used
    sure = set(manifest.parameters.get("required", ())) | {name for name, one in known.items() if "default" in one}
    for why, names in (
        ("arguments are whole elements of options.command", inside),
        ("used, but no parameters", used - set(known)),
        ("parameters that nothing uses", set(known) - used - inside),
        ("neither required nor with a default", used - sure),
    ):
        if names:
            raise BadManifest(f"{manifest.name}: {why}: {', '.join(sorted(names))}")
    if _HOLE.fullmatch(template[0]) or _script_is_argument(template):
        raise BadManifest(f"{manifest.name}: no argument is a program, or the script of a shell")


def command_elements(manifest: Manifest, options: SshOptions, arguments: Mapping[str, Any]) -> list[str]:
    """The command with its arguments, element by element.

    Raises:
        Invalid: an argument is no plain value of one line, or would be read as an option.
    """
    if options.command_argument:
        text = arguments.get(COMMAND)
        if not isinstance(text, str) or not text.strip() or "\x00" in text:
            raise Invalid("command is an empty text, or none")
        return ["sh", "-c", text]
    properties = manifest.parameters.get("properties", {})
    values = {name: one["default"] for name, one in properties.items() if "default" in one} | dict(arguments)
    return [_argument_element(found[1], values) if (found := _HOLE.fullmatch(one)) else one for one in options.command]


def command_line(command: list[str], seconds: float) -> str:
    """The line that the remote shell is given: each element quoted, and an end that the machine itself keeps.

    SSH can ask for a command to be killed, but OpenSSH ignores that for root before release 9.8, and nobody asks when
    the network is gone. `timeout` of coreutils or busybox is there then; `exec`, so that it leads its process group.
    """
    return f"exec timeout -s KILL {ceil(seconds) + SPARE} {shlex.join(command)}"


def _argument_element(name: str, values: Mapping[str, Any]) -> str:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Invalid(f"{name} is no text and no number")
    text = str(value)
    # Quoted it would be harmless for the shell; as a line of its own it may still mean something to the program.
    if not text or _CONTROL.search(text):
        raise Invalid(f"{name} is empty, or has control characters in it")
    if text.startswith("-"):
        raise Invalid(f"{name} begins with -, and would be read as an option")
    return text


def _script_is_argument(template: list[str]) -> bool:
    shells = any(part.rpartition("/")[2] in _SHELLS for part in template)
    after = (follows for part, follows in pairwise(template) if re.fullmatch(r"-\w*c", part))
    return shells and any(_HOLE.fullmatch(follows) for follows in after)
