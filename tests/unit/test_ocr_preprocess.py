"""The nine repairs: each happens where it is needed, a clean page passes untouched, boxes find their way back."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from pipelines.documents.ocr import geometry, preprocess
from pipelines.documents.ocr.preprocess import PreparedPage, prepare_page, rotate_page, unrepaired_page
from pipelines.documents.ocr.reading import PixelArea
from pipelines.documents.ocr.survey import is_bilevel, skew_of, survey_ink

Grey = NDArray[np.uint8]


def page(size: float = 28, lines: int = 14, width: int = 800, height: int = 700) -> Grey:
    """A clean page of text, antialiased."""
    picture = Image.new("L", (width, height), 255)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for row in range(lines):
        draw.text((60, 40 + row * size * 1.6), "Lorem ipsum dolor sit amet 2024", fill=0, font=font)
    return np.array(picture)


def rotated(picture: Grey, degrees: float) -> Grey:
    return np.array(Image.fromarray(picture).rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255))


def dots(picture: Grey, count: int) -> Grey:
    rng = np.random.default_rng(1)
    noisy = picture.copy()
    noisy[rng.integers(0, picture.shape[0], count), rng.integers(0, picture.shape[1], count)] = 0
    return noisy


def test_a_clean_page_passes_untouched() -> None:
    """IN-11: over-processing costs more than it gains."""
    clean = page()
    prepared = prepare_page(clean, 300)
    assert prepared.steps == ()
    assert prepared.image is clean
    assert np.array_equal(prepared.to_prepared, np.eye(3))
    black_and_white = np.where(clean < 128, 0, 255).astype(np.uint8)
    assert prepare_page(black_and_white, 300).steps == ()


def test_a_blank_page_has_nothing_to_read() -> None:
    grain = np.random.default_rng(0).normal(240, 3, (400, 300)).clip(0, 255).astype(np.uint8)
    for blank in (np.full((400, 300), 255, np.uint8), np.zeros((400, 300), np.uint8), grain):
        prepared = prepare_page(blank, None)
        assert not prepared.inked
        assert not any(step.startswith(("deskew", "binar", "DPI")) for step in prepared.steps)


@pytest.mark.parametrize("angle", [-7.0, -2.0, 1.5, 6.0])
def test_deskew_straightens_lines(angle: float) -> None:
    """IN-11: deskew."""
    prepared = prepare_page(rotated(page(), angle), None)
    assert [step.split()[0] for step in prepared.steps] == ["deskew"]
    left, _ = skew_of(prepared.image, 15)
    assert abs(left) < 0.3


@pytest.mark.parametrize("angle", [0.0, 0.3, -0.4])
def test_no_deskew_for_what_the_engine_bears(angle: float) -> None:
    assert preprocess.needs_deskew(rotated(page(), angle)) is None


def test_text_that_runs_upwards_is_not_skewed() -> None:
    assert preprocess.needs_deskew(np.rot90(page()).copy()) is None


def test_denoise_removes_specks_and_no_stroke() -> None:
    """IN-11: denoise."""
    clean = page()
    noisy = dots(clean, 9000)
    prepared = prepare_page(noisy, None)
    assert "denoise" in prepared.steps
    assert survey_ink(prepared.image).speckled < survey_ink(noisy).speckled / 10
    ink = clean < 60
    assert (prepared.image[ink] < 128).mean() > 0.97
    assert not preprocess.needs_denoise(survey_ink(dots(clean, 200)))


def test_contrast_whitens_dark_and_uneven_paper() -> None:
    """IN-11: contrast."""
    shade = np.linspace(0.45, 0.95, 800)[None, :]
    uneven = (page() * shade).astype(np.uint8)
    prepared = prepare_page(uneven, None)
    assert "contrast" in prepared.steps
    paper = prepared.image[5:30]
    assert paper.min() > 225
    assert np.percentile(prepared.image, 0.5) < 60


def test_white_on_black_is_inverted() -> None:
    prepared = prepare_page(255 - page(), None)
    assert prepared.steps[0] == "inversion"
    assert np.median(prepared.image) == 255


@pytest.mark.parametrize("color", [0, 40])
def test_border_removal_paints_scanner_edges(color: int) -> None:
    """IN-11: border removal; the size stays."""
    framed = page()
    framed[:24], framed[:, :40], framed[:, -16:] = color, color, color
    prepared = prepare_page(framed, None)
    assert "border removal" in prepared.steps
    assert prepared.image.shape == framed.shape
    assert prepared.image[:20].min() > 200
    assert prepared.image[60:, :30].min() > 200
    assert (prepared.image[60:600, 60:700] < 100).sum() == pytest.approx((page()[60:600, 60:700] < 100).sum(), rel=0.02)


def test_small_letters_are_enlarged_and_huge_ones_reduced() -> None:
    """IN-11: DPI scaling."""
    small = page(size=11)
    prepared = prepare_page(small, 100)
    assert prepared.steps == ("DPI scaling",)
    assert prepared.image.shape[0] > 1.3 * small.shape[0]
    assert prepared.dpi is not None
    assert prepared.dpi > 130
    huge = page(size=180, lines=7, width=3000, height=2200)
    assert prepare_page(huge, None).image.shape[0] < 1200


def test_a_side_longer_than_the_engine_takes_is_reduced() -> None:
    long = np.full((40, 40_000), 255, np.uint8)
    assert max(prepare_page(long, None).image.shape) <= 32_000


def test_enlarging_stays_within_the_limit_of_pixels() -> None:
    small = page(size=11)
    assert prepare_page(small, None, small.size).image.size <= small.size * 1.01


def test_local_threshold_where_one_level_loses_ink() -> None:
    """IN-11: threshold and binarisation, for faint text beside dark text."""
    faint = page()
    faint[:350] = 255 - (255 - faint[:350].astype(int)) // 5
    dark = faint.copy()
    dark[350:] = np.where(dark[350:] < 200, 0, 255)
    prepared = prepare_page(dark, None)
    assert prepared.steps[-2:] == ("threshold", "binarisation")
    assert is_bilevel(prepared.image)
    assert (prepared.image[:350] == 0).sum() > 0.6 * (page()[:350] < 128).sum()
    assert not preprocess.needs_threshold(page())


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_rotation_correction_turns_clockwise(degrees: int) -> None:
    """IN-11: rotation correction by quarter turns."""
    clean = page()
    lying = np.rot90(clean, degrees // 90).copy()  # counterclockwise
    prepared = rotate_page(unrepaired_page(lying, None), degrees)
    assert np.array_equal(prepared.image, clean)
    assert prepared.steps == (f"rotation {degrees}",)


def find(prepared: PreparedPage) -> PixelArea:
    """Where the black square is on the prepared picture."""
    y, x = np.nonzero(prepared.image < 100)
    return PixelArea(float(x.min()), float(y.min()), float(x.max() + 1), float(y.max() + 1))


@given(
    turn=st.sampled_from([0, 90, 180, 270]),
    factor=st.floats(0.5, 2.5),
    angle=st.floats(-8, 8),
    x=st.integers(20, 250),
    y=st.integers(20, 130),
)
@settings(max_examples=25)
def test_boxes_come_back_to_the_original_through_every_step(
    turn: int, factor: float, angle: float, x: int, y: int
) -> None:
    """IN-11: words are marked on the picture as it came, whatever was done to it."""
    original = np.full((200, 320), 255, np.uint8)
    original[y : y + 40, x : x + 40] = 0
    prepared = unrepaired_page(original, None)
    prepared = prepared.after("scale", *preprocess.scale_picture(prepared.image, factor))
    upright = np.rot90(prepared.image, -(turn // 90)).copy()
    height, width = prepared.image.shape
    prepared = prepared.after("turn", upright, geometry.quarter_turn(turn, width, height))
    prepared = prepared.after("deskew", *preprocess.deskew_picture(prepared.image, angle))
    box = geometry.to_page(find(prepared), prepared.to_prepared, 320, 200)
    # A rectangle around a slanted square is larger than the square; its centre is the same.
    assert 160 * (box.x0 + box.x1) == pytest.approx(x + 20, abs=2)
    assert 100 * (box.y0 + box.y1) == pytest.approx(y + 20, abs=2)
    grown = 40 * (1 + 2.2 * abs(np.sin(np.deg2rad(angle)))) + 4
    assert 37 <= 320 * (box.x1 - box.x0) <= grown
    assert 37 <= 200 * (box.y1 - box.y0) <= grown


@settings(max_examples=50)
@given(st.floats(-10, 10), st.integers(1, 900), st.integers(1, 900))
def test_a_rotated_canvas_holds_every_corner(angle: float, width: int, height: int) -> None:
    matrix, wide, high = geometry.rotation_matrix(angle, width, height)
    x, y, _ = matrix @ np.array([[0, width, width, 0], [0, 0, height, height], [1, 1, 1, 1]])
    assert x.min() >= -1e-6
    assert y.min() >= -1e-6
    assert x.max() <= wide + 1e-6
    assert y.max() <= high + 1e-6


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (3, 3), (7, 2)])
def test_tiny_pictures_do_no_harm(shape: tuple[int, int]) -> None:
    for value in (0, 128, 255):
        prepared = prepare_page(np.full(shape, value, np.uint8), None)
        assert min(prepared.image.shape) >= 1
