"""Saying what one thinks of an answer: two buttons and a word, and the thanks for it."""

from typing import Any

import gradio as gr

from serve_apps.ui.kit.html import SafeHtml, tag


def rating_buttons() -> dict[str, Any]:
    """The components by name: `judge` is the row, hidden at first, with `up`, `down` and `word` in it."""
    with gr.Row(visible=False, elem_classes="aos-judge") as row:
        up = gr.Button("Good answer", size="sm", min_width=120, scale=0)
        down = gr.Button("Not good", size="sm", min_width=120, scale=0)
        word = gr.Textbox(
            placeholder="Why? (optional)",
            label="A word about it",
            show_label=False,
            container=False,
            max_length=2000,
            min_width=160,
        )
    return {"judge": row, "up": up, "down": down, "word": word}


def thanks_notice(word: str) -> SafeHtml:
    """Notice of what was done."""
    return tag("p", word, class_="aos-notice good", role="status")
