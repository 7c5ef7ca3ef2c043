"""The person's editor, as it is started from the screen (ORD-10)."""

import signal
from pathlib import Path

import pytest

from nodwyn_tui.system.editor import open_file


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("", "no editor is known"),
        ("'vi", "is no command"),
        ("/nowhere/vi -x", "/nowhere/vi could not be started"),
        ("sh -c 'exit 3'", "sh ended with code 3"),
    ],
)
def test_what_goes_wrong_is_told(tmp_path: Path, command: str, told: str) -> None:
    """And what to do about it."""
    problem = open_file(command, tmp_path / "a file.md")
    assert told in problem
    assert ("VISUAL" in problem) == ("code" not in problem)


def test_the_file_is_its_last_word_and_ctrl_c_is_its_own(tmp_path: Path) -> None:
    """A signal to all of the terminal's processes ends neither."""
    before = signal.getsignal(signal.SIGINT)
    script = tmp_path / "editor"
    script.write_text(
        "#!/bin/sh\nkill -INT $PPID\ntrap 'echo caught >> \"$1\"' INT\nkill -INT $$\nexit 0\n"
    )
    script.chmod(0o755)
    assert open_file(str(script), tmp_path / "a file.md") == ""
    assert (tmp_path / "a file.md").read_text() == "caught\n"
    assert signal.getsignal(signal.SIGINT) is before
