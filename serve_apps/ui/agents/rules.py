"""The tab Approvals of an agent: which of its calls run, which wait for a person, which are refused."""

import gradio as gr

from serve_apps.ui.agents.edit import agent_asked
from serve_apps.ui.agents.views import rules_view
from serve_apps.ui.kit.blocks import loading_notice
from serve_apps.ui.kit.html import SafeHtml
from serve_apps.ui.kit.html_component import html_part
from serve_apps.ui.kit.page import QUIET, ConsoleContext, view_or_problem


def draw_approvals_tab(desk: ConsoleContext, blocks: gr.Blocks, tab: gr.Tab) -> None:
    """The tab; it is asked for anew each time it is looked at, for skills come and go."""
    body = html_part(loading_notice())

    async def rules(request: gr.Request, id_: str) -> SafeHtml:
        found = await desk.api(request).get(f"/api/agents/{id_}/rules")
        return rules_view(desk, found["items"])

    async def show(request: gr.Request) -> SafeHtml:
        id_ = agent_asked(request)
        return loading_notice() if id_ is None else await view_or_problem(rules(request, id_))

    blocks.load(show, None, body, **QUIET)
    tab.select(show, None, body, **QUIET)
