"""Ray's own HTTP API: asked with its token, and every way in which it fails told by our names."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from cluster.basics.errors import Unavailable

Shape = TypeVar("Shape")


@dataclass(frozen=True, slots=True)
class RayDashboard:
    """Ray's own HTTP API (nodes, Serve, jobs): its base URL and the headers that open it."""

    url: str
    headers: dict[str, str]

    def get(self, path: str, shape: Callable[[Any], Shape], seconds: float = 10) -> Shape:
        """GET a path and parse its JSON with `shape`.

        Raises Unavailable where nothing answers there, the token is refused, or it is not what a healthy Ray answers.
        """
        answer = self._send_request("GET", path, seconds)
        if answer.status_code != 200:
            raise Unavailable(f"Ray's dashboard answers {path} with {answer.status_code}: {answer.text[-2000:]}")
        try:
            return shape(answer.json())
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            what = f"{type(error).__name__} {error} in {answer.text[:200]!r}"
            raise Unavailable(f"Ray's dashboard answers {path} with what cannot be read: {what}") from error

    def put(self, path: str, body: Any, seconds: float = 120) -> None:
        """Send JSON; nothing is answered. Raises Unavailable as `get`, and where Ray does not take it."""
        answer = self._send_request("PUT", path, seconds, body)
        if answer.status_code != 200:
            raise Unavailable(f"Ray refuses what is put to {path} ({answer.status_code}): {answer.text[-2000:]}")

    def _send_request(self, method: str, path: str, seconds: float, body: Any = None) -> httpx.Response:
        try:
            answer = httpx.request(method, self.url + path, json=body, headers=self.headers, timeout=seconds)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = f"{type(error).__name__} {error}".strip()
            raise Unavailable(f"Ray's dashboard does not answer at {self.url}: {why}", fix="Run `aos up`.") from error
        if answer.status_code in {401, 403}:
            raise Unavailable(
                f"Ray at {self.url} refuses our token", fix="Put its token into <AOS_STATE_DIR>/ray-token."
            )
        return answer
