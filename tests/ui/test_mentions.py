"""Files named in a message with `@`, on a scripted worker (TUI-7, IMG-1)."""

import pytest

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attach
from nodwyn_tui.ui.widgets.mentions import mention
from tests.ui.backend import Stage, settled
from tests.ui.test_images import CHIP, SHOT, images, press, stage, until

FILES = ("src/auth.py", "docs/a page.md", "shot.png")


def on_files(*paths: str) -> Stage:
    made = stage(images(SHOT))

    def answer(asked: commands.Command) -> list[up.UpEvent]:
        assert isinstance(asked, commands.FindFiles)
        found = tuple(path for path in paths if asked.query in path)
        return [up.FilesFound(query=asked.query, paths=found)]

    made.backend.answers[commands.FindFiles] = answer
    return made


@pytest.mark.parametrize(
    ("head", "wanted"),
    [("@", ""), ("see @src/a", "src/a"), ("(@x", "x"), ("a\n@b", "b"), ("me@host", None),
     ("@a b", None), ("@@", None), ("", None)],
)  # fmt: skip
def test_a_mention_begins_a_word(head: str, wanted: str | None) -> None:
    assert mention(head) == wanted


async def test_a_file_is_named_where_the_cursor_stands() -> None:
    on = on_files(*FILES)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"see  now", *["left"] * 4, *"@au")
        await until(on, pilot, "▸ src/auth.py")
        await press(pilot, "enter")
        assert on.screen.prompt.text == "see @src/auth.py  now"
        assert on.backend.of(commands.Send) == []
        await press(pilot, *"@page", "tab")
        assert on.screen.prompt.text == 'see @src/auth.py @"docs/a page.md"  now'
        await press(pilot, "end", "enter")
        [sent] = on.backend.of(commands.Send)
        assert sent.text == 'see @src/auth.py @"docs/a page.md"  now'


async def test_an_image_is_attached_in_the_place_of_its_name() -> None:
    """IMG-1."""
    on = on_files(*FILES)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"look @shot")
        await until(on, pilot, "image, to attach")
        await press(pilot, "enter")
        assert on.backend.of(Attach) == [Attach(text="shot.png", sure=True)]
        assert on.screen.prompt.text == "look "
        await until(on, pilot, CHIP)


async def test_what_no_file_fits_is_sent_as_it_is() -> None:
    on = on_files(*FILES)
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"@nobody", "enter")
        assert [sent.text for sent in on.backend.of(commands.Send)] == ["@nobody"]
        await press(pilot, *"@src/auth.py", "enter")
        assert [sent.text for sent in on.backend.of(commands.Send)][1:] == ["@src/auth.py"]


async def test_a_late_answer_and_a_moved_cursor_change_nothing() -> None:
    on = on_files()
    on.backend.answers[commands.FindFiles] = lambda _: []
    async with on.app.run_test(size=(100, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"a @s")
        on.backend.tell(up.FilesFound(query="x", paths=("xerox.txt",)))
        await settled(pilot)
        assert "xerox" not in on.text()
        on.backend.tell(up.FilesFound(query="s", paths=("src/auth.py",)))
        await until(on, pilot, "▸ src/auth.py")
        await press(pilot, "home", "tab")
        assert on.screen.prompt.text == "a @s"
