"""The form of the search lab: the question, a switch for each stage, and what may answer."""

from dataclasses import dataclass
from typing import Any, Final

import gradio as gr

from serve_apps.ui.search.asked import PACKS, PRESETS, SHOWN, STRATEGIES, TYPES, LabQuery

SWITCHED: Final = [("as rules and settings say", "auto"), ("on", "on"), ("off", "off")]
PRESET_NAMES: Final = {
    "none": "none",
    "general": "0.50 (general)",
    "search_knowledge": "0.65 (search_knowledge)",
    "semantic_search": "0.70 (semantic_search)",
    "conversation": "0.40 (conversation)",
}
PACK_NAMES: Final = {
    "off": "no context",
    "general": "2,000 tokens",
    "chat": "chat: 2,000",
    "recipe": "recipe: 4,000",
    "code": "code: 3,000",
}
STRATEGY_NAMES: Final = {"hybrid": "hybrid: words and meaning", "keyword": "only words", "vector": "only meaning"}


@dataclass(frozen=True, slots=True)
class SearchForm:
    """Attributes:
    fields: in the order of `Asked`.
    search, ask, stop: the buttons; `stop` is there while something runs.
    """

    question: gr.Textbox
    fields: tuple[Any, ...]
    search: gr.Button
    ask: gr.Button
    stop: gr.Button


def draw_form() -> SearchForm:
    """Declare it. Stages and filters are folded away until somebody wants them."""
    plain = LabQuery()
    with gr.Row(elem_classes="lab-ask", equal_height=True):
        question = gr.Textbox(
            label="Question",
            placeholder="What do you want to find in the documents?",
            scale=6,
            min_width=260,
            max_length=4_000,
            autofocus=True,
            elem_id="lab-question",
        )
        search = gr.Button("Search", variant="primary", scale=1, min_width=110)
        ask = gr.Button("Ask", scale=1, min_width=110)
        stop = gr.Button("Stop", scale=1, min_width=80, visible=False)
    with gr.Accordion("Stages and filters", open=False, elem_id="lab-switches"):
        with gr.Row():
            strategy = _choice_field("Strategy", [(STRATEGY_NAMES[one], one) for one in STRATEGIES], plain.strategy)
            preset = _choice_field("Least similarity", [(PRESET_NAMES[one], one) for one in PRESETS], plain.preset)
            rerank = _choice_field("Rerank", SWITCHED, plain.rerank)
            enhance = _choice_field("Enhance with a model", SWITCHED, plain.enhance)
        with gr.Row():
            pack = _choice_field("Pack a context", [(PACK_NAMES[one], one) for one in PACKS], plain.pack)
            cache = _choice_field("Cache", [("may answer", "on"), ("work it out anew", "off")], plain.cache)
            shown = _choice_field("Passages in the chart", [(str(one), one) for one in SHOWN], plain.shown)
            agent = gr.Dropdown([], value=None, label="As agent", info=None, min_width=180)
        with gr.Row():
            type_ = gr.Dropdown(list(TYPES), value=None, label="Type of file", allow_custom_value=True, min_width=180)
            file = gr.Textbox(label="Part of the filename", max_length=255, min_width=180)
            since = gr.DateTime(label="Uploaded from", include_time=False, type="string", min_width=180)
            until = gr.DateTime(label="Uploaded until", include_time=False, type="string", min_width=180)
    fields = (question, strategy, preset, rerank, enhance, pack, cache, shown, type_, file, since, until, agent)
    return SearchForm(question, fields, search, ask, stop)


def _choice_field(label: str, choices: list[Any], value: Any) -> gr.Dropdown:
    return gr.Dropdown(choices, value=value, label=label, filterable=False, min_width=180)
