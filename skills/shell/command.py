"""Command line of a shell skill: a program allowed by its whole path, and arguments as whole elements."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from cluster.basics.errors import Forbidden, Invalid
from cluster.basics.scope import Role
from skills.framework.manifest import BadManifest, CredentialType, Manifest, Risk

PROGRAM, ARGUMENTS = "program", "arguments"  # the parameters of a free command
GRANTED = "programs"  # the credential's field: paths with commas or blanks

_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})
_TRUSTED = frozenset({Role.OPERATOR, Role.ADMIN})


class ProgramNotAllowed(Forbidden):
    """This program may not be started."""

    code = "shell_not_allowed"
    fix = "An administrator may name its absolute path in the settings (`skills.shell_allow`)."


class ProgramNotGranted(Forbidden):
    """The agent's credential is not for this program."""

    code = "shell_not_granted"
    fix = f"An administrator may name its absolute path in the credential's field `{GRANTED}`."


class ShellOptions(BaseModel):
    """Options of a shell skill: its command template, or a command as an argument.

    Attributes:
        command: a program and its elements; one that is `{name}` and nothing else is an argument's place.
        dashes: arguments that may begin with `-`, because the program reads what stands there as no option.
        command_argument: program and arguments are those of the call.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    command: list[Annotated[StrictStr, Field(min_length=1, max_length=4_000)]] = Field(default=[], max_length=100)
    dashes: list[StrictStr] = Field(default=[], max_length=100)
    command_argument: StrictBool = False

    @model_validator(mode="after")
    def _check_command(self) -> "ShellOptions":
        if bool(self.command) == self.command_argument:
            raise ValueError("command or command_argument: one of them")
        if any("\x00" in part for part in self.command):
            raise ValueError("an element holds NUL")
        return self


def check_shell_skill(manifest: Manifest, options: ShellOptions) -> None:
    """Nothing, where template, parameters, risk and roles fit together.

    Raises:
        BadManifest: they do not; the place is named.
    """
    if not set(manifest.permissions) <= _TRUSTED:
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
    _check_template(manifest, options, known)


def build_argv(manifest: Manifest, options: ShellOptions, arguments: Mapping[str, Any]) -> list[str]:
    """The program with its arguments, element by element; no shell reads them.

    Raises:
        Invalid: an argument is no plain value of one line, or would be read as an option.
    """
    if options.command_argument:
        return _free_command(arguments)
    properties = manifest.parameters.get("properties", {})
    values = {name: one["default"] for name, one in properties.items() if "default" in one} | dict(arguments)
    return [
        _argument_element(found[1], values, found[1] in options.dashes) if (found := _HOLE.fullmatch(one)) else one
        for one in options.command
    ]


def check_allowed(program: str, allowed: Sequence[str]) -> None:
    """Nothing, where the settings name this very path. Raises ProgramNotAllowed: they do not, or it is not absolute."""
    if not program.startswith("/") or program not in allowed:
        raise ProgramNotAllowed(f"{program[:200]!r} is not among the programs that may be started")


def check_granted(program: str, secret: Mapping[str, str]) -> None:
    """Nothing, where the credential is for this program. Raises ProgramNotGranted: it is for others."""
    if program not in re.split(r"[\s,]+", secret.get(GRANTED, "")):
        raise ProgramNotGranted(f"the credential is not for {program[:200]!r}")


def _check_template(manifest: Manifest, options: ShellOptions, known: Mapping[str, Any]) -> None:
    template = options.command
    used = {found[1] for part in template if (found := _HOLE.fullmatch(part))}
    inside = {name for part in template for name in _HOLE.findall(part) if name in known} - used
    sure = set(manifest.parameters.get("required", ())) | {name for name, one in known.items() if "default" in one}
    for why, names in (
        ("arguments are whole elements of options.command", inside),
        ("used, but no parameters", used - set(known)),
        ("parameters that nothing uses", set(known) - used - inside),
        ("neither required nor with a default", used - sure),
        ("options.dashes names what is no argument", set(options.dashes) - used),
    ):
        if names:
            raise BadManifest(f"{manifest.name}: {why}: {', '.join(sorted(names))}")
    if not template[0].startswith("/"):
        raise BadManifest(f"{manifest.name}: the program is an absolute path, and no argument")
    shells = any(part.rpartition("/")[2] in _SHELLS for part in template)
    if shells and any(re.fullmatch(r"-\w*c", part) and _HOLE.fullmatch(after) for part, after in pairwise(template)):
        raise BadManifest(f"{manifest.name}: no argument is the script of a shell")


def _argument_element(name: str, values: Mapping[str, Any], dash: bool) -> str:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Invalid(f"{name} is no text and no number")
    text = str(value)
    if not text or _CONTROL.search(text):
        raise Invalid(f"{name} is empty, or has control characters in it")
    if text.startswith("-") and not dash:
        raise Invalid(f"{name} begins with -, and would be read as an option")
    return text


def _free_command(arguments: Mapping[str, Any]) -> list[str]:
    program, others = arguments.get(PROGRAM), arguments.get(ARGUMENTS, [])
    if not isinstance(others, list):
        raise Invalid("arguments is no list")
    given = [program, *others]
    if not all(isinstance(one, str) and "\x00" not in one for one in given):
        raise Invalid("program and arguments are texts without NUL")
    return given
