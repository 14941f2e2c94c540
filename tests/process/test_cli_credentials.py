"""`aos credentials add` at a real terminal: what is typed is not shown."""

import os
import pty
import sys
import termios
import time
from pathlib import Path

from tests.fakes.api_server import serve_api
from tests.wire.test_cli_credentials import ROW, TYPES


def test_a_credential_is_typed_unseen(tmp_path: Path) -> None:
    """CV-02: neither echoed nor among the arguments."""
    answers = {"GET /api/credentials/types": TYPES, "POST /api/credentials": (201, ROW)}
    with serve_api(answers) as api:
        told = {"AOS_URL": api.url, "AOS_TOKEN": api.token, "AOS_STATE_DIR": str(tmp_path), "TERM": "dumb"}
        command = [sys.executable, "-m", "cluster.cli", "credentials", "add", "g", "bearer_token", "--bound"]
        child, terminal = pty.fork()
        if child == 0:
            os.execve(sys.executable, command, {**os.environ, **told})
        shown = b""
        while b"token (empty" not in shown:
            shown += os.read(terminal, 1_000)
        while termios.tcgetattr(terminal)[3] & termios.ECHO:  # what is typed before that is thrown away
            time.sleep(0.01)
        os.write(terminal, b"word-77\n")
        try:
            while piece := os.read(terminal, 1_000):
                shown += piece
        except OSError:  # Linux' end of a terminal
            pass
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    (call,) = api.of("POST /api/credentials")
    assert call.body["values"] == {"token": "word-77"} and call.body["bound"] is True
    assert b"Stored web" in shown and b"word-77" not in shown
