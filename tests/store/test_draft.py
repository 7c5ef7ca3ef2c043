"""The prompt's draft and history."""

import stat
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.draft import HISTORY, HISTORY_SIZE, Draft
from nodwyn_tui.store.places import prompt_folder
from nodwyn_tui.store.redact import Redactor
from tests.fakes.credentials import samples


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    return Draft(tmp_path / "w", tmp_path / "state", Redactor())


def test_draft_is_kept_until_it_is_sent(draft: Draft, tmp_path: Path) -> None:
    assert draft.read() == ""
    text = "fix\r\n it\u2028 \ud83d\0 now "
    draft.save(text)
    again = Draft(tmp_path / "w", tmp_path / "state", Redactor())
    assert again.read() == "fix\r\n it\u2028 \ufffd\ufffd now "
    again.sent(text)
    assert draft.read() == ""
    assert draft.history() == ("fix\r\n it\u2028 \ufffd\ufffd now ",)


def test_files_are_private_and_a_workspaces_own(draft: Draft, tmp_path: Path) -> None:
    draft.save("a")
    draft.sent("b")
    folder = prompt_folder(tmp_path / "w", tmp_path / "state")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert Draft(tmp_path / "other", tmp_path / "state", Redactor()).history() == ()


def test_history_is_bounded_and_without_repeats(draft: Draft) -> None:
    for number in range(3):
        draft.sent(f"prompt {number}")
        draft.sent(f"prompt {number}")
    assert draft.history() == ("prompt 0", "prompt 1", "prompt 2")
    folder = draft._folder
    folder.joinpath("history.jsonl").write_text("".join(f'"{n}"\n' for n in range(HISTORY)))
    draft.sent("last")
    assert len(draft.history()) == HISTORY
    assert draft.history()[0] == "1"
    draft.sent("x" * (HISTORY_SIZE - 100))
    assert draft.history()[-2:] == ("last", "x" * (HISTORY_SIZE - 100))
    assert len(draft.history()) < 60


def test_history_holds_no_credential(draft: Draft) -> None:
    """SEC-1."""
    secret, _ = samples(Random())["openai-key"]
    draft.sent(f"use {secret}")
    assert draft.history() == ("use [redacted:openai-key]",)


def test_damaged_history_gives_what_is_whole(draft: Draft) -> None:
    draft.sent("one")
    path = draft._folder / "history.jsonl"
    path.write_bytes(b'\0\0\n17\n"half\n' + path.read_bytes() + b'"\\ud83d two"')
    assert draft.history() == ("one", "\ufffd two")


def test_two_sessions_of_a_workspace_lose_no_prompt(draft: Draft, tmp_path: Path) -> None:
    """REL-5."""
    code = (
        "import sys; from pathlib import Path; from nodwyn_tui.store.draft import Draft;"
        "from nodwyn_tui.store.redact import Redactor;"
        "draft = Draft(Path(sys.argv[1]), Path(sys.argv[2]), Redactor());"
        "[draft.sent(f'{sys.argv[3]}{n}') for n in range(15)]"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path / "w", tmp_path / "state", name])
        for name in "ab"
    ]
    assert [child.wait(timeout=30) for child in children] == [0, 0]
    assert sorted(draft.history()) == sorted(f"{name}{n}" for name in "ab" for n in range(15))


def test_refusals_name_the_file(draft: Draft, tmp_path: Path) -> None:
    folder = prompt_folder(tmp_path / "w", tmp_path / "state")
    (folder / "draft.txt").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"draft\.txt"):
        draft.read()
    with pytest.raises(StoreError, match=r"draft\.txt"):
        draft.save("x")
