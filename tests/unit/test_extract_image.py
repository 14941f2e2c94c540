"""Pictures as documents: frames, sizes, damage."""

import io
from pathlib import Path

import pytest
from PIL import Image

from configs.sections import OcrSettings, ReadSettings
from pipelines.documents.document import Page, Reason, Unreadable
from pipelines.documents.extract.desk import Desk
from tests.fakes import files


def read(path: Path, ocr: OcrSettings | None = None) -> list[Page]:
    desk = Desk(ReadSettings(), ocr or OcrSettings(), files.transcriber)
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


def test_too_many_pixels_are_refused_before_any_is_decoded(tmp_path: Path) -> None:
    Image.new("1", (4_000, 4_000)).save(tmp_path / "a.png")
    with pytest.raises(Unreadable) as refused:
        read(tmp_path / "a.png", OcrSettings(max_pixels=1_000_000))
    assert refused.value.reason is Reason.BOMB


def test_damage_has_a_reason(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    Image.effect_noise((200, 200), 50).save(buffer, "PNG")
    for data in (buffer.getvalue()[:4_000], b"\x89PNG\r\n\x1a\n" + bytes(30)):
        (tmp_path / "a.png").write_bytes(data)
        with pytest.raises(Unreadable) as refused:
            read(tmp_path / "a.png")
        assert refused.value.reason is Reason.CORRUPT


def test_the_picture_of_a_picture_is_no_larger_than_a_page_at_that_resolution(tmp_path: Path) -> None:
    files.picture(size=(4_000, 3_000)).save(tmp_path / "a.png")
    desk = Desk(ReadSettings(), OcrSettings(), files.transcriber)
    kind, _ = desk.survey(tmp_path / "a.png", None)
    image = Image.open(io.BytesIO(desk.picture(tmp_path / "a.png", kind, 1, 100)))
    assert (image.format, image.size) == ("PNG", (1170, 878))
