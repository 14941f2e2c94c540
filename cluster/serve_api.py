"""What is asked of Ray's dashboard, Serve's applications, answered by one process instead of three.

Ray's dashboard runs each of its modules in a process of its own, forked by a third one, and asks it once a second
whether it lives: 110 MB, and half of what all of it computes. Here the one module that is used answers by itself.
"""

import argparse
import asyncio
import inspect
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from aiohttp import web
from ray import ray_constants
from ray._private.authentication.http_token_authentication import get_token_auth_middleware
from ray._private.ray_logging import setup_component_logger
from ray.dashboard.modules.serve.serve_head import ServeHead
from ray.dashboard.optional_utils import get_browser_request_middleware
from ray.dashboard.subprocesses.module import SubprocessModuleConfig

import cluster.worker_start  # noqa: F401  # Ray Serve comes with the first question

READING = {"GET", "HEAD", "OPTIONS"}  # all that a browser may ask
LOG = "dashboard.log"  # where Ray's own writes
LOG_BYTES, LOG_FILES = 2**24, 2


def serve_routes(module: ServeHead) -> Iterable[web.RouteDef]:
    """The routes of Ray's own module."""
    for _, handler in inspect.getmembers(module, inspect.ismethod):
        if hasattr(handler, "__route_method__"):
            yield web.route(handler.__route_method__, handler.__route_path__, handler)


def make_application(routes: Iterable[web.RouteDef]) -> web.Application:
    """Ray's own rules: nothing for whoever has not the cluster's token, nothing is changed by a browser."""
    of_ray: Any = SimpleNamespace(web=web)  # as its middlewares want it
    rules = [get_token_auth_middleware(of_ray), get_browser_request_middleware(of_ray, READING)]
    made = web.Application(client_max_size=ray_constants.DASHBOARD_CLIENT_MAX_SIZE, middlewares=rules)
    made.add_routes(routes)
    return made


async def answer_forever(given: argparse.Namespace) -> None:
    """Answer, and tell `ray start` and whoever looks for Ray's dashboard where."""
    config = SubprocessModuleConfig(
        cluster_id_hex=given.cluster_id_hex,
        gcs_address=given.gcs_address,
        session_name=given.session_dir.rpartition("/")[2],
        temp_dir=given.temp_dir,
        session_dir=given.session_dir,
        logging_level=ray_constants.LOGGER_LEVEL,
        logging_format=ray_constants.LOGGER_FORMAT,
        log_dir=given.log_dir,
        logging_filename=LOG,
        logging_rotate_bytes=LOG_BYTES,
        logging_rotate_backup_count=LOG_FILES,
        socket_dir="",
    )
    module = ServeHead(config)
    runner = web.AppRunner(make_application(serve_routes(module)), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, given.host, given.port).start()
    await module.gcs_client.async_internal_kv_put(
        ray_constants.DASHBOARD_ADDRESS.encode(),
        f"{given.host}:{given.port}".encode(),
        True,
        namespace=ray_constants.KV_NAMESPACE_DASHBOARD,
    )
    await asyncio.Event().wait()


def parse_words(words: Sequence[str] | None = None) -> argparse.Namespace:
    """Of the options of Ray's dashboard those that are used here; the others are let pass."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    for name in ("host", "gcs-address", "cluster-id-hex", "temp-dir", "session-dir", "log-dir"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", required=True, type=int)
    return parser.parse_known_args(words)[0]


def main() -> None:
    """Answer until a signal ends it, or Ray's GCS is no more: Ray ends its own drivers."""
    given = parse_words()
    setup_component_logger(
        logging_level=ray_constants.LOGGER_LEVEL,
        logging_format=ray_constants.LOGGER_FORMAT,
        log_dir=given.log_dir,
        filename=LOG,
        max_bytes=LOG_BYTES,
        backup_count=LOG_FILES,
    )
    asyncio.run(answer_forever(given))


if __name__ == "__main__":
    main()
