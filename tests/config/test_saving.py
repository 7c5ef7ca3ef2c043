"""Saving one setting keeps everything else."""

import json
import stat
import threading
import tomllib
from pathlib import Path

import pytest
from filelock import FileLock

from nodwyn_tui.config import saving
from nodwyn_tui.config.environment import environment_of
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.saving import add_allow_pattern, remove_value, set_value
from nodwyn_tui.errors import ConfigError

CASES = Path(__file__).parent.parent / "cases" / "files"
NAMES: list[str] = json.loads((CASES / "C73_names.json").read_text(encoding="utf-8"))

FILE = """\
# mine
zeta = 1            # unknown, kept
mode = "ask"        # careful

[window]
low_water = 100     # first
# between
high_water = 200

[approvals]
allow = [
  "shell: git status",  # harmless
]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(FILE)
    return file


def test_one_value_changes_and_nothing_else(file: Path) -> None:
    """TUI-5: comments, order and unknown keys stay."""
    set_value(file, ("mode",), "edits")
    set_value(file, ("window", "high_water"), 300)
    wanted = FILE.replace('"ask" ', '"edits" ').replace("200", "300")
    assert file.read_text().replace(" ", "") == wanted.replace(" ", "")


def test_a_new_key_and_a_new_table(file: Path) -> None:
    set_value(file, ("ui", "theme"), "x")
    set_value(file, ("fallback",), "m")
    values = tomllib.loads(file.read_text())
    assert values["ui"] == {"theme": "x"}
    assert values["fallback"] == "m"
    assert FILE.splitlines()[-3:] == file.read_text().splitlines()[-6:-3]


def test_the_file_is_made_private_where_there_is_none(tmp_path: Path) -> None:
    """SEC-1: 0600 in a folder of 0700."""
    file = tmp_path / "new" / "config.toml"
    set_value(file, ("mode",), "plan")
    assert file.read_text() == 'mode = "plan"\n'
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_mode_and_a_link_are_kept(file: Path, tmp_path: Path) -> None:
    file.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(file)
    set_value(link, ("mode",), "plan")
    assert link.is_symlink()
    assert 'mode = "plan"' in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", NAMES)
def test_a_name_survives_the_round_trip(tmp_path: Path, name: str) -> None:
    """C73: one quoted key, whatever the name; read back by another reader."""
    file = tmp_path / "config.toml"
    set_value(file, ("models", name), {"server": "ollama", "model": "m"})
    set_value(file, ("models", name, "num_ctx"), 4096)
    set_value(file, ("models", name, "num_ctx"), 8192)
    assert tomllib.loads(file.read_text(encoding="utf-8")) == {
        "models": {name: {"server": "ollama", "model": "m", "num_ctx": 8192}}
    }
    assert '[models."' in file.read_text(encoding="utf-8")
    loaded = load_settings(file, environment_of({}))
    assert loaded.problems == ()
    assert loaded.settings.models[name].num_ctx == 8192


def test_all_names_live_together(tmp_path: Path) -> None:
    """C73: after a restart the same entries."""
    file = tmp_path / "config.toml"
    for number, name in enumerate(NAMES, 1):
        set_value(file, ("models", name), {"server": "ollama", "model": "m", "num_ctx": number})
    models = load_settings(file, environment_of({})).settings.models
    assert {name: model.num_ctx for name, model in models.items()} == {
        name: number for number, name in enumerate(NAMES, 1)
    }


def test_a_pattern_is_added_once(file: Path) -> None:
    add_allow_pattern(file, "shell: uv run pytest *")
    add_allow_pattern(file, "shell: uv run pytest *")
    settings = load_settings(file, environment_of({})).settings
    assert settings.approvals.allow == ("shell: git status", "shell: uv run pytest *")
    assert "# harmless" in file.read_text()


def test_a_pattern_starts_the_list(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[approvals]\n# none yet\n")
    add_allow_pattern(file, 'shell: echo "a\\b"')
    assert tomllib.loads(file.read_text()) == {"approvals": {"allow": ['shell: echo "a\\b"']}}
    assert "# none yet" in file.read_text()


def test_a_pattern_is_saved_in_a_file_with_wrong_content(tmp_path: Path) -> None:
    """C72: bad entries elsewhere do not stop an "always", and stay as they are."""
    file = tmp_path / "config.toml"
    before = (CASES / "C72_wrong_content.toml").read_text()
    file.write_text(before)
    add_allow_pattern(file, "shell: git status")
    values = tomllib.loads(file.read_text())
    assert values.pop("approvals") == {"allow": ["shell: git status"]}
    assert values == tomllib.loads(before)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[approvals]\nallow = 3", r"approvals\.allow: something else"),
        ('approvals = "x"', "approvals: something else"),
    ],
)
def test_what_stands_in_the_way_is_named(tmp_path: Path, text: str, words: str) -> None:
    """C72: saving never crashes and never overwrites what it does not understand."""
    file = tmp_path / "config.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=words):
        add_allow_pattern(file, "shell: ls")
    assert file.read_text() == text


def test_a_value_in_place_of_a_table_is_named(tmp_path: Path) -> None:
    """C72."""
    file = tmp_path / "config.toml"
    file.write_text('window = "large"')
    with pytest.raises(ConfigError, match="window: something else"):
        set_value(file, ("window", "high_water"), 5)


def test_a_file_that_is_not_toml_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("mode = \n")
    with pytest.raises(ConfigError, match=r"config\.toml:1"):
        set_value(file, ("mode",), "ask")
    assert file.read_text() == "mode = \n"


def test_a_value_is_taken_out(file: Path) -> None:
    remove_value(file, ("window", "low_water"))
    remove_value(file, ("window", "low_water"))
    remove_value(file, ("nowhere", "at", "all"))
    assert "low_water" not in file.read_text()
    assert "# between\nhigh_water = 200" in file.read_text()


def test_the_last_entry_of_its_kind_is_taken_out(tmp_path: Path) -> None:
    """With the table that had no line of its own; one that has stays."""
    for before in ("", "# mine\n[models]\n"):
        file = tmp_path / "config.toml"
        file.write_text(before)
        set_value(file, ("models", "a.b"), {"server": "ollama", "model": "m"})
        remove_value(file, ("models", "a.b"))
        assert tomllib.loads(file.read_text()) == ({"models": {}} if before else {})
        assert before.strip() in file.read_text()
        assert load_settings(file, environment_of({})).problems == ()


def test_inline_and_dotted_tables_take_a_value(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('ui = { theme = "a" }\nwindow.low_water = 5\n')
    set_value(file, ("ui", "theme"), "b")
    set_value(file, ("window", "high_water"), 9)
    assert tomllib.loads(file.read_text()) == {
        "ui": {"theme": "b"},
        "window": {"low_water": 5, "high_water": 9},
    }


def test_tables_in_turns_take_values(tmp_path: Path) -> None:
    """TUI-5: servers and models may follow each other by pairs, as a person thinks of them."""
    file = tmp_path / "config.toml"
    pairs = (
        f'[servers.s{n}]\nprovider = "openai"\n\n[models.m{n}]\nserver = "s{n}"  # {n}\n\n'
        for n in (1, 2)
    )
    file.write_text("".join(pairs))
    wanted = tomllib.loads(file.read_text())
    set_value(file, ("models", "m2", "fresh"), "run_start")
    wanted["models"]["m2"]["fresh"] = "run_start"
    set_value(file, ("models", "m3", "server"), "s1")
    wanted["models"]["m3"] = {"server": "s1"}
    set_value(file, ("servers", "s4"), {"provider": "ollama"})
    wanted["servers"]["s4"] = {"provider": "ollama"}
    remove_value(file, ("models", "m1"))
    del wanted["models"]["m1"]
    remove_value(file, ("servers", "s2", "provider"))
    del wanted["servers"]["s2"]["provider"]
    assert tomllib.loads(file.read_text()) == wanted
    assert "# 2\n" in file.read_text()


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_bytes(b'# a\r\nmode = "ask"\r\nzeta = 1\r\n')
    set_value(file, ("mode",), "plan")
    assert file.read_bytes() == b'# a\r\nmode = "plan"\r\nzeta = 1\r\n'


def test_an_edit_made_in_the_same_moment_is_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-5: an editor saves between our reading and our writing."""
    before = saving.read_text
    reads = []

    def read_text(path: Path) -> str:
        text = before(path)
        reads.append(text)
        if len(reads) == 1:
            path.write_text(text.replace("zeta = 1", "zeta = 2"))
        return text

    monkeypatch.setattr(saving, "read_text", read_text)
    set_value(file, ("mode",), "plan")
    values = tomllib.loads(file.read_text())
    assert (values["zeta"], values["mode"]) == (2, "plan")


def test_a_saver_that_hangs_is_said(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "_LOCK_SECONDS", 0.1)
    with (
        FileLock(file.with_name(".config.toml.lock")),
        pytest.raises(ConfigError, match="another Nodwyn is saving"),
    ):
        set_value(file, ("mode",), "plan")


def test_a_change_that_would_touch_something_else_is_not_made(file: Path) -> None:
    """A value that does not come back as it was given is never written."""
    before = file.read_text()
    with pytest.raises(ConfigError, match="edit the file by hand"):
        set_value(file, ("window", "threshold"), float("nan"))
    assert file.read_text() == before


def test_savers_at_once_lose_nothing(file: Path) -> None:
    """TUI-5: each reads what the one before it wrote."""
    patterns = [f"shell: tool{number}" for number in range(12)]
    threads = [threading.Thread(target=add_allow_pattern, args=(file, item)) for item in patterns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    allow = load_settings(file, environment_of({})).settings.approvals.allow
    assert set(allow) == {"shell: git status", *patterns}


def test_a_folder_that_refuses_is_said(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.touch()
    with pytest.raises(ConfigError, match="cannot be saved"):
        set_value(blocker / "config.toml", ("mode",), "ask")
