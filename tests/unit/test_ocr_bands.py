"""Light letters on dark bands are turned round where they are; pictures, edges and ordinary pages are left alone."""

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pipelines.documents.ocr.bands import invert_bands, light_on_dark
from pipelines.documents.ocr.preprocess import prepare_page
from pipelines.documents.ocr.survey import paper_background

Grey = NDArray[np.uint8]


def page(*bands: tuple[int, int, int, int, int], letters: str = "Head of table") -> Grey:
    """White with dark text, and bands (left, top, right, bottom, brightness) with `letters` in white."""
    picture = Image.new("L", (1600, 1000), 255)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(40)
    for row in range(6):
        draw.text((90, 500 + 70 * row), "The quick brown fox jumps over 13 lazy dogs", fill=0, font=font)
    for left, top, right, bottom, ground in bands:
        draw.rectangle((left, top, right - 1, bottom - 1), fill=ground)
        draw.text((left + 30, top + 15), letters, fill=255, font=font)
    return np.array(picture)


@pytest.mark.parametrize("ground", [0, 40, 88, 128, 150])
def test_letters_on_a_dark_band_become_dark_on_white(ground: int) -> None:
    picture = page((80, 100, 1500, 180, ground))
    (band,) = light_on_dark(picture)
    assert band.left <= 80 < 1500 <= band.right and band.top <= 100 < 180 <= band.bottom
    turned = invert_bands(picture, (band,))
    inside = turned[100:180, 80:1500]
    assert np.median(inside) == 255 and inside.min() < 40
    ink = (picture[100:180, 80:1500] > 250)[15:-15, 15:-15]
    assert inside[15:-15, 15:-15][ink].max() < 20, "every light stroke is dark now"
    assert np.array_equal(turned[200:], picture[200:]), "nothing else changes"
    assert (paper_background(turned, 4) > 240).mean() > 0.95


def test_a_band_across_the_top_is_no_scanner_edge() -> None:
    prepared = prepare_page(page((0, 0, 1600, 110, 35)), 300)
    assert prepared.steps == ("inversion of 1 bands",)
    assert (prepared.image[:110] < 60).any(), "its letters are still there"


def test_several_bands_each_with_its_own_ground() -> None:
    picture = page((80, 60, 1500, 140, 20), (80, 300, 700, 400, 110))
    assert [round(band.ground) for band in sorted(light_on_dark(picture), key=lambda one: one.top)] == [20, 110]


def test_grain_and_a_little_slant_do_not_hide_a_band() -> None:
    slanted = Image.fromarray(page((80, 100, 1500, 190, 60))).rotate(1.5, Image.Resampling.BICUBIC, fillcolor=255)
    grain = np.random.default_rng(0).normal(0, 10, (1000, 1600))
    noisy = np.clip(np.array(slanted).astype(float) + grain, 0, 255).astype(np.uint8)
    assert len(light_on_dark(noisy)) == 1


def test_no_band_on_ordinary_pages_dark_boxes_without_letters_photographs_and_black_on_grey() -> None:
    assert light_on_dark(page()) == ()
    assert light_on_dark(page((80, 100, 1500, 180, 40), letters="")) == ()
    photograph = page()
    photograph[50:450, 100:900] = np.random.default_rng(2).integers(0, 120, (400, 800))
    assert light_on_dark(photograph) == ()
    stars = page((80, 50, 1500, 450, 10), letters="")
    places = np.random.default_rng(3)
    stars[places.integers(60, 440, 3000), places.integers(90, 1490, 3000)] = 255
    assert light_on_dark(stars) == ()
    grey = np.array(Image.fromarray(page()).point(lambda value: 140 if value > 128 else 0))
    assert light_on_dark(grey) == ()


@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (3, 900), (900, 3), (40, 40)])
def test_tiny_pictures_do_no_harm(shape: tuple[int, int]) -> None:
    assert light_on_dark(np.zeros(shape, np.uint8)) == ()
