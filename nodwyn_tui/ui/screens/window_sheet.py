"""An earlier window over the conversation, as its last request was sent (ROL-14)."""

from collections.abc import Callable

from nodwyn_tui.link.commands import Command
from nodwyn_tui.link.requests import (
    FetchPieces,
    LeaveRequest,
    PiecesLoaded,
    RequestEvent,
    ShowWindow,
    WindowShown,
)
from nodwyn_tui.ui.screens.sheet import RowsSheet
from nodwyn_tui.ui.widgets.request_rows import RequestRows, RequestText
from nodwyn_tui.ui.widgets.visible import one_line

TITLE = "An earlier window"


class WindowSheet(RowsSheet):
    """The window that was left at log line `at`; it is asked for, as far as it comes into view."""

    def __init__(self, at: int, send: Callable[[Command], object]) -> None:
        self._at, self._send = at, send
        self._request = RequestRows(RequestText(WindowShown(at=at)), id="sheet-rows")
        super().__init__(TITLE, self._request)

    def on_mount(self) -> None:
        self._send(ShowWindow(at=self._at))

    def on_unmount(self) -> None:
        self._send(LeaveRequest())

    def on_request_rows_pieces_wanted(self, message: RequestRows.PiecesWanted) -> None:
        message.stop()
        seq = self._request.text.shown.seq
        self._send(FetchPieces(seq=seq, first=message.at, count=message.count))

    def take(self, event: RequestEvent) -> None:
        """What the worker told."""
        match event:
            case WindowShown(at=self._at):
                if event.name:
                    self.frame.border_title = f"Window {one_line(event.name)}, as it was last sent"
                self._request.begin(event)
            case PiecesLoaded():
                self._request.take(event)
            case _:
                pass
