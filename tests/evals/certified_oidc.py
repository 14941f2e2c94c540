"""Sign-in and sign-out by `oidc-provider`, an OpenID-certified program that nobody here wrote, over real HTTP."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
from authlib.oauth2.rfc7636 import create_s256_code_challenge

from cluster.free_ports import free_port
from configs.sign_in_providers import OidcProvider
from serve_apps.http.auth.oidc.provider_client import OidcProviderClient
from serve_apps.http.auth.oidc.sign_in_flow import SignInFlow
from tests.evals.report import ROOT
from tests.fakes.http import Clock, make_parts, open_office
from tests.fakes.listening import serving, wait_for

PACKAGE = "oidc-provider@9.13.3"
VERIFIER = "v" * 43
MISSING = "Node.js 20 with npm is needed: https://nodejs.org, or `sudo apt-get install nodejs npm`"
HOPS = 12  # redirects and forms between the product and the provider, at most


class NoNode(Exception):
    """What runs the provider is not here."""


@contextmanager
def running(folder: Path, product: str) -> Iterator[str]:
    """The provider for a product at that URL; its issuer. It is fetched from npm the first time."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise NoNode(MISSING)
    kept = ROOT / ".reports" / "node"
    kept.mkdir(parents=True, exist_ok=True)
    if not (kept / "node_modules" / "oidc-provider").exists():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", PACKAGE], cwd=kept, check=True, timeout=300)
    script = kept / "certified_provider.mjs"
    shutil.copy(ROOT / "tests" / "fakes" / script.name, script)
    port, log = free_port(), folder / "provider.log"
    with log.open("wb") as said:
        process = subprocess.Popen(["node", str(script), str(port), product], cwd=kept, stdout=said, stderr=said)
    try:
        wait_for(lambda: process.poll() is not None or b"listening" in log.read_bytes(), 30)
        assert process.poll() is None, log.read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def walk(browser: httpx.Client, url: str, until: str, fields: dict[str, str]) -> str:
    """Follow redirects and send forms as a person would, until an address begins with `until`."""
    answer = browser.get(url)
    for _ in range(HOPS):
        if answer.is_redirect:
            url = urljoin(str(answer.url), answer.headers["location"])
            if url.startswith(until):
                return url
            answer = browser.get(url)
            continue
        form = re.search(r"<form[^>]*action=\"([^\"]+)\".*?</form>", answer.text, re.DOTALL)
        if form is None:
            return str(answer.url)
        hidden = dict(re.findall(r"<input type=\"hidden\" name=\"([^\"]+)\" value=\"([^\"]*)\"", form[0]))
        answer = browser.post(urljoin(str(answer.url), form[1]), data=hidden | fields)
    raise AssertionError(f"{HOPS} steps did not lead to {until}; the last was {answer.url}")


def measure(app_dsn: str, admin_dsn: str, folder: Path) -> dict[str, Any]:
    """What came of a sign-in and of a sign-out at the provider: status codes by name, and the role."""
    office, port = open_office(admin_dsn), free_port()
    product = f"http://127.0.0.1:{port}"
    clock = Clock()
    with running(folder, product) as issuer:
        rules = [{"value": "staff", "workspace": "w"}]
        told = {"name": "corp", "title": "Corp", "issuer": issuer, "client_id": "aos", "tenant": office.scope.tenant}
        told |= {"client_secret": "a secret that only the two know", "rules": rules, "groups": ["finance-*"]}
        parts = make_parts(app_dsn, folder, clock)
        provider = OidcProvider.model_validate(told)
        flow = SignInFlow([OidcProviderClient(provider, clock.monotonic)], product, parts.tokens)
        with serving(replace(parts, sign_in=flow), port), httpx.Client(timeout=20) as browser:
            start = f"{product}/api/auth/oidc/corp/start"
            challenge = create_s256_code_challenge(VERIFIER)
            query = httpx.QueryParams({"challenge": challenge, "return_to": "http://127.0.0.1:9/back"})
            landed = walk(browser, f"{start}?{query}", "http://127.0.0.1:9/back", {"login": "ann", "password": "x"})
            code = parse_qs(urlsplit(landed).query).get("code", [""])[0]
            assert code, landed
            signed_in = httpx.post(
                f"{product}/api/auth/oidc/redeem", json={"code": code, "verifier": VERIFIER}, timeout=20
            )
            bearer = {"Authorization": f"Bearer {signed_in.json().get('access_token', '')}"}
            before = httpx.get(f"{product}/api/agents", headers=bearer, timeout=20)
            walk(browser, f"{issuer}/session/end?client_id=aos", "nowhere", {"logout": "yes"})
            after = httpx.get(f"{product}/api/agents", headers=bearer, timeout=20)
            return {
                "signed in": signed_in.status_code,
                "role": signed_in.json().get("role"),
                "with the token": before.status_code,
                "after signing out at the provider": after.status_code,
            }
