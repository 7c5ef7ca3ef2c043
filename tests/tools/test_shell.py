"""`shell` (AGT-6, AGT-7, C50 to C55)."""

import asyncio
import contextlib
import os
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from nodwyn_tui.errors import StoreError, ToolError
from nodwyn_tui.tools.base import Interrupted, Outcome
from nodwyn_tui.tools.shell import Shell
from tests.tools.conftest import CASES, Desk, until


@pytest.fixture
async def desk(desk: Desk) -> AsyncIterator[Desk]:
    """The desk; whatever a test's commands left running is ended."""
    mark = secrets.token_hex(8)
    desk.environment["NODWYN_TEST_MARK"] = mark
    desk.__post_init__()
    yield desk
    await shell(desk).close()
    for pid in pids(f"NODWYN_TEST_MARK={mark}"):
        os.kill(pid, 9)


def shell(desk: Desk) -> Shell:
    tool = desk.tools["shell"]
    assert isinstance(tool, Shell)
    return tool


def pids(mark: str) -> list[int]:
    """Running processes that have `mark` in their environment."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            if path.name.isdigit() and mark.encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def commands(desk: Desk) -> set[str]:
    """The command lines that the desk's commands run."""
    found = set()
    for pid in pids(f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}"):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            found.add(line.rstrip(b"\0").replace(b"\0", b" ").decode())
    return found


async def run(desk: Desk, command: str, timeout_s: int = 20) -> Outcome:
    return await desk.run("shell", command=command, timeout_s=timeout_s)


async def quick(desk: Desk, command: str) -> Outcome:
    """A call that must not wait for what it started, which would take minutes."""
    return await asyncio.wait_for(run(desk, command), 30)


async def test_output_and_exit_code(desk: Desk) -> None:
    good = await run(desk, "echo one; echo two >&2; echo three")
    assert (good.text, good.is_error) == ("one\ntwo\nthree\n[exit code 0]", False)
    bad = await run(desk, "echo no; exit 3")
    assert (bad.text, bad.is_error) == ("no\n[exit code 3]", True)
    assert (await run(desk, "true")).text == "(no output)\n[exit code 0]"
    assert (await run(desk, "kill -9 $$")).text == "(no output)\n[exit code -9]"


async def test_a_wrong_command_is_told_as_bash_tells_it(desk: Desk) -> None:
    assert "no-such-thing: command not found" in (await run(desk, "no-such-thing")).text
    assert "unexpected EOF" in (await run(desk, "echo 'open")).text


async def test_folder_and_variables_last(desk: Desk) -> None:
    desk.put("sub dir/x", "")
    first = await run(desk, "cd 'sub dir'; export A='one\ntwo=3' B=2; c=3; unset LANG; false")
    assert first.text == f'(no output)\n[exit code 1]\n[now in "{desk.root}/sub dir"]'
    second = await run(desk, 'pwd; echo "$A|$B|$c|$LANG"; ls')
    assert second.text == f"{desk.root}/sub dir\none\ntwo=3|2||\nx\n[exit code 0]"
    await run(desk, "unset A; cd ..; exit 4")
    assert (await run(desk, 'echo "[$A]"; pwd')).text == f"[]\n{desk.root}\n[exit code 0]"


@pytest.mark.parametrize(
    "command",
    [
        "set -eu; export KEPT=1; cd sub; false; echo never",
        "export KEPT=1; cd sub; exit 9",
        "IFS=,; set -x; export KEPT=1; cd sub",
        "export KEPT=1; cd sub; trap 'echo mine' INT",
        "export KEPT=1; cd sub; exec 3>&1; set -- a b",
    ],
)
async def test_they_last_however_the_command_ends(desk: Desk, command: str) -> None:
    desk.put("sub/x", "")
    await run(desk, command)
    assert (await run(desk, 'echo "$KEPT"; basename "$PWD"')).text == "1\nsub\n[exit code 0]"


@pytest.mark.parametrize("command", ["exec true", "kill -9 $$", "trap - EXIT; cd /; export B=1"])
async def test_a_shell_that_could_not_tell_leaves_things_as_they_were(
    desk: Desk, command: str
) -> None:
    await run(desk, "export A=1")
    await run(desk, command)
    assert (await run(desk, 'echo "$A$B"; pwd')).text == f"1\n{desk.root}\n[exit code 0]"


async def test_a_folder_that_is_gone(desk: Desk) -> None:
    await run(desk, "mkdir gone; cd gone; rmdir ../gone")
    told = f"[{desk.root}/gone is gone; this ran in the workspace]"
    assert (await run(desk, "pwd")).text == f"{desk.root}\n[exit code 0]\n{told}"
    assert (await run(desk, "pwd")).text == f"{desk.root}\n[exit code 0]"


async def test_a_workspace_that_is_gone(desk: Desk, tmp_path: Path) -> None:
    desk.root.rename(tmp_path / "moved")
    with pytest.raises(ToolError, match=r"folder .* is not there"):
        await run(desk, "true")


async def test_nothing_waits_on_a_terminal(desk: Desk) -> None:
    """AGT-7: standard input is closed, pagers and prompts are off, no terminal can be opened."""
    text = (await quick(desk, "cat; read x; echo $?; echo $PAGER $CI $TERM; : </dev/tty")).text
    assert text.startswith("1\ncat 1 dumb\n")
    assert "/dev/tty" in text
    desk.put("a", "b\n" * 200)
    text = (await quick(desk, "git init -q; git add a; git -p diff --cached | tail -1")).text
    assert text == "+b\n[exit code 0]"


async def test_sec1_the_child_gets_what_the_shell_was_given(desk: Desk) -> None:
    """SEC-1: a key in this program's own environment does not reach a command."""
    os.environ["PLANTED_KEY"] = "planted"
    try:
        text = (await run(desk, "env")).text
    finally:
        del os.environ["PLANTED_KEY"]
    assert "planted" not in text
    assert f"HOME={desk.home}" in text


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 300 &", "(no output)"),
        ("sleep 300 >/dev/null &", "(no output)"),
        ("python3 -m http.server --bind 127.0.0.1 0 & echo up", "up"),
        ("(sleep 300 &) ; echo done", "done"),
        ("yes & sleep 0.3", "y\ny\n"),
    ],
)
async def test_c50_a_child_in_the_background_holds_nothing_up(
    desk: Desk, command: str, said: str
) -> None:
    """C50: the answer comes when the shell ends, and says that something still runs."""
    outcome = await quick(desk, command)
    assert outcome.text.startswith(said)
    assert "[exit code 0]\n[still running: " in outcome.text
    assert not outcome.is_error


async def test_a_child_in_the_background_can_go_on_writing(desk: Desk) -> None:
    """Its output is read on; nobody ends it for that, until the session does."""
    await quick(desk, "(while sleep 0.05; do echo tick; date > beat; done) & echo up")
    for _ in range(2):
        (desk.root / "beat").unlink(missing_ok=True)
        await until((desk.root / "beat").exists)
    mark = f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}"
    assert pids(mark)
    await shell(desk).close()
    await until(lambda: not pids(mark))


async def test_c51_the_time_limit_ends_the_whole_group(desk: Desk) -> None:
    """C51: what was printed is told, and the limit; children are gone."""
    outcome = await run(desk, "echo begun; bash -c 'sleep 7777 & sleep 7778; wait'", timeout_s=1)
    assert outcome.text == "begun\n[ended after 1 s, the time limit]"
    assert outcome.is_error
    assert not pids(f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}")


async def test_c51_who_does_not_listen_is_ended_by_force(desk: Desk) -> None:
    """C51: first politely, then by force."""
    outcome = await run(desk, 'trap "" TERM; sleep 7779', timeout_s=1)
    assert "[ended after 1 s, the time limit]" in outcome.text
    assert not pids(f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}")


@pytest.mark.parametrize("by", ["limit", "escape"])
async def test_c51_who_left_for_a_session_of_its_own_is_named(desk: Desk, by: str) -> None:
    """C51: it alone is left, and the answer says so, also of an interrupted call."""
    command = "echo begun; sleep 7781 & setsid sleep 7780"
    if by == "limit":
        text = (await run(desk, command, timeout_s=2)).text
    else:
        task = asyncio.create_task(run(desk, command))
        await until(lambda: "sleep 7780" in commands(desk))
        task.cancel()
        with pytest.raises(Interrupted) as caught:
            await task
        text = caught.value.outcome.text
        assert "begun\n[interrupted]\n" in text
    (left,) = pids(f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}")
    assert f"[still running, in a session of its own: {left} sleep 7780]" in text


async def test_c51_escape_ends_the_whole_group(desk: Desk) -> None:
    """C51, AGT-3: the call ends as cancelled, after everything it had started ended."""
    task = asyncio.create_task(run(desk, "bash -c 'sleep 7777 & sleep 7778; wait'"))
    await until(lambda: {"sleep 7777", "sleep 7778"} <= commands(desk))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not pids(f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}")
    assert (await run(desk, "echo next")).text == "next\n[exit code 0]"


@pytest.mark.parametrize(
    ("command", "total", "limit"),
    [
        ("yes", None, 1),
        ("head -c 60000000 /dev/zero", 60_000_000, 60),
        ("seq 1 2000000", 14_888_896, 60),
        ("head -c 5000000 /dev/urandom", 5_000_000, 60),
    ],
)
async def test_c52_huge_output_is_bounded(
    desk: Desk, command: str, total: int | None, limit: int
) -> None:
    """C52: the total is told, what is kept is small, the rest lies in an artifact."""
    outcome = await run(desk, command, timeout_s=limit)
    assert len(outcome.text.encode()) < 300_000
    assert outcome.artifact == "shell.txt"
    assert (desk.ports.folder / "shell.txt").stat().st_size > 1_000_000
    if total:
        assert f"{total:,} bytes" in outcome.text
    else:
        assert "bytes, " in outcome.text
        assert "the time limit]" in outcome.text


async def test_c52_the_loop_stays_free(desk: Desk) -> None:
    """C52: while a command floods, the worker does other things."""
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.005)
            turns += 1

    others = asyncio.create_task(take_turns())
    await run(desk, "head -c 10000000 /dev/urandom", timeout_s=60)
    others.cancel()
    assert turns > 20


async def test_an_artifact_that_cannot_be_made(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_name: str) -> tuple[str, Path]:
        raise StoreError("the disk is full")

    monkeypatch.setattr(desk.ports, "open", full)
    outcome = await run(desk, "seq 1 400000")
    assert outcome.artifact is None
    assert "not kept elsewhere: the disk is full" in outcome.text


async def test_c53_much_on_stderr_first(desk: Desk) -> None:
    """C53: neither stream blocks the other."""
    outcome = await quick(
        desk, "python3 -c \"import sys; sys.stderr.write('e'*400000); print('end')\""
    )
    assert outcome.text.endswith("end\n[exit code 0]")
    assert outcome.text.startswith("e" * 1000)


async def test_c54_bytes_that_are_no_text(desk: Desk) -> None:
    """C54: a stand-in for bad bytes, nothing else lost, the exit code right."""
    commands = (CASES / "C54_commands.txt").read_text().splitlines()
    texts = [(await run(desk, command)).text for command in commands]
    assert texts == [
        "caf\ufffd \ufffd\ufffd end\n[exit code 0]",
        "bad\ufffd.txt\n[exit code 0]",
        "\ufffd\n[exit code 0]",
    ]


async def test_c58_codes_never_pass(desk: Desk) -> None:
    """C58: `cat` of a file full of codes."""
    desk.case("C58_bad.txt", "bad.txt")
    text = (await run(desk, "cat bad.txt")).text
    assert text.replace("\n[exit code 0]", "") == (
        "beforeafter\nlink\nred plain rgb\n100%\nC1 code\n end "
    )


async def test_c55_half_a_pair_in_a_command(desk: Desk) -> None:
    """C55: such an argument neither breaks the call nor its result."""
    try:
        text = (await run(desk, "echo '\ud83d'")).text
    except ToolError as error:
        text = str(error)
    assert text.encode("utf-8")


async def test_a_nul_is_refused(desk: Desk) -> None:
    with pytest.raises(ToolError, match="NUL"):
        await run(desk, "echo a\0b")


async def test_progress_tells_the_last_line(desk: Desk) -> None:
    await run(desk, 'for i in 1 2 3; do printf "\\033[1mstep $i\\033[0m\\n"; sleep 0.15; done')
    assert desk.progress[0] == "step 1"
    assert desk.progress[-1] == "step 3"
    assert len(desk.progress) <= 4


async def test_one_command_at_a_time(desk: Desk) -> None:
    first, second = await asyncio.gather(
        run(desk, "sleep 0.2; export A=1; echo a"), run(desk, "echo $A")
    )
    assert (first.text, second.text) == ("a\n[exit code 0]", "1\n[exit code 0]")


async def test_without_bash(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda *_args, **_kwargs: str(tmp_path / "no-bash"))
    with pytest.raises(ToolError, match="not installed"):
        await run(desk, "true")


async def test_the_question_shows_the_exact_command(desk: Desk) -> None:
    """AGT-8, C78."""
    ask = await desk.ask("shell", command="rm -rf '$(touch pwned).txt'")
    assert ask.command == ask.subject == "rm -rf '$(touch pwned).txt'"
    assert ask.title == "Run a command"
    desk.put("sub/x", "")
    await run(desk, "cd sub")
    assert (await desk.ask("shell", command="ls")).title == f"Run a command in {desk.root}/sub"


async def test_what_ended_in_the_background_is_forgotten(desk: Desk) -> None:
    await quick(desk, "(until [ -e stop ]; do sleep 0.05; done) &")
    assert len(shell(desk)._left) == 1
    desk.put("stop", "")
    await until(lambda: not pids(f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}"))
    await quick(desk, "true")
    assert len(shell(desk)._left) == 0


async def test_escape_twice_ends_it_all_the_same(desk: Desk) -> None:
    """AGT-3: whatever the moment of the second."""
    mark = f"NODWYN_TEST_MARK={desk.environment['NODWYN_TEST_MARK']}"
    for pause in (0.0, 0.1, 0.3):
        task = asyncio.create_task(run(desk, "trap '' TERM; seq 1 200000; sleep 60"))
        await until(lambda: bool(pids(mark)))
        task.cancel()
        await asyncio.sleep(pause)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not pids(mark))


async def test_leftovers_are_bounded(desk: Desk) -> None:
    outcome = await quick(desk, "for i in 1 2 3 4 5 6 7 8; do sleep 30 & done")
    assert outcome.text.count("[still running") == 5
    assert "[and 3 more processes]" in outcome.text
