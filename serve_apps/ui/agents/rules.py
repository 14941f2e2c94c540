"""The tab Approvals of an agent: which of its calls run, which wait for a person, which are refused."""

import gradio as gr

from serve_apps.ui.agents.edit import agent_asked
from serve_apps.ui.agents.views import rules_view
from serve_apps.ui.kit.blocks import loading
from serve_apps.ui.kit.html import Html
from serve_apps.ui.kit.html_component import part
from serve_apps.ui.kit.page import QUIET, Desk, told


def draw(desk: Desk, blocks: gr.Blocks, tab: gr.Tab) -> None:
    """The tab; it is asked for anew each time it is looked at, for skills come and go."""
    body = part(loading())

    async def rules(request: gr.Request, id_: str) -> Html:
        found = await desk.api(request).get(f"/api/agents/{id_}/rules")
        return rules_view(desk, found["items"])

    async def show(request: gr.Request) -> Html:
        id_ = agent_asked(request)
        return loading() if id_ is None else await told(rules(request, id_))

    blocks.load(show, None, body, **QUIET)
    tab.select(show, None, body, **QUIET)
