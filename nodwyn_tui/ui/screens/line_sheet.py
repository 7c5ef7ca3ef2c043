"""A line asked for over the settings: a model's name, a server's key, which is not shown."""

from collections.abc import Callable, Iterator
from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import ModalScreen

from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.keys import run_binding
from nodwyn_tui.ui.widgets.lines import Span, wrap
from nodwyn_tui.ui.widgets.visible import one_line

Kept = Literal["keyring", "file"]
_PLACES: dict[Kept, str] = {
    "keyring": "in the system's keyring",
    "file": "in a file that only you can read, beside config.toml",
}


class LineSheet(ModalScreen[str | None]):
    """Ends with the line, `None` for none. `wrong` says what is wrong with one, '' for nothing."""

    CSS_PATH = "../styles/settings.tcss"
    SAYS = "Enter takes it · Esc puts this away"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "leave", "put this away"),
        Binding("enter", "take", "take it"),
    ]

    def __init__(
        self, title: str, text: str, field: Field, wrong: Callable[[str], str] = lambda _: ""
    ) -> None:
        super().__init__()
        self.field = field
        self.says = _Asked(text, field, wrong, id="asked")
        self._frame_title = title
        self._wrong = wrong

    def compose(self) -> ComposeResult:
        with Container(classes="settings-frame") as frame:
            frame.border_title = one_line(self._frame_title)
            frame.border_subtitle = self.SAYS
            yield self.says

    async def on_key(self, event: events.Key) -> None:
        if self.field.take(event):
            event.stop()
            event.prevent_default()
            self.says.redraw()
        else:
            await run_binding(self, event)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.field.insert(event.text)
        self.says.redraw()

    def action_take(self) -> None:
        """Take the line, unless something is wrong with it."""
        text = self.field.text.strip()
        if text and not self._wrong(text):
            self.dismiss(text)

    def action_leave(self) -> None:
        """Take none."""
        self.dismiss(None)


class KeySheet(LineSheet):
    """A server's key: never shown. Ends with it, with '' to forget the one that is kept."""

    SAYS = "Enter keeps it · Tab elsewhere · Esc puts this away"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab,shift+tab", "elsewhere", "keep it in the keyring, or in a file"),
        Binding("ctrl+d", "forget", "forget the key that is kept"),
    ]

    def __init__(self, server: str, note: str, key: str = "", kept_in: Kept = "keyring") -> None:
        self._note = f"{note}\n" if note else ""
        self.kept_in: Kept = kept_in
        super().__init__(f"Key for {server}", self._text(), Field(key, hidden=True))

    def action_elsewhere(self) -> None:
        """Keep it in the other place."""
        self.kept_in = "file" if self.kept_in == "keyring" else "keyring"
        self.says.text = self._text()
        self.says.redraw()

    def action_forget(self) -> None:
        """Forget the key that is kept."""
        self.dismiss("")

    def _text(self) -> str:
        return (
            f"{self._note}It is kept {_PLACES[self.kept_in]} (Tab changes that), and named in the"
            " server's entry. It is not shown, and in no log. Ctrl+D forgets the one that is kept."
        )


class _Asked(Bar):
    """What is asked for, the line, and what is wrong with it."""

    def __init__(self, text: str, field: Field, wrong: Callable[[str], str], *, id: str) -> None:
        super().__init__(id=id)
        self.text, self._field, self._wrong = text, field, wrong

    def bar_rows(self, width: int) -> Iterator[Row]:
        for part in self.text.split("\n"):
            yield from wrap([Span(one_line(part), "dim")], width)
        yield ()
        yield (Span("▸ ", "primary"), *self._field.spans(width - 3))
        wrong = self._wrong(self._field.text.strip())
        if wrong:
            yield from wrap([Span("! ", "error"), Span(one_line(wrong), "error")], width)
        else:
            yield ()
