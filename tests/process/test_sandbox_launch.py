"""The command lines that start an isolated interpreter on this machine: what they give away, and what they show."""

import json

import pytest

from configs.sections_skills import SandboxSettings
from skills.sandbox.filter import PLAIN, filter_program
from skills.sandbox.launch import NOBODY, build_view, launch_command, launch_modes
from tests.evals.report import ROOT

SETTINGS = SandboxSettings()


def test_the_filter_is_a_program_of_the_kernel_with_a_rule_for_each_call() -> None:
    assert len(filter_program()) % 8 == 0
    assert len(filter_program()) > 8 * len(PLAIN)


def test_root_gives_its_rights_away() -> None:
    as_root, plain = launch_modes(SETTINGS, root=True, fence="/usr/bin/bwrap")
    line = launch_command(as_root, SETTINGS)
    told = json.loads(line[-1])
    assert told["become"] == NOBODY and bytes.fromhex(told["filter"]) == filter_program()
    assert line[line.index("--cap-drop") + 1] == "ALL"
    plain_line = launch_command(plain, SETTINGS)
    assert json.loads(plain_line[-1])["become"] is None
    assert plain_line[plain_line.index("--uid") + 1] == str(NOBODY)


@pytest.mark.parametrize("root", [True, False])
def test_the_view_is_read_only_and_holds_nothing_of_the_project(root: bool) -> None:
    line = launch_command(launch_modes(SETTINGS, root=root, fence="/b")[0], SETTINGS)
    fence = line[: line.index("--")]
    assert not {"--bind", "--dev-bind", "--dev", "--proc", "--share-net"} & set(fence)
    sources = [fence[n + 1] for n, word in enumerate(fence) if word == "--ro-bind"]
    assert len(sources) == len(build_view().binds)
    assert not any(source.startswith(f"{ROOT}/") and "/.venv/" not in source for source in sources)
    assert not {"/", "/usr", "/lib", "/etc", "/home", "/root", "/proc", str(ROOT)} & set(sources)
    assert fence[-4:] == ["--remount-ro", "/", "--chdir", "/"]
