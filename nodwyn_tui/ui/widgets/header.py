"""The first row: where one is, which model answers, and what it may do unasked."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nodwyn_tui.domain.words import Mode
from nodwyn_tui.link.events import ModelChanged, Opened
from nodwyn_tui.ui.widgets.bar import Bar, Row, joined
from nodwyn_tui.ui.widgets.lines import Span, cells, cut_text
from nodwyn_tui.ui.widgets.visible import one_line

MODES: dict[Mode, tuple[str, str]] = {
    "plan": ("secondary", "reads only"),
    "ask": ("primary", "reads freely, asks before it writes or runs"),
    "edits": ("accent", "writes in this folder freely, asks before it runs"),
    "auto": ("warning", "does everything unasked, in the sandbox"),
}
"""Each mode's role, and what it means."""
_GAP = Span("  ")
_LEAST_LEFT = 24
"""Cells that the name and the folder get whatever stands on the right."""


class Header(Bar):
    """`opened` is the session's facts as they stand now; `None` until it is open."""

    ROLE = "bar"
    ONE_ROW = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.opened: Opened | None = None

    def set_mode(self, mode: Mode) -> None:
        """The approval mode is another now."""
        if self.opened:
            self.opened = replace(self.opened, mode=mode)
            self.redraw()

    def set_model(self, changed: ModelChanged) -> None:
        """Another model answers now."""
        if self.opened:
            self.opened = replace(
                self.opened,
                model=changed.model,
                server=changed.server,
                provider=changed.provider,
                strategy=changed.strategy,
            )
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        tail = joined(_right(self.opened, width - _LEAST_LEFT), _GAP)
        left = _left(self.opened, width - cells(tail) - 3)
        fill = Span(" " * max(width - 2 - cells(left) - cells(tail), 1))
        yield (Span(" "), *left, fill, *tail, Span(" "))


def _left(opened: Opened | None, room: int) -> Row:
    name = (Span("nodwyn", "heading"),)
    if opened is None:
        return (*name, _GAP, Span("starts…", "dim"))
    branch = (Span(one_line(opened.branch), "secondary"),) if opened.branch else ()
    used = cells(name) + cells(branch) + 4
    if used + 12 > room:
        branch, used = (), cells(name) + 2
    folder = (Span(short_path(opened.workspace, room - used)),) if room - used > 3 else ()
    return joined([name, folder, branch], _GAP)


def _right(opened: Opened | None, room: int) -> list[Row]:
    """The facts on the right: the model and the mode always, the others where they fit."""
    if opened is None:
        return []
    model = Span("read only" if opened.read_only else "no model", "warning")
    if opened.tour:
        model = Span("tour", "accent strong")
    elif opened.model:
        most = max(room - len(opened.mode) - 2, 8)
        model = Span(cut_text(one_line(opened.model), most), "strong")
    facts: list[Row] = [(model,), (Span(opened.mode, MODES[opened.mode][0]),)]
    server = one_line(opened.server or opened.provider)
    if opened.tour or not opened.model or server in opened.model:
        server = ""
    sandbox = "" if opened.sandboxed else "unsandboxed"
    for text, role in ((sandbox, "warning"), (server, "dim"), (opened.strategy, "dim")):
        if text and cells(joined([*facts, (Span(text),)], _GAP)) <= room:
            facts.append((Span(text, role),))
    return facts


def short_path(path: str, room: int) -> str:
    """A folder in at most `room` cells, its end kept; the home folder as `~`."""
    home = str(Path.home())
    shown = one_line("~" + path[len(home) :] if (path + "/").startswith(home + "/") else path)
    if len(shown) <= room:
        return shown
    return "…" + shown[len(shown) - room + 1 :] if room > 1 else ""
