"""The context meter: one bar and one line that say what fills the window (TUI-3, TUI-16)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.link.events import MeterChanged, Segment, SegmentKind
from nodwyn_tui.ui.widgets.bar import Bar, Row, joined
from nodwyn_tui.ui.widgets.entries import duration
from nodwyn_tui.ui.widgets.lines import Span, cells
from nodwyn_tui.ui.widgets.visible import one_line

KINDS: dict[SegmentKind, tuple[str, str]] = {
    "system": ("█", "system prompt and tools"),
    "summary": ("▚", "summaries, handover note"),
    "history": ("▓", "earlier turns"),
    "images": ("▞", "images"),
    "fresh": ("░", "fresh context"),
    "new": ("▒", "this turn"),
}
"""Each segment's glyph, so that colour is not all, and its meaning."""
FIGURES = {
    "reported": "tokens as the server counted them, with an estimate of what came since",
    "estimated": "tokens as counted from the text's size",
    "cached": "how much of the last prompt, and of the session's, the server had kept",
    "prefix warm": "the server tells no such share, and read the last prompt within a second",
    "$0.00+": "the session's cost, at least: some reply came without its price",
}
"""What the words of the line mean."""
_BETWEEN = Span(" · ", "faint")
_FREE = "─"
LABELS = (("┊high", "┊low"), ("┊full", "┊warn"))
"""The marks, the later one first: of a window that is trimmed, and of one that is left."""
EMPTY = "the window is empty"


class Meter(Bar):
    """`state` is the window's last known state. `one_row` leaves the bar out on low screens."""

    FIRST_ROWS = 2

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.state: MeterChanged | None = None
        self.one_row = False
        self.nothing = EMPTY
        """What is said where there is no state."""

    def bar_rows(self, width: int) -> Iterator[Row]:
        room = width - 2
        if self.state is None:
            if not self.one_row:
                yield (Span(" "), Span(_FREE * room, "faint"))
            yield (Span(" "), Span(self.nothing, "dim"))
            return
        if not self.one_row:
            yield (Span(" "), *bar(self.state, room))
        yield (Span(" "), *facts(self.state, room))


def bar(state: MeterChanged, width: int) -> Row:
    """The window up to its ceiling in `width` cells: segments, free room, and the marks."""
    scale = max(state.ceiling, state.used, 1)
    glyphs = [*_filled(state.segments, scale, width)]
    used = len(glyphs)
    glyphs += [(_FREE, "faint")] * (width - used)
    _write(glyphs, width - len("ceiling"), "ceiling", used, edge=width)
    edge = width - len("ceiling")
    for mark, label in zip(
        (state.high, state.low), LABELS[state.strategy == "rollover"], strict=True
    ):
        at = min(mark * width // scale, width - 1)
        if 0 < mark < state.ceiling:  # else nothing happens by itself, or at the ceiling
            _write(glyphs, at, label, used, edge=edge)
            edge = min(edge, at)
    return tuple(_grouped(glyphs))


def facts(state: MeterChanged, width: int) -> Row:
    """The figures, the least of them left out where the row is short: of the first three, the
    session's cached share goes before a whole one.
    """
    whole, short = (_fitting(each, width) for each in (state, replace(state, cached_session=None)))
    return joined(short if len(whole) < min(len(short), 3) else whole, _BETWEEN)


def _fitting(state: MeterChanged, width: int) -> list[Row]:
    """What finds room. A window that is left is counted down to that before all else (ROL-3)."""
    cached, coming = (2, 1) if state.strategy == "rollover" else (1, 2)
    parts: list[tuple[int, Row]] = [
        (0, _used(state)),
        (cached, _cached(state)),
        (coming, (Span(one_line(state.next_event), "dim"),) if state.next_event else ()),
        (3, _cost(state)),
        (5, (Span(duration(state.elapsed_ms), "dim"),) if state.elapsed_ms is not None else ()),
        (4, _context(state)),
    ]
    parts = [(rank, part) for rank, part in parts if part]
    while cells(joined([part for _, part in parts], _BETWEEN)) > width and len(parts) > 1:
        parts.remove(max(parts, key=lambda part: part[0]))
    return [part for _, part in parts]


def _used(state: MeterChanged) -> Row:
    return (
        Span(tokens(state.used), "strong"),
        Span(f" of {tokens(state.ceiling)}"),
        Span(f" {state.source}", "dim"),
    )


def _cached(state: MeterChanged) -> Row:
    last, session = state.cached_reply, state.cached_session
    if last is None and state.warm:
        return (Span("prefix warm", "success"),)
    if last is None and session is None:
        return (Span("cached unknown", "dim"),)
    shown = "unknown" if last is None else f"{last:.0%}"
    whole = "" if session is None else f", session {session:.0%}"
    return (Span("cached ", "dim"), Span(shown, "success"), Span(whole, "dim"))


def _cost(state: MeterChanged) -> Row:
    """What is known of it; a plus says that some replies cost an unknown sum."""
    if state.cost_usd is None:
        return ()
    return (Span(f"${state.cost_usd:,.2f}{'+' if state.unpriced else ''}", "dim"),)


def _context(state: MeterChanged) -> Row:
    return (Span(f"context {tokens(state.context)}, {one_line(state.context_from)}", "dim"),)


def _filled(segments: Sequence[Segment], scale: int, width: int) -> Iterator[tuple[str, str]]:
    """Each segment's cells; one that holds anything has at least one."""
    total = drawn = 0
    for segment in segments:
        total += segment.tokens
        size = max(round(total * width / scale) - drawn, 1 if segment.tokens else 0)
        size = min(size, width - drawn)
        drawn += size
        yield from [(KINDS[segment.kind][0], f"m-{segment.kind}")] * size


def _write(glyphs: list[tuple[str, str]], at: int, label: str, used: int, *, edge: int) -> None:
    """A mark at its cell, and its label where that stands on free room before `edge`. A mark does
    not stand on the only cell of a segment.
    """
    if at < used and glyphs.count(glyphs[at]) == 1:
        at += 1
    fits = used <= at + 1 and at + len(label) <= edge
    for n, glyph in enumerate(label):
        if at + n < len(glyphs) and (glyph == "┊" or fits):
            glyphs[at + n] = (glyph, "" if glyph == "┊" else "dim")


def _grouped(glyphs: list[tuple[str, str]]) -> Iterator[Span]:
    text, role = "", ""
    for glyph, its_role in glyphs:
        if its_role != role and text:
            yield Span(text, role)
            text = ""
        text, role = text + glyph, its_role
    yield Span(text, role)
