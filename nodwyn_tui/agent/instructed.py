"""What the window was told of files of instructions, and where calls have worked since the last
request, followed event by event: a session that is resumed decides as the one before it would.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nodwyn_tui.agent.instructions import GONE, NO_ROOM, frames, lines_of
from nodwyn_tui.domain import events as ev
from nodwyn_tui.tools.names import unquoted
from nodwyn_tui.window.contexts import StartTracker

FIRST, CHANGED, LEFT = "instructions", "instructions changed", "instructions gone"
"""Why a note is there that tells the model of such a file, or (`FIRST`) the person of one."""

_SHELL = "shell"
_EXIT = "\n[exit code "
_NOW_IN = re.compile(r"^\[now in (.+)\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """An answered call, with its result's seq. A shell command began in `before` and left the shell
    in `after` ('' for the workspace).
    """

    seq: int
    name: str
    arguments: str
    before: str = ""
    after: str = ""

    @property
    def is_shell(self) -> bool:
        """Whether its arguments are a command."""
        return self.name == _SHELL


@dataclass(frozen=True, slots=True, kw_only=True)
class _Note:
    seq: int
    ctx: int
    file: str
    said: str


class Instructed:
    """Follows the conversation. `touches` are the calls since the last request; `remarks` what the
    person was told.
    """

    def __init__(self) -> None:
        self.touches: list[Touch] = []
        self.remarks: set[str] = set()
        self._tracker = StartTracker()
        self._prompt: dict[str, str] = {}
        self._notes: list[_Note] = []
        self._calls: dict[str, ev.ToolCall] = {}
        self._shell = ""

    def feed(self, event: ev.Event) -> None:
        """Takes the next event of the log."""
        self._tracker.feed(event)
        if self._tracker.is_inner(event.ctx):
            return
        match event:
            case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
                self._prompt = dict(frames(event.recipe.system))
                self._shell = "" if isinstance(event, ev.SessionResume) else self._shell
            case ev.Note():
                self._told(event)
            case ev.ToolCall():
                self._calls[event.call_id] = event
            case ev.ToolResult():
                self._answered(event)
            case ev.LlmRequest() | ev.WindowReset():
                self.touches.clear()
            case ev.WindowRewind():
                self.touches = [touch for touch in self.touches if touch.seq < event.to]
                self._notes = [note for note in self._notes if note.seq < event.to]
            case _:
                pass

    def at_start(self) -> tuple[str, ...]:
        """What the system prompt has of such files, a line each, for the person."""
        return tuple(_read(file, said, "read") for file, said in self._prompt.items())

    def anew(self) -> "Instructed":
        """As it is where another window begins: it has the prompt alone."""
        other = Instructed()
        other.remarks, other._prompt = {*self.remarks}, self._prompt
        return other

    def told(self) -> dict[str, str]:
        """By file, what the window has of it, the latest."""
        return self._prompt | {note.file: note.said for note in self._standing()}

    def spent(self) -> int:
        """The bytes that notes of such files take in the window."""
        return sum(len(note.said.encode()) for note in self._standing())

    def _standing(self) -> Iterator[_Note]:
        place = self._tracker.place
        return (note for note in self._notes if note.ctx == place.ctx and note.seq >= place.since)

    def _told(self, event: ev.Note) -> None:
        if event.why not in (FIRST, CHANGED, LEFT):
            return
        if event.audience == "person":
            self.remarks.add(event.text)
            return
        self._notes += [
            _Note(seq=event.seq, ctx=event.ctx, file=file, said=said)
            for file, said in frames(event.text)
        ]

    def _answered(self, result: ev.ToolResult) -> None:
        """A call that came to something; a command has run whatever its exit code."""
        call = self._calls.pop(result.call_id, None)
        if call is None:
            return
        before = self._shell
        if call.name == _SHELL and _EXIT in f"\n{result.text}":
            *_, last = ["", *_NOW_IN.findall(result.text)]
            self._shell = unquoted(last) or before
        elif result.is_error:
            return
        self.touches.append(
            Touch(
                seq=result.seq,
                name=call.name,
                arguments=call.arguments,
                before=before,
                after=self._shell,
            )
        )


def title(event: ev.Note) -> str:
    """A note in a line, for the transcript; '' for one of another matter."""
    if event.audience == "person" or event.why not in (FIRST, CHANGED, LEFT):
        return ""
    file, said = next(frames(event.text), ("", ""))
    if said == GONE:
        return f"{_whose(file)} is gone"
    if said == NO_ROOM:
        return f"{_whose(file)} named only, for want of room"
    return _read(file, said, "changed" if event.why == CHANGED else "read")


def _read(file: str, said: str, word: str) -> str:
    return f"{_whose(file)} {word} · {lines_of(said)}"


def _whose(file: str) -> str:
    folder, _, name = file.rpartition("/")
    is_theirs = folder.startswith("/") or ":" in folder
    return f"your {name}" if is_theirs else f"{name} of {folder}/" if folder else name
