"""Rollovers as they were recorded, for a re-fold to leave out; and what is assumed and taken along
where the policy makes its own (`rolling_over.py`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from nodwyn_tui.domain.arguments import read_arguments
from nodwyn_tui.domain.events import (
    AttachImage,
    BudgetWarning,
    Event,
    SkillUse,
    ToolCall,
    UserMessage,
    WindowLeadIn,
    WindowReset,
)
from nodwyn_tui.lab.compactions import filler
from nodwyn_tui.window.carrying import Asked

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


class Along:
    """Follows what a new window takes along beside the words: `images` by the message or lead-in
    that they are of, and the `skills` in use, whose names are told.
    """

    def __init__(self) -> None:
        self.images: dict[int, list[AttachImage]] = defaultdict(list)
        self.skills: dict[str, str] = {}
        self._latest: list[AttachImage] = []
        self._opens = False

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        match event:
            case WindowReset():
                self.skills.clear()
            case SkillUse():
                self.skills.pop(event.name, None)
                if event.digest:
                    self.skills[event.name] = event.digest
            case WindowLeadIn():
                self._latest, self._opens = self.images[event.seq], True
            case UserMessage():
                # The images of a lead-in stand behind the input that it came with.
                self._latest = self._latest if self._opens else []
                self.images[event.seq], self._opens = self._latest, False
            case AttachImage():
                self._latest.append(event)
            case _:
                pass

    def images_of(self, asked: Iterable[Asked], rows: Iterable[Event]) -> list[AttachImage]:
        """The images of what was asked that are not among the rows, as drafts."""
        there = {row.sha256 for row in rows if isinstance(row, AttachImage)}
        found = (image for said in asked for image in self.images[said.seq])
        return [replace(image, seq=0) for image in found if image.sha256 not in there]
