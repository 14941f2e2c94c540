"""Gradio's components in our colours: the same variables as console.css, light and dark, fonts of the system."""

from gradio.themes import Base, Color, Size

_INK = Color(
    *("#f7f8fa", "#eef0f3", "#dfe3e8", "#c6ccd5", "#97a1af", "#667080"),
    *("#4b5563", "#374151", "#20262e", "#171b21", "#0f1216"),
)
_TEAL = Color(
    *("#eef8f7", "#d5efec", "#aeded9", "#7cc7c0", "#45a8a0", "#1f8a82"),
    *("#0f6f69", "#0d5955", "#0c4744", "#0a3936", "#062624"),
)
_FONT = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "DejaVu Sans", "sans-serif")
_MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")
_ROUND = Size("2px", "3px", "4px", "6px", "8px", "10px", "12px")
# The variables of console.css change with the scheme by themselves.
_COLOURS = {
    "body_background_fill": "var(--aos-ground)",
    "body_text_color": "var(--aos-ink)",
    "background_fill_primary": "var(--aos-paper)",
    "background_fill_secondary": "var(--aos-ground)",
    "block_background_fill": "var(--aos-paper)",
    "border_color_primary": "var(--aos-line)",
    "block_border_color": "var(--aos-line)",
    "input_background_fill": "var(--aos-paper)",
    "input_border_color": "var(--aos-line-strong)",
    "button_primary_background_fill": "var(--aos-accent)",
    "button_primary_background_fill_hover": "var(--aos-accent-strong)",
    "button_primary_text_color": "var(--aos-on-accent)",
}


def make_theme() -> Base:
    """A theme that loads nothing."""
    theme = Base(
        primary_hue=_TEAL, secondary_hue=_TEAL, neutral_hue=_INK, font=_FONT, font_mono=_MONO, radius_size=_ROUND
    )
    both = {f"{name}{scheme}": colour for name, colour in _COLOURS.items() for scheme in ("", "_dark")}
    return theme.set(block_shadow="none", **both)
