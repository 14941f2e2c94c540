"""The fence around unit tests: none starts a process or opens a connection; alone they import nothing slow."""

import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec", "os.spawn", "os.system"}
TALKS = {"socket.bind", "socket.connect"}
SLOW = {"ray": "Ray", "gradio": "Gradio (tests/ui)", "anthropic": "Anthropic's library (tests/wire)"}  # seconds each


class Fence:
    """Hears what the interpreter is about to do; it cannot be taken down again, so it has a gate."""

    closed = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        # OpenAI's library puts platform.processor() into a header, and that asks `uname`, once.
        if self.closed and event in STARTS and args[1:2] != (["uname", "-p"],):
            raise AssertionError(f"a unit test starts no process; move it to tests/process: {event}{args[:2]}")
        if self.closed and event in TALKS:
            raise AssertionError(f"a unit test opens no connection; move it to tests/wire: {event}{args[1:]}")


fence = Fence()
sys.addaudithook(fence)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    fence.closed = True


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    fence.closed = False


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Among other tests somebody else may have imported it."""
    alone = all(item.path.is_relative_to(HERE) for item in session.items)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    for module in sorted(SLOW.keys() & sys.modules.keys()) if alone else ():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line(f"unit tests import no {SLOW[module]}, and something imported it", red=True)
