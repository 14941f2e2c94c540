"""Small charts as inline SVG, drawn here: a line or bars, and the words for who does not see them."""

from collections.abc import Sequence

from serve_apps.ui.kit.formats import format_short
from serve_apps.ui.kit.html import SafeHtml, tag

WIDTH, HEIGHT = 240, 48
GAP = 2.0


def bar_chart(values: Sequence[float], label: str, colour: str = "accent") -> SafeHtml:
    """One bar a value, the last one lighter, as its hour is not over; `colour` is accent, good, warn or bad."""
    most = max(values, default=0.0) or 1.0
    step = WIDTH / max(1, len(values))
    drawn = []
    for n, value in enumerate(values):
        tall = max(1.5, value / most * (HEIGHT - 4))
        size = {"width": round(max(1.0, step - GAP), 2), "height": round(tall, 2)}
        class_ = "none" if not value else "open" if n == len(values) - 1 else None
        drawn.append(
            tag("rect", x=round(n * step + GAP / 2, 2), y=round(HEIGHT - tall, 2), **size, rx=1, class_=class_)
        )
    said = f"{label}: {format_short(sum(values))} in all, at most {format_short(max(values, default=0.0))}"
    shape = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "preserveAspectRatio": "none"}
    return tag("svg", tag("title", said), drawn, class_=f"chart {colour}", **shape, role="img", aria_label=said)
