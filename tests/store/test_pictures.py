"""A stranger's image made fit to be sent (IMG-3, C36 to C43)."""

import contextlib
import io
import os
import random
import struct
import zlib
from pathlib import Path

import pytest
from PIL import Image, ImageCms, PngImagePlugin

from nodwyn_tui.errors import UsageError
from nodwyn_tui.store.images import Picture
from nodwyn_tui.store.picture_files import kind_of, promises_image, read_file
from nodwyn_tui.store.pictures import LONG_SIDE, MOST_BYTES, made

CASES = Path(__file__).parents[1] / "cases" / "files"
RED, WHITE = (255, 0, 0), (255, 255, 255)


def of_case(name: str) -> Picture:
    return made(read_file(CASES / name), name)


def opened(picture: Picture) -> Image.Image:
    """The picture as a server would read it, which must agree with what is said of it."""
    image = Image.open(io.BytesIO(picture.data))
    image.load()
    assert image.size == (picture.width, picture.height)
    assert Image.MIME[image.format or ""] == picture.mime
    assert picture.mime in {"image/png", "image/jpeg"}
    assert len(picture.data) <= MOST_BYTES
    assert max(image.size) <= LONG_SIDE
    assert min(image.size) >= 1
    return image


def saved(image: Image.Image, kind: str, **how: object) -> bytes:
    into = io.BytesIO()
    image.save(into, kind, **how)
    return into.getvalue()


def noise(width: int, height: int) -> Image.Image:
    return Image.frombytes("RGB", (width, height), random.Random(7).randbytes(width * height * 3))


def test_a_picture_over_the_size_limit_becomes_smaller() -> None:
    """C36: 5.6 MB of noise, which no PNG holds in less."""
    data = saved(noise(1370, 1370), "PNG")
    assert len(data) > 5_600_000
    picture = made(data, "noise.png")
    assert opened(picture).size == (1370, 1370)
    assert "converted from PNG to JPEG" in picture.note
    assert len(picture.data) * 4 // 3 < 5 * 1024 * 1024


@pytest.mark.parametrize(
    ("name", "size"), [("C37_12000x30.png", (2000, 5)), ("C37_30x12000.png", (5, 2000))]
)
def test_long_and_thin_ones_keep_a_pixel(name: str, size: tuple[int, int]) -> None:
    """C37: scaled to the tightest provider's long side, and never to nothing."""
    picture = of_case(name)
    assert opened(picture).size == size
    assert picture.note.startswith("scaled down from")


def test_the_thinnest_one_keeps_a_pixel() -> None:
    """C37"""
    assert opened(made(saved(Image.new("RGB", (9000, 1)), "PNG"), "x")).size == (2000, 1)


@pytest.mark.parametrize(
    ("name", "mime"),
    [
        ("C38_CAPITALS.PNG", "image/png"),
        ("C38_gif_without_ending", "image/png"),
        ("C38_really_jpeg.png", "image/jpeg"),
        ("C38_really_webp.jpg", "image/png"),
    ],
)
def test_the_type_comes_from_the_bytes(name: str, mime: str) -> None:
    """C38"""
    picture = of_case(name)
    assert opened(picture).size == (40, 30)
    assert picture.mime == mime


def test_an_avif_is_converted_and_a_heic_refused_by_name() -> None:
    """C39: nothing of either kind is ever sent."""
    picture = of_case("C39_small.avif")
    assert (opened(picture).size, picture.mime) == ((40, 30), "image/png")
    assert picture.note == "converted from AVIF to PNG"
    with pytest.raises(UsageError, match=r"C39_fake\.heic is a HEIC image.*PNG, JPEG, WebP"):
        of_case("C39_fake.heic")


def test_an_svg_is_text() -> None:
    """C40: refused with the reason, and nothing in it is loaded."""
    with pytest.raises(UsageError, match=r"C40_box\.svg is an SVG drawing.*it is text"):
        of_case("C40_box.svg")
    assert not promises_image(CASES / "C40_box.svg")


def test_a_photo_is_turned_upright_and_loses_its_place() -> None:
    """C41: 40x60 with the red bar on top, and no EXIF block at all."""
    image = opened(picture := of_case("C41_mark6.jpg"))
    assert image.size == (40, 60)
    red = image.convert("RGB").getpixel((20, 3))
    assert isinstance(red, tuple)
    assert red[0] > 180 > 100 > red[2]
    assert "turned upright" in picture.note
    assert not image.getexif()
    assert b"Exif" not in picture.data


@pytest.mark.parametrize("turn", range(1, 9))
def test_every_turn_of_a_camera(turn: int) -> None:
    """C41: each of the eight ways shows the same picture."""
    upright = Image.new("RGB", (60, 40), WHITE)
    upright.paste(RED, (0, 0, 20, 10))
    undo = [None, 0, 3, 1, 5, 2, 6, 4][turn - 1]  # the transpose that undoes what the mark asks for
    stored = upright if undo is None else upright.transpose(Image.Transpose(undo))
    exif = Image.Exif()
    exif[0x0112] = turn
    image = opened(made(saved(stored, "PNG", exif=exif), "x.png")).convert("RGB")
    assert image.size == (60, 40)
    assert [image.getpixel(at) for at in ((2, 2), (57, 2), (2, 37), (57, 37))] == [
        RED,
        WHITE,
        WHITE,
        WHITE,
    ]


def test_no_metadata_of_any_kind_stays() -> None:
    """IMG-3: comments, texts, profiles, places."""
    exif = Image.Exif()
    exif[0x010E] = "secret-description"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", "secret-comment")
    base = Image.new("RGB", (8, 8))
    png = saved(base, "PNG", exif=exif, pnginfo=texts, icc_profile=profile)
    jpeg = saved(base, "JPEG", exif=exif, comment=b"secret-comment", icc_profile=profile)
    assert b"secret" in png
    assert b"secret" in jpeg
    for data in (png, jpeg):
        picture = made(data, "x")
        assert b"secret" not in picture.data
        assert not {"icc_profile", "exif", "comment"} & opened(picture).info.keys()


def test_a_picture_made_for_print() -> None:
    """C42: CMYK becomes RGB, also when it is scaled; that is said (IMG-3)."""
    assert opened(of_case("C42_print.jpg")).mode == "RGB"
    assert of_case("C42_print.jpg").note == "its colours made plain"
    large = made(saved(Image.new("CMYK", (2400, 1000), (0, 255, 255, 0)), "JPEG"), "x.jpg")
    image = opened(large)
    assert image.size == (2000, 833)
    pixel = image.getpixel((1000, 400))
    assert isinstance(pixel, tuple)
    assert pixel[0] > 200 > 60 > pixel[1]


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("C43_float.tif", "RGB"),
        ("C43_grey16.png", "RGB"),
        ("C43_grey_alpha.png", "RGBA"),
        ("C43_one_bit.png", "RGB"),
        ("C43_palette.png", "RGBA"),
        ("C43_rgba.png", "RGBA"),
    ],
)
def test_all_common_forms_of_pixels(name: str, mode: str) -> None:
    """C43: what loses nothing by it is not said."""
    picture = of_case(name)
    assert opened(picture).mode == mode
    assert ("its colours made plain" in picture.note) == name.startswith(
        ("C43_float", "C43_grey16")
    )


def test_sixteen_bits_keep_their_greys() -> None:
    """C43: not all white, as where only the lowest byte is looked at."""
    image = Image.new("I;16", (3, 1))
    for x, value in enumerate((0, 32_768, 65_535)):
        image.putpixel((x, 0), value)
    shown = opened(made(saved(image, "PNG"), "x.png")).convert("L")
    found = [shown.getpixel((x, 0)) for x in range(3)]
    assert found[0] == 0
    assert found[2] == 255
    assert found[1] in (127, 128)


def test_fractions_keep_their_greys() -> None:
    """C43: a half is grey, and so is what no number is."""
    shown = opened(of_case("C43_float.tif")).convert("L")
    assert shown.getpixel((9, 9)) in (127, 128)
    odd = Image.new("F", (2, 1), float("nan"))
    opened(made(saved(odd, "TIFF"), "x.tif"))


def test_what_was_transparent_is_white_in_a_jpeg() -> None:
    """C43: no black areas where a transparent picture had to become a JPEG."""
    image = noise(1250, 1250).convert("RGBA")
    image.paste((0, 0, 0, 0), (0, 0, 100, 100))
    picture = made(saved(image, "PNG"), "x.png")
    assert picture.mime == "image/jpeg"
    corner = opened(picture).getpixel((20, 20))
    assert isinstance(corner, tuple)
    assert min(corner) > 240


def test_of_a_moving_picture_the_first_one_is_taken() -> None:
    """IMG-3: said so."""
    first, second = Image.new("RGB", (9, 9), RED), Image.new("RGB", (9, 9), WHITE)
    for kind in ("GIF", "WEBP", "PNG"):
        data = saved(first, kind, save_all=True, append_images=[second])
        picture = made(data, "x")
        pixel = opened(picture).convert("RGB").getpixel((4, 4))
        assert isinstance(pixel, tuple)
        assert pixel[0] > 240 > 20 > pixel[1]
        assert "its first picture only" in picture.note


def bomb(width: int, height: int) -> bytes:
    """A small PNG that says it is huge."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(b"\0" * 1000)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )


@pytest.mark.parametrize("size", [(100_000, 100_000), (20_000, 20_000), (9_000, 9_000)])
def test_bombs_are_refused(size: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match=r"bomb\.png has more than 64 million pixels"):
        made(bomb(*size), "bomb.png")


@pytest.mark.parametrize("share", [1, 20, 300, 500])
def test_what_is_cut_off_is_refused_by_name(share: int) -> None:
    """At any place, in any kind of file: one error, which names it."""
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "AVIF"):
        data = saved(noise(20, 20), kind)
        with pytest.raises(UsageError, match=r"cut\.x (is damaged|is no image|is an? \w+ image)"):
            made(data[: max(len(data) * share // 1000, 1)], "cut.x")


def test_bytes_that_were_tampered_with() -> None:
    """Whatever is changed in a file, a picture comes out, or the one error does."""
    chance = random.Random(11)
    for kind in ("PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP", "ICO", "PPM", "TGA"):
        data = saved(noise(16, 16), kind)
        for _ in range(60):
            broken = bytearray(data)
            for _ in range(chance.randint(1, 4)):
                broken[chance.randrange(min(len(broken), 200))] = chance.randrange(256)
            with contextlib.suppress(UsageError):
                opened(made(bytes(broken), "odd"))


def test_no_image_and_no_bytes() -> None:
    with pytest.raises(UsageError, match=r"x\.png is empty"):
        made(b"", "x.png")
    with pytest.raises(UsageError, match=r"x\.png is no image: PNG, JPEG"):
        made(b"hello world" * 100, "x.png")
    with pytest.raises(UsageError, match=r"x\.eps is no image"):  # would start another program
        made(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "x.eps")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """Folders, devices and pipes are refused at once; a pipe that nobody fills stops nothing."""
    pipe, folder = tmp_path / "pipe.png", tmp_path / "folder.png"
    os.mkfifo(pipe)
    folder.mkdir()
    odd = [(pipe, "no regular file"), (folder, "a folder"), (Path("/dev/zero"), "no regular file")]
    for path, what in odd:
        assert not promises_image(path)
        with pytest.raises(UsageError, match=f"{path.name} is {what}: name an image file"):
            read_file(path)
    with pytest.raises(UsageError, match=r"none\.png cannot be read: No such file"):
        read_file(tmp_path / "none.png")
    huge = tmp_path / "huge.png"
    with huge.open("wb") as file:
        file.truncate(200_000_000)
    with pytest.raises(UsageError, match=r"huge\.png has 200 MB"):
        read_file(huge)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.png"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(UsageError, match=r"mine\.png cannot be read: Permission denied"):
        read_file(path)


def test_kinds_by_first_bytes() -> None:
    for kind in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "AVIF"):
        assert kind.lower() in kind_of(saved(Image.new("RGB", (4, 4)), kind)).lower()
    assert kind_of(b"BM is how this text begins") == ""
    assert kind_of(b"") == ""
