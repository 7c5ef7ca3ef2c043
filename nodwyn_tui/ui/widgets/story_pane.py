"""The story on the screen: link events in, rows out, and what streams shown in a steady beat."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from textual.message import Message

from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import ImagesWithheld
from nodwyn_tui.ui.widgets.entry_list import Edge
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.paging import Moved, Paging
from nodwyn_tui.ui.widgets.selectable import SelectableRows
from nodwyn_tui.ui.widgets.story import Opening, Story

FLUSH_S = 0.05
"""What streams is shown at most 20 times a second."""
LATE_S = 0.3
"""A page that takes longer is said to be loading."""

Told = (
    up.EntriesLoaded
    | up.PageLoaded
    | up.EntryAdded
    | up.EntryChanged
    | up.StatesChanged
    | up.BodyLoaded
    | up.CallOutput
    | up.ReplyPiece
    | up.CallPiece
    | up.ReplyEnded
    | up.ApprovalAsked
    | up.ApprovalClosed
)


class StoryPane(SelectableRows):
    """The story so far. `begin` it, then `take` what is told of it."""

    @dataclass
    class BodiesWanted(Message):
        """Entries are in view whose bodies are not here."""

        ids: tuple[str, ...]

    @dataclass
    class PageWanted(Message):
        """The gap comes into view: ask for what belongs at this side of it."""

        edge: Edge

    def __init__(self, opening: Opening, *, id: str | None = None) -> None:
        self.story = Story(opening)
        super().__init__(self.story, id=id)
        self._paging = Paging(self.story, self.viewport)
        self.viewport.reset()
        self._flush_due = False
        self._show_due = False

    def begin(self, opening: Opening) -> None:
        """Another session: its opening, and nothing else yet."""
        self.story = Story(opening)
        self.viewport.source = self.story
        self._paging = Paging(self.story, self.viewport)
        self.forget_places()
        self.viewport.reset()
        self.viewport.go_to(0)
        self.show()

    def use_keys(self, keys: Keys) -> None:
        """Other keys are named in the opening, in questions and beside messages."""
        if keys != self.story.keys:
            self.story.keys = keys
            for index in range(self.story.settled):
                self.viewport.changed(index)
            self.show()

    def take(self, told: Told) -> None:
        """Something was told of the story."""
        match told:
            case up.EntriesLoaded(entries=entries, earlier=earlier):
                self._grow(entries, earlier=earlier)
            case up.PageLoaded():
                self._moved(self._paging.fill(told))
            case up.EntryAdded(entry=entry):
                self._grow([entry])
            case up.EntryChanged() | up.StatesChanged() | up.BodyLoaded():
                self._change(*self.story.change(told))
            case up.CallOutput(id=entry_id, line=line):
                self._stream(self.story.output(entry_id, line))
            case up.ReplyPiece() | up.CallPiece():
                self.story.live.add(told)
                self._stream()
            case up.ReplyEnded():
                self.story.live.clear()
                self._grow([])
            case up.ApprovalAsked() | up.ApprovalClosed():
                self.show_questions(self.story.ask(told))
            case _:
                assert_never(told)

    def withhold(self, told: ImagesWithheld) -> None:
        """Other images are withheld now."""
        self._change(*self.story.withhold(told))

    def show(self) -> None:
        super().show()
        self._show_due = False
        if self.story.wanted:
            self.post_message(self.BodiesWanted(tuple(self.story.wanted)))
            self.story.wanted.clear()
        if (edge := self._paging.wanted(self.rows)) is not None:
            self.post_message(self.PageWanted(edge))
            self.set_timer(LATE_S, partial(self._late, edge))

    def scroll_rows(self, rows: int) -> None:
        """Down by so many rows, or up; not over the gap while what belongs there is on its way."""
        self.viewport.scroll(rows, self.story.gap)
        self.show()

    def action_scroll_home(self) -> None:
        """To the beginning of the session, also where it has not been told yet."""
        self._paging.turn(above=True)
        super().action_scroll_home()

    def action_scroll_end(self) -> None:
        """To the end, and stay there."""
        self._paging.turn(above=False)
        super().action_scroll_end()

    def show_questions(self, *also: int | None) -> None:
        """Every question looks different when one comes or goes: each says its number."""
        places = [self.story.index_of(entry_id) for entry_id in self.story.questions]
        self._change(*places, *also)

    def _grow(self, entries: Sequence[up.Entry], *, earlier: bool = False) -> None:
        settled = self.story.settled
        if settled == 1 and entries:  # else the opening is read from its top
            self.viewport.go_to_end()
        self.story.load(entries, earlier=earlier)
        self.viewport.sync(settled)
        self._moved(self._paging.let_go())
        self._soon()

    def _moved(self, moved: Moved | None) -> None:
        """Entries came or went in the midst of the story."""
        if moved is not None:
            self.move_places(moved)
            self.show()

    def _late(self, edge: Edge) -> None:
        if self._paging.say_late(edge):
            self.show()

    def _change(self, *indexes: int | None) -> None:
        for index in indexes:
            if index is not None:
                self.viewport.changed(index)
        self._soon()

    def _soon(self) -> None:
        """Show once for all that is told in one go."""
        if not self._show_due:
            self._show_due = True
            self.call_later(self.show)

    def _stream(self, index: int | None = None) -> None:
        if index is not None:
            self.viewport.changed(index)
        if not self._flush_due:
            self._flush_due = True
            self.set_timer(FLUSH_S, self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        self.viewport.sync(self.story.settled)
        self.show()
