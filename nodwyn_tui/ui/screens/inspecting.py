"""Looking at what was sent: an earlier window, from the divider at which it was left (ROL-14)."""

from nodwyn_tui.link.events import Opened
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.screens.compacting import Compacting
from nodwyn_tui.ui.screens.window_sheet import WindowSheet
from nodwyn_tui.ui.widgets.transcript import Transcript


class Inspecting(Compacting):
    """Routes what the worker tells of a request to its sheet, while that is open."""

    _window: WindowSheet | None = None

    def on_transcript_window_wanted(self, message: Transcript.WindowWanted) -> None:
        if not self.bridge.lost:
            self._window = WindowSheet(message.entry.seq, self.bridge.send)
            self.app.push_screen(self._window, self._window_left)

    def on_request_news(self, message: news.RequestNews) -> None:
        if self._window is not None:
            self._window.take(message.event)

    def on_session_news(self, message: news.SessionNews) -> None:
        """Another session, or another worker, which knows nothing of it."""
        if isinstance(message.event, Opened):
            self._put_window_away()

    def on_worker_lost(self, _message: news.WorkerLost) -> None:
        self._put_window_away()

    def _window_left(self, _: None) -> None:
        self._window = None

    def _put_window_away(self) -> None:
        window, self._window = self._window, None
        if window is not None and window.is_attached:
            window.dismiss()
