"""The terminal as it was found and back again, and the first frame in it (PERF-1). Imports nothing
that takes time: it runs before the rest of the screen is loaded.
"""

import contextlib
import os
import termios
from collections.abc import Callable
from typing import Any

_TAKE = "\x1b[?1049h\x1b[?25l\x1b[?2004h\x1b[2J"
"""The other screen, no cursor, pastes marked as such: nothing typed or pasted early is misread."""
_GIVE_BACK = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l"  # mouse
    "\x1b[?2048l\x1b[?1004l\x1b[?2004l"  # size reports, focus reports, marked pastes
    "\x1b[<u\x1b[?7h\x1b[0m"  # keyboard protocol, line wrap, colours
    "\x1b[?1049l\x1b[?25h"
)
_GIVE_BACK_EARLY = "\x1b[?2004l\x1b[?1049l\x1b[?25h"
"""Before the app has asked for more than `take` did."""


class Terminal:
    """`take` it, `give_back` whatever happened in between. Descriptors of a terminal both."""

    def __init__(self, inlet: int, outlet: int) -> None:
        self.before: list[Any] = termios.tcgetattr(inlet)
        """Its attributes as they were found."""
        self.let_go: Callable[[], None] | None = None
        """Ends what the app left running on the terminal; set while it is the app's."""
        self.listen: Callable[[], None] | None = None
        """Lets the app read what is typed. Until its prompt has the keyboard, keys wait here: those
        that come earlier would be nobody's.
        """
        self._inlet, self._outlet = inlet, outlet
        self._taken = False

    def take(self) -> None:
        """No echo, no signals, keys as they come; what is typed waits in the terminal's queue. A
        terminal that is gone is no error: its hangup is on its way.
        """
        try:
            raw = termios.tcgetattr(self._inlet)
        except termios.error:
            return
        raw[0] &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        raw[6][termios.VMIN] = 1
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._inlet, termios.TCSANOW, raw)
        self._taken = True
        self._write(_TAKE)

    def show(self, workspace: str) -> None:
        """The app's own frame, in the terminal's own colours: theme and size come later."""
        try:
            width, height = os.get_terminal_size(self._outlet)
        except OSError:
            return
        self._write(first_frame(workspace, width, height))

    def left_by_app(self) -> None:
        """The app has left the other screen in order; attributes are all there is to restore."""
        self.let_go = self.listen = None
        self._taken = False

    def give_back(self) -> None:
        """As it was found. A terminal that is gone is no error."""
        if self.let_go is not None:
            self.let_go()
            self._write(_GIVE_BACK)
        elif self._taken:
            self._write(_GIVE_BACK_EARLY)
        self.left_by_app()
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._inlet, termios.TCSADRAIN, self.before)

    def _write(self, text: str) -> None:
        data = text.encode()
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(self._outlet, data) :]


def first_frame(workspace: str, width: int, height: int) -> str:
    """Where things will stand: the name, the prompt's frame, the row of keys."""
    if width < 40 or height < 10:
        return "\x1b[H nodwyn starts…"
    shown = "".join(char if char.isprintable() else "?" for char in workspace)
    home = os.path.expanduser("~")  # noqa: PTH111 - pathlib takes longer to import than this runs
    if (shown + "/").startswith(home + "/"):
        shown = "~" + shown[len(home) :]
    room = width - 12
    shown = shown if len(shown) <= room else "…" + shown[len(shown) - room + 1 :]
    inside = "─" * (width - 2)
    return (
        f"\x1b[H\x1b[1m nodwyn\x1b[0m  {shown}"
        f"\x1b[{height - 3};1H\x1b[2m╭{inside}╮"
        f"\x1b[{height - 2};1H│ starts… what you type is kept"
        f"\x1b[{height - 2};{width}H│"
        f"\x1b[{height - 1};1H╰{inside}╯\x1b[0m"
    )
