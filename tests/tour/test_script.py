"""The guide's replies, for conversations as they come."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.tour.chapters import CHAPTERS, FAREWELL
from nodwyn_tui.tour.sample import prepare_workspace
from nodwyn_tui.tour.script import Turn, next_turn
from nodwyn_tui.window import handover

TOOLS = frozenset({"fs-list", "fs-read", "fs-search", "fs-edit", "shell", "plan-write"})

Messages = list[dict[str, Any]]


def reply(messages: Messages, tools: frozenset[str] = TOOLS) -> Turn:
    """The next reply, with its message added."""
    turn = next_turn(messages, tools)
    message: dict[str, Any] = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in turn.calls
        ]
    messages.append(message)
    return turn


def say(messages: Messages, text: str = "on") -> None:
    messages.append({"role": "user", "content": text})


def result(messages: Messages, text: str) -> None:
    messages.append({"role": "tool", "content": text})


def perform(workspace: Path, name: str, arguments: Mapping[str, Any]) -> str:
    """The call's effect on the real sample project."""
    match name:
        case "fs-list":
            return "\n".join(sorted(path.name for path in workspace.iterdir()))
        case "fs-read":
            return (workspace / arguments["path"]).read_text()
        case "fs-search":
            hits = [p.name for p in workspace.glob("*.py") if arguments["pattern"] in p.read_text()]
            assert hits
            return "\n".join(hits)
        case "fs-edit":
            file = workspace / arguments["path"]
            assert file.read_text().count(arguments["old"]) == 1
            file.write_text(file.read_text().replace(arguments["old"], arguments["new"]))
            return "changed"
        case "shell":
            command = arguments["command"].replace("python3", sys.executable)
            done = subprocess.run(
                command.split(), cwd=workspace, capture_output=True, text=True, check=False
            )
            return f"{done.stdout}{done.stderr}\n[exit {done.returncode}]"
        case "plan-write":
            assert all(item["state"] in ("todo", "doing", "done") for item in arguments["items"])
            return "kept"
    raise AssertionError(name)


def test_the_whole_tour_mends_the_sample_project(tmp_path: Path) -> None:
    """Each call works on the real files; the test fails before the change and passes after it."""
    workspace = prepare_workspace(tmp_path, "t")
    messages: Messages = []
    texts: list[str] = []
    called: list[str] = []
    for _chapter in CHAPTERS:
        say(messages)
        while (turn := reply(messages)).calls:
            texts.append(turn.text)
            for call in turn.calls:
                called.append(call.name)
                result(messages, perform(workspace, call.name, call.arguments))
        texts.append(turn.text)
    whole = "\n".join(texts)
    assert set(called) == TOOLS
    assert "tour, not a model" in texts[0]
    assert "One of two tests fails" in whole
    assert "The tests pass, so both steps are done." in whole
    assert "ollama pull" in texts[-1]
    say(messages)
    assert reply(messages).text == FAREWELL
    assert reply(messages).text == FAREWELL


def test_every_chapter_bears_its_number() -> None:
    messages: Messages = []
    for number, chapter in enumerate(CHAPTERS, 1):
        say(messages)
        turn = reply(messages)
        assert turn.text.startswith(f"**Tour {number}/7 · {chapter.title}**")
        while turn.calls:
            result(messages, "ok")
            turn = reply(messages)


def at_chapter(number: int) -> Messages:
    """A conversation in which the person has just asked for this chapter."""
    messages: Messages = []
    for _ in range(number - 1):
        say(messages)
        while reply(messages).calls:
            result(messages, "ok")
    say(messages)
    return messages


def test_a_refusal_is_answered_in_its_own_words() -> None:
    messages = at_chapter(3)
    reply(messages)
    result(messages, "refused: the person said no")
    assert "The command did not run" in reply(messages).text
    messages = at_chapter(5)
    reply(messages)
    result(messages, "kept")
    result(messages, "Refused by the person")
    assert "kept the file as it was" in reply(messages).text
    result(messages, "FAILED (failures=1)")
    assert "still fail" in reply(messages).text


def test_a_machine_without_python_is_not_called_a_success() -> None:
    messages = at_chapter(3)
    reply(messages)
    result(messages, "python3: command not found\n[exit 127]")
    assert "cannot run" in reply(messages).text


def test_a_reply_cut_off_before_its_calls_is_given_again() -> None:
    """Esc in the middle of a reply: its text stays in the window, its calls do not."""
    messages = at_chapter(2)
    whole = reply(messages)
    messages[-1] = {"role": "assistant", "content": whole.text}
    say(messages)
    assert reply(messages) == whole


def test_without_the_tools_the_words_still_go_on() -> None:
    messages: Messages = []
    for chapter in CHAPTERS:
        for _step in chapter.steps:
            say(messages)
            assert reply(messages, frozenset()).calls == ()
    assert CHAPTERS[-1].steps[0].text in messages[-1]["content"]


def test_a_compacted_window_goes_on_where_the_tour_was() -> None:
    """AGT-16: the guide's note bears the chapter; the words that ask for it are the product's."""
    messages = at_chapter(3)
    ask = handover.REQUEST.format(words=100)
    note = next_turn(
        [*messages, {"role": "user", "content": f"Note from the program: {ask}"}], TOOLS
    )
    assert note.calls == ()
    assert note.text.startswith("**Tour 2/7 · ")
    after = [{"role": "user", "content": f"… your note:\n\n{note.text}"}]
    turn = next_turn([*after, {"role": "user", "content": "on"}], TOOLS)
    assert "Tour 1/7" not in turn.text
    assert turn.text


def test_a_cleared_window_begins_the_tour_again() -> None:
    assert next_turn([{"role": "user", "content": "hi"}], TOOLS).text.startswith("**Tour 1/7")


MESSAGE = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "tool", "system"]),
        "content": st.sampled_from(["", "x", "refused", "OK", "**Tour 3/7 · ", "**Tour 99/7 · "]),
    },
    optional={"tool_calls": st.just([{}])},
)


@given(st.lists(MESSAGE, max_size=8))
def test_any_conversation_gets_the_same_reply_twice(messages: Messages) -> None:
    turn = next_turn(messages, TOOLS)
    assert turn == next_turn(messages, TOOLS)
    assert turn.text.strip()
