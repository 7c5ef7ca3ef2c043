"""Requests over the link: one as it was sent, told piece by piece, for it may be a million tokens
long (ROL-14, TUI-4).
"""

from typing import Literal

from nodwyn_tui.link.record import Record

RowRole = Literal["system", "tools", "user", "assistant", "tool"]
PartKind = Literal["text", "thinking", "call", "result", "image", "block"]


class ShowWindow(Record):
    """Ask for `WindowShown`: the window that was left at log line `at`, as it was last sent."""

    at: int


class FetchPieces(Record):
    """Ask for `PiecesLoaded` of the request at log line `seq`, which is shown: `count` of them from
    `first` on, fewer where that is much.
    """

    seq: int
    first: int
    count: int


class LeaveRequest(Record):
    """The request is looked at no more."""


class Piece(Record):
    """A piece of a part of a row. `row` counts the messages from 1, and is 0 before them; `line` is
    the log line it comes from, 0 for none. `title` names a tool, or an image; `text` is what was
    sent. A part `begins` and `ends` with one of its pieces, a row with a piece that has its
    `tokens` (estimated). `state` says that less is sent than was recorded.
    """

    row: int
    role: RowRole
    part: PartKind
    text: str
    title: str = ""
    line: int = 0
    tokens: int | None = None
    begins: bool = True
    ends: bool = True
    state: Literal["in", "cut", "folded", "elided"] = "in"


class WindowShown(Record):
    """The window that was left at log line `at`, as the request at line `seq` sent it: rebuilt from
    the log, with the `digest` that was recorded. `tokens` are estimated, `counted` the server's own
    figure. It comes in `pieces`, with `characters` in all. `problem` says why there is none.
    """

    at: int
    seq: int = 0
    name: str = ""
    sent: str = ""
    model: str = ""
    server: str = ""
    messages: int = 0
    tokens: int = 0
    counted: int | None = None
    max_output: int = 0
    digest: str = ""
    pieces: int = 0
    characters: int = 0
    problem: str = ""


class PiecesLoaded(Record):
    """Pieces of the request at `seq`, the first of them its `first`."""

    seq: int
    first: int
    pieces: tuple[Piece, ...]


RequestCommand = ShowWindow | FetchPieces | LeaveRequest
RequestEvent = WindowShown | PiecesLoaded
