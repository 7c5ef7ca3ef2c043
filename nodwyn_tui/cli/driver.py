"""Textual's driver on a terminal that is ours already: it does not enter the other screen again,
takes pastes as blocks, and waits for keys without polling.

Imports Textual; loaded after the first frame only.
"""

import os
import selectors
import sys
from codecs import getincrementaldecoder
from typing import Any, ClassVar

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from nodwyn_tui.cli.pastes import PasteCutter, Pasted
from nodwyn_tui.cli.terminal import Terminal

ESCAPE_S = 0.05
"""How long an Esc may still become the begin of something longer."""
_OTHER_SCREEN = "\x1b[?1049h"
_READ = 65536
_ALT_ENTER = ("\x1b\r", "\x1b[13;3u")
"""As most terminals send it, and in the protocol whose form Textual's parser understands."""


class ScreenDriver(LinuxDriver):
    """Reads from and writes to `terminal`, which `driver_for` names."""

    terminal: ClassVar[Terminal]

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        if sys.__stdout__ is not None:
            self._file = sys.__stdout__  # standard error, Textual's choice, may be a file
        self._wake_read = self._wake_write = -1
        self._listens = self._ends = False
        self._first_start = True
        self._suspended = False

    def write(self, data: str) -> None:
        if self._first_start and data == _OTHER_SCREEN:
            self._first_start = False  # some terminals clear it when it is entered again
            return
        super().write(data)

    def start_application_mode(self) -> None:
        self._wake_read, self._wake_write = os.pipe()
        self.terminal.let_go = self._end_reading
        self.terminal.listen = self._listen
        self._ends = False
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual's
        self.attrs_before = self.terminal.before

    def stop_application_mode(self) -> None:
        super().stop_application_mode()
        self.terminal.left_by_app()

    def disable_input(self) -> None:
        self._end_reading()
        super().disable_input()

    def _sigtstp_application(self, *arguments: Any) -> None:
        self._suspended = True
        super()._sigtstp_application(*arguments)

    def _sigcont_application(self, *arguments: Any) -> None:
        """A process that was stopped from outside still has its threads; it only needs to draw."""
        if self._suspended:
            self._suspended = False
            super()._sigcont_application(*arguments)
        else:
            self.terminal.take()
            self._app.call_later(self._app.refresh, layout=True)

    def run_input_thread(self) -> None:
        parser, cutter = XTermParser(self._debug), PasteCutter()
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_read, selectors.EVENT_READ)
            while not self._ends:
                if self._listens and self.fileno not in selector.get_map():
                    selector.register(self.fileno, selectors.EVENT_READ)
                waits = cutter.held or parser._timeout_time is not None
                ready = {key.fd for key, _ in selector.select(ESCAPE_S if waits else None)}
                if self._wake_read in ready:
                    os.read(self._wake_read, 64)
                elif not ready:
                    self._nothing_came(parser, cutter)
                elif not self._take(self._read(), parser, cutter, decode):
                    self._app.call_later(self._app.action_quit)
                    break

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, _READ)
        except OSError:
            return b""

    def _take(self, data: bytes, parser: XTermParser, cutter: PasteCutter, decode: Any) -> bool:
        """What a read brought, as events; whether the terminal is still there."""
        for piece in cutter.feed(decode(data)):
            if isinstance(piece, Pasted):
                self.process_message(events.Paste(piece.text.replace("\0", "")))
            else:
                self._keys(piece, parser)
        return bool(data)

    def _nothing_came(self, parser: XTermParser, cutter: PasteCutter) -> None:
        """What was begun is all there is: an Esc is the key."""
        held = cutter.release()
        if held == "\x1b":
            self.process_message(events.Key("escape", "\x1b"))
        elif held:
            self._keys(held, parser)
        for event in parser.tick():
            self.process_message(event)

    def _keys(self, text: str, parser: XTermParser) -> None:
        for event in parser.feed(text.replace(*_ALT_ENTER)):
            self.process_message(event)

    def close(self) -> None:
        super().close()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _listen(self) -> None:
        """Read what is typed from now on."""
        self._listens = True
        os.write(self._wake_write, b"x")

    def _end_reading(self) -> None:
        """End the thread that reads, so that the process can end."""
        self._ends = True
        os.write(self._wake_write, b"x")


def driver_for(terminal: Terminal) -> type[ScreenDriver]:
    """The driver's class on this terminal, as Textual wants it."""
    return type("ScreenDriver", (ScreenDriver,), {"terminal": terminal})
