"""What the person asked, quoted in a window that begins anew: word for word, and what is too long
cut by name, so that the ask is never lost (AGT-16, ROL-1). Pure.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from nodwyn_tui.domain.events import AttachImage, Event, Note, UserMessage, WindowLeadIn
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window import cuts
from nodwyn_tui.window.carrying import TASK, Asked
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, fixed_tokens

BLOCK = '\n\n<asked item="i:{seq}">\n{text}\n</asked>'
_QUOTED = re.compile(r'\n\n<asked item="i:(\d+)">\n(.*?)\n</asked>', re.DOTALL)
REST = (
    '\n[{left:,} more characters; session_history {{"action": "read_item", "item": "i:{seq}",'
    ' "offset": {at}}} shows them]'
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_REST = re.compile(r"\n\[([\d,]+) more characters; session_history \{[^\n]*\} shows them\]\Z")

LEFT_OUT = (
    "\n\nImages of it that had no room here: {names}. Ask the person to attach one again if you"
    " need it."
)
MOST_NAMES = 20


def quoted(heading: str, asked: Iterable[Asked], recipe: Recipe) -> str:
    """What was asked, under a heading where none of it was quoted before; '' for nothing. It shares
    half of the room below low water.
    """
    text, left = "", room_for_request(recipe) * BYTES_PER_TOKEN
    for event in asked:
        block = _block(event, left)
        left = max(left - len(block.encode()), 0)
        text += block if text or isinstance(event, Note) else heading + block
    return text


def said(event: Asked) -> str:
    """What the person said, without what frames it where it is quoted."""
    if isinstance(event, Note):
        return "\n\n".join(text for _, text in _QUOTED.findall(event.text))
    return event.text


def naming(rows: Sequence[Event], images: Sequence[AttachImage]) -> tuple[Event, ...]:
    """The rows of a new window, the one that quotes the request with the names of its images that
    do not go along.
    """
    names = [f"{image.name} ({image.width}x{image.height})" for image in images[:MOST_NAMES]]
    if more := len(images) - len(names):
        names.append(f"{more} more")
    told = LEFT_OUT.format(names=", ".join(names)) if names else ""
    return tuple(_with(row, told) for row in rows)


def _with(row: Event, told: str) -> Event:
    match row:
        case WindowLeadIn(asked=str(asked)):
            return replace(row, asked=asked + told)
        case Note(why=why) if why == TASK:
            return replace(row, text=row.text + told)
        case _:
            return row


def room_for_request(recipe: Recipe) -> int:
    """Tokens that the quoted request may have, but for the names of what is cut."""
    free = recipe.window.low_water - fixed_tokens(recipe.system, recipe.tools)
    return max(free // 2, recipe.window.max_result_tokens)


def _block(event: Asked, room: int) -> str:
    """A message of the person, quoted; of a note that quotes already, as much as there is room for
    now: the window may be a smaller model's.
    """
    if isinstance(event, UserMessage):
        return BLOCK.format(seq=event.seq, text=_cut(event.text, room, event.seq))

    def anew(found: re.Match[str]) -> str:
        nonlocal room
        seq, text = int(found[1]), found[2]
        gone = 0
        if (rest := _REST.search(text)) is not None:
            text, gone = text[: rest.start()], int(rest[1].replace(",", ""))
        block = BLOCK.format(seq=seq, text=_cut(text, room, seq, gone))
        room = max(room - len(block.encode()), 0)
        return block

    return _QUOTED.sub(anew, event.text)


def _cut(text: str, room: int, seq: int, gone: int = 0) -> str:
    """As much of a text as the room holds, and how the rest is read; `gone` characters of it are
    left out already.
    """
    kept = cuts.prefix_within(text, room)
    left = len(text) - len(kept) + gone
    return kept + REST.format(left=left, seq=seq, at=_offset(kept)) if left else text


def _offset(kept: str) -> int:
    """Where the rest begins as `read_item` counts. It shows no control codes, and how many
    characters they take along only it can tell: then the item is read from its start.
    """
    plain = kept.replace("\r\n", "\n")
    return 0 if _CONTROL.search(plain) else len(plain)
