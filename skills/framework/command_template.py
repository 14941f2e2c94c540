"""Templates of command lines: elements of which one that is `{name}` and nothing else is an argument's place."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

from cluster.basics.errors import Invalid
from cluster.basics.scope import Role
from skills.framework.manifest import BadManifest, Manifest

TRUSTED = frozenset({Role.OPERATOR, Role.ADMIN})  # who may be given a free command

_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "zsh"})


def check_template(
    manifest: Manifest, template: Sequence[str], known: Mapping[str, Any], dashes: Collection[str] = ()
) -> None:
    """Nothing, where a template and the parameters that it may use fit together. Raises BadManifest: they do not."""
    used = {found[1] for part in template if (found := _HOLE.fullmatch(part))}
    inside = {name for part in template for name in _HOLE.findall(part) if name in known} - used
    sure = set(manifest.parameters.get("required", ())) | {name for name, one in known.items() if "default" in one}
    for why, names in (
        ("arguments are whole elements of options.command", inside),
        ("used, but no parameters", used - set(known)),
        ("parameters that nothing uses", set(known) - used - inside),
        ("neither required nor with a default", used - sure),
        ("options.dashes names what is no argument", set(dashes) - used),
    ):
        if names:
            raise BadManifest(f"{manifest.name}: {why}: {', '.join(sorted(names))}")


def is_argument(element: str) -> bool:
    """True for the place of an argument."""
    return _HOLE.fullmatch(element) is not None


def takes_script(template: Sequence[str]) -> bool:
    """True where an argument would be the script of a shell."""
    shells = any(part.rpartition("/")[2] in _SHELLS for part in template)
    return shells and any(re.fullmatch(r"-\w*c", part) and is_argument(after) for part, after in pairwise(template))


def fill_template(
    manifest: Manifest, template: Sequence[str], arguments: Mapping[str, Any], dashes: Collection[str] = ()
) -> list[str]:
    """The command, element by element. `dashes`: arguments that may begin with `-`.

    Raises Invalid: an argument is no plain value of one line, or would be read as an option.
    """
    values = manifest.defaults | dict(arguments)
    return [
        _argument_element(found[1], values, found[1] in dashes) if (found := _HOLE.fullmatch(one)) else one
        for one in template
    ]


def _argument_element(name: str, values: Mapping[str, Any], dash: bool) -> str:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise Invalid(f"{name} is no text and no number")
    text = str(value)
    # Quoted it would be harmless for a shell; as a line of its own it may still mean something to the program.
    if not text or _CONTROL.search(text):
        raise Invalid(f"{name} is empty, or has control characters in it")
    if text.startswith("-") and not dash:
        raise Invalid(f"{name} begins with -, and would be read as an option")
    return text
