"""Any picture as the array that OCR reads: 8 bits, grey or RGB, upright, on white paper."""

import numpy as np
from PIL import Image, ImageOps

from pipelines.documents.ocr.reading import Picture


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
