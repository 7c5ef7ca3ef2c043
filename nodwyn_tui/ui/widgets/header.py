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


class Header(Bar):
    """`opened` is the session's facts as they stand now; `None` until it is open."""

    ROLE = "bar"

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
                self.opened, model=changed.model, server=changed.server, provider=changed.provider
            )
            self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        right = _right(self.opened)
        while right and sum(cells(part) + 2 for part in right) > width - 24:
            right = right[:-1] if len(right) > 1 else [(_cut(right[0][0], max(width - 30, 8)),)]
            if len(right) == 1:
                break
        tail = joined(right, _GAP)
        room = width - cells(tail) - 3
        left = _left(self.opened, room)
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


def _right(opened: Opened | None) -> list[Row]:
    """The facts on the right, what matters most first."""
    if opened is None:
        return []
    server = opened.server or opened.provider
    facts: list[Row] = []
    if opened.tour:
        facts.append((Span("tour", "accent strong"),))
    if opened.model:
        facts += [(Span(one_line(opened.model), "strong"),)] * (opened.model != "tour")
    else:
        facts.append((Span("no model", "warning"),))
    facts.append((Span(opened.mode, MODES[opened.mode][0]),))
    if not opened.sandboxed:
        facts.append((Span("unsandboxed", "warning"),))
    if opened.model and not opened.tour and server and server not in opened.model:
        facts.append((Span(one_line(server), "dim"),))
    facts.append((Span(opened.strategy, "dim"),))
    return facts


def _cut(span: Span, room: int) -> Span:
    return span._replace(text=cut_text(span.text, room))


def short_path(path: str, room: int) -> str:
    """A folder in at most `room` cells, its end kept; the home folder as `~`."""
    home = str(Path.home())
    shown = one_line("~" + path[len(home) :] if (path + "/").startswith(home + "/") else path)
    if len(shown) <= room:
        return shown
    return "…" + shown[len(shown) - room + 1 :] if room > 1 else ""
