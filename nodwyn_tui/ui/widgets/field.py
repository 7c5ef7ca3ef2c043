"""A line of text that is being written: its text, its cursor, and what a key does to them."""

from collections.abc import Callable

from textual import events

from nodwyn_tui.ui.widgets.lines import Span, cells
from nodwyn_tui.ui.widgets.pastes import clean

_LONGEST = 10_000


class Field:
    """`hidden` shows dots, as for a key."""

    def __init__(self, text: str = "", *, hidden: bool = False) -> None:
        self.begun = text
        """What it held at first."""
        self.text = text
        self.at = len(text)
        self.hidden = hidden

    def take(self, event: events.Key) -> bool:
        """Do what a key says; whether it says anything here."""
        act = _KEYS.get(event.key)
        if act is not None:
            act(self)
        elif event.is_printable and event.character:
            self.insert(event.character)
        else:
            return False
        return True

    def insert(self, text: str) -> None:
        """Typed or pasted text; the line ends of a paste go."""
        text = "".join(clean(text).splitlines())[: _LONGEST - len(self.text)]
        self.text = self.text[: self.at] + text + self.text[self.at :]
        self.at += len(text)

    def spans(self, width: int, under: str = "") -> tuple[Span, ...]:
        """The part around the cursor in at most `width` cells, the cursor reversed."""
        text = "•" * len(self.text) if self.hidden else self.text
        start = 0
        while start < self.at and cells([Span(text[start : self.at])]) >= width:
            start += 1
        end = len(text)
        while end > self.at and cells([Span(text[start:end])]) + (end == self.at) > width:
            end -= 1
        before, here, after = text[start : self.at], text[self.at : self.at + 1], ""
        if end > self.at:
            after = text[self.at + 1 : end]
        role = f"{under} block".strip()
        return (
            Span(before, role),
            Span(here or " ", f"{under} reverse".strip()),
            Span(after, role),
        )

    def _delete(self, start: int, end: int) -> None:
        start, end = max(start, 0), min(end, len(self.text))
        self.text, self.at = self.text[:start] + self.text[end:], start

    def _go(self, at: int) -> None:
        self.at = min(max(at, 0), len(self.text))

    def _word_start(self) -> int:
        head = self.text[: self.at].rstrip(" /:")
        return max(head.rfind(" "), head.rfind("/"), head.rfind(":")) + 1


_KEYS: dict[str, Callable[[Field], None]] = {
    "left": lambda field: field._go(field.at - 1),
    "right": lambda field: field._go(field.at + 1),
    "home": lambda field: field._go(0),
    "ctrl+a": lambda field: field._go(0),
    "end": lambda field: field._go(len(field.text)),
    "ctrl+e": lambda field: field._go(len(field.text)),
    "backspace": lambda field: field._delete(field.at - 1, field.at) if field.at else None,
    "delete": lambda field: field._delete(field.at, field.at + 1),
    "ctrl+u": lambda field: field._delete(0, field.at),
    "ctrl+k": lambda field: field._delete(field.at, len(field.text)),
    "ctrl+w": lambda field: field._delete(field._word_start(), field.at),
}
