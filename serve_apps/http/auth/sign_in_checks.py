"""Results of looking whether people can sign in by a provider or directory: each with what it found and what to do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SignInCheck:
    """One thing that was looked at.

    Attributes:
        name: lasting, for programs.
        detail: what was found; no secret stands in it.
        fix: what to do; empty where it is well.
        required: nobody can sign in, or be sure to, while it fails; else it is a word of advice.
    """

    name: str
    ok: bool
    detail: str
    fix: str = ""
    required: bool = True


def passed(name: str, detail: str) -> SignInCheck:
    """It is well."""
    return SignInCheck(name, True, detail[:500])


def failed(name: str, detail: str, fix: str, *, required: bool = True) -> SignInCheck:
    """It is not."""
    return SignInCheck(name, False, detail[:500], fix, required)


def judged(name: str, wrong: str, well: str, fix: str, *, required: bool = True) -> SignInCheck:
    """It is well where nothing is `wrong`."""
    return failed(name, wrong, fix, required=required) if wrong else passed(name, well)
