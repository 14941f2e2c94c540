"""`aos login --sso`: the browser comes back to a port of this machine, and the code is redeemed; and `--directory`."""

import json
import subprocess
import sys
import threading
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from cluster.cli import run_command
from cluster.console.provider_login import NoBrowserAnswer, sign_in_by_browser
from tests.fakes.api_server import ApiServer

ROOT = Path(__file__).resolve().parents[2]
START = "/api/auth/oidc/corp/start"


class Browser:
    """Comes back with this, from a thread of its own, as a browser does; what else it asks for first is kept."""

    def __init__(self, **brought: str) -> None:
        self.brought, self.address, self.favicon = brought, "", 0

    def __call__(self, address: str) -> None:
        self.address = address
        threading.Thread(target=self._come_back, daemon=True).start()

    def _come_back(self) -> None:
        back = parse_qs(urlsplit(self.address).query)["return_to"][0]
        self.favicon = httpx.get(back.replace("/aos", "/favicon.ico")).status_code
        httpx.get(f"{back}?{urlencode(self.brought)}")


def test_the_code_comes_with_what_its_challenge_was_made_of() -> None:
    browser, said = Browser(code="c.1"), list[str]()
    found = sign_in_by_browser("http://aos.test", START, said.append, open_browser=browser, wait_seconds=20)
    asked = parse_qs(urlsplit(browser.address).query)
    digest = urlsafe_b64encode(sha256(found.verifier.encode()).digest()).rstrip(b"=").decode()
    assert (found.code, asked["challenge"]) == ("c.1", [digest]) and len(found.verifier) >= 43
    assert said == [browser.address] and browser.address.startswith(f"http://aos.test{START}?")
    assert asked["return_to"][0].startswith("http://127.0.0.1:") and browser.favicon == 404


def test_an_error_and_a_browser_that_never_comes_are_said() -> None:
    for browser, seconds in ((Browser(error="nothing_granted"), 20.0), (lambda address: None, 0.2)):
        with pytest.raises(NoBrowserAnswer) as refused:
            sign_in_by_browser("http://aos.test", START, lambda _: None, open_browser=browser, wait_seconds=seconds)
        assert seconds < 1 or "nothing_granted" in str(refused.value)


BROWSER = """#!{python}
import sys, urllib.parse, urllib.request
asked = urllib.parse.parse_qs(urllib.parse.urlsplit(sys.argv[1]).query)
urllib.request.urlopen(asked["return_to"][0] + "?code=c.2")
"""


def test_login_keeps_the_tokens_of_a_provider(
    api: ApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The program as it is, with the browser that the user's environment names."""
    listed = {"items": [{"name": "corp", "title": "Corp", "start": START}]}
    tokens = {"access_token": "a1", "refresh_token": "r1", "email": "ann@corp.example"}
    api.answers |= {"GET /api/auth/providers": listed, "POST /api/auth/oidc/redeem": tokens}
    assert run_command(["login", "--sso", "nobody"]) == 1
    assert "There are: corp." in capsys.readouterr().err
    browser = tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable), encoding="utf-8")
    browser.chmod(0o700)
    environment = {
        "PATH": "/usr/bin:/bin",
        "BROWSER": f"{browser} %s",
        "AOS_URL": api.url,
        "AOS_STATE_DIR": str(tmp_path),
    }
    line = [sys.executable, "-m", "cluster.cli", "login", "--sso", "corp"]
    done = subprocess.run(line, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "as ann@corp.example" in done.stdout
    (redeemed,) = api.of("POST /api/auth/oidc/redeem")
    assert redeemed.body["code"] == "c.2" and len(redeemed.body["verifier"]) >= 43
    kept = json.loads((tmp_path / "credentials.json").read_text(encoding="utf-8"))
    assert kept[api.url] == {"access": "a1", "refresh": "r1"}


def test_login_by_a_directory_keeps_its_tokens(api: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """AU-03: the password goes where the directory's passwords go, and a browser's provider is none."""
    listed = [{"name": "web", "title": "Web", "kind": "oidc", "start": START}]
    listed += [{"name": "ad", "title": "AD", "kind": "directory", "start": "/api/auth/login/ad"}]
    tokens = {"access_token": "a1", "refresh_token": "r1", "email": "ann@corp.example"}
    api.answers |= {"GET /api/auth/providers": {"items": listed}, "POST /api/auth/login/ad": tokens}
    assert run_command(["login", "--directory", "web", "--email", "ann", "--password", "x"]) == 1
    assert "There are: ad." in capsys.readouterr().err
    assert run_command(["login", "--sso", "ad"]) == 1
    assert run_command(["login", "--directory", "ad", "--email", "ann", "--password", "x"]) == 0
    assert "as ann@corp.example" in capsys.readouterr().out
    assert api.of("POST /api/auth/login/ad")[0].body == {"username": "ann", "password": "x", "directory": "ad"}


def test_cv_06_an_account_is_connected_by_a_browser(api: ApiServer, tmp_path: Path) -> None:
    """CV-06: `aos credentials connect` sends the browser off, takes it back, and completes with the own token."""
    one = {"id": "id-1", "name": "notes", "base_url": "https://n.example", "state": "none", "connected_at": None}
    path = "/api/oauth/connections"
    begun = {"authorization_url": "http://login.example/authorize"}
    api.answers |= {f"GET {path}": {"items": [one]}, f"POST {path}/id-1": (201, begun)}
    api.answers |= {f"POST {path}/id-1/complete": {}, f"DELETE {path}/id-1": {"revoked": True}}
    environment = {"PATH": "/usr/bin:/bin", "BROWSER": "/bin/true %s", "AOS_URL": api.url, "AOS_TOKEN": api.token}
    environment |= {"AOS_STATE_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "cluster.cli", "credentials"]
    how: Any = {"env": environment, "cwd": ROOT, "text": True, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*command, "connect", "notes", "--json"], **how) as connecting:
        end = time.monotonic() + 60
        while not api.of(f"POST {path}/id-1") and time.monotonic() < end:
            time.sleep(0.05)
        (began,) = api.of(f"POST {path}/id-1")
        httpx.get(f"{began.body['return_to']}?of=id-1&state=s.1&code=c.1&iss=i")
        out, err = connecting.communicate(timeout=60)
    assert connecting.returncode == 0 and '"status": "connected"' in out, err
    assert "http://login.example/authorize" in out + err
    (completed,) = api.of(f"POST {path}/id-1/complete")
    assert completed.body == {"state": "s.1", "code": "c.1", "iss": "i"}
    done = subprocess.run([*command, "disconnect", "notes", "--json"], timeout=60, check=True, **how)
    assert json.loads(done.stdout) == {"id": "id-1", "status": "disconnected", "revoked": True}
    listed = subprocess.run([*command, "connections", "--json"], timeout=60, check=True, **how)
    assert json.loads(listed.stdout)["items"] == [one]
    unknown = subprocess.run([*command, "connect", "nothing"], timeout=60, check=False, **how)
    assert unknown.returncode == 1 and "no connection nothing" in unknown.stdout + unknown.stderr
