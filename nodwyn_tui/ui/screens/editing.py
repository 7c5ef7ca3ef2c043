"""Changing the window from the screen: an entry's menu, what was taken out last, and messages that
come back into the prompt (TUI-15, AGT-4).
"""

from functools import partial

from textual.timer import Timer

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.domain.words import WindowAction
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.screens.entry_menu import EntryMenu
from nodwyn_tui.ui.screens.inspecting import Inspecting
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.widgets.pick_list import Choice
from nodwyn_tui.ui.widgets.transcript import Transcript

ESC_AGAIN_S = 2.0
"""Within it, a second Esc takes the last message back."""
AFTER_A_RUN_S = 1.0
"""An Esc so soon after a run's end was meant for the run."""

_UNDONE_BY: dict[WindowAction, WindowAction] = {
    "fold": "restore",
    "drop": "restore",
    "drop_step": "restore",
    "drop_exchange": "restore_exchange",
}
_SUITED: dict[WindowAction, tuple[up.EntryState, ...]] = {
    "fold": ("in", "cut"),
    "drop": ("in", "cut", "folded"),
    "restore": ("dropped", "elided", "folded"),
}
"""The states of an entry that a command means, where none is gone to."""

NOT_IN = ("outside", "behind")
"""Where a message is that was never sent, is sent no more, or was rewound."""

READ_ONLY = "another process writes this session, so its window can't be changed here"
NO_MESSAGE = "no message of yours is in the window"
WRITE_ANEW = ": what stands before it can be written anew, by its menu in the conversation"
REWOUND = (
    "your message is in the prompt again, and out of the window with all behind it; files stay as"
    " they are. Esc Esc: an earlier one"
)
FOR_GOOD = (
    "A rewind is not taken back: the next message goes on from there. The log keeps what was"
    " rewound; `nodwyn replay {session}` prints it, `nodwyn sessions export {session}` gives it as"
    " Markdown."
)


class Editing(Inspecting):
    """What is asked for here, the worker does or refuses."""

    esc_again = ""
    """What Esc does now if it comes again; '' for nothing."""
    _menu: EntryMenu | None = None
    _messages: Picker | None = None
    _undo: commands.EditWindow | None = None
    """What brings back what was taken out last."""
    _returned: tuple[str, tuple[str, ...]] = ("", ())
    """What was rewound last, as the prompt holds it until it is edited."""
    _run_ended = float("-inf")
    _esc_timer: Timer | None = None

    # Textual calls the handlers of the stage too.

    def on_run_news(self, message: news.RunNews) -> None:
        if isinstance(message.event, up.RunEnded):
            self._run_ended = self.activity.seconds_from_now(0)

    def on_session_news(self, message: news.SessionNews) -> None:
        if isinstance(message.event, up.Opened):
            self._undo, self._returned = None, ("", ())

    def on_transcript_menu_wanted(self, message: Transcript.MenuWanted) -> None:
        self._open_menu(message.entry)

    def on_transcript_bring_back_wanted(self) -> None:
        """Bring the current entry into the prompt, where it is a message that is not in the window,
        else back what was taken out last, else the current entry.
        """
        entry = self.transcript.current_entry
        if entry is not None and entry.kind == "user" and entry.state in NOT_IN:
            self.bridge.send(commands.EditWindow(entry_id=entry.id, action="rewrite"))
            return
        undo, self._undo = self._undo, None
        if undo is None and entry is not None and entry.state in _SUITED["restore"]:
            undo = commands.EditWindow(entry_id=entry.id, action="restore")
        if undo is None:
            self.tell("info", "nothing was taken out of the window that could come back")
        else:
            self.bridge.send(undo)

    def on_prompt_waiting_wanted(self) -> None:
        self.bridge.send(commands.TakeBack())

    def on_queue_bar_clicked(self) -> None:
        self.bridge.send(commands.TakeBack())

    def edit(self, action: WindowAction) -> None:
        """A command's menu, of what was taken out last if that is to come back, else of the current
        entry, else of the last call that it suits; a rewind has a list of its own.
        """
        if action == "rewind":
            self._pick_message()
            return
        entry = self.transcript.current_entry or self._last_call(action)
        if action == "restore" and self._undo is not None:
            action = self._undo.action
            entry = self._entry(self._undo.entry_id) or entry
        if entry is None:
            self.tell("warning", "there is no entry that this could be done with")
        else:
            self._open_menu(entry, action)

    def again(self) -> bool:
        """Esc, while nothing goes on: whether it was the second, and so took a message back."""
        text = self.prompt.text
        if self.esc_again:
            self._end_esc()
            if text:
                self._pick_message()
            else:
                self.bridge.send(commands.EditWindow(entry_id="", action="rewind"))
            return True
        if self._is_read_only:
            return False
        meant = self.activity.seconds_from_now(0) - self._run_ended > AFTER_A_RUN_S
        if meant and (not text or self.prompt.written == self._returned):
            self.esc_again = "an earlier message" if text else "edit your last message"
            self._esc_timer = self.set_timer(ESC_AGAIN_S, self._end_esc)
            self.show_hints()
        return False

    def editing_told(self, event: up.EditPriced | up.MessagesListed) -> None:
        """What can be done with an entry, or what can be rewound to."""
        match event:
            case up.EditPriced() if self._menu is not None:
                self._menu.priced(event)
            case up.MessagesListed(messages=messages) if self._messages is not None:
                self._messages.fill(
                    [Choice(m.entry_id, m.text, f"frees ~{tokens(m.tokens)}") for m in messages],
                    () if messages else (self._nothing_to_rewind_to(),),
                )
            case _:
                pass

    def take_back(self, event: up.Returned) -> None:
        """A message is the person's again."""
        if self.prompt.written == self._returned:
            self.prompt.set_text("")
            self.prompt.gallery.take()
        self.prompt.put_back([event.text], event.images)
        self.prompt.focus()
        if event.why == "rewound":
            self._returned = self.prompt.written
            self.tell("info", REWOUND, FOR_GOOD.format(session=self.bridge.session))

    @property
    def _is_read_only(self) -> bool:
        return self.header.opened is not None and self.header.opened.read_only

    def _open_menu(self, entry: up.Entry, marked: WindowAction | None = None) -> None:
        if self._is_read_only:
            self.tell("warning", READ_ONLY)
            return
        self._menu = EntryMenu(entry, marked)
        self.app.push_screen(self._menu, partial(self._picked, entry.id))
        self.bridge.send(commands.PriceEdit(entry_id=entry.id))

    def _picked(self, entry_id: str, action: WindowAction | None) -> None:
        self._menu = None
        if action is None:
            return
        self._undo = None
        if (undone_by := _UNDONE_BY.get(action)) is not None:
            self._undo = commands.EditWindow(entry_id=entry_id, action=undone_by)
        self.bridge.send(commands.EditWindow(entry_id=entry_id, action=action))

    def _pick_message(self) -> None:
        if self._is_read_only:
            self.tell("warning", READ_ONLY)
            return
        if self.activity.busy:
            self.tell("warning", "a rewind has to wait until this run has ended (Esc stops it)")
            return
        self._messages = Picker("Rewind to")
        self.app.push_screen(self._messages, self._picked_message)
        self.bridge.send(commands.ListMessages())

    def _picked_message(self, entry_id: str | None) -> None:
        self._messages = None
        if entry_id:
            self.bridge.send(commands.EditWindow(entry_id=entry_id, action="rewind"))

    def _entry(self, entry_id: str) -> up.Entry | None:
        story = self.transcript.story
        index = story.index_of(entry_id)
        return None if index is None else story.entry_at(index)

    def _nothing_to_rewind_to(self) -> str:
        said = any(entry.kind == "user" for entry in reversed(self.transcript.story.entries))
        return NO_MESSAGE + WRITE_ANEW * said

    def _last_call(self, action: WindowAction) -> up.Entry | None:
        calls = (e for e in reversed(self.transcript.story.entries) if e.kind == "call")
        return next((e for e in calls if e.state in _SUITED.get(action, ())), None)

    def _end_esc(self) -> None:
        if self._esc_timer is not None:
            self._esc_timer.stop()
            self._esc_timer = None
        self.esc_again = ""
        self.show_hints()
