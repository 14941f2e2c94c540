"""The program that Ray starts as HAProxy: mends the configuration Ray wrote, ends a forgotten proxy, becomes HAProxy.

Ray takes the path of the program from RAY_SERVE_HAPROXY_BINARY_PATH and writes the configuration itself, from a
template (ray/serve/_private/haproxy_templates.py, 2.60) in which a path without a route is answered with 404 and a
backend without a server with 500. Both mean here that the API is not there yet. Run as
`python -I -S proxy.py <haproxy> <error file> <arguments of Ray's>`: nothing but the standard library is there.
"""

import os
import re
import signal
import sys
from contextlib import suppress
from pathlib import Path

NO_ROUTE = re.compile(r'^ *http-request return status 404 content-type text/plain lf-string "Path .*$', re.MULTILINE)
NO_SERVER = re.compile(r"^ *errorfile (50[234]) .*$", re.MULTILINE)
FALLBACK = re.compile(r"^ *server SERVE_PROXY_ACTOR\S* .* backup$", re.MULTILINE)
# What Ray's other proxy says of itself, and not for a replica: it knows no such route yet, or no replica behind it.
ITS_OWN = (
    "    http-response deny deny_status 503 if { srv_name -m beg SERVE_PROXY_ACTOR } { status 404 500 503 } "
    "{ res.hdr(content-type) -m beg text/plain }\n"
)
ALONE = "-dR"  # nobody else may have the port
TAKES_OVER = "-sf"


def mend_config(text: str, error_file: str) -> str:
    """Ray's configuration, with a 503 that says when to come back in the place of 404 and 500; a repeat is harmless.

    While replicas are replaced Ray falls back to another proxy of its own, which lets everybody wait until one is
    there; but a route that it does not know yet it answers with 404, in plain text.
    """
    text = NO_ROUTE.sub("    http-request deny deny_status 503", text)
    text = NO_SERVER.sub(rf"    errorfile \1 {error_file}", text)
    return FALLBACK.sub(lambda found: ITS_OWN + found.group(), text.replace(ITS_OWN, ""))


def haproxy_arguments(given: list[str]) -> list[str]:
    """The arguments that HAProxy is started with: the first one shares the port with who holds it until then."""
    return given if TAKES_OVER in given else [one for one in given if one != ALONE]


def forgotten_proxies(config: str, proc: Path = Path("/proc")) -> list[int]:
    """Proxies with this configuration whose manager is not ours: it was killed, and they hold the port."""
    found = []
    for entry in proc.iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with suppress(OSError, IndexError, ValueError):  # processes end
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = int((entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            if config.encode() in words and words[0].endswith(b"haproxy") and parent != os.getppid():
                found.append(int(entry.name))
    return found


def main(words: list[str]) -> None:
    """Mend, and become HAProxy."""
    program, error_file, *given = words
    if "-f" in given:
        config = given[given.index("-f") + 1]
        path = Path(config)
        path.write_text(mend_config(path.read_text(), error_file))
        for pid in [] if TAKES_OVER in given else forgotten_proxies(config):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    os.execv(program, [program, *haproxy_arguments(given)])


if __name__ == "__main__":
    main(sys.argv[1:])
