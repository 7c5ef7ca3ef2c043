"""How each kind of entry looks: an entry's facts to lines, the same for live and resumed ones.

Text starts in the third column, marks stand in the first, so that the eye can run down either.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nodwyn_tui.link.events import Body, CallStatus, Entry, EntryKind, EntryState
from nodwyn_tui.link.images import Why
from nodwyn_tui.ui.widgets import rendering
from nodwyn_tui.ui.widgets.diffs import counts, diff_lines
from nodwyn_tui.ui.widgets.lines import (
    BLANK,
    Line,
    Span,
    cells,
    cut,
    expand_tabs,
    fits_right,
    spread,
    wrap,
)
from nodwyn_tui.ui.widgets.visible import one_line, visible

INDENT = 2
BETWEEN = " · "
OPENS = " (Enter shows it)"
"""What a divider says where the window that was left can be seen."""
_RULE = 6
"""Cells of a divider that are line, at least."""
_PAD = Span(" " * INDENT)
MARKS: dict[CallStatus, tuple[str, str, str]] = {
    "": ("○", "dim", "waits its turn"),
    "waiting": ("●", "accent", "waits for you"),
    "running": ("◐", "primary", "runs"),
    "ok": ("✓", "success", ""),
    "failed": ("✗", "error", "failed"),
    "refused": ("⊘", "warning", "refused"),
    "interrupted": ("■", "warning", "interrupted"),
}
"""A call's mark, its role, and the word that says the same without colour or shape."""
STATES: dict[EntryState, tuple[str, str]] = {
    "cut": ("shortened", "only its head and tail are in the window"),
    "elided": ("elided", "not in the window; a line there names it, and it can be read again"),
    "folded": ("folded", "a line, or a summary, stands in the window in its place"),
    "dropped": ("dropped", "you took it out of the window; Del or /restore brings it back"),
    "behind": ("behind a reset", "the window began anew after it"),
    "outside": ("outside", "not in the window: rewound, or never sent"),
}
"""Where an entry stands if not in the window: the word beside it, and what that means."""
WITHHELD: dict[Why, str] = {
    "missing": "its file is gone",
    "changed": "its file changed",
    "no-vision": "no images here",
    "other-host": "not confirmed",
    "refused": "refused before",
}
"""Why the model that is asked now does not get an image, beside its entry."""
_CLOSED_LINES: dict[EntryKind, int] = {"user": 12, "error": 6, "note": 6, "plan": 40}
"""Lines of a closed entry; the rest is a keypress away."""
_FAILURE_LINES = 3
_TIGHT: dict[EntryKind, tuple[EntryKind, ...]] = {
    "call": ("call", "thinking", "guidance"),
    "thinking": ("call", "thinking"),
    "guidance": ("divider", "guidance", "call"),
}
"""Kinds that stand right below which others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All that decides how an entry looks besides the width. `before` is the kind of the entry
    above it; `output` the latest line of a running call; `withheld` why an image is; `again` the
    key that brings a message which is not in the window into the prompt; `asking` what stands below
    a call that waits.
    """

    entry: Entry
    body: Body | None
    before: EntryKind | None = None
    is_open: bool = False
    output: str = ""
    withheld: Why | None = None
    again: str = ""
    asking: Callable[[int], Iterable[Line]] | None = None


def can_open(entry: Entry) -> bool:
    """Whether Enter shows more of an entry, or less again."""
    return entry.kind in ("call", "thinking", "guidance") or (
        entry.kind in _CLOSED_LINES and entry.size > 60 * _CLOSED_LINES[entry.kind] // 2
    )


def estimate(entry: Entry, width: int) -> int:
    """Rows that an entry will take, before it is laid out."""
    if entry.kind in ("call", "thinking", "guidance", "image"):
        return 1
    if entry.kind == "divider":
        return 2 + cells([Span(entry.title)]) // max(width - _RULE, 20)
    rows = 1 + entry.size * 5 // (max(width - INDENT, 20) * 4)
    return 2 + min(rows, _CLOSED_LINES.get(entry.kind, rows))


def lay_out(view: View, width: int) -> list[Line]:
    """An entry in `width` cells, with the blank line above it where one belongs."""
    lines = list(_LOOKS[view.entry.kind](view, width))
    tight = view.before in _TIGHT.get(view.entry.kind, ())
    if view.before is None or tight or view.entry.kind == "image":
        return lines
    return [BLANK, *lines]


def duration(ms: int) -> str:
    """Milliseconds for the eye: `0.4 s`, `12 s`, `2 min 5 s`."""
    if ms < 99_950:
        return f"{max(ms, 100) / 1000:.1f}".removesuffix(".0") + " s"
    minutes, seconds = divmod(round(ms / 1000), 60)
    return f"{minutes} min {seconds} s"


def _user(view: View, width: int) -> Iterator[Line]:
    title = f" · {one_line(view.entry.title)}" if view.entry.title else ""
    head = [Span("You", "user"), Span(title, "dim")]
    state = _state(view.entry)
    if view.entry.state == "outside" and view.again:
        state = (Span(f"{view.again} writes it anew · ", "faint"), *state)
    yield Line(spread(head, state, width))
    yield from _folded(list(_text(_said(view), width)), view, width)


def _image(view: View, width: int) -> Iterator[Line]:
    text = Span(f"[image: {one_line(view.entry.title)}]", "accent")
    state = _state(view.entry)
    if view.withheld and not state:
        state = (Span(f"not sent: {WITHHELD[view.withheld]}", "warning"),)
    yield Line(spread([_PAD, text], state, width), INDENT)


def _assistant(view: View, width: int) -> Iterator[Line]:
    state = _state(view.entry)
    if view.entry.title or state:
        title = Span(one_line(view.entry.title), "warning")
        yield Line(spread([_PAD, title], state, width))
    if view.body is None:
        yield from _text(_said(view), width)
        return
    for line in rendering.markdown(view.body.text, width - INDENT):
        yield Line((_PAD, *line.spans), line.lead + INDENT, line.soft)


def _thinking(view: View, width: int) -> Iterator[Line]:
    entry = view.entry
    took = f" {duration(entry.ms)}" if entry.ms else f" · {entry.size:,} characters"
    head = [Span("▾ " if view.is_open else "▸ ", "dim"), Span(f"thought{took}", "dim")]
    yield Line(spread(head, _state(entry), width))
    if view.is_open:
        yield from _text(_said(view), width, "dim em")


def _call(view: View, width: int) -> Iterator[Line]:
    entry = view.entry
    mark, role, word = MARKS[entry.status]
    title = one_line(entry.title)
    if not entry.title.startswith(entry.tool):
        title = f"{one_line(entry.tool)} {title}"
    name, blank, rest = title.partition(" ")
    head = [Span(f"{mark} ", role), Span(name, "strong"), Span(blank + rest)]
    facts = [(word, role), *((s.text, s.role) for s in _state(entry))]
    if view.body is not None and view.body.diff:
        added, removed = counts(view.body.diff)
        facts.insert(0, (f"+{added} -{removed}", "dim"))
    if entry.ms is not None:
        facts.append((duration(entry.ms), "dim"))
    while len(facts) > 1 and not fits_right(_joined(facts), width):
        facts.pop()  # the least of them stands last
    yield Line(spread(head, _joined(facts), width))
    if view.is_open:
        yield from _opened(view, width)
    elif entry.status == "failed":
        yield from list(_text(_said(view).strip(), width, "dim"))[:_FAILURE_LINES]
    elif entry.status == "running" and view.output:
        yield Line((_PAD, *cut([Span(one_line(view.output), "dim")], width - INDENT)))
    if view.asking is not None:
        for line in view.asking(width - INDENT):
            yield Line((_PAD, *line.spans), line.lead + INDENT, line.soft)


def _opened(view: View, width: int) -> Iterator[Line]:
    body = view.body
    if body is None:
        yield Line((_PAD, Span("…", "dim")))
        return
    if body.arguments and not body.diff:
        yield Line((_PAD, Span("asked for", "dim")))
        for row in rendering.highlight(expand_tabs(visible(body.arguments)), "json"):
            yield from _indented(row, width)
    if body.diff and view.asking is None:
        yield Line((_PAD, Span("change", "dim")))
        for line in diff_lines(body.diff, width - INDENT, visible):
            yield Line((_PAD, *line.spans), line.lead + INDENT, line.soft)
    if body.text:
        yield Line((_PAD, Span("result", "dim")))
        yield from _text(body.text, width)


def _plan(view: View, width: int) -> Iterator[Line]:
    title = one_line(view.entry.title) or "plan"
    yield Line(spread([Span("☰ ", "primary"), Span(title, "strong")], _state(view.entry), width))
    yield from _folded(list(_text(_said(view), width)), view, width)


def _note(view: View, width: int) -> Iterator[Line]:
    yield from _marked(view, width, Span("· ", "dim"), "dim")


def _error(view: View, width: int) -> Iterator[Line]:
    yield from _marked(view, width, Span("✗ ", "error"), "error")


def _marked(view: View, width: int, mark: Span, role: str) -> Iterator[Line]:
    title = f"{view.entry.title}\n" if view.entry.title else ""
    lines = list(_text(title + _said(view), width, role))
    head = (mark, *lines[0].spans[1:])
    # What is told the person alone has no title, and never stands in the window.
    head = spread(head, _state(view.entry), width) if title else head
    lines[0] = lines[0]._replace(spans=head)
    yield from _folded(lines, view, width)


def _guidance(view: View, width: int) -> Iterator[Line]:
    title = one_line(view.entry.title)
    head = [Span("▾ " if view.is_open else "▸ ", "dim"), Span(title, "dim")]
    yield Line(spread(head, _state(view.entry), width))
    if view.is_open:
        yield from _text(_said(view), width, "dim")


def _divider(view: View, width: int) -> Iterator[Line]:
    """As many parts of the label as fit stand on the rule, the others below it."""
    label = one_line(view.entry.title) + (OPENS if view.entry.leaves else "")
    on_rule, *below = _parts_in_rows(label, width - _RULE)
    shown = cut([Span(f" {on_rule} ", "dim")], width - _RULE)
    yield Line((Span("───", "faint"), *shown, Span("─" * (width - 3 - cells(shown)), "faint")))
    for row in below:
        yield Line(cut([Span("    "), Span(row, "dim")], width), 4)


def _parts_in_rows(label: str, room: int) -> list[str]:
    """What stands between middle dots, as much of it in a row as fits beside two blanks."""
    rows = [""]
    for part in label.split(BETWEEN):
        longer = BETWEEN.join(filter(None, (rows[-1], part)))
        if rows[-1] and cells([Span(longer)]) > room - 2:
            rows.append(part)
        else:
            rows[-1] = longer
    return rows


_LOOKS: dict[EntryKind, Callable[[View, int], Iterator[Line]]] = {
    "user": _user,
    "image": _image,
    "assistant": _assistant,
    "thinking": _thinking,
    "call": _call,
    "plan": _plan,
    "note": _note,
    "guidance": _guidance,
    "error": _error,
    "divider": _divider,
}


def _said(view: View) -> str:
    if view.body is not None:
        return view.body.text
    return view.entry.preview + ("…" if view.entry.size > len(view.entry.preview) else "")


def _text(text: str, width: int, role: str = "") -> Iterator[Line]:
    """Plain text, its line ends kept, two cells in."""
    for row in expand_tabs(visible(text.rstrip("\n"))).split("\n"):
        yield from _indented([Span(row, role)], width)


def _indented(row: Iterable[Span], width: int) -> Iterator[Line]:
    for n, spans in enumerate(wrap(row, width - INDENT, whole=True)):
        yield Line((_PAD, *spans), INDENT, soft=n > 0)


def _folded(lines: list[Line], view: View, width: int) -> Iterator[Line]:
    most = _CLOSED_LINES[view.entry.kind]
    if view.is_open or len(lines) <= most:
        yield from lines
        return
    yield from lines[: most - 1]
    more = f"… {len(lines) - most + 1:,} more lines · Enter or a click shows them"
    yield Line((_PAD, *cut([Span(more, "dim")], width - INDENT)))


def _state(entry: Entry) -> tuple[Span, ...]:
    word, _ = STATES.get(entry.state, ("", ""))
    return (Span(word, "faint"),) if word else ()


def _joined(facts: Iterable[tuple[str, str]]) -> list[Span]:
    spans: list[Span] = []
    for text, role in facts:
        if text:
            spans += [Span(" · ", "faint")] * bool(spans) + [Span(text, role)]
    return spans
