"""Rollovers as they were recorded, for a re-fold to leave out; and the notes that a model is
assumed to write where it is warned (`rolling_over.py`).
"""

from collections.abc import Iterable, Iterator, Sequence

from nodwyn_tui.domain.arguments import read_arguments
from nodwyn_tui.domain.events import (
    AttachImage,
    BudgetWarning,
    Event,
    ToolCall,
    UserMessage,
    WindowLeadIn,
    WindowReset,
)
from nodwyn_tui.lab.compactions import filler

MEMORY = "memory"
"""The tool that writes the notes."""


def assumed_notes(events: Sequence[Event]) -> str:
    """Notes as long as the median of those that the session itself wrote."""
    calls = (event for event in events if isinstance(event, ToolCall))
    return filler([text for call in calls if (text := notes_in(call))])


def notes_in(call: ToolCall) -> str:
    """The notes that a call writes, '' where it writes none."""
    given = read_arguments(call.arguments) if call.name == MEMORY else {}
    match given:
        case {"action": "write", "file": "context-notes", "text": str(text)}:
            return text
        case _:
            return ""


def without_rollovers(events: Iterable[Event]) -> Iterator[Event]:
    """The session as if no window of it had been warned of, or left by itself."""
    recorded = Recorded()
    return (event for event in events if not recorded.takes(event))


class Recorded:
    """Tells which events belong to recorded rollovers."""

    def __init__(self) -> None:
        self._left_for = ""
        """Why the window was left whose batch is being read."""
        self._images: set[str] = set()

    def takes(self, event: Event) -> bool:
        """Whether an event leaves with the rollovers: their own rows, the word to go on, and what
        the person had said before and was asked again.
        """
        match event:
            case WindowReset(kind="rollover"):
                self._left_for = event.reason
                return True
            case WindowLeadIn() | BudgetWarning():
                return True
            case AttachImage():
                again = bool(self._left_for) and event.sha256 in self._images
                self._images.add(event.sha256)
                return again
            case UserMessage() if self._left_for in ("context-exceeded", "mid-run"):
                return self._left_for != "mid-run" or event.via == "continue"
            case UserMessage():
                return False
            case _:
                self._left_for = ""
                return False
