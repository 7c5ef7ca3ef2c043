"""The app: its screen, its themes, its stylesheet. What it does stands in the screens."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import App
from textual.binding import BindingType
from textual.driver import Driver

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.messages import Outcome
from nodwyn_tui.ui.screens.conversation import Conversation
from nodwyn_tui.ui.themes import DARK, LIGHT


class NodwynApp(App[Outcome], inherit_bindings=False):
    """Ends with an `Outcome`. `listen` is called once, when the prompt has the keyboard."""

    TITLE = "nodwyn"
    CSS_PATH = "styles/app.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(  # noqa: PLR0913 - each is a fact of the terminal, or of what is behind it
        self,
        bridge: Bridge,
        clock: Clock,
        *,
        listen: Callable[[], None] | None = None,
        driver_class: type[Driver] | None = None,
        no_color: bool = False,
        pictures: Pictures = "halves",
        editor: str = "",
    ) -> None:
        # In its own colours Textual answers NO_COLOR with shades of grey.
        super().__init__(driver_class=driver_class, ansi_color=no_color or None)
        self._listen = listen
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        # Past the reactive: nothing is there yet that would have to be styled again.
        self.set_reactive(App.theme, DARK.name)
        self.stylesheet.set_variables(self.get_css_variables())
        self.conversation = Conversation(bridge, clock, pictures, editor)

    def get_default_screen(self) -> Conversation:
        """The conversation is all there is at first."""
        return self.conversation

    @property
    def failure(self) -> Exception | None:
        """What ended the app, if that was a bug."""
        return self._exception

    async def action_quit(self) -> None:
        """Leave in order."""
        self.conversation.leave()

    def _fatal_error(self) -> None:
        """Leave without a word: who runs the app writes what happened to the log."""
        self._close_messages_no_wait()

    def on_ready(self) -> None:
        if self._listen is not None:
            self._listen()
