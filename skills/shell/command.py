"""Command line of a shell skill: a program allowed by its whole path, and arguments as whole elements."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from cluster.basics.errors import Forbidden, Invalid
from skills.framework.command_template import TRUSTED, check_template, fill_template, takes_script
from skills.framework.manifest import BadManifest, CredentialType, Manifest, Risk

PROGRAM, ARGUMENTS = "program", "arguments"  # the parameters of a free command
GRANTED = "programs"  # the credential's field: paths with commas or blanks


class ProgramNotAllowed(Forbidden):
    """This program may not be started."""

    code = "shell_not_allowed"
    fix = "An administrator may name its absolute path in the settings (`skills.shell_allow`)."


class ProgramNotGranted(Forbidden):
    """The agent's credential is not for this program."""

    code = "shell_not_granted"
    fix = f"An administrator may name its absolute path in the credential's field `{GRANTED}`."


class ShellOptions(BaseModel):
    """Options of a shell skill: its command template, or a command as an argument."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    # A program and its elements; one that is `{name}` and nothing else is an argument's place.
    command: list[Annotated[StrictStr, Field(min_length=1, max_length=4_000)]] = Field(default=[], max_length=100)
    # Arguments that may begin with `-`, because the program reads what stands there as no option.
    dashes: list[StrictStr] = Field(default=[], max_length=100)
    command_argument: StrictBool = False  # program and arguments are those of the call

    @model_validator(mode="after")
    def _check_command(self) -> "ShellOptions":
        if bool(self.command) == self.command_argument:
            raise ValueError("command or command_argument: one of them")
        if any("\x00" in part for part in self.command):
            raise ValueError("an element holds NUL")
        return self


def check_shell_skill(manifest: Manifest, options: ShellOptions) -> None:
    """Nothing, where template, parameters, risk and roles fit together. Raises BadManifest: the place that does not."""
    if not set(manifest.permissions) <= TRUSTED:
        raise BadManifest(f"{manifest.name}: skills of type shell are for operators and admins")
    if manifest.credential not in (None, CredentialType.CUSTOM):
        raise BadManifest(f"{manifest.name}: skills of type shell have `credential: custom`, or none")
    known = manifest.parameters.get("properties", {})
    if options.command_argument:
        if set(known) != {PROGRAM, ARGUMENTS} or PROGRAM not in manifest.parameters.get("required", ()):
            raise BadManifest(f"{manifest.name}: a free command has the parameters `program` and `arguments`")
        if manifest.risk is not Risk.DESTRUCTIVE or manifest.credential is None:
            raise BadManifest(f"{manifest.name}: a free command is destructive, and has `credential: custom`")
        return
    check_template(manifest, options.command, known, options.dashes)
    if not options.command[0].startswith("/"):
        raise BadManifest(f"{manifest.name}: the program is an absolute path, and no argument")
    if takes_script(options.command):
        raise BadManifest(f"{manifest.name}: no argument is the script of a shell")


def build_argv(manifest: Manifest, options: ShellOptions, arguments: Mapping[str, Any]) -> list[str]:
    """The program with its arguments, element by element; no shell reads them.

    Raises Invalid: an argument is no plain value of one line, or would be read as an option.
    """
    if options.command_argument:
        return _free_command(arguments)
    return fill_template(manifest, options.command, arguments, options.dashes)


def check_allowed(program: str, allowed: Sequence[str]) -> None:
    """Nothing, where the settings name this very path. Raises ProgramNotAllowed: they do not, or it is not absolute."""
    if not program.startswith("/") or program not in allowed:
        raise ProgramNotAllowed(f"{program[:200]!r} is not among the programs that may be started")


def check_granted(program: str, secret: Mapping[str, str]) -> None:
    """Nothing, where the credential is for this program. Raises ProgramNotGranted: it is for others."""
    if program not in re.split(r"[\s,]+", secret.get(GRANTED, "")):
        raise ProgramNotGranted(f"the credential is not for {program[:200]!r}")


def _free_command(arguments: Mapping[str, Any]) -> list[str]:
    program, others = arguments.get(PROGRAM), arguments.get(ARGUMENTS, [])
    if not isinstance(others, list):
        raise Invalid("arguments is no list")
    given = [program, *others]
    if not all(isinstance(one, str) and "\x00" not in one for one in given):
        raise Invalid("program and arguments are texts without NUL")
    return given
