"""Pictures as documents: frames, sizes, damage."""

import io
import time
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont
from pillow_heif import from_pillow

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import CaveatKind, FailureReason, Page, Unreadable
from pipelines.documents.extract.extraction_worker import ExtractionWorker
from pipelines.documents.extract.opened import ExtractionContext
from pipelines.documents.extract.pictures.embedded_pictures import PictureCollector
from pipelines.documents.extract.pictures.image import encode_png
from pipelines.documents.ocr.picture import reduced_array, to_array
from tests.fakes import files


def read(path: Path, ocr: OcrSettings | None = None) -> list[Page]:
    desk = ExtractionWorker(ReadSettings(), ocr or OcrSettings(), files.transcriber)
    kind, count = desk.survey(path, None)
    return [desk.page(path, kind, number) for number in range(1, count + 1)]


@pytest.mark.parametrize("suffix", ["png", "jpg", "tiff", "bmp", "webp", "gif"])
def test_every_format_goes_to_ocr_with_its_resolution(tmp_path: Path, suffix: str) -> None:
    """IN-02."""
    path = tmp_path / f"a.{suffix}"
    files.picture().save(path, dpi=(150, 150))
    claims = suffix in ("png", "jpg", "tiff", "bmp")
    assert [page.text for page in read(path)] == [f"picture of 400 x 300 at {150 if claims else None}"]


def test_frames_of_a_tiff_are_pages_and_those_of_an_animation_are_not(tmp_path: Path) -> None:
    frames = [files.picture(size=(300 + number, 200)) for number in range(3)]
    for name, expected in (("a.tiff", ["300", "301", "302"]), ("a.gif", ["300"])):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        assert [page.text.split()[2] for page in read(tmp_path / name)] == expected


def test_a_picture_turned_by_the_camera_is_set_upright(tmp_path: Path) -> None:
    image = files.picture()
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.jpg", exif=exif)
    assert read(tmp_path / "a.jpg")[0].text.startswith("picture of 300 x 400")


def test_a_picture_too_large_to_unpack_is_refused_before_any_pixel_is_decoded(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "PNG")
    data = bytearray(buffer.getvalue())
    data[16:24] = (40_000).to_bytes(4, "big") * 2
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(Unreadable) as refused:
        read(tmp_path / "a.png")
    assert refused.value.reason is FailureReason.BOMB


@pytest.mark.parametrize(
    ("suffix", "mode"), [("tif", "1"), ("png", "L"), ("png", "P"), ("jpg", "RGB"), ("tif", "CMYK")]
)
def test_a_large_drawing_is_read_at_a_lower_scale_and_says_so(tmp_path: Path, suffix: str, mode: str) -> None:
    """A0 at 300 dots per inch has 139 megapixels: a file of 12 KB was refused as a bomb."""
    path = tmp_path / f"a.{suffix}"
    files.picture(size=(1_201, 1_700)).convert(mode).save(path, dpi=(300, 300))
    (page,) = read(path, OcrSettings(max_pixels=600_000))
    assert page.text.split()[2:5] == ["601", "x", "850"] and page.text.endswith("at 150")
    assert [caveat.kind for caveat in page.caveats] == [CaveatKind.REDUCED_SCALE]
    assert read(path, OcrSettings(max_pixels=3_000_000))[0].caveats == ()


def test_a_reduced_picture_holds_the_same_drawing_upright(tmp_path: Path) -> None:
    image = files.picture(size=(800, 600)).convert("RGB")
    exif = image.getexif()
    exif[0x0112] = 6
    for factor in (2, 3):
        image.save(tmp_path / "a.png", exif=exif)
        with Image.open(tmp_path / "a.png") as picture:
            reduced, whole = reduced_array(picture, factor), Image.fromarray(to_array(picture))
        small = np.asarray(whole.resize((reduced.shape[1], reduced.shape[0]), Image.Resampling.BOX), np.int16)
        assert np.abs(reduced.astype(np.int16) - small).mean() < 4


def test_photos_of_telephones_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.heic"
    from_pillow(files.picture().convert("RGB")).save(path)
    assert [page.text for page in read(path)] == ["picture of 400 x 300 at None"]
    (tmp_path / "b.heic").write_bytes(path.read_bytes()[:200])
    with pytest.raises(Unreadable) as refused:
        read(tmp_path / "b.heic")
    assert refused.value.reason is FailureReason.CORRUPT


def test_a_picture_of_a_page_in_small_is_no_page(tmp_path: Path) -> None:
    """Scanners put a preview into a TIFF (NewSubfileType 1)."""
    preview = files.picture(size=(40, 30))
    preview.encoderinfo = {"tiffinfo": {254: 1}}
    files.picture(size=(401, 300)).save(tmp_path / "a.tif", save_all=True, append_images=[preview, files.picture()])
    assert [page.text.split()[2] for page in read(tmp_path / "a.tif")] == ["401", "400"]


def test_damage_has_a_reason(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 50).save(buffer, "PNG")
    for data in (buffer.getvalue()[:4_000], b"\x89PNG\r\n\x1a\n" + bytes(30)):
        (tmp_path / "a.png").write_bytes(data)
        with pytest.raises(Unreadable) as refused:
            read(tmp_path / "a.png")
        assert refused.value.reason is FailureReason.CORRUPT


WRITING = ("The rent is 3,275 euros a month.", "It is due on the third day.")


def written(*lines: str, scale: int = 1) -> Image.Image:
    image = Image.new("L", (1000 * scale, 400 * scale), 255)
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text(
            (60 * scale, (80 + 72 * number) * scale), line, fill=0, font=ImageFont.load_default(36 * scale)
        )
    ImageDraw.Draw(image).ellipse((700 * scale, 280 * scale, 800 * scale, 380 * scale), outline=0)
    return image


@pytest.mark.parametrize(("lines", "said"), [(WRITING, [CaveatKind.PICTURES_UNREAD]), ((), [])])
@pytest.mark.parametrize(("scale", "dpi"), [(1, None), (3, (300, 300))])
def test_a_picture_with_letters_in_which_ocr_finds_nothing_says_so(
    tmp_path: Path, lines: tuple[str, ...], said: list[CaveatKind], scale: int, dpi: tuple[int, int] | None
) -> None:
    image = written(*lines, scale=scale)
    image.save(tmp_path / "a.tif", dpi=dpi)
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: files.Dictated())
    kind, _ = desk.survey(tmp_path / "a.tif", None)
    page = desk.page(tmp_path / "a.tif", kind, 1)
    assert not page.text and [caveat.kind for caveat in page.caveats] == said
    collector = PictureCollector(ExtractionContext(ReadSettings(), OcrSettings(), files.Dictated()))
    embedded = collector.document([collector.picture(encode_png(image))]).page(1)
    assert [caveat.kind for caveat in embedded.caveats] == said


@pytest.mark.parametrize(("size", "dpi"), [((3_000, 1), None), ((1_500, 1), (300, 300)), ((4, 4), (1_200, 1_200))])
def test_a_strip_of_a_pixel_is_an_empty_page(
    tmp_path: Path, size: tuple[int, int], dpi: tuple[int, int] | None
) -> None:
    Image.linear_gradient("L").resize(size).save(tmp_path / "a.png", dpi=dpi)
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), lambda _: files.Dictated())
    kind, _ = desk.survey(tmp_path / "a.png", None)
    page = desk.page(tmp_path / "a.png", kind, 1)
    assert not page.text and not page.caveats and page.failure is None


def test_the_picture_of_a_picture_is_no_larger_than_a_page_at_that_resolution(tmp_path: Path) -> None:
    files.picture(size=(4_000, 3_000)).save(tmp_path / "a.png")
    desk = ExtractionWorker(ReadSettings(), OcrSettings(), files.transcriber)
    kind, _ = desk.survey(tmp_path / "a.png", None)
    image = Image.open(io.BytesIO(desk.picture(tmp_path / "a.png", kind, 1, 100)))
    assert (image.format, image.size) == ("PNG", (1170, 878))


class Waiting(files.Transcriber):
    """Waits for a core before it reads, and has no limit of its own."""

    def read(self, image: NDArray[np.uint8], number: int, dpi: int | None = None) -> Page:
        time.sleep(0.4)
        return Page(number, f"height {image.shape[0]}", engine="tesseract", confidence=0.9)


def test_a_picture_in_a_document_is_not_left_out_because_those_before_it_waited() -> None:
    collector = PictureCollector(ExtractionContext(ReadSettings(page_seconds=1), OcrSettings(), Waiting()))
    marks = [collector.picture(encode_png(files.picture(size=(400, 300 + number)))) for number in range(3)]
    page = collector.document(["\n".join(marks)]).page(1)
    assert page.text.count("height") == 3 and not page.caveats
