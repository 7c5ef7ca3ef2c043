"""What can be done with an entry of the window, and its price: an option in two rows (TUI-15)."""

from collections.abc import Collection, Iterator, Sequence

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.domain.words import WindowAction
from nodwyn_tui.link.events import EditOption
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cells, cut, wrap
from nodwyn_tui.ui.widgets.visible import one_line

NAMES: dict[WindowAction, tuple[str, str]] = {
    "fold": ("fold", "one line says what it was and how to see it"),
    "drop": ("drop", "only a mark stays in its place"),
    "drop_step": ("drop the step", "the reply, its calls and all their results"),
    "drop_exchange": ("drop the exchange", "this message and all up to your next one"),
    "restore": ("bring back", "as it was, in its place"),
    "restore_exchange": ("bring the exchange back", "as it was, in its place"),
    "rewrite": ("write it anew", "its text comes into the prompt; it stays here too"),
    "rewind": ("rewind", "it and all behind it leave, its text comes back to you"),
}
"""What an action is called, and what it does."""
_CENTS = 0.1
"""US dollars from which on cents say enough."""
_LEAST = 0.0001
_INDENT = 4
_FRAME = 6
"""Rows of the menu that are no options."""


class Options(Bar):
    """`title` says of what. `fill` it once they are known; `why_not` stands above."""

    FIRST_ROWS = 3

    def __init__(self, title: str, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._title = title
        self.known = False
        """Whether it was told what there is."""
        self._options: Sequence[EditOption] = ()
        self._why_not = "…"
        self._at = 0

    def fill(
        self, options: Sequence[EditOption], why_not: str, marked: WindowAction | None
    ) -> None:
        """What there is to pick from, `marked` first if it is there, and why no more."""
        self._options, self._why_not, self.known = options, why_not, True
        actions = [option.action for option in options]
        self._at = actions.index(marked) if marked in actions else 0
        self.redraw()

    def move(self, step: int) -> None:
        """Mark another."""
        self._at = min(max(self._at + step, 0), max(len(self._options) - 1, 0))
        self.redraw()

    @property
    def chosen(self) -> WindowAction | None:
        """The action that is marked."""
        return self._options[self._at].action if self._options else None

    def bar_rows(self, width: int) -> Iterator[Row]:
        yield cut([Span(self._title)], width)
        yield ()
        if self._why_not:
            yield from wrap([Span(one_line(self._why_not), "dim")], width)
        rows = list(self._rows(width, priced=range(len(self._options))))
        if len(rows) > self.app.size.height * 9 // 10 - _FRAME:
            rows = list(self._rows(width, priced=(self._at,)))
        yield from rows

    def _rows(self, width: int, priced: Collection[int]) -> Iterator[Row]:
        """The options; `priced` are those whose price is shown."""
        for n, option in enumerate(self._options):
            under = "chosen " if n == self._at else ""
            name, meaning = NAMES[option.action]
            mark = Span("▸ " if under else "  ", f"{under}primary")
            head = (mark, Span(name, f"{under}strong"), Span(f"  {meaning}", f"{under}dim"))
            yield _filled(head, under, width)
            if n in priced:
                for row in wrap([Span(price(option), f"{under}dim")], width - _INDENT):
                    yield _filled((Span(" " * _INDENT, under.strip()), *row), under, width)


def price(option: EditOption) -> str:
    """What an option frees and costs, in words."""
    if option.action == "rewrite":
        return "free: it is not in the window"
    if "restore" in option.action:
        change = f"~{tokens(max(-option.freed, 0))} tokens come back"
    elif option.freed > 0:
        change = f"frees ~{tokens(option.freed)} tokens"
    else:
        change = "frees nothing"
    if option.again <= 0:
        return f"{change} · free: nothing cached is lost"
    cost = "" if option.cost_usd is None else f", {_dollars(option.cost_usd)}"
    return f"{change} · ~{tokens(option.again)} behind it are read anew{cost}"


def _dollars(cost: float) -> str:
    return f"${cost:.2f}" if cost >= _CENTS else f"${max(cost, _LEAST):.4f}"


def _filled(row: Row, under: str, width: int) -> Row:
    row = cut(row, width)
    return (*row, Span(" " * (width - cells(row)), under.strip()))
