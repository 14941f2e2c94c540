"""The command line of a skill: a template of elements, each quoted for the remote shell, or what a person wrote."""

import shlex
from collections.abc import Mapping
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from cluster.basics.errors import Invalid
from skills.framework.command_template import TRUSTED, check_template, fill_template, is_argument, takes_script
from skills.framework.manifest import BadManifest, Manifest, Risk

HOST = "host"  # the argument that chooses among the credential's machines; it is part of no command
COMMAND = "command"  # the argument of a free command
SPARE = 2  # seconds after which the machine ends a command by itself that we should have ended


class SshOptions(BaseModel):
    """Options of an SSH skill: its command template, or a command as an argument."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    # Elements of a command line; one that is `{name}` and nothing else is an argument's place.
    command: list[Annotated[StrictStr, Field(min_length=1, max_length=4_000)]] = Field(default=[], max_length=100)
    command_argument: StrictBool = False  # the whole line is the argument `command`, for a shell there to read

    @model_validator(mode="after")
    def _check_command(self) -> "SshOptions":
        if bool(self.command) == self.command_argument:
            raise ValueError("command or command_argument: one of them")
        return self


def check_ssh_skill(manifest: Manifest, options: SshOptions) -> None:
    """Nothing, where template, parameters, risk and roles fit together. Raises BadManifest: the place that does not."""
    known = {name: one for name, one in manifest.parameters.get("properties", {}).items() if name != HOST}
    if options.command_argument:
        if set(known) != {COMMAND} or COMMAND not in manifest.parameters.get("required", ()):
            raise BadManifest(f"{manifest.name}: a free command has one parameter, `command`, which is required")
        if manifest.risk is not Risk.DESTRUCTIVE or not set(manifest.permissions) <= TRUSTED:
            raise BadManifest(f"{manifest.name}: a free command is destructive, and for operators and admins")
        return
    check_template(manifest, options.command, known)
    if is_argument(options.command[0]) or takes_script(options.command):
        raise BadManifest(f"{manifest.name}: no argument is a program, or the script of a shell")


def command_elements(manifest: Manifest, options: SshOptions, arguments: Mapping[str, Any]) -> list[str]:
    """The command with its arguments, element by element.

    Raises Invalid: an argument is no plain value of one line, or would be read as an option.
    """
    if options.command_argument:
        text = arguments.get(COMMAND)
        if not isinstance(text, str) or not text.strip() or "\x00" in text:
            raise Invalid("command is an empty text, or none")
        return ["sh", "-c", text]
    return fill_template(manifest, options.command, arguments)


def command_line(command: list[str], seconds: float) -> str:
    """The line that the remote shell is given: each element quoted, and an end that the machine itself keeps.

    SSH can ask for a command to be killed, but OpenSSH ignores that for root before release 9.8, and nobody asks when
    the network is gone. `timeout` of coreutils or busybox is there then; `exec`, so that it leads its process group.
    """
    return f"exec timeout -s KILL {ceil(seconds) + SPARE} {shlex.join(command)}"
