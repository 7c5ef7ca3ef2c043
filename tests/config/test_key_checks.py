"""Other keys in the file: what is wrong is told with its line, the rest counts (TUI-11, C72)."""

from pathlib import Path

from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.files import load_settings

TEXT = """\
[ui]
enter = "breaks"

[keys]
palette = "ctrl+g"
pallete = "f5"
send = "f6"
tour = "ctrl+s"
help = 5
details = ""
"""


def test_each_bad_key_is_told_and_left_out(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(TEXT, encoding="utf-8")
    loaded = load_settings(file, Environment())
    assert loaded.settings.keys == {"palette": "ctrl+g", "details": ""}
    assert loaded.settings.ui.enter == "breaks"
    told = {each.error.key: each.error for each in loaded.problems}
    assert list(told) == ["keys.pallete", "keys.send", "keys.tour", "keys.help"]
    assert [error.line for error in told.values()] == [6, 7, 8, 9]
    assert not any(each.warning for each in loaded.problems)
    assert "did you mean palette?" in told["keys.pallete"].message
    assert "palette | settings" in told["keys.pallete"].allowed
    assert '[ui] enter = "breaks"' in told["keys.send"].message
    assert "ctrl+s is the key of settings already" in told["keys.tour"].message
    assert told["keys.tour"].found == '"ctrl+s"' or "ctrl+s" in told["keys.tour"].found
    assert "ctrl+g" in told["keys.tour"].allowed
    assert told["keys.help"].found == "5"


def test_a_table_of_another_kind_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('keys = "ctrl+g"\n', encoding="utf-8")
    loaded = load_settings(file, Environment())
    assert loaded.settings.keys == {}
    assert [each.error.key for each in loaded.problems] == ["keys"]
