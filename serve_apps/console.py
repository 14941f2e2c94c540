"""The console deployment: Gradio pages in a replica of their own, or on a developer's machine before a product."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from fastapi import FastAPI
from ray import serve

from cluster import connect, logs
from cluster.console.api import base_url
from cluster.state.settings.settings_rows import load_with_rows
from cluster.state.settings.snapshots import SettingsSnapshots
from cluster.watch.answering import answer_from_here
from configs.sections import Settings
from configs.settings import load_settings
from serve_apps.http.auth.tokens import TokenSigner, signing_secret


@serve.deployment
@serve.ingress()
class Console:
    """Builds the application in the replica; Serve runs its start and end."""

    def __serve_build_asgi_app__(self) -> FastAPI:
        """Called by Serve once the replica is there."""
        settings = logs.follow_log_level(SettingsSnapshots(load_with_rows())).view()
        tokens = TokenSigner(signing_secret(settings.auth, settings.state_dir), settings.auth)
        app = _console_app(settings, lambda address: tokens.vouch(address, datetime.now(UTC)))
        answer_from_here(connect.liveness_folder(settings.state_dir), "console")
        return app


def build(args: dict[str, Any]) -> serve.Application:
    """The application; `args` are options of the deployment, resources come from serve.yaml."""
    return Console.options(**args).bind()  # type: ignore[attr-defined]


def local() -> FastAPI:
    """For `uvicorn --factory serve_apps.console:local`: at /console, before the product of AOS_CONSOLE_API_URL."""
    from serve_apps.ui.kit.page import PREFIX

    inside = _console_app(load_settings())
    outside = FastAPI(lifespan=inside.router.lifespan_context, openapi_url=None)
    outside.mount(PREFIX, inside)
    return outside


def _console_app(settings: Settings, vouch: Callable[[str], str] | None = None) -> FastAPI:
    # Gradio takes three seconds, and Serve finds the deployment in another process than the replica's.
    from serve_apps.ui.app import create_console
    from serve_apps.ui.kit.page import UploadLimits

    url = settings.console.api_url or base_url(settings.http)
    most, in_pieces = settings.http.max_upload_bytes, min(settings.uploads.max_bytes, settings.read.max_file_bytes)
    limits = UploadLimits(most, in_pieces)
    return create_console(settings.console, url, time.monotonic, uploads=limits, vouch=vouch)
