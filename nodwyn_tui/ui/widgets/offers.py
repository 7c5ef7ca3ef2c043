"""The completions above the prompt."""

from collections.abc import Iterator, Sequence

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.completing import Completion
from nodwyn_tui.ui.widgets.lines import Span, cells, cut

_MOST = 8


class Offers(Bar):
    """A list of what could stand in place of what is typed, the chosen one marked."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._completions: Sequence[Completion] = ()
        self._chosen = 0

    def offer(self, completions: Sequence[Completion], chosen: int) -> None:
        """Show these."""
        self._completions, self._chosen = completions, chosen
        self.redraw()

    def bar_rows(self, width: int) -> Iterator[Row]:
        first = max(0, min(self._chosen - _MOST // 2, len(self._completions) - _MOST))
        shown = self._completions[first : first + _MOST]
        column = max((len(offer.label or offer.text) for offer in shown), default=0) + 3
        for n, offer in enumerate(shown, first):
            chosen = n == self._chosen
            role = "chosen " if chosen else ""
            name = (offer.label or offer.text).ljust(column)
            row = cut(
                [
                    Span(" ▸ " if chosen else "   ", f"{role}primary"),
                    Span(name, f"{role}strong" if chosen else ""),
                    Span(offer.help, f"{role}dim"),
                ],
                width,
            )
            yield (*row, Span(" " * (width - cells(row)), role.strip()))
