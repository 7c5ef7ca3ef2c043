"""Rows to go through with the arrows or the mouse: one is marked, headings are passed over.

It has no keyboard of its own: its screen tells it to move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from textual.message import Message

from nodwyn_tui.ui.widgets.lines import Line
from nodwyn_tui.ui.widgets.selectable import SelectableRows
from nodwyn_tui.ui.widgets.viewport import Place


class Listed(Protocol):
    """What stands in a listing."""

    @property
    def marks(self) -> bool:
        """Whether it can be the marked one."""
        ...

    def lines(self, width: int, *, marked: bool, active: bool) -> list[Line]:
        """Its rows; `active` says that the keys are the listing's."""
        ...


class Listing(SelectableRows, can_focus=False):
    """`at` is the marked one's index; `active` whether the keys are this listing's."""

    @dataclass
    class Pointed(Message):
        """A click on a row; `again` says that it was the marked one."""

        listing: "Listing"
        again: bool

    def __init__(self, *, id: str | None = None) -> None:
        self.listed: Sequence[Listed] = ()
        self.at = 0
        self.active = False
        super().__init__(_Rows(self), id=id)

    def fill(self, listed: Sequence[Listed], at: int) -> None:
        """Other rows; what is in view stays, as far as it is there and the marked one allows it."""
        top = self.viewport.offset if self.listed else 0
        self.listed = listed
        self.at = self._nearest(min(at, len(listed) - 1), 1)
        self.viewport.reset()
        if listed:
            self.viewport.go_to(top)
        self.see()

    def move(self, step: int) -> None:
        """Mark another."""
        aim = min(max(self.at + step, 0), len(self.listed) - 1)
        self.go(self._nearest(aim, 1 if step > 0 else -1))

    def go(self, at: int) -> None:
        """Mark that one."""
        for index in (self.at, at):
            self.viewport.changed(index)
        self.at = at
        self.see()

    def see(self) -> None:
        """Bring the marked one into view, with the heading above it."""
        if self.listed:
            first = self.at
            while first and not self.listed[first - 1].marks:
                first -= 1
            for index in (first, self.at):
                self.viewport.show(index)
        self.show()

    def set_active(self, active: bool) -> None:
        """The keys are this listing's, or another's."""
        if active != self.active:
            self.active = active
            self.viewport.changed(self.at)
            self.show()

    def clicked_row(self, place: Place) -> None:
        if self.listed[place.entry].marks:
            again = place.entry == self.at and self.active
            self.go(place.entry)
            self.post_message(self.Pointed(self, again))

    def on_resize(self) -> None:
        self.see()

    def _nearest(self, at: int, way: int) -> int:
        """The first from there that can be marked; the other way round if there is none."""
        count = len(self.listed)
        for order in (way, -way):
            index = at
            while 0 <= index < count:
                if self.listed[index].marks:
                    return index
                index += order
        return 0


class _Rows:
    """A listing as a source of rows."""

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def __len__(self) -> int:
        return len(self._listing.listed)

    def estimate(self, index: int, width: int) -> int:
        return len(self.lay_out(index, width))

    def lay_out(self, index: int, width: int) -> list[Line]:
        of = self._listing
        return of.listed[index].lines(width, marked=index == of.at, active=of.active)
