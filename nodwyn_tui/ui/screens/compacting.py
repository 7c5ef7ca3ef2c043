"""What `/compact` does on the screen: it asks, shows the note that came, and tells what became of
it.
"""

from typing import assert_never

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.screens.compaction_sheet import CompactionSheet
from nodwyn_tui.ui.screens.stage import Stage
from nodwyn_tui.ui.widgets.activity import Doing

UNDO = "undo"


class Compacting(Stage):
    """Shows the sheet while a note is on offer."""

    _note_sheet: CompactionSheet | None = None

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
                self._show_note(event)
            case up.CompactionEnded(text=text, level=level):
                self.activity.end()
                self.tell(level, text)
            case _:
                assert_never(event)
        self.show_hints()

    def on_session_news(self, _message: news.SessionNews) -> None:
        """Another session, or another worker: what was on offer is no more."""
        self._put_note_away()

    def on_worker_lost(self, _message: news.WorkerLost) -> None:
        self._put_note_away()

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
        sheet, self._note_sheet = self._note_sheet, None
        if sheet is not None and sheet.is_attached:
            sheet.dismiss(None)
