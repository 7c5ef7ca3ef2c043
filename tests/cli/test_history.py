"""ROL-11 end to end: `nodwyn run` with a model that searches its own session and reads back."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.test_run import configure, run
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Item, Script, call, say

HOME = "the heron nests at mile 47\n"


def shown(body: Mapping[str, Any]) -> str:
    text: str = body["messages"][-1]["content"]
    return text


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, text
    return match[1]


def test_an_elided_result_is_found_by_one_process_and_read_back_by_the_next(
    tmp_path: Path, home: Path
) -> None:
    """ENG-15: the cursor of the first process leads the second one on."""
    workspace = tmp_path / "ws"
    workspace.mkdir()
    (workspace / "old.txt").write_text(HOME + "reeds and water\n" * 60)
    for number in range(8):
        (workspace / f"{number}.txt").write_text(f"entry {number} of the log\n" * 160)
    (workspace / "7.txt").write_text("no heron here\n")
    kept: list[str] = []

    def keep(body: Mapping[str, Any]) -> Item:
        assert "[elided seq=" in str(body["messages"]), "the first results have left the window"
        kept.append(found(r'cursor "([^"]+)"', shown(body)))
        return say("one was found")

    def go_on(_body: Mapping[str, Any]) -> Item:
        arguments = {"action": "search", "query": "heron", "limit": 1, "cursor": kept[0]}
        return call("session_history", arguments)

    def read_back(body: Mapping[str, Any]) -> Item:
        item = found(r"(i:\d+) result of fs-read, character 6 of", shown(body))
        return call("session_history", {"action": "read_item", "item": item})

    def answer(body: Mapping[str, Any]) -> Item:
        mile = found(r"nests at mile (\d+)", shown(body))
        return say(f"At mile {mile}.")

    script: list[Script] = [call("fs-read", {"path": "old.txt"})]
    script += [call("fs-read", {"path": f"{number}.txt"}) for number in range(8)]
    script += [call("session_history", {"action": "search", "query": "HERON", "limit": 1}), keep]
    script += [go_on, read_back, answer]
    with ChatServer(script, context=12_000) as server:
        configure(home, server, context=12_000)
        first = run(workspace, "-p", "read all, and tell where that bird nests")
        second = run(workspace, "--continue", "-p", "go on searching")
    assert (first.returncode, first.stdout) == (0, "one was found\n"), first.stderr
    assert (second.returncode, second.stdout) == (0, "At mile 47.\n"), second.stderr
    assert server.violations == []
    assert (home / "state" / "history.key").stat().st_mode & 0o077 == 0
