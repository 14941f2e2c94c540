"""The HTTP API as the command line uses it: token, one refresh, problem details as named errors."""

import json
import logging
import re
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx

from cluster.basics.errors import AosError, Conflict, Unauthenticated, Unavailable
from cluster.console.login_tokens import CredentialsFile, LoginTokens
from configs.sections import HttpSettings

log = logging.getLogger("aos.cli")

EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # listening on all interfaces is reached on loopback
JSON = dict[str, Any]
PAGE = 100
EXPORT_SECONDS = 1_800.0  # in which a long document's PDF is written, before the first byte of it comes
PAGES_HEADER = "X-Export-Pages"
LONGEST_WAIT = 120.0  # seconds for a limit of requests; who has used up a day's is told so
ATTEMPTS = 3  # of a request whose connection broke, where a second one does no harm
# Where the server knows a job again by its Idempotency-Key; every other POST might be done twice.
KEYED = re.compile(r"/api/documents/(batch-scan|reindex-all|embed-pending|[^/]+/(re)?process)")


class ApiRefusal(AosError):
    """The API refused the request."""

    code = "refused"


class ApiUnavailable(ApiRefusal):
    """The API cannot be asked just now: a part of it, or all that stands behind the proxy, is being repaired."""


class WorkspaceMoved(Conflict):
    """You are in another workspace now."""

    code = "own_workspace"
    fix = "Run it again to do it in your oldest workspace, where you are signed in from now on."


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One server-sent event; `id` is what to come back with."""

    id: str | None
    name: str
    data: JSON


@dataclass(frozen=True, slots=True)
class ApiClient:
    """One server and who we are there."""

    url: str  # base URL without a trailing slash
    token: str | None  # given by the caller (AOS_TOKEN); it beats what `aos login` stored and is never refreshed
    credentials: CredentialsFile  # where `aos login` stored its tokens
    sleep: Callable[[float], None] = time.sleep

    def login(self, email: str, password: str, directory: str | None = None) -> JSON:
        """Sign in and keep the tokens; the answer has `must_change_password`.

        `directory`: whose login and password these are, where it is not an account here.
        """
        body, path = {"email": email, "password": password}, "/api/auth/login"
        if directory is not None:
            body, path = {"username": email, "password": password, "directory": directory}, "/api/auth/login/ad"
        answer = _read_json(self._send_request("POST", path, None, json=body))
        self._keep_tokens(answer)
        return answer

    def providers(self) -> list[JSON]:
        """Providers and directories by which people may sign in, each with its name, title, kind and start."""
        found: list[JSON] = _read_json(self._send_request("GET", "/api/auth/providers", None))["items"]
        return found

    def redeem(self, code: str, verifier: str) -> JSON:
        """Keep the tokens of a sign-in by a provider."""
        body = {"code": code, "verifier": verifier}
        answer = _read_json(self._send_request("POST", "/api/auth/oidc/redeem", None, json=body))
        self._keep_tokens(answer)
        return answer

    def change_password(self, old: str, new: str) -> None:
        """Choose a new password; the answer's tokens replace those that are void now."""
        answer = self.request("POST", "/api/auth/password", json={"current_password": old, "new_password": new})
        self._keep_tokens(answer)

    def _keep_tokens(self, answer: JSON) -> None:
        self.credentials.write(self.url, LoginTokens(answer["access_token"], answer["refresh_token"]))

    def request(self, method: str, path: str, **options: Any) -> JSON:
        """One call with our token; an expired one is refreshed once.

        Raises Unavailable where nobody listens at the URL, Unauthenticated without a token that is accepted,
        ApiUnavailable while it is started or repaired, and ApiRefusal with the API's own detail and fix for the rest.
        """
        return _read_json(self._send_authorized(method, path, **options))

    def download(self, path: str) -> bytes:
        """The bytes behind a path; raises as `request`."""
        answer = self._send_authorized("GET", path)
        if not answer.is_success:
            _read_json(answer)
        return answer.content

    def save_file(self, path: str, target: Path, received: Callable[[int, int | None], None], **params: Any) -> str:
        """Write what is behind a path into a file, which is there when all of it came; its header of page counts.

        Args:
            received: told after each block how many bytes came, and how many there are, if that is known.

        Raises as `request`, and Unavailable where the answer breaks off; nothing stays behind then.
        """
        unfinished = target.with_name(f"{target.name}.part")
        options: dict[str, Any] = {"params": params, "timeout": httpx.Timeout(EXPORT_SECONDS, connect=10)}
        options |= {"verify": self.url.startswith("https:")}
        token = self.bearer()
        try:
            for attempt in (1, 2):
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                with httpx.stream("GET", self.url + path, headers=headers, **options) as answer:
                    if answer.status_code == 401 and attempt == 1 and (token := self.renewed()) is not None:
                        continue
                    if not answer.is_success:
                        answer.read()
                        _read_json(answer)
                    _write_blocks(answer, unfinished, received)
                    unfinished.replace(target)
                    return answer.headers.get(PAGES_HEADER, "")
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise self._nobody_answers(error) from error
        except httpx.TransportError as error:
            what = f"the answer from {self.url} broke off ({error})"
            raise Unavailable(what, fix="Run it again; `aos doctor` shows what is not well.") from error
        finally:
            unfinished.unlink(missing_ok=True)
        raise AssertionError("the loop returns or raises")

    def _send_authorized(self, method: str, path: str, **options: Any) -> httpx.Response:
        used = self.bearer()
        answer = self._send_request(method, path, used, **options)
        if answer.status_code == 401 and (renewed := self.renewed()) is not None:
            moved = used is not None and _workspace_in(used) != _workspace_in(renewed)
            if moved and method not in {"GET", "HEAD"}:  # it was meant for the workspace that is gone
                raise WorkspaceMoved("the workspace that you were signed in to is gone, and nothing was done")
            answer = self._send_request(method, path, renewed, **options)
        return answer

    def events(self, method: str, path: str, last: str | None = None, **options: Any) -> Iterator[ServerSentEvent]:
        """One call whose answer is a stream of server-sent events (WHATWG); nothing is sent twice.

        `last` is the id of the last event that is known. Raises as `request`, and Unavailable where the stream breaks.
        """
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last} if last else {})
        options |= {"timeout": httpx.Timeout(60, connect=10)}  # the server is never silent for longer than 15 s
        options |= {"verify": self.url.startswith("https:")}
        token = self.bearer()
        for attempt in (1, 2):
            if token:
                headers["Authorization"] = f"Bearer {token}"
            try:
                with httpx.stream(method, self.url + path, headers=headers, **options) as answer:
                    if answer.status_code == 401 and attempt == 1 and (token := self.renewed()) is not None:
                        continue
                    if not answer.is_success:
                        answer.read()
                        _read_json(answer)
                    yield from _parse_events(answer.iter_lines())
                    return
            except httpx.ConnectError as error:
                raise self._nobody_answers(error) from error
            except httpx.TransportError as error:
                what, fix = f"the stream from {self.url} broke ({error})", "See how far it came: aos runs list"
                raise Unavailable(what, fix=fix) from error

    def _nobody_answers(self, error: Exception) -> Unavailable:
        return Unavailable(f"nobody answers at {self.url} ({error})", fix="Run `aos up`, or give --url / AOS_URL.")

    def bearer(self) -> str | None:
        """Our token as it is now; None where nobody is signed in."""
        stored = None if self.token else self.credentials.read(self.url)
        return self.token or (stored.access if stored else None)

    def renewed(self) -> str | None:
        """A new access token for the stored refresh token, None where there is none or it is refused."""
        stored = None if self.token else self.credentials.read(self.url)
        if stored is None:
            return None
        fresh = self._send_request("POST", "/api/auth/refresh", None, json={"refresh_token": stored.refresh})
        if fresh.status_code != 200:
            return None
        body = fresh.json()
        renewed = LoginTokens(body["access_token"], body.get("refresh_token", stored.refresh))
        self.credentials.write(self.url, renewed)
        return renewed.access

    def ingest(self, path: str, agent: str | None, key: str | None, languages: str | None = None) -> JSON:
        """Start a bulk job over a folder or file that the server can read; returns job_id and status."""
        body = {"path": path} | ({"agent_id": agent} if agent else {})
        body |= {"languages": languages} if languages else {}
        headers = {"Idempotency-Key": key or str(uuid4())}
        return self.request("POST", "/api/documents/batch-scan", json=body, headers=headers)

    def estimate(self, path: str, agent: str | None) -> JSON:
        """A dry run of `ingest`: files to be found and time to be taken, by the server; nothing is started."""
        body = {"path": path, "dry_run": True} | ({"agent_id": agent} if agent else {})
        return self.request("POST", "/api/documents/batch-scan", json=body)

    def documents(self, limit: int | None = None, parent: str | None = None, sort: str | None = None) -> Iterator[JSON]:
        """Every document that this user may see, page by page; of `parent` alone, what came out of it."""
        within = {name: value for name, value in (("parent", parent), ("sort", sort)) if value}
        found = 0
        while True:
            size = PAGE if limit is None else min(PAGE, limit - found)
            page = self.request("GET", "/api/documents/", params={"limit": size, "skip": found, **within})
            yield from page["items"]
            found += len(page["items"])
            if not page["items"] or found >= page["total"] or found == limit:
                return

    def pages(self, document_id: str) -> list[JSON]:
        """The text of every page, `{number, text, failure, caveats}`; the API sends it escaped, without marks here."""
        found: list[JSON] = []
        first: int | None = 1
        while first is not None:
            path = f"/api/documents/{document_id}/content"
            part = self.request("GET", path, params={"first_page": first, "pages": PAGE})
            for page in part["pages"]:
                text, caveats = unescape(page["html"]), page.get("caveats", [])
                found.append({"number": page["number"], "text": text, "failure": page["failure"], "caveats": caveats})
            first = part["next_page"]
        return found

    def _send_request(self, method: str, path: str, token: str | None, **options: Any) -> httpx.Response:
        headers = dict(options.pop("headers", {}))
        if token:
            headers["Authorization"] = f"Bearer {token}"
        keyed = method == "POST" and KEYED.fullmatch(path) is not None
        if keyed:
            headers.setdefault("Idempotency-Key", str(uuid4()))
        repeatable = keyed or method in {"GET", "HEAD"}
        waited = 0.0
        secure = self.url.startswith("https:")  # certificates are loaded only where they are used: 50 ms a call
        attempt = 0
        while attempt < ATTEMPTS:
            attempt += 1
            try:
                answer = httpx.request(method, self.url + path, headers=headers, timeout=180, verify=secure, **options)
                pause = _limit_pause(answer)
                if pause is None or waited + pause > LONGEST_WAIT or "files" in options:
                    return answer
                log.warning("too many requests: going on in %d s", pause)
                self.sleep(pause)
                waited, attempt = waited + pause, 0  # it was refused before anything was done
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing was sent
                if attempt == ATTEMPTS:
                    raise self._nobody_answers(error) from error
            except httpx.TransportError as error:
                if attempt == ATTEMPTS or not repeatable:
                    raise Unavailable(
                        f"the connection to {self.url} broke before the answer ({error})",
                        fix="Look whether it was done before you repeat it; `aos doctor` shows what is not well.",
                    ) from error
        raise AssertionError("the loop returns or raises")


def _limit_pause(answer: httpx.Response) -> float | None:
    """Seconds until a refused request may come again; None where it was not refused by a limit of requests."""
    if answer.status_code != 429 or "json" not in answer.headers.get("content-type", ""):
        return None
    body = answer.json()
    limited = isinstance(body, dict) and body.get("code") == "rate_limited"
    seconds = answer.headers.get("Retry-After", "")
    return float(seconds) if limited and seconds.isdigit() else None


def _write_blocks(answer: httpx.Response, path: Path, received: Callable[[int, int | None], None]) -> None:
    size = answer.headers.get("Content-Length")
    total = int(size) if size else None
    count = 0
    with path.open("wb") as file:
        for block in answer.iter_bytes():
            file.write(block)
            count += len(block)
            received(count, total)


def _parse_events(lines: Iterable[str]) -> Iterator[ServerSentEvent]:
    """Events of a stream; an empty line ends each, lines that begin with a colon are its pulse."""
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif not line and "data" in fields:
            yield ServerSentEvent(fields.get("id"), fields.get("event", "message"), json.loads(fields["data"]))
            fields = {}


def _workspace_in(token: str) -> str | None:
    """The workspace that an access token is for, as it says itself; the server alone knows whether that is so."""
    try:
        body = token.split(".")[1]
        return str(json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))["wid"])
    except (ValueError, LookupError, TypeError):
        return None


def base_url(http: HttpSettings) -> str:
    """The URL at which a client on this machine reaches the gateway."""
    return f"http://{EVERYWHERE.get(http.host, http.host)}:{http.port}"


def _read_json(answer: httpx.Response) -> JSON:
    if answer.is_success:
        return dict(answer.json()) if answer.content else {}
    ours = "json" in answer.headers.get("content-type", "")
    body = answer.json() if ours else None
    problem: JSON = body if isinstance(body, dict) else {}
    detail = problem.get("detail") or problem.get("title") or answer.text[:500] or answer.reason_phrase
    if answer.status_code == 401:
        raise Unauthenticated(str(detail), fix="Run `aos login`, or set AOS_TOKEN.")
    # The API's own errors are JSON. What says "not found" or "server error" in plain text is the proxy before it, which
    # has no route or no replica to hand a request to.
    away = answer.status_code in (502, 503, 504) or (answer.status_code in (404, 500) and not ours)
    kind = ApiUnavailable if away else ApiRefusal
    raise kind(f"{detail} ({answer.status_code})", fix=str(problem.get("fix") or ""))
