"""The handover note that the program makes itself, where no request for one fits: what was said
last, with the items that hold it whole (C05). Pure.
"""

from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.carrying import Carried
from nodwyn_tui.window.cuts import prefix_within
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, Entry, size
from nodwyn_tui.window.handover import Handover, room_for_note

FRAME = 100
"""Tokens that are left for the frame of a note."""
EXCERPT = 360
"""Bytes shown of a message."""

HEAD = "What was said last, oldest first, each with the item that holds it whole:"
SPEAKERS = {"user": "the person", "assistant": "you"}


def own_handover(window: Window, recipe: Recipe, carried: Carried) -> Handover:
    """The program's note for a new window, in the room that a note has there."""
    return Handover(own_note(window, room_for_note(recipe, carried) - FRAME), by="program")


def own_note(window: Window, room: int) -> str:
    """A note of at most `room` tokens: as many of the latest messages of the window as fit."""
    left = room * BYTES_PER_TOKEN - len(HEAD) - 2
    lines: list[str] = []
    for entry in reversed(window.entries):
        line = _line(entry)
        cost = BYTES_PER_TOKEN * size(line.encode("utf-8")) + 2
        if line and cost > left:
            break
        if line:
            lines.append(line)
            left -= cost
    return "\n".join([HEAD, *reversed(lines)])


def _line(entry: Entry) -> str:
    """A message in a line, '' for what says nothing."""
    speaker = SPEAKERS.get(entry.kind)
    if speaker is None or entry.state == "elided":
        return ""
    said = " ".join(part.text for part in entry.message.parts if isinstance(part, Text))
    words = " ".join(said.split())
    kept = prefix_within(words, EXCERPT)
    more = "…" if len(kept) < len(words) else ""
    return f"- {speaker} (i:{entry.seq}): {kept}{more}" if kept else ""
