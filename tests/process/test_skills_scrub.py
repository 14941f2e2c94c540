"""What a whole process says while something is open: prints, writes and the log lines of libraries."""

import subprocess
import sys

SCRIPT = """
import logging, sys
from skills.framework.dependencies import Secret
from skills.framework.manifest import CredentialType
from skills.framework.redaction import guard_output, register_opened, watch_secrets

guard_output(); guard_output()
logging.basicConfig(level="INFO", stream=sys.stdout)
log = logging.getLogger("library")
print("before word-one")
with watch_secrets():
    register_opened(Secret("s", CredentialType.API_KEY, {"key": "word-one"}))
    print("printed", "word-one", flush=True)
    sys.stdout.writelines(["lines word-one\\n"])
    sys.stderr.write("written word-one\\n")
    log.info("GET https://host.test/?key=%s", "word-one")
    log.info("broken %d", "word-one")
    try:
        try:
            raise ValueError("word-one")
        except ValueError as error:
            raise KeyError("word-one") from error
    except KeyError:
        log.exception("failed with %r", {"k": "word-one"})
log.info("after %s", "word-one")
"""


def test_prints_and_log_lines_of_libraries_show_nothing_that_is_open() -> None:
    """CV-02: not what was opened elsewhere either: outside of the call nothing is touched."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if "word-one" in line] == ["before word-one", "INFO:library:after word-one"]
    for said in (
        "printed [secret]",
        "lines [secret]",
        "written [secret]",
        "INFO:library:GET https://host.test/?key=[secret]",
        "INFO:library:a line that cannot be formatted",
        "ERROR:library:failed with {'k': '[secret]'}",
        "ValueError: [secret]",
        "KeyError: '[secret]'",
    ):
        assert said in lines, said
