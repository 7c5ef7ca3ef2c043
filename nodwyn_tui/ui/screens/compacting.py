"""What `/compact` does on the screen: it asks, shows the note that came, and tells what became of
it.
"""

from functools import partial
from typing import assert_never

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.screens.attaching import Attaching
from nodwyn_tui.ui.screens.compaction_sheet import CompactionSheet
from nodwyn_tui.ui.screens.stage import QUIET_S
from nodwyn_tui.ui.widgets.activity import Doing

UNDO = "undo"


class Compacting(Attaching):
    """Shows the sheet while a note is on offer."""

    _note_sheet: CompactionSheet | None = None
    _offer: up.CompactionOffered | None = None
    """A note that came while the person was writing."""

    def compact(self, wish: str) -> None:
        """Ask for a note, or undo the latest compaction."""
        command = commands.UndoCompaction() if wish == UNDO else commands.Compact(wish=wish)
        self.bridge.send(command)

    def on_compaction_news(self, message: news.CompactionNews) -> None:
        event = message.event
        match event:
            case up.CompactionStarted():
                self.activity.begin()
                self.activity.do(Doing("asks for a handover note"))
            case up.CompactionOffered():
                self.activity.end()
                self._offer = event
                self._offer_note(event, message.time)
            case up.CompactionEnded(text=text, level=level):
                self._offer = None
                self.activity.end()
                self.tell(level, text)
            case _:
                assert_never(event)
        self.show_hints()

    def on_session_news(self, _message: news.SessionNews) -> None:
        """Another session, or another worker: what was on offer is no more."""
        self._put_note_away()

    def on_run_news(self, message: news.RunNews) -> None:
        """A message was sent: the note that was on its way is of an earlier window."""
        if isinstance(message.event, up.RunStarted):
            self._offer = None

    def on_worker_lost(self, _message: news.WorkerLost) -> None:
        self._put_note_away()

    def _offer_note(self, offer: up.CompactionOffered, now: float) -> None:
        """Show a note, unless it is on offer no more; its keys are not for somebody who writes."""
        wait = QUIET_S - (now - self.prompt.last_key) if self.prompt.text else 0
        if offer is not self._offer:
            return
        if wait > 0:
            self.set_timer(wait, partial(self._offer_note, offer, now + wait))
        else:
            self._offer = None
            self._show_note(offer)

    def _show_note(self, offer: up.CompactionOffered) -> None:
        self._put_note_away()
        self._note_sheet = CompactionSheet(offer)
        self.app.push_screen(self._note_sheet, self._settled)

    def _settled(self, note: str | None) -> None:
        if self._note_sheet is not None:
            self._note_sheet = None
            self.bridge.send(
                commands.DropCompaction() if note is None else commands.AcceptCompaction(note=note)
            )

    def _put_note_away(self) -> None:
        self._offer = None
        sheet, self._note_sheet = self._note_sheet, None
        if sheet is not None and sheet.is_attached:
            sheet.dismiss(None)
