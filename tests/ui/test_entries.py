"""How entries look, in words: colour is never all (TUI-1, TUI-11)."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets.diffs import counts, diff_lines
from nodwyn_tui.ui.widgets.entries import View, can_open, duration, estimate, lay_out
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.lines import cells, plain
from nodwyn_tui.ui.widgets.questions import question_lines
from nodwyn_tui.ui.widgets.visible import visible
from tests.ui.scenes import DIFF, TALK, call, entry

FILES = Path(__file__).parents[1] / "cases" / "files"


def shown(made: up.Entry, width: int = 60, **more: object) -> list[str]:
    view = View(entry=made, body=made.body, **more)  # type: ignore[arg-type]
    return [plain(line).rstrip() for line in lay_out(view, width)]


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ("ok", f"✓ fs-read a.py{' ' * 41}0.4 s"),
        ("failed", f"✗ fs-read a.py{' ' * 32}failed · 0.4 s"),
        ("refused", f"⊘ fs-read a.py{' ' * 31}refused · 0.4 s"),
        ("interrupted", f"■ fs-read a.py{' ' * 27}interrupted · 0.4 s"),
        ("running", f"◐ fs-read a.py{' ' * 34}runs · 0.4 s"),
        ("waiting", f"● fs-read a.py{' ' * 25}waits for you · 0.4 s"),
    ],
)
def test_a_call_is_one_line_with_a_mark_and_a_word(status: up.CallStatus, line: str) -> None:
    assert shown(call(1, "fs-read", "fs-read a.py", status))[0] == line


def test_a_call_opens_to_what_was_asked_and_what_came() -> None:
    body = up.Body(text="1 import os", arguments='{\n  "path": "a.py"\n}')
    lines = shown(call(1, "fs-read", "fs-read a.py", body=body), is_open=True)
    assert lines[1:] == [
        "  asked for", "  {", '    "path": "a.py"', "  }", "  result", "  1 import os"
    ]  # fmt: skip


def test_a_write_opens_to_its_change() -> None:
    body = up.Body(text="written", arguments="{}", diff="-a\n+b")
    lines = shown(call(1, "fs-edit", "fs-edit a.py", body=body), is_open=True)
    assert lines[0].endswith("+1 -1 · 0.4 s")
    assert lines[1:] == ["  change", "    - a", "    + b", "  result", "  written"]


def test_a_running_call_shows_its_latest_line() -> None:
    running = call(1, "shell", "shell make", "running", ms=None)
    assert shown(running, output="[ 12%] a.c")[1] == "  [ 12%] a.c"


def test_thinking_is_folded_and_opens() -> None:
    thought = entry(1, "thinking", "Where is it?", ms=4_000)
    assert shown(thought) == ["▸ thought 4 s"]
    assert shown(entry(1, "thinking", "Where is it?")) == ["▸ thought · 12 characters"]
    assert shown(thought, is_open=True) == ["▾ thought 4 s", "  Where is it?"]


def test_a_long_message_is_folded_and_says_so() -> None:
    long = entry(1, "user", "\n".join(f"line {n}" for n in range(10_000)))
    lines = shown(long)
    assert len(lines) == 13
    assert lines[-1] == "  … 9,989 more lines · Enter or a click shows them"
    assert can_open(long)
    assert len(shown(long, is_open=True)) == 10_001


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("elided", "elided"),
        ("cut", "shortened"),
        ("folded", "folded"),
        ("behind", "behind a reset"),
    ],
)
def test_an_entry_says_where_it_stands(state: up.EntryState, word: str) -> None:
    for made in TALK:
        assert word in shown(replace(made, state=state))[0]


def test_a_divider_breaks_where_its_parts_end() -> None:
    """ROL-14: nothing of a reset's figures is cut off at any width."""
    parts = ("rolled over in mid-run", "at 48.2k of 64k tokens", "the model had been warned")
    made = replace(entry(1, "divider"), title=" · ".join(parts))
    assert shown(made, 100) == [f"─── {made.title} {'─' * (94 - len(made.title) + 1)}"]
    assert shown(made, 60)[0].startswith(f"─── {parts[0]} · {parts[1]} ───")
    assert shown(made, 60)[1:] == [f"    {parts[2]}"]
    narrow = " ".join(shown(made, 36))
    assert all(part in narrow for part in parts)


def test_what_was_told_the_model_is_a_line_that_opens() -> None:
    """ROL-14: hidden guidance is no message, and hides nothing."""
    told = replace(entry(1, "guidance", "Note: ~62 % used.\nGo on."), title="told the model: ~62 %")
    assert shown(told) == ["▸ told the model: ~62 %"]
    assert can_open(told)
    assert shown(told, is_open=True) == [
        "▾ told the model: ~62 %",
        "  Note: ~62 % used.",
        "  Go on.",
    ]
    assert shown(told, before="divider") == shown(told)
    assert shown(told, before="user") == ["", *shown(told)]


def test_a_note_in_the_window_says_where_it_stands_too() -> None:
    """A handover note that was undone; a remark to the person alone is never there."""
    note = replace(entry(1, "note", "Go on with the test."), title="the handover note")
    undone = shown(replace(note, state="outside"))
    assert undone[0].split() == ["·", "the", "handover", "note", "outside"]
    assert shown(note)[0] == "· the handover note"
    assert shown(replace(entry(1, "note", "a remark"), state="outside")) == ["· a remark"]


def test_a_body_that_is_not_here_yet_shows_its_preview() -> None:
    made = replace(TALK[-1], body=None)
    assert shown(made)[0].startswith("  The path is joined by hand")
    assert shown(made)[-1].endswith("…")


@pytest.mark.parametrize("kind", ["user", "assistant", "note", "error", "plan"])
@pytest.mark.parametrize("line", (FILES / "C56_lines.txt").read_text().splitlines())
def test_brackets_are_text_in_every_kind(kind: up.EntryKind, line: str) -> None:
    """C56: never markup, in no kind of entry; Markdown's own marks are the reply's to make."""
    text = "".join(shown(replace(entry(1, kind, line), title="" if kind != "plan" else line), 200))
    assert line.strip() in text or kind == "assistant"


@pytest.mark.parametrize("argument", (FILES / "C57_arguments.txt").read_text().splitlines())
def test_an_open_bracket_swallows_nothing(argument: str) -> None:
    """C57: what stands after it on the call's line is there."""
    line = shown(call(1, "shell", f"shell {argument}"), 100)[0]
    assert argument in line
    assert line.endswith("0.4 s")


@pytest.mark.parametrize("width", [20, 37, 60, 200])
def test_lines_fit(width: int) -> None:
    for made in TALK:
        for is_open in (False, True):
            view = View(entry=made, body=made.body, is_open=is_open)
            for line in lay_out(view, width):
                assert cells(line.spans) - (len(plain(line)) - len(plain(line).rstrip())) <= width


def test_estimates_are_of_the_right_size() -> None:
    for made in TALK:
        assert 1 <= estimate(made, 60) <= 3 * len(shown(made)) + 2


@pytest.mark.parametrize(
    ("ms", "words"),
    [(3, "0.1 s"), (400, "0.4 s"), (4_000, "4 s"), (12_340, "12.3 s"), (132_000, "2 min 12 s")],
)
def test_durations(ms: int, words: str) -> None:
    assert duration(ms) == words


def test_a_diff_has_signs_and_numbers() -> None:
    lines = [plain(line).rstrip() for line in diff_lines(DIFF, 60, visible)]
    assert lines[2] == "@@ -10,7 +10,7 @@"
    assert lines[6] == "   13   def token_file(base: str, name: str) -> Path:"
    assert lines[7] == '   14 -     p = base + "/" + name'
    assert lines[8] == "   14 +     p = Path(base) / name"
    assert counts(DIFF) == (1, 1)


ASKED = up.ApprovalAsked(
    call_id="c", entry_id="1", tool="shell", title="shell", command="rm -rf build", pattern="p"
)


def question(asked: up.ApprovalAsked, *, whole: bool = False, armed: bool = True) -> list[str]:
    made = question_lines(asked, 60, whole=whole, place=(1, 1), armed=armed, keys=Keys())
    return [plain(line).rstrip() for line in made]


def test_a_question_shows_exactly_what_would_run() -> None:
    """C78: codes, signs that turn text around and hidden blanks are marks, on every line."""
    command = "rm -rf \u202ebuild\x1b[2K\ntouch\u00a0x"
    lines = question(replace(ASKED, command=command, touches=("a\nb", "\x1b]0;t\x07")))
    assert lines[0] == " $ rm -rf ⟨202E⟩build␛[2K"
    assert lines[1] == "   touch⟨00A0⟩x"
    assert lines[2] == "touches a␊b, ␛]0;t␇"


def test_a_question_names_its_keys_and_what_always_means() -> None:
    assert question(ASKED)[-2:] == [
        "Allow this?  [a]llow once  [s]ession  al[w]ays  [n]o…",
        "always means p",
    ]
    assert question(ASKED, armed=False)[-1] == "Allow this?  Tab, then a key"
    assert "[w]" not in "".join(question(replace(ASKED, pattern="")))


def test_a_long_question_is_folded_until_it_is_asked_for() -> None:
    long = replace(ASKED, command="\n".join(f"step {n}" for n in range(100)))
    assert "… 77 more lines · e shows them" in question(long)
    assert sum("step" in line for line in question(long, whole=True)) == 100
