"""Log lines of our own modules without personal data, in a process of their own: the factory is the process'."""

import subprocess
import sys

PROGRAM = """
import logging, sys
from pipelines.documents.privacy.log_lines import mask_log_lines
mask_log_lines(); mask_log_lines()
logging.basicConfig(stream=sys.stdout, format="%(name)s %(message)s")
log = logging.getLogger("serve_apps.agents")
log.warning("refused %s of %d", "ann@example.org", 3)
log.warning("two %s", "bob@example.org", "that do not fit")
try:
    raise ValueError("card 4111 1111 1111 1111")
except ValueError:
    log.exception("it failed for ann@example.org")
logging.getLogger("uvicorn.access").warning("203.0.113.7 GET /")
"""


def test_gv_04_a_log_line_of_ours_shows_no_personal_data() -> None:
    """GV-04: nor does the text of an exception; lines of libraries, such as who asked from where, stay."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert "refused [email] of 3" in done.stdout and "it failed for [email]" in done.stdout
    assert "ValueError: card [card]" in done.stdout and "Traceback" in done.stdout
    assert "a line that cannot be formatted" in done.stdout and "Logging error" not in done.stderr
    assert "203.0.113.7" in done.stdout
    assert "@example.org" not in done.stdout + done.stderr and "4111" not in done.stdout + done.stderr
