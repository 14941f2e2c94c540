"""Any picture as the array that OCR reads: 8 bits, grey or RGB, upright, on white paper."""

import math
from typing import TYPE_CHECKING

import numpy as np
from PIL import ExifTags, Image, ImageOps

from pipelines.documents.ocr.reading import Picture

if TYPE_CHECKING:
    from pypdfium2 import PdfBitmap

_STRIP_ROWS = 256


def to_array(picture: Image.Image) -> Picture:
    """H × W grey where the picture has no colours, else H × W × 3 RGB; uint8.

    EXIF orientation is applied, transparency becomes white paper, 16-bit and float samples are scaled to 8 bits.
    """
    upright = ImageOps.exif_transpose(picture)
    if upright.mode.startswith(("I", "F")):
        return _eight_bits(np.asarray(upright))
    if upright.mode in {"RGBA", "LA", "PA", "RGBa", "La"} or "transparency" in upright.info:
        over = upright.convert("RGBA")
        paper = Image.new("RGBA", over.size, (255, 255, 255, 255))
        paper.alpha_composite(over)
        return _without_colour(np.asarray(paper.convert("RGB")))
    if upright.mode in {"1", "L"}:
        return np.array(upright.convert("L"))
    return _without_colour(np.asarray(upright.convert("RGB")))


def rendered_array(bitmap: "PdfBitmap") -> Picture:
    """`to_array` for a page that PDFium rendered (BGR), with one copy instead of three: large sheets are
    240 MB each."""
    return _without_colour(bitmap.to_numpy()[..., ::-1])


def reduced_array(picture: Image.Image, factor: int) -> Picture:
    """As `to_array`, with squares of `factor` × `factor` pixels as one: strip by strip, so that no second picture of
    the full size is ever held."""
    import cv2  # for large pictures alone: it takes 150 MiB

    width, height = picture.size
    strips = []
    for top in range(0, height, factor * _STRIP_ROWS):
        bottom = min(height, top + factor * _STRIP_ROWS)
        strip = picture.crop((0, top, width, bottom))
        strip.info = {name: value for name, value in picture.info.items() if name == "transparency"}
        size = (math.ceil(width / factor), math.ceil((bottom - top) / factor))
        strips.append(cv2.resize(to_array(strip), size, interpolation=cv2.INTER_AREA))
    if len({strip.ndim for strip in strips}) > 1:
        strips = [cv2.cvtColor(strip, cv2.COLOR_GRAY2RGB) if strip.ndim == 2 else strip for strip in strips]
    whole, orientation = Image.fromarray(np.concatenate(strips)), ExifTags.Base.Orientation
    whole.getexif()[orientation] = picture.getexif().get(orientation, 1)
    return np.array(ImageOps.exif_transpose(whole))


def dpi_of(picture: Image.Image) -> int | None:
    """Dots per inch as the file claims them, None where it does not."""
    claim = picture.info.get("dpi")
    try:
        return round(float(claim[0])) or None if claim else None
    except (TypeError, ValueError, IndexError, ZeroDivisionError, OverflowError):
        return None


def _without_colour(rgb: Picture) -> Picture:
    grey = rgb[..., 0]
    if np.array_equal(grey, rgb[..., 1]) and np.array_equal(grey, rgb[..., 2]):
        return np.ascontiguousarray(grey)
    return np.ascontiguousarray(rgb)


def _eight_bits(samples: np.ndarray) -> Picture:
    """By the range of the type, not of the picture: a grey page must stay grey. Floats have no such range."""
    values = np.nan_to_num(samples.astype(np.float64))
    low, high = values.min(initial=0.0), values.max(initial=1.0)
    if samples.dtype.kind in "iu" and low >= 0 and high <= 65535:
        top = 65535.0 if high > 255 else 255.0
        return (values * (255.0 / top)).round().astype(np.uint8)
    return ((values - low) * (255.0 / max(high - low, 1e-9))).round().astype(np.uint8)
