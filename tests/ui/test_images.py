"""Images in the prompt, on a scripted worker (IMG-1, IMG-2, IMG-6)."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image
from rich.color import ColorSystem
from textual import events
from textual.pilot import Pilot

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import (
    Attach,
    Attached,
    AttachRefused,
    ConfirmImages,
    ImageAttached,
    ImagesWithheld,
    WithheldImage,
)
from nodwyn_tui.ui.screens.picture_sheet import PictureSheet
from nodwyn_tui.ui.widgets.dropped import could_be_an_image, could_be_paths
from tests.ui import scenes
from tests.ui.backend import OPENED, Stage, settled
from tests.ui.backend import press as press_keys

CHIP = "[image 1: shot.png 1280\u00d7720 · 1,105 tokens]"


def attached(name: str = "shot.png", **more: object) -> Attached:
    facts: dict[str, object] = {
        "sha256": f"digest of {name}",
        "name": name,
        "mime": "image/png",
        "width": 1280,
        "height": 720,
        "size": 5_000,
        "tokens": 1_105,
        "path": f"/no/such/{name}",
    }
    return Attached(**(facts | more))  # type: ignore[arg-type]


SHOT = attached()
Answer = Callable[[commands.Command], list[up.UpEvent]]


def images(*found: Attached) -> Answer:
    """Every path names these."""

    def answer(asked: commands.Command) -> list[up.UpEvent]:
        assert isinstance(asked, Attach)
        return [
            ImageAttached(text=asked.text, image=image, index=n, count=len(found))
            for n, image in enumerate(found, 1)
        ]

    return answer


def refused(reason: str = "") -> Answer:
    def answer(asked: commands.Command) -> list[up.UpEvent]:
        assert isinstance(asked, Attach)
        return [AttachRefused(text=asked.text, reason=reason)]

    return answer


def unanswered(_: commands.Command) -> list[up.UpEvent]:
    return []


def stage(answer: Answer, *told: up.UpEvent, workers: int = 0) -> Stage:
    made = Stage(*(told or (OPENED,)), workers=workers)
    made.backend.answers[Attach] = answer
    return made


async def press(pilot: Pilot[object], *keys: str) -> None:
    await press_keys(pilot, *keys)
    await settled(pilot)


async def paste(on: Stage, pilot: Pilot[object], text: str) -> None:
    on.app.post_message(events.Paste(text))
    await settled(pilot)


async def until(on: Stage, pilot: Pilot[object], text: str, *, there: bool = True) -> None:
    """Wait for a text on the screen, or for its end."""
    for _ in range(100):
        if (text in on.text()) is there:
            return
        await settled(pilot)
    raise AssertionError(on.text())


async def test_a_dropped_file_is_a_chip_and_goes_with_the_message() -> None:
    """IMG-1, IMG-2."""
    on = stage(images(SHOT))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"see ")
        await paste(on, pilot, "'/home/me/shot.png' ")
        assert on.backend.of(Attach) == [Attach(text="'/home/me/shot.png' ")]
        assert on.screen.prompt.text == "see "
        await until(on, pilot, CHIP)
        await press(pilot, *"it", "enter")
        assert on.backend.of(commands.Send) == [commands.Send(text="see it", images=(SHOT.sha256,))]
        await until(on, pilot, CHIP, there=False)


async def test_images_alone_are_a_message() -> None:
    on = stage(images(SHOT, attached("b.png"), SHOT))
    async with on.app.run_test(size=(120, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png /a/b.png /a/shot.png")
        await until(on, pilot, "shot.png is attached already")
        await until(on, pilot, "[image 2: b.png")
        await press(pilot, "enter")
        [sent] = on.backend.of(commands.Send)
        assert sent == commands.Send(text="", images=(SHOT.sha256, "digest of b.png"))


@pytest.mark.parametrize(
    "text", ["/usr/lib and more", "/a/b\n/c/d", "~/x.txt", "/" + "long/" * 400]
)
async def test_what_names_no_image_is_pasted_where_it_was_meant_to_be(text: str) -> None:
    """IMG-1: typing goes on while the worker looks."""
    on = stage(unanswered)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"ac", "left")
        on.app.post_message(events.Paste(text))
        await press(pilot, *"b")
        await press(pilot, "home", "z", "end", "d")
        assert on.screen.prompt.text == "zabcd"
        on.backend.tell(AttachRefused(text=text))
        await settled(pilot)
        assert on.screen.prompt.whole_text == f"za{text}bcd"
        await press(pilot, "e")
        assert on.screen.prompt.whole_text == f"za{text}bcde"


async def test_a_paste_replaces_what_is_selected() -> None:
    on = stage(refused())
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"abc", "shift+left", "shift+left")
        await paste(on, pilot, "/x/y")
        assert on.screen.prompt.text == "a/x/y"


async def test_a_slow_answer_is_waited_for_visibly_and_enter_waits_with_it() -> None:
    on = stage(unanswered)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"what is it?")
        on.app.post_message(events.Paste("/home/me/shot.png"))
        await press(pilot, "enter")
        assert "looks at" not in on.text()
        await asyncio.sleep(0.12)
        await settled(pilot)
        await until(on, pilot, "looks at /home/me/shot.png…")
        assert on.backend.of(commands.Send) == []
        on.backend.tell(ImageAttached(text="/home/me/shot.png", image=SHOT))
        await settled(pilot)
        assert on.backend.of(commands.Send) == [
            commands.Send(text="what is it?", images=(SHOT.sha256,))
        ]
        assert "looks at" not in on.text()


async def test_enter_that_waits_is_not_meant_for_what_is_typed_after_it() -> None:
    on = stage(unanswered)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        on.app.post_message(events.Paste("/home/me/shot.png"))
        await press(pilot, "enter", "a")
        on.backend.tell(ImageAttached(text="/home/me/shot.png", image=SHOT))
        await settled(pilot)
        assert on.backend.of(commands.Send) == []
        await until(on, pilot, CHIP)


async def test_a_reason_is_told_and_the_text_kept() -> None:
    """IMG-3: nothing that was written is lost over a file."""
    on = stage(refused("shot.png is cut short: save it again"))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"see ")
        await paste(on, pilot, "/a/shot.png")
        assert on.screen.prompt.text == "see /a/shot.png"
        await until(on, pilot, "cut short")


@pytest.mark.parametrize("way", ["paste", "key", "command"])
async def test_the_clipboard_is_asked(way: str) -> None:
    """IMG-1: an empty paste is what some terminals make of an image on the clipboard."""
    on = stage(images(attached("clipboard image")))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        if way == "paste":
            await paste(on, pilot, "")
        else:
            await press(pilot, *({"key": ("ctrl+v",), "command": (*"/image", "enter")}[way]))
        assert on.backend.of(Attach) == [Attach(text="", sure=True)]
        await until(on, pilot, "[image 1: clipboard image")
        assert on.screen.prompt.text == ""


async def test_what_was_cut_here_is_pasted_where_the_clipboard_has_no_image() -> None:
    on = stage(refused("the clipboard holds no image"))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "ctrl+v")
        await until(on, pilot, "the clipboard holds no image")
        await press(pilot, *"word", "ctrl+x", "x", "ctrl+v")
        assert on.screen.prompt.text == "xword"


async def test_the_command_keeps_what_was_typed_if_it_fails() -> None:
    on = stage(refused("there is no file shto.png"))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/image shto.png", "enter")
        assert on.backend.of(Attach) == [Attach(text="shto.png", sure=True)]
        assert on.screen.prompt.text == "/image shto.png"
        await until(on, pilot, "there is no file shto.png")
        on.backend.answers[Attach] = images(SHOT)
        await press(pilot, "enter")
        assert on.screen.prompt.text == ""
        await until(on, pilot, CHIP)


async def test_the_path_after_the_command_completes(tmp_path: Path) -> None:
    """IMG-1: folders and images, listed aside."""
    (tmp_path / "pics").mkdir()
    (tmp_path / "pics" / "my shot.png").touch()
    (tmp_path / "pics" / "notes.txt").touch()
    (tmp_path / "plan.PNG").touch()
    on = stage(images(SHOT), replace(OPENED, workspace=str(tmp_path)))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/image p")
        await until(on, pilot, "/image pics/")
        await until(on, pilot, "/image plan.PNG")
        await press(pilot, "enter")
        await until(on, pilot, "/image pics/my shot.png")
        assert on.backend.of(Attach) == [], "a folder is no image"
        await until(on, pilot, "notes", there=False)
        await press(pilot, "tab", "enter")
        assert on.backend.of(Attach) == [Attach(text="pics/my shot.png", sure=True)]


async def test_a_path_that_the_terminal_typed_becomes_an_image() -> None:
    """Some terminals type a dropped file's path raw; alone it is meant as an image."""
    on = stage(images(SHOT))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/home/me/a b.png ", "enter")
        assert on.backend.of(Attach) == [Attach(text="/home/me/a b.png ")]
        await until(on, pilot, CHIP)
        assert (on.screen.prompt.text, on.backend.of(commands.Send)) == ("", [])
        on.backend.answers[Attach] = refused()
        await press(pilot, *"/no/such.png", "enter")
        assert on.backend.of(commands.Send) == [
            commands.Send(text="/no/such.png", images=(SHOT.sha256,))
        ]


async def test_chips_are_removed_by_keys() -> None:
    """IMG-2: the cursor goes from the text's beginning to them; numbers stay in order."""
    on = stage(images(SHOT, attached("b.png"), attached("c.png")))
    async with on.app.run_test(size=(160, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a /b /c")
        await press(pilot, "x", "left", "backspace")
        await until(on, pilot, "[image 3: c.png")
        await press(pilot, "backspace")
        await until(on, pilot, "c.png", there=False)
        await press(pilot, "left", "delete")
        await until(on, pilot, "[image 1: b.png")
        await press(pilot, "right", "y")
        assert on.screen.prompt.text == "yx"
        await press(pilot, "left", "left", "z")
        assert on.screen.prompt.text == "zyx", "what is typed is text"
        await press(pilot, "end", "enter")
        [sent] = on.backend.of(commands.Send)
        assert sent.images == ("digest of b.png",)


async def test_a_draft_keeps_its_images() -> None:
    """TUI-7."""
    on = stage(images(SHOT))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        on.screen.prompt.flush_draft()
        await settled(pilot)
        assert on.backend.told[-1] == commands.SaveDraft(text="", images=(SHOT.sha256,))
        await press(pilot, "backspace", "backspace")
        on.screen.prompt.flush_draft()
        await settled(pilot)
        assert on.backend.told[-1] == commands.SaveDraft(text="")


async def test_a_session_begins_with_its_drafts_images() -> None:
    opened = replace(OPENED, draft="see", draft_images=(SHOT,))
    on = stage(unanswered, opened)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await until(on, pilot, CHIP)
        await press(pilot, "enter")
        assert on.backend.of(commands.Send) == [commands.Send(text="see", images=(SHOT.sha256,))]


@pytest.mark.parametrize(
    "event",
    [
        up.NotSent(text="see", reason="the disk is full", images=(SHOT,)),
        up.Returned(text="see", why="queued", images=(SHOT,)),
    ],
)
async def test_a_message_comes_back_with_its_images(event: up.UpEvent) -> None:
    on = stage(unanswered, OPENED, event)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        assert on.screen.prompt.text == "see"
        await until(on, pilot, CHIP)


async def test_rewinding_twice_leaves_the_images_of_the_first_behind() -> None:
    other = up.Returned(text="earlier", why="rewound", images=(attached("b.png"),))
    on = stage(unanswered, OPENED, up.Returned(text="see", why="rewound", images=(SHOT,)), other)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        assert on.screen.prompt.written == ("earlier", ("digest of b.png",))


async def test_a_dead_worker_loses_neither_images_nor_what_was_asked() -> None:
    """TUI-12."""
    on = stage(images(SHOT), workers=1)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await press(pilot, *"see", "enter")
        on.backend.answers[Attach] = unanswered
        on.app.post_message(events.Paste("/etc/hosts"))
        await settled(pilot)
        on.backend.die()
        await settled(pilot)
        assert on.screen.prompt.text == "see\n\n/etc/hosts"
        await until(on, pilot, CHIP)


async def test_another_session_does_not_keep_what_was_asked_of_the_one_before() -> None:
    on = stage(unanswered)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/etc/hosts")
        await press(pilot, "enter")
        on.backend.tell(replace(OPENED, session="20250102-030405-cd34"))
        await settled(pilot)
        assert on.screen.prompt.text == "/etc/hosts"
        await press(pilot, "enter")
        assert on.backend.of(commands.Send) == [commands.Send(text="/etc/hosts")]


async def test_a_command_leaves_the_images_where_they_are() -> None:
    on = stage(images(SHOT))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await press(pilot, *"/continue", "enter")
        assert commands.Continue() in on.backend.told
        await until(on, pilot, CHIP)
        await press(pilot, *"/nonsense", "enter")
        await until(on, pilot, CHIP)


async def test_what_was_done_to_an_image_is_told() -> None:
    on = stage(images(attached(note="scaled down from 4000x3000")))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await until(on, pilot, "shot.png: scaled down from 4000x3000")


async def test_a_remark_about_an_image_is_over_with_the_next_one() -> None:
    """What is wrong with one file is not read as being about another."""
    on = stage(refused("bad.png is no image"))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/bad.png")
        await until(on, pilot, "bad.png is no image")
        on.backend.answers[Attach] = images(SHOT)
        await paste(on, pilot, "/a/shot.png")
        await until(on, pilot, CHIP)
        assert "bad.png is no image" not in on.text()


async def test_names_from_outside_are_text() -> None:
    """TUI-2."""
    on = stage(images(attached("a[b]\x1b[31m\n日本.png")))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await until(on, pilot, "[image 1: a[b]⏎日本.png 1280\u00d7720")


async def test_many_images_take_three_rows() -> None:
    many = [attached(f"picture-{n}.png") for n in range(12)]
    on = stage(images(*many))
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a")
        await until(on, pilot, "… 9 more")
        assert on.text().count("[image ") == 3
        await press(pilot, "left")
        await until(on, pilot, "[image 12: picture-11.png")


async def test_withheld_images_stand_there_and_one_key_confirms_them() -> None:
    """IMG-6."""
    withheld = ImagesWithheld(
        host="api.example.net",
        images=(
            WithheldImage(sha256="a", name="a.png", why="other-host"),
            WithheldImage(sha256="b", name="b.png", why="missing"),
        ),
    )
    on = stage(unanswered, OPENED, withheld)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await until(on, pilot, "F4 confirm images")
        await until(on, pilot, "b.png not sent")
        told = " ".join(on.text().split())
        assert "a.png not sent: not confirmed for api.example.net, F4 confirms" in told
        assert "b.png not sent: gone from the session's store" in told
        await press(pilot, "f4")
        assert on.backend.of(ConfirmImages) == [ConfirmImages()]
        on.backend.tell(ImagesWithheld(host="api.example.net"))
        await settled(pilot)
        await until(on, pilot, "a.png", there=False)
        await press(pilot, "f4")
        assert len(on.backend.of(ConfirmImages)) == 1


def picture_file(folder: Path, size: tuple[int, int] = (64, 32)) -> Attached:
    image = Image.new("RGBA", size, (255, 0, 0, 255))
    image.paste((0, 0, 255, 255), (0, size[1] // 2, size[0], size[1]))
    image.save(folder / "shot.png")
    return attached(width=size[0], height=size[1], path=str(folder / "shot.png"))


async def test_a_roomy_screen_shows_a_preview(tmp_path: Path) -> None:
    """IMG-2."""
    on = stage(images(picture_file(tmp_path)))
    async with on.app.run_test(size=(100, 32)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await until(on, pilot, "▀" * 24)
        assert on.text().count("▀" * 24) == 6
        await pilot.resize_terminal(100, 24)
        await settled(pilot)
        await until(on, pilot, "▀", there=False)
        await pilot.resize_terminal(100, 32)
        await until(on, pilot, "▀" * 24)
        await press(pilot, "backspace", "backspace")
        await until(on, pilot, "▀", there=False)


@pytest.mark.parametrize("key", ["enter", "space"])
async def test_an_image_is_seen_in_full(tmp_path: Path, key: str) -> None:
    """IMG-2."""
    on = stage(images(picture_file(tmp_path, (60, 30))))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await press(pilot, "left", key)
        await until(on, pilot, "▀" * 60)
        rows = [row for row in on.text().split("\n") if "▀" * 60 in row]
        assert len(rows) == 15
        assert isinstance(on.app.screen, PictureSheet)
        await press(pilot, "escape")
        assert on.app.screen is on.screen
        assert on.backend.of(commands.Send) == []


async def test_a_file_that_is_gone_says_so(tmp_path: Path) -> None:
    on = stage(images(attached(path=str(tmp_path / "gone"))))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await press(pilot, "left", "enter")
        await until(on, pilot, "can't be shown")


async def test_without_colour_there_is_no_picture(tmp_path: Path) -> None:
    on = Stage(OPENED, no_color=True, pictures="none")
    on.backend.answers[Attach] = images(picture_file(tmp_path))
    async with on.app.run_test(size=(100, 40)) as pilot:
        await settled(pilot)
        await paste(on, pilot, "/a/shot.png")
        await press(pilot, "left", "enter")
        await settled(pilot, 0.2)
        await until(on, pilot, "▀", there=False)
        await until(on, pilot, str(tmp_path)[:20])
        assert on.app.screen is on.screen


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("/a/b.png", True),
        ("'/a/it'\\''s.png' ", True),
        ('"C:\\a b.png"', True),
        ("\\\\host\\share\\a.png", True),
        ("$'/a\\'b.png'", True),
        ("file:///a/b%20c.png\n/d/e.png\n", True),
        ("~/a.png", True),
        ("see /a/b.png", False),
        ("/a/b.png\nis it", False),
        ("", False),
        ("/" + "a" * 17_000, False),
        ("/a\n" * 100, False),
    ],
)
def test_what_could_be_paths(text: str, paths: bool) -> None:
    assert could_be_paths(text) is paths


def test_what_could_be_an_image() -> None:
    assert could_be_an_image("/a/b c.JPEG ")
    assert could_be_an_image("'/a/b.png'")
    assert not could_be_an_image("/image b.png")
    assert not could_be_an_image("/a/b.py")
    assert not could_be_an_image("/a/b.png\n/a/c.png")


@pytest.mark.parametrize("way", ["kitty", "sixel"])
async def test_a_picture_in_pixels_goes_out_with_what_is_painted(
    way: Pictures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMG-2: in order with Textual's own output, and away with the sheet."""
    monkeypatch.setattr("nodwyn_tui.ui.widgets.graphics.cell_size", lambda: (10, 20))
    on = Stage(OPENED, pictures=way)
    on.backend.answers[Attach] = images(attached(path=scenes.PICTURE, width=320, height=180))
    async with on.app.run_test(size=(100, 24)) as pilot:
        on.app.console._color_system = ColorSystem.TRUECOLOR
        written: list[str] = []
        monkeypatch.setattr(on.app._driver, "write", written.append)
        await settled(pilot)
        await paste(on, pilot, "/a")
        await press(pilot, "left", "enter")
        sign = "\U0010eeee" if way == "kitty" else "\x1bP"
        await until(on, pilot, sign)
        assert ("\x1b_G" in "".join(written)) == (way == "kitty")
        await press(pilot, "escape")
        assert ("\x1b_Ga=d,d=I" in "".join(written)) == (way == "kitty")


async def test_an_image_of_the_conversation_is_a_line_that_opens() -> None:
    """IMG-2: below its message, with its place in the window."""
    picture = scenes.entry(5, "image", title="a[b].png 320\u00d7180", state="elided")
    entries = (scenes.TALK[0], replace(picture, picture=scenes.PICTURE))
    on = stage(unanswered, OPENED, up.EntriesLoaded(entries=entries, done=True))
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await until(on, pilot, "[image: a[b].png 320")
        rows = on.text().split("\n")
        at = next(n for n, row in enumerate(rows) if "[image: a[b].png 320" in row)
        assert "fix it." in rows[at - 1]
        assert "elided" in rows[at]
        told = up.StatesChanged(ids=(picture.id,), state="in")
        withheld = WithheldImage(sha256="login-page.png", name="a[b].png", why="no-vision")
        on.backend.tell(told, ImagesWithheld(host="h", images=(withheld,)))
        await until(on, pilot, "not sent: no images here")
        on.backend.tell(ImagesWithheld(host="h"))
        await settled(pilot)
        await until(on, pilot, "not sent", there=False)
        await press(pilot, "tab", "up", "enter")
        await until(on, pilot, "▀")
        await until(on, pilot, "a[b].png 320")
        await press(pilot, "escape")
        assert on.app.screen is on.screen
