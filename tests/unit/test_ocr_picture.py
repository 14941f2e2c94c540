"""Any mode of picture becomes 8-bit grey or RGB on white paper, upright."""

import io
from typing import Any

import numpy as np
import pypdfium2 as pdfium
import pytest
from PIL import Image

from pipelines.documents.ocr.picture import dpi_of, rendered_array, to_array


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA", "CMYK", "YCbCr", "HSV", "I", "I;16", "F", "LAB"])
def test_every_mode_is_eight_bits(mode: str) -> None:
    array = to_array(Image.new(mode, (5, 3)))
    assert array.dtype == np.uint8
    assert array.shape[:2] == (3, 5)
    assert array.ndim == 2 or array.shape[2] == 3
    assert array.flags.c_contiguous


def test_colours_stay_and_grey_loses_its_channels() -> None:
    assert to_array(Image.new("RGB", (2, 2), (10, 10, 10))).shape == (2, 2)
    assert to_array(Image.new("RGB", (2, 2), (10, 200, 10))).tolist()[0][0] == [10, 200, 10]


def test_transparency_is_white_paper() -> None:
    assert to_array(Image.new("RGBA", (2, 2), (0, 0, 0, 0))).tolist() == [[255, 255], [255, 255]]
    assert to_array(Image.new("LA", (1, 1), (0, 255))).tolist() == [[0]]
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([0, 0, 0] * 256)
    palette.info["transparency"] = 0
    assert to_array(palette).tolist() == [[255]]


def test_sixteen_bits_are_scaled_by_their_range() -> None:
    samples = np.array([[0, 32768, 65535]], dtype=np.uint16)
    assert to_array(Image.fromarray(samples)).tolist() == [[0, 128, 255]]
    assert to_array(Image.fromarray(samples.astype(np.int32))).tolist() == [[0, 128, 255]]


def test_floats_with_holes_are_pictures_too() -> None:
    samples = np.array([[0.0, 0.5, 1.0, np.nan]], dtype=np.float32)
    assert to_array(Image.fromarray(samples)).tolist() == [[0, 128, 255, 0]]


def test_black_and_white() -> None:
    picture = Image.new("1", (2, 1), 1)
    picture.putpixel((0, 0), 0)
    assert to_array(picture).tolist() == [[0, 255]]


def test_a_photo_taken_sideways_is_upright() -> None:
    """EXIF orientation 6: turn by 90° clockwise to view."""
    picture = Image.new("L", (3, 2), 255)
    picture.putpixel((0, 0), 0)
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    picture.save(file, "PNG", exif=exif)
    array = to_array(Image.open(file))
    assert array.shape == (3, 2)
    assert array[0, 1] == 0


@pytest.mark.parametrize(
    ("claim", "dpi"), [((300, 300), 300), ((71.99, 72), 72), (None, None), ((0, 0), None), (("x", 1), None), ((), None)]
)
def test_resolution_as_claimed(claim: Any, dpi: int | None) -> None:
    picture = Image.new("L", (1, 1))
    picture.info["dpi"] = claim
    assert dpi_of(picture) == dpi


@pytest.mark.parametrize("colour", [(10, 10, 10), (10, 200, 30)])
def test_a_rendered_page_is_what_its_picture_would_be(colour: tuple[int, int, int]) -> None:
    file = io.BytesIO()
    picture = Image.new("RGB", (30, 20), (255, 255, 255))
    picture.paste(colour, (5, 5, 15, 15))
    picture.save(file, "PDF")
    with pdfium.PdfDocument(file.getvalue()) as document:
        bitmap = document[0].render()
        array = rendered_array(bitmap)
        assert array.flags.c_contiguous and array.ndim == (2 if len(set(colour)) == 1 else 3)
        assert np.array_equal(array, to_array(bitmap.to_pil()))
