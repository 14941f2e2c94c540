"""The looks of a page: light and dark, wide and narrow; and pictures of it in each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from PIL import Image
from playwright.sync_api import Page

from tests.acceptance.console.fields import painted
from tests.acceptance.console.lines import Lines

HEIGHT: Final = 860
RASTER_MS: Final = 500  # a large image is drawn some time after it was decoded, and nothing tells when
Shot = Callable[[Page, str], None]


@dataclass(frozen=True, slots=True)
class Look:
    """A colour scheme, and a width in pixels."""

    scheme: Literal["light", "dark"]
    width: int

    def at(self, page: Page) -> None:
        """Look at it so."""
        page.emulate_media(color_scheme=self.scheme)
        page.set_viewport_size({"width": self.width, "height": HEIGHT})

    def __str__(self) -> str:
        return f"{self.scheme} {self.width}"


USUAL: Final = Look("light", 1280)
LOOKS: Final = (USUAL, Look("dark", 1280), Look("light", 390), Look("dark", 390))


def pictures(folder: Path, looks: Sequence[Look], lines: Lines) -> Shot:
    """`shot(page, name)` writes a picture of each look, once everything on the page is painted."""
    folder.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        for look in looks:
            look.at(page)
            page.evaluate("scrollTo(0, 0)")  # what sticks to the window would stand in the middle of the picture
            painted(page)
            page.wait_for_timeout(RASTER_MS)
            path = folder / f"{name}-{look.width}-{look.scheme}.png"
            page.screenshot(path=path, full_page=True)
            with Image.open(path) as picture:
                darkest, brightest = picture.convert("L").getextrema()
                assert darkest != brightest, f"{path.name} is blank"
        USUAL.at(page)
        lines.pictured.add(page.url.partition("/console")[2].partition("?")[0].strip("/"))

    return take
