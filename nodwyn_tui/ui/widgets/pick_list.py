"""A list to pick from: typing narrows it, arrows choose."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cells, cut, wrap
from nodwyn_tui.ui.widgets.visible import one_line

ROOMY = 20
"""Rows; on a lower screen the list is all there is room for."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`name` is what is picked; `current` marks the one in use."""

    name: str
    label: str
    detail: str = ""
    current: bool = False


class PickList(Bar):
    """Choices that hold every typed word; `intro` stands above them, `remarks` below."""

    def __init__(self, intro: str = "", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._intro = intro
        self.query_text = ""
        self._choices: Sequence[Choice] = ()
        self._remarks: Sequence[str] = ()
        self._known = False
        """What there is to pick from has been told."""
        self._at = 0

    def fill(self, choices: Sequence[Choice], remarks: Sequence[str] = ()) -> None:
        """What there is to pick from."""
        self._choices, self._remarks, self._known = choices, remarks, True
        self._at = next((n for n, c in enumerate(self.found) if c.current), 0)
        self.redraw()

    @property
    def found(self) -> list[Choice]:
        """The choices that match what is typed."""
        words = self.query_text.lower().split()
        return [
            choice
            for choice in self._choices
            if all(word in f"{choice.label} {choice.detail}".lower() for word in words)
        ]

    @property
    def chosen(self) -> Choice | None:
        """The choice that is marked."""
        found = self.found
        return found[min(self._at, len(found) - 1)] if found else None

    def move(self, step: int) -> None:
        """Mark another."""
        count = len(self.found)
        self._at = min(max(min(self._at, count - 1) + step, 0), max(count - 1, 0))
        self.redraw()

    def narrow(self, text: str) -> None:
        """Only what holds this text's words."""
        self.query_text, self._at = text, 0
        self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        roomy = self.app.size.height >= ROOMY
        intro = list(wrap([Span(self._intro)], width)) if self._intro and roomy else []
        yield from intro
        if intro:
            yield ()
        query = [Span("▸ ", "primary"), Span(self.query_text), Span(" ", "reverse")]
        hint = Span("  type to narrow the list", "dim")
        yield cut([*query, hint] if not self.query_text else query, width)
        yield ()
        found = self.found
        at = min(self._at, len(found) - 1)
        remarks = [
            row
            for remark in self._remarks
            for row in wrap([Span("! ", "warning"), Span(one_line(remark), "dim")], width)
        ]
        above = len(intro) + 1 if intro else 0
        height, others = self.app.size.height, above + len(remarks)
        room = max(height - 13 - others, min(7, height * 9 // 10 - 7 - others), 3)
        first = max(0, min(at - room // 2, len(found) - room))
        column = min(max((len(c.label) for c in found), default=0) + 3, width * 2 // 3)
        for n, choice in enumerate(found[first : first + room], first):
            yield _row(choice, n == at, column, width)
        if not found and (self._choices or not remarks):  # else the remarks say why
            empty = "nothing matches" if self._choices else "nothing to pick from yet"
            yield (Span(empty if self._known else "…", "dim"),)
        if remarks and (found or self._choices):
            yield ()
        yield from remarks


def _row(choice: Choice, chosen: bool, column: int, width: int) -> Row:
    under = "chosen " if chosen else ""
    mark = "▸ " if chosen else "  "
    name = cut([Span(one_line(choice.label), f"{under}{'strong' if chosen else ''}")], column - 2)
    now = "  in use" if choice.current else ""
    row = cut(
        [
            Span(mark, f"{under}primary"),
            *name,
            Span(" " * max(column - cells(name), 1), under.strip()),
            Span(one_line(choice.detail), f"{under}dim"),
        ],
        width - len(now),
    )
    row = (*row, Span(now, f"{under}success"))
    return (*row, Span(" " * (width - cells(row)), under.strip()))
