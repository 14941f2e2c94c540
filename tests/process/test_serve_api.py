"""Who answers in place of Ray's dashboard: with the token what Ray's own module says, without it nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path

from cluster.ray_daemons.serve_api import parse_words

ASK = """
import asyncio, json, os, sys
from aiohttp import ClientSession, web
from cluster.ray_daemons.serve_routes import make_application, serve_routes
from ray.dashboard.modules.serve.serve_head import ServeHead

async def fine(request):
    return web.Response(text="fine")

async def main():
    told = {"routes": sorted(f"{one.method} {one.path}" for one in serve_routes(object.__new__(ServeHead)))}
    runner = web.AppRunner(make_application([web.get("/x", fine), web.put("/x", fine)]))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    async with ClientSession() as http:
        async def status(method, path, **headers):
            async with http.request(method, f"http://127.0.0.1:{port}{path}", headers=headers) as reply:
                return reply.status
        token = {"Authorization": "Bearer " + "a" * 64}
        told["without"] = await status("GET", "/x")
        told["elsewhere without"] = await status("GET", "/api/jobs/")
        told["wrong"] = await status("GET", "/x", Authorization="Bearer " + "b" * 64)
        told["with"] = await status("GET", "/x", **token)
        told["elsewhere"] = await status("GET", "/api/jobs/", **token)
        told["browser"] = await status("PUT", "/x", **token, **{"User-Agent": "Mozilla/5.0", "Origin": "http://evil"})
    print(json.dumps(told))
asyncio.run(main())
"""


def test_only_who_has_the_token_is_answered_and_only_what_is_used(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("a" * 64)
    given = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    told = json.loads(done.stdout.splitlines()[-1])
    assert {"GET /api/serve/applications/", "PUT /api/serve/applications/"} <= set(told.pop("routes"))
    assert told.pop("wrong") in (401, 403)
    assert told == {"without": 401, "elsewhere without": 401, "with": 200, "elsewhere": 404, "browser": 405}


def test_of_the_words_for_rays_dashboard_those_are_read_that_matter() -> None:
    """As `ray start` gives them."""
    given = parse_words(
        [
            *("--host=127.0.0.1", "--port=8265", "--port-retries=0", "--temp-dir=/t", "--log-dir=/t/s/logs"),
            *("--session-dir=/t/s", "--logging-rotate-bytes=1", "--gcs-address=127.0.0.1:6399", "--cluster-id-hex=ab"),
            *("--node-ip-address=127.0.0.1", "--proxy-server-url=", "--modules-to-load=UsageStatsHead"),
            "--disable-frontend",
        ]
    )
    assert (given.host, given.port, given.session_dir, given.cluster_id_hex) == ("127.0.0.1", 8265, "/t/s", "ab")
