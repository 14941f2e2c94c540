"""The engine's own process: Tesseract with its data loaded once, page after page; a page that ends it ends it alone."""

from dataclasses import dataclass
from typing import Any, Protocol

ORIENTATION_CHARACTERS = "10"
"""From so few it tells the orientation; its default of 50 gives up on receipts and title pages."""


@dataclass(frozen=True, slots=True)
class Raster:
    """A picture as the library takes it; width and height are in pixels."""

    data: bytes  # rows from the top, each padded to whole bytes
    width: int
    height: int
    depth: int  # bytes a pixel: 1 is grey; 0 is one bit, 1 for white, the leftmost the highest of its byte
    stride: int  # bytes a row


class ResidentEngine(Protocol):
    """Port of the engine that lives in the Tesseract process."""

    def table(self, raster: Raster, layout: int, dpi: int) -> str:
        """Words as Tesseract's TSV, without a head; `dpi` 0 lets it estimate."""

    def orientation(self, raster: Raster, data: str) -> tuple[int, float, str]:
        """By that data: degrees clockwise that bring it upright, how sure that is, its letters.

        (0, 0.0, "") where it gives up.
        """


class TesserocrEngine:
    """The library (tesserocr, which brings its own Tesseract), in a process that nothing else lives in."""

    def __init__(self, languages: tuple[str, ...], data: str) -> None:
        """Load `languages`, names in the folder `data` or paths from it. Raises RuntimeError: missing or damaged."""
        import tesserocr

        self._open = tesserocr.PyTessBaseAPI
        self._data = data
        self._reader: Any = self._open(path=data, lang="+".join(languages))
        self._compass: Any = None

    def table(self, raster: Raster, layout: int, dpi: int) -> str:
        """See `ResidentEngine.table`."""
        self._reader.SetPageSegMode(layout)
        self._reader.SetVariable("user_defined_dpi", str(dpi))
        self._set_image(self._reader, raster)
        if not self._reader.Recognize():
            raise RuntimeError("Tesseract could not read the picture")
        found = str(self._reader.GetTSVText(0))
        self._reader.Clear()
        # What it has learnt of one page's letters must not change how the next is read.
        self._reader.ClearAdaptiveClassifier()
        return found

    def orientation(self, raster: Raster, data: str) -> tuple[int, float, str]:
        """See `ResidentEngine.orientation`; its data is loaded at the first page that needs it."""
        if self._compass is None:
            self._compass = self._open(path=self._data, lang=data, psm=0)
            self._compass.SetVariable("min_characters_to_try", ORIENTATION_CHARACTERS)
        self._set_image(self._compass, raster)
        found = self._compass.DetectOrientationScript()
        self._compass.Clear()
        if not found:
            return 0, 0.0, ""
        return -int(found["orient_deg"]) % 360, float(found["orient_conf"]), str(found["script_name"])

    def _set_image(self, engine: Any, raster: Raster) -> None:
        engine.SetImageBytes(raster.data, raster.width, raster.height, raster.depth, raster.stride)
