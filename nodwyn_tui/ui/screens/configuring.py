"""What opens the settings from the conversation: they are imported when they are first opened, not
before the first paint (PERF-1).
"""

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from nodwyn_tui.link.events import ApprovalAsked, Opened
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.screens.setting_up import SettingUp

if TYPE_CHECKING:
    from nodwyn_tui.ui.screens.settings import SettingsScreen

WAITS = "a call waits for your answer in the conversation"
_MODULE = "nodwyn_tui.ui.screens.settings"


class Configuring(SettingUp):
    """Routes what the worker tells of the settings to their screen, while it is open."""

    settings: "SettingsScreen | None" = None

    def action_settings(self, page: str = "") -> None:
        """Open the settings, at a page."""
        if self.settings is None:
            made = importlib.import_module(_MODULE).SettingsScreen
            self.settings = cast("Callable[..., SettingsScreen]", made)(self.bridge.send)
            self.settings.page = (page, "") if page else None
            self.app.push_screen(self.settings, self._settings_left)

    def on_settings_news(self, message: news.SettingsNews) -> None:
        if self.settings is not None:
            self.settings.take(message.event)

    def on_session_news(self, message: news.SessionNews) -> None:
        """Another worker, maybe: it has to be asked again."""
        if self.settings is not None and isinstance(message.event, Opened):
            self.settings.found_again()

    def on_asking_news(self, message: news.AskingNews) -> None:
        """A question is not seen behind the settings, so they tell of it (TUI-10)."""
        if self.settings is not None and isinstance(message.event, ApprovalAsked):
            self.settings.tell("warning", WAITS)

    def on_worker_lost(self, _message: news.WorkerLost) -> None:
        if self.settings is not None:
            self.settings.lost()

    def _settings_left(self, said: str | None) -> None:
        self.settings = None
        if said:
            self.tell("info", said)
