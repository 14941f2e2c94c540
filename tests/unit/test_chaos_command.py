"""`aos chaos` as it is typed: what it does not know is usage, exit 2, before it looks at anything."""

import pytest

from cluster.cli import run_command


@pytest.mark.parametrize(
    "typed", [["--kinds", "kill-cat"], ["--faults", "0"], ["--pages", "0"], ["--folder", "/not/there"]]
)
def test_what_it_does_not_know_is_usage(typed: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["chaos", *typed]) == 2
    assert typed[0] in capsys.readouterr().err


def test_its_help_names_every_kind_and_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["chaos", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Example: aos chaos --dry-run" in shown and "cut-postgres" in shown and "fill-disk" in shown
