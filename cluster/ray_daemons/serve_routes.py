"""The routes of Ray's dashboard that somebody here uses, and Ray's own rules about who is answered."""

import asyncio
import importlib
import inspect
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from ray import ray_constants
from ray._private.authentication.http_token_authentication import get_token_auth_middleware
from ray.dashboard.modules.serve.serve_head import ServeHead
from ray.dashboard.optional_utils import get_browser_request_middleware
from ray.dashboard.subprocesses.module import SubprocessModuleConfig

READING = {"GET", "HEAD", "OPTIONS"}  # all that a browser may ask


def serve_routes(module: ServeHead) -> Iterable[web.RouteDef]:
    """The routes of Ray's own module."""
    methods: list[tuple[str, Any]] = inspect.getmembers(module, inspect.ismethod)
    for _, handler in methods:
        if hasattr(handler, "__route_method__"):
            yield web.route(handler.__route_method__, handler.__route_path__, handler)


def make_application(routes: Iterable[web.RouteDef]) -> web.Application:
    """Ray's own rules: nothing for whoever has not the cluster's token, nothing is changed by a browser."""
    of_ray: Any = SimpleNamespace(web=web)  # as its middlewares want it
    rules = [get_token_auth_middleware(of_ray), get_browser_request_middleware(of_ray, READING)]
    made = web.Application(client_max_size=ray_constants.DASHBOARD_CLIENT_MAX_SIZE, middlewares=rules)
    made.add_routes(routes)
    return made


async def answer_forever(config: SubprocessModuleConfig, host: str, port: int) -> None:
    """Answer at this port, in this process."""
    module = ServeHead(config)  # type: ignore[no-untyped-call]
    runner = web.AppRunner(make_application(serve_routes(module)), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    # The first question wants it, and is put as soon as Ray is there: until then there is a core for it.
    await asyncio.to_thread(importlib.import_module, "ray.serve.schema")
    await asyncio.Event().wait()
