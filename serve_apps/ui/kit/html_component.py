"""The one component of ours: HTML made by the building blocks, without Gradio's own styles for prose."""

import gradio as gr

from serve_apps.ui.kit.html import SafeHtml


def html_part(value: SafeHtml | None = None, visible: bool = True) -> gr.HTML:
    """Component that shows HTML of ours; declared in a page's `draw`, filled by its events."""
    return gr.HTML(
        value, elem_classes="aos-page", padding=False, apply_default_css=False, js_on_load=None, visible=visible
    )
