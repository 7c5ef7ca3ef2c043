"""The screen on a real terminal: from the first frame to the terminal as it was."""

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodwyn_tui.cli.screen import open_screen
from nodwyn_tui.errors import UsageError
from nodwyn_tui.link import codec, commands

ROOT = Path(__file__).parents[2]
RUN = """
import sys
from nodwyn_tui.cli.screen import open_screen
from nodwyn_tui.link.commands import Open
worker = [sys.executable, "-m", "tests.fakes.screen_worker", sys.argv[1]]
sys.exit(open_screen(Open(workspace=sys.argv[2]), worker=worker))
"""
AT_TEXTUAL = """
import importlib.abc, os, sys
class AtTextual(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "textual":
            sys.meta_path.remove(self)
            {what}
sys.meta_path.insert(0, AtTextual())
"""


class Terminal:
    """A pseudo-terminal with the screen in it."""

    def __init__(self, folder: Path, before: str = "", fds: tuple[int, ...] = ()) -> None:
        self.heard = folder / "heard"
        self.master, self.slave = pty.openpty()
        termios.tcsetwinsize(self.slave, (24, 80))
        self.attributes = termios.tcgetattr(self.slave)
        self.output = b""
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm-256color",
            "NODWYN_HOME": str(folder / "home"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", before + RUN, str(self.heard), str(folder)],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment,
            pass_fds=fds,
            start_new_session=True,
        )

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            self.output += os.read(self.master, 65536)

    def until(self, text: str, seconds: float = 20) -> None:
        """Wait until this has been written, escape codes aside."""
        end = time.monotonic() + seconds
        while text not in self.plain():
            assert time.monotonic() < end, self.plain()[-2000:]
            self.read(0.1)

    def plain(self) -> str:
        text = self.output.decode(errors="replace")
        return re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[^\[]", "", text)

    def type(self, text: str) -> None:
        data = text.encode()
        while data:
            _, writable, _ = select.select([], [self.master], [], 10)
            assert writable
            data = data[os.write(self.master, data[:2048]) :]
            self.read(0)

    def told(self) -> list[commands.Command]:
        lines = self.heard.read_bytes().split(b"\n")[:-1] if self.heard.exists() else []
        return [codec.decode(line) for line in lines]  # type: ignore[misc]

    def heard_of(self, wanted: commands.Command, seconds: float = 20) -> None:
        """Wait until the worker was told this."""
        end = time.monotonic() + seconds
        while wanted not in self.told():
            assert time.monotonic() < end, (self.told(), self.plain()[-3000:])
            self.read(0.05)

    def ended(self, seconds: float = 20) -> int:
        """The exit code, once the screen has left."""
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, self.plain()[-2000:]
            self.read(0.05)
        self.read(0.1)
        return self.process.returncode

    def is_as_it_was(self) -> bool:
        """Attributes restored, and the other screen left as often as entered."""
        return (
            termios.tcgetattr(self.slave) == self.attributes
            and self.output.count(b"\x1b[?1049h") == self.output.count(b"\x1b[?1049l")
            and self.output.rindex(b"\x1b[?25h") > self.output.rindex(b"\x1b[?25l")
        )

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def test_frame_comes_before_textual_and_early_keys_reach_the_prompt(tmp_path: Path) -> None:
    """PERF-1: the frame is there before Textual is imported; what is typed meanwhile is kept."""
    told, tell = os.pipe()
    wait, go = os.pipe()
    what = f'os.write({tell}, b"x"); os.read({wait}, 1)'
    terminal = Terminal(tmp_path, AT_TEXTUAL.format(what=what), (tell, wait))
    try:
        terminal.until("what you type is kept")
        assert os.read(told, 1) == b"x"
        terminal.type("héllo\x1b[D\x7fL")
        terminal.type("\x1b[200~ two\rlines\x1b[201~")
        terminal.read(0.2)
        assert "llo" not in terminal.plain(), "the terminal must not echo"
        os.write(go, b"x")
        terminal.heard_of(commands.SaveDraft(text="hélL two\nlineso"))
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        assert terminal.output.count(b"\x1b[?1049h") == 1, "the other screen is entered once"
        assert terminal.is_as_it_was()
    finally:
        terminal.close()


def test_leaving_says_how_to_go_on(terminal: Terminal) -> None:
    terminal.until("ask")
    terminal.type("hello\r")
    terminal.heard_of(commands.Send(text="hello"))
    terminal.type("/quit\r")
    assert terminal.ended() == 0
    assert terminal.plain().rstrip().endswith("To go on: nodwyn --resume 20250102-030405-ab12")
    assert terminal.is_as_it_was()
    assert isinstance(terminal.told()[-1], commands.Close)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_in_order(terminal: Terminal, number: int) -> None:
    """REL-3: a closed or ended terminal session closes the log in order and keeps the draft."""
    terminal.until("ask")
    terminal.type("unsent")
    terminal.until("unsent")
    terminal.process.send_signal(number)
    assert terminal.ended() == 0
    assert terminal.is_as_it_was()
    assert terminal.told()[-2:] == [commands.SaveDraft(text="unsent"), commands.Close()]


@pytest.mark.parametrize(
    ("what", "code"), [("raise ImportError('broken')", 1), ("os.kill(os.getpid(), 15)", 143)]
)
def test_an_early_failure_leaves_the_terminal_as_it_was(
    tmp_path: Path, what: str, code: int
) -> None:
    """PERF-1: while modules load, a failure or a signal gives the terminal back."""
    terminal = Terminal(tmp_path, AT_TEXTUAL.format(what=what))
    try:
        assert terminal.ended() == code
        assert terminal.is_as_it_was()
    finally:
        terminal.close()


def test_a_bug_in_the_screen_says_where_the_log_is(tmp_path: Path) -> None:
    """TUI-12: a crash leaves the terminal sane and prints where the log is."""
    break_it = (
        "from nodwyn_tui.ui.screens.conversation import Conversation\n"
        "def broken(self): raise ZeroDivisionError('a bug')\n"
        "Conversation.action_help = broken\n"
    )
    terminal = Terminal(tmp_path, break_it)
    try:
        terminal.until("ask")
        terminal.type("hello\r")
        terminal.heard_of(commands.Send(text="hello"))
        terminal.until("You")
        terminal.type("\x1bOP")
        assert terminal.ended() == 1
        log = tmp_path / "home" / "state" / "nodwyn.log"
        assert f"the screen failed (ZeroDivisionError); details are in {log}" in (
            terminal.plain().replace("\r\n", "")
        )
        assert "nodwyn --resume" in terminal.plain()
        assert "a bug" in log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600
        assert terminal.is_as_it_was()
    finally:
        terminal.close()


def test_a_worker_that_hangs_does_not_keep_the_screen(terminal: Terminal) -> None:
    terminal.until("ask")
    terminal.type("hang\r")
    terminal.heard_of(commands.Send(text="hang"))
    terminal.type("\x03\x03")
    assert terminal.ended(30) == 1
    assert terminal.is_as_it_was()


def test_a_worker_that_dies_is_started_again(terminal: Terminal, tmp_path: Path) -> None:
    """TUI-12: the screen stays, the session is resumed, the worker's last words are in the log."""
    terminal.until("ask")
    terminal.type("hello\r")
    terminal.heard_of(commands.Send(text="hello"))
    terminal.until("You")
    terminal.type("die\r")
    again = commands.Open(workspace=str(tmp_path), resume="20250102-030405-ab12")
    terminal.heard_of(again)
    terminal.type("\x03\x03")
    assert terminal.ended() == 0
    assert "last words" in (tmp_path / "home" / "state" / "nodwyn.log").read_text()


def test_stopped_and_continued_it_draws_again(terminal: Terminal) -> None:
    """REL-3: SIGTSTP gives the terminal back, SIGCONT takes it again; keys work as before."""
    terminal.until("ask")
    terminal.process.send_signal(signal.SIGTSTP)
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    terminal.read(0.2)
    assert terminal.is_as_it_was()
    terminal.process.send_signal(signal.SIGCONT)
    terminal.type("back")
    terminal.heard_of(commands.SaveDraft(text="back"))
    assert terminal.output.count(b"\x1b[?1049h") == 2
    terminal.type("\x03\x03")
    assert terminal.ended() == 0
    assert terminal.is_as_it_was()


def test_memory_is_edited_in_the_editor_of_the_person(tmp_path: Path) -> None:
    """ORD-10: the terminal is the editor's until it ends; then what it wrote is shown. Ctrl+C
    meanwhile is the editor's alone.
    """
    editor = tmp_path / "an editor"
    editor.write_text(
        "#!/bin/sh\nstty -a | grep -q -- '-icanon' && exit 9\necho editing\nread line\n"
        'echo "- $line" >> "$1"\n'
    )
    editor.chmod(0o755)
    named = f"import os; os.environ['EDITOR'] = {shlex.quote(str(editor))!r}"
    terminal = Terminal(tmp_path, before=named)
    try:
        terminal.until("ask")
        terminal.type("/memory\r")
        terminal.until("nothing yet")
        terminal.type("e")
        terminal.until("facts (here)")
        terminal.type("\r")
        terminal.until("editing")
        terminal.type("the pond has fish\n")
        terminal.until("the pond has fish", 20)
        terminal.heard_of(commands.ShowMemory(files=("facts", "corrections", "context-notes")))
        terminal.until("- the pond has fish")
        assert (tmp_path / "memory" / "facts.md").read_text() == "- the pond has fish\n"
        seen = terminal.plain().count("Type a message")
        terminal.type("q")
        while terminal.plain().count("Type a message") == seen:
            terminal.read(0.1)
        terminal.type("back")
        terminal.heard_of(commands.SaveDraft(text="back"))
        terminal.type("\x03\x03")
        assert terminal.ended() == 0
        assert terminal.is_as_it_was()
    finally:
        terminal.close()


def test_stopped_from_outside_it_takes_the_terminal_again(terminal: Terminal) -> None:
    """REL-3: after SIGSTOP a shell has had the terminal; SIGCONT takes it as it has to be."""
    terminal.until("ask")
    terminal.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    termios.tcsetattr(terminal.slave, termios.TCSANOW, terminal.attributes)
    terminal.process.send_signal(signal.SIGCONT)
    while terminal.output.count(b"\x1b[?1049h") < 2:
        terminal.read(0.1)
    terminal.type("x\r")
    terminal.heard_of(commands.Send(text="x"))
    terminal.type("\x03\x03")
    assert terminal.ended() == 0
    assert termios.tcgetattr(terminal.slave) == terminal.attributes


def test_a_terminal_that_is_gone_ends_it_in_order(terminal: Terminal) -> None:
    """REL-3: the draft is kept and the session closed, without a signal."""
    terminal.until("ask")
    terminal.type("unsent")
    terminal.until("unsent")
    os.close(terminal.slave)
    os.close(terminal.master)
    try:
        assert terminal.process.wait(20) == 0
    finally:
        terminal.master, terminal.slave = pty.openpty()
    assert terminal.told()[-2:] == [commands.SaveDraft(text="unsent"), commands.Close()]


def test_a_terminal_that_went_while_it_was_stopped_ends_it_in_order(terminal: Terminal) -> None:
    """REL-3: a closed window continues what was stopped; there is nothing to take then."""
    terminal.until("ask")
    terminal.type("unsent")
    terminal.until("unsent")
    terminal.process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    os.close(terminal.slave)
    os.close(terminal.master)
    try:
        terminal.process.send_signal(signal.SIGCONT)
        assert terminal.process.wait(20) == 0
    finally:
        terminal.master, terminal.slave = pty.openpty()
    assert terminal.told()[-2:] == [commands.SaveDraft(text="unsent"), commands.Close()]


def test_alt_enter_of_any_terminal_sends_into_the_run(terminal: Terminal) -> None:
    """As Esc and a carriage return, and in the newer protocol; Esc alone is the key at once."""
    terminal.until("ask")
    terminal.type("a\x1b\r")
    terminal.heard_of(commands.Send(text="a", steer=True))
    terminal.type("b\x1b[13;3u")
    terminal.heard_of(commands.Send(text="b", steer=True))
    terminal.type("/c")
    terminal.until("/clear")
    terminal.type("\x1b")
    time.sleep(0.3)
    terminal.type("x\r")
    terminal.heard_of(commands.SaveDraft(text="/cx"))


def test_a_paste_of_ten_thousand_lines_arrives_whole(terminal: Terminal) -> None:
    """C60, C61: through a real terminal, in reads of any size, sent byte for byte."""
    text = "".join(
        f"{n:05} 日志 the {n}th line of a long log, [b] {'x' * 50}\n" for n in range(10_000)
    )
    terminal.until("ask")
    terminal.type(f"\x1b[200~{text}\x1b[201~")
    terminal.until("pasted 10,000 lines #1")
    terminal.type("!\r")
    terminal.heard_of(commands.Send(text=text + "!"))


def test_without_a_terminal_it_says_what_to_use() -> None:
    """The text names `nodwyn run`."""
    with pytest.raises(UsageError, match="nodwyn run"):
        open_screen(commands.Open(workspace="/"))
