"""Opens the screen: a frame at once, the worker beside it, Textual after both (PERF-1); and gives
the terminal back as it was, whatever happened.
"""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from nodwyn_tui.cli.terminal import Terminal
from nodwyn_tui.errors import UsageError

if TYPE_CHECKING:
    import asyncio

    from nodwyn_tui.link.commands import Open
    from nodwyn_tui.link.pipe import PipeFront
    from nodwyn_tui.ui.app import NodwynApp
    from nodwyn_tui.ui.messages import Outcome

CRASHED = 1
LEAVES = (signal.SIGTERM, signal.SIGHUP)
_LOG_BYTES = 1_000_000
"""A larger log of earlier workers is begun anew."""
_LEAVE_S = 1.0
"""What a worker gets to leave once the screen has: it has closed its session, or hangs."""
_THRESHOLDS = (20_000, 20, 50)
"""Collections rarer than by default: a full one held the screen up for 176 ms."""


def open_screen(command: "Open", *, worker: Sequence[str] = ()) -> int:
    """Runs the screen; its exit code. `worker` is the command of another worker than our own.

    Raises `UsageError` where there is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "the screen needs a terminal for its input and output;"
            " `nodwyn run -p TEXT` works without one"
        )
    terminal = Terminal(sys.stdin.fileno(), sys.stdout.fileno())
    run = ScreenRun(terminal, command, worker)
    gc.disable()  # collections while modules load find nothing and cost 15 ms
    try:
        terminal.take()
        terminal.show(command.workspace)
        run.start()
        outcome = run.show()
    finally:
        terminal.give_back()
        gc.enable()
        run.end()
    _say_last(outcome)
    return outcome.exit_code


def _say_last(outcome: "Outcome") -> None:
    """What the person is told once the terminal is theirs again, if it is still there."""
    said = {
        sys.stderr: f"nodwyn: {outcome.message}\n" if outcome.message else "",
        sys.stdout: f"To go on: nodwyn --resume {outcome.session}\n" if outcome.session else "",
    }
    for stream, text in said.items():
        try:
            stream.write(text)
            stream.flush()
        except OSError:
            # Else the interpreter would try once more at its end, and fail.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class ScreenRun:
    """One screen and its workers, from the first spawn to the last one's end."""

    def __init__(self, terminal: Terminal, command: "Open", worker: Sequence[str]) -> None:
        self._terminal, self._command, self._worker = terminal, command, worker
        self._log: Path | None = None
        self._fronts: list[PipeFront] = []
        self._app: NodwynApp | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Start the worker; it loads beside the screen."""
        for number in LEAVES:
            signal.signal(number, self._asked_to_leave)
        self._log = _log_file(self._command.config_file)
        from nodwyn_tui.link.spawn import WORKER, spawn

        process = spawn(self._worker or WORKER, log=self._log)
        from nodwyn_tui.link.pipe import PipeFront

        front = PipeFront(process)
        self._fronts.append(front)
        front.send(self._command)

    def show(self) -> "Outcome":
        """Run the app to its end."""
        from nodwyn_tui.cli.driver import driver_for
        from nodwyn_tui.config.environment import read_environment
        from nodwyn_tui.system.clock import SystemClock
        from nodwyn_tui.ui.app import NodwynApp
        from nodwyn_tui.ui.bridge import Bridge
        from nodwyn_tui.ui.messages import Outcome

        clock, environment = SystemClock(), read_environment()
        bridge = Bridge(self._fronts[0], self._command, clock, self._connect)
        self._app = NodwynApp(
            bridge,
            clock,
            listen=self._listen,
            driver_class=driver_for(self._terminal),
            no_color=environment.no_color,
            pictures=environment.pictures,
            editor=environment.editor,
        )
        outcome = self._app.run()
        if outcome is not None:
            return outcome
        session = bridge.session
        error = self._app.failure
        if error is None:
            return Outcome(exit_code=CRASHED, session=session)
        return Outcome(exit_code=CRASHED, session=session, message=self._crash_report(error))

    def end(self) -> None:
        """See every worker leave."""
        import asyncio

        for front in self._fronts:
            asyncio.run(front.close(_LEAVE_S))

    def _connect(self) -> "PipeFront":
        """Another worker, in place of one that died."""
        from nodwyn_tui.link.pipe import PipeFront
        from nodwyn_tui.link.spawn import WORKER, spawn

        self._fronts.append(PipeFront(spawn(self._worker or WORKER, log=self._log)))
        return self._fronts[-1]

    def _listen(self) -> None:
        """The prompt has the keyboard: keys may come. What lives now lives on, so that the
        collector need not look through it again.
        """
        import asyncio

        self._loop = asyncio.get_running_loop()
        if self._terminal.listen is not None:
            self._terminal.listen()
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
        gc.enable()

    def _asked_to_leave(self, number: int, _frame: FrameType | None) -> None:
        """SIGTERM, or SIGHUP of a terminal that is gone."""
        if self._app is None or self._loop is None:
            raise SystemExit(128 + number)
        self._loop.call_soon_threadsafe(self._app.conversation.leave)

    def _crash_report(self, error: BaseException) -> str:
        import traceback

        text = "".join(traceback.format_exception(error))
        if self._log is None:
            return f"the screen failed, and no log could be written:\n{text}"
        with self._log.open("a", encoding="utf-8") as log:
            log.write(text)
        return f"the screen failed ({type(error).__name__}); details are in {self._log}"


def _log_file(config_file: str) -> Path | None:
    """Where workers' last words go, private; `None` where nothing can be written."""
    from nodwyn_tui.config.environment import read_environment
    from nodwyn_tui.config.paths import find_paths

    environment = read_environment()
    named = environment.log_file
    log = Path(named) if named else find_paths(environment, config_file).state / "nodwyn.log"
    try:
        log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        log.touch(mode=0o600)
        if not named and log.stat().st_size > _LOG_BYTES:
            log.write_bytes(b"")
    except OSError:
        return None
    return log
