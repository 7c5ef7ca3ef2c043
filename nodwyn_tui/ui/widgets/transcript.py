"""The conversation pane: one widget on the Line API, whatever the length of the story (TUI-13).

What is told stands in `story.py`, what is seen in `viewport.py`, how it gets here in
`story_pane.py`; this file is the keys. What it cannot do itself it says in a message.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from textual import events
from textual.binding import BindingType
from textual.message import Message

from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets.keys import bound, run_binding
from nodwyn_tui.ui.widgets.questions import ANSWERS
from nodwyn_tui.ui.widgets.story_pane import StoryPane
from nodwyn_tui.ui.widgets.viewport import Place

GUARD_S = 0.4
"""Keys that were on their way when a question took the keyboard do not answer it."""

Word = Literal["allow", "session", "always", "refuse"]


class Transcript(StoryPane, can_focus=True):
    """The story, with a current entry that keys act on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("above", "move(-1)"),
        bound("below", "move(1)"),
        bound("open", "open"),
        bound("copy", "copy_entry"),
        bound("drop", "menu"),
        bound("bring_back", "bring_back"),
        bound("entries_up", "page_up"),
        bound("entries_down", "page_down"),
        bound("first", "scroll_home"),
        bound("last", "scroll_end"),
        bound("allow", "answer('allow')"),
        bound("allow_session", "answer('session')"),
        bound("allow_always", "answer('always')"),
        bound("refuse", "answer('refuse')"),
        bound("show_all", "expand"),
    ]

    @dataclass
    class Answered(Message):
        """The person answered a call that waits."""

        asked: up.ApprovalAsked
        word: Word

    @dataclass
    class CopyWanted(Message):
        """Text is to go to the clipboard."""

        text: str

    @dataclass
    class PictureWanted(Message):
        """An image is to be seen."""

        entry: up.Entry

    @dataclass
    class WindowWanted(Message):
        """The window that was left at a divider is to be seen."""

        entry: up.Entry

    @dataclass
    class MenuWanted(Message):
        """Something is to be done with an entry in the window."""

        entry: up.Entry

    class BringBackWanted(Message):
        """What was taken out of the window last is to come back, else the current entry."""

    @dataclass
    class AddressClicked(Message):
        """A link is to be opened."""

        address: str

    @dataclass
    class Typed(Message):
        """Something that belongs to the prompt, which is to have the keyboard from here on."""

        event: events.Key | events.Paste

    _guarded = False
    _refused = False
    _leaving = False
    """Whether the prompt is about to get the keyboard: what was on its way behind a typed letter
    belongs there too, Enter above all.
    """

    def arm(self) -> None:
        """Take the keyboard for the questions that wait, after a moment's guard."""
        self._guarded = True
        self.set_timer(GUARD_S, self._unguard)
        self.focus(scroll_visible=False)

    @property
    def _answers(self) -> bool:
        return bool(self.story.unanswered) and not self._refused

    def show_questions(self, *also: int | None) -> None:
        """The one at the current entry, else the first, is the one that the keys answer."""
        waiting = self.story.unanswered
        entry = self.story.entry_at(self.current) if self.current is not None else None
        asked = entry.id if entry and entry.id in waiting else next(iter(waiting), "")
        self.story.armed = asked if self.has_focus else ""
        super().show_questions(*also)
        at = self.story.index_of(asked)
        if at is not None and self.has_focus:
            self.current = at
            self.viewport.changed(at)
            self.viewport.show(at, end=True)

    def clicked_row(self, place: Place) -> None:
        self.current = place.entry
        self._toggle(place.entry)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Letters answer only while a question waits and is not being refused; else they are
        typed.
        """
        return action not in ("answer", "expand") or self._answers

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._refused = self._leaving = False
        self.show_questions()

    async def on_key(self, event: events.Key) -> None:
        unbound = not self._leaving and not await run_binding(self, event)
        if self._leaving or (unbound and event.is_printable and event.character):
            self._type(event)

    def on_paste(self, event: events.Paste) -> None:
        self._type(event)

    def on_selectable_rows_span_clicked(self, message: StoryPane.SpanClicked) -> None:
        message.stop()
        if message.link.startswith(ANSWERS):
            self._answer(cast("Word", message.link.removeprefix(ANSWERS)))
        else:
            self.post_message(self.AddressClicked(message.link))

    def action_move(self, step: int) -> None:
        """To the entry above or below; from what is in view, where the current one is not."""
        last = self.story.settled - 1
        if last < 1:
            return
        shown = [row[0].entry for row in self.rows] or [last]
        if self.current is None or not shown[0] <= self.current <= shown[-1]:
            downward = self.current is not None and step > 0
            at = max(min(shown[0 if downward else -1], last), 1)
        else:
            at = min(max(self.current + step, 1), last)
        if at != self.story.gap:  # else what belongs there comes as soon as it is in view
            self.current = at
        self.viewport.show(at)
        if self.story.questions:
            self.show_questions()
        self.show()

    def action_open(self) -> None:
        """Open the current entry, or close it."""
        if self.current is not None:
            self._toggle(self.current)

    def action_expand(self) -> None:
        """All of a question, however long."""
        at = self.story.index_of(self.story.armed)
        if at is not None:
            self._toggle(at)

    @property
    def current_entry(self) -> up.Entry | None:
        """The entry that keys act on; `None` before one was gone to."""
        return self.story.entry_at(self.current) if self.current is not None else None

    def action_menu(self) -> None:
        """What can be done with the current entry in the window."""
        if self.current is None:
            self.action_move(0)
        if (entry := self.current_entry) is not None:
            self.post_message(self.MenuWanted(entry))

    def action_bring_back(self) -> None:
        """Bring back what was taken out last."""
        self.post_message(self.BringBackWanted())

    def action_copy_entry(self) -> None:
        """The whole text of the current entry."""
        entry = self.current_entry
        body = self.story.body(entry) if entry else None
        if body is not None:
            self.post_message(self.CopyWanted(body.text or body.arguments))

    def action_answer(self, word: Word) -> None:
        """One key answers."""
        if not self._guarded:
            self._answer(word)

    def _answer(self, word: Word) -> None:
        """Answer the question that is armed, else the first."""
        waiting = self.story.unanswered
        asked = waiting.get(self.story.armed) or next(iter(waiting.values()), None)
        if asked is None or (word == "always" and not asked.pattern):
            return
        self._refused = word == "refuse"  # what is typed from here on is the reason
        self.post_message(self.Answered(asked, word))
        if not self._refused:
            self.story.answered.add(asked.call_id)
            self.show_questions()

    def _type(self, typed: events.Key | events.Paste) -> None:
        """To the prompt, in the order it came, as an event of its own: this one ends here."""
        self._leaving = True
        typed.stop()
        typed.prevent_default()
        match typed:
            case events.Key(key=key, character=character):
                self.post_message(self.Typed(events.Key(key, character)))
            case events.Paste(text=text):
                self.post_message(self.Typed(events.Paste(text)))

    def _toggle(self, index: int) -> None:
        entry = self.story.entry_at(index)
        if entry is not None and entry.kind == "image":
            self.post_message(self.PictureWanted(entry))
        elif entry is not None and entry.leaves:
            self.post_message(self.WindowWanted(entry))
        elif self.story.toggle(index):
            self.viewport.hold()
            self.viewport.changed(index)
            self.viewport.show(index)
        self.show()

    def _unguard(self) -> None:
        self._guarded = False
