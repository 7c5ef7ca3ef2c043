"""A compaction in words and log lines: what the model is asked, and the batch that opens the new
context (ENG-23, AGT-16). Pure; when to compact, and what becomes of the reply, is the agent's.
"""

from dataclasses import dataclass, replace
from typing import Literal

from nodwyn_tui.domain.events import ContextOpen, Event, GatePlan, Note
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window import cuts
from nodwyn_tui.window.carrying import ASK, TASK, Carried
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, fixed_tokens, message_tokens
from nodwyn_tui.window.quoting import quoted
from nodwyn_tui.window.rows import HANDOVER
from nodwyn_tui.window.tasks import note_row, plan_row

KIND = "compaction"
"""The kind of context that a compaction opens."""

UNDONE = "the compaction was undone"
"""What the end of a context that was taken back reports."""

LEAST_NOTE = 200
"""Tokens that a note may have, however little room the marks leave."""

MOST_WORDS, LEAST_WORDS, BYTES_PER_WORD = 800, 60, 8
"""Of a note, as the model is told."""
REQUEST = """\
The window fills. Write a handover note for yourself, in at most {words} words. The next request \
begins with it in place of everything above; only the person's unanswered request and the plan are \
added to it word for word. Put down, briefly and exactly:
- what the person wants, with every wish of theirs that still holds;
- what is done, and how it was checked; what failed and need not be tried again;
- what is under way, and the very next step;
- the files, names, commands, figures and decisions that matter, and why.
Answer with the note alone, and make no call."""

WISH = "\n\nThe person adds: {wish}"

NO_CALLS = "not run: only the handover note is wanted now. Answer with its text, and make no call."

Author = Literal["model", "person", "program"]

FRAMES: dict[Author, str] = {
    "model": "This is the handover note that you wrote for yourself:",
    "person": "This is the handover note for you, as the person edited it:",
    "program": "There was no room to ask you for a handover note, so the program made this one:",
}
BEHIND = (
    "The window was compacted. What stood in it is in the log; session_history read_item brings an"
    " item of it back. {frame}\n\n{note}"
)

QUOTED = (
    "What the person asked, word for word. It is not answered to its end: go on with it, from where"
    " the handover note stands."
)


@dataclass(frozen=True, slots=True)
class Handover:
    """A note, who wrote it, and the seq of the reply that it was taken from (0 for none)."""

    text: str
    by: Author = "model"
    source: int = 0


def request(recipe: Recipe, carried: Carried, wish: str = "") -> Note:
    """The message that asks for a note; `wish` is what the person wants kept in mind."""
    room = room_for_note(recipe, carried) * BYTES_PER_TOKEN // BYTES_PER_WORD
    words = max(min(room, MOST_WORDS), LEAST_WORDS) // 10 * 10
    said = cuts.prefix_within(wish.strip(), recipe.window.max_result_tokens * BYTES_PER_TOKEN)
    text = REQUEST.format(words=words) + (WISH.format(wish=said) if said else "")
    return Note(text=text, audience="model", why=ASK)


def room_for_note(recipe: Recipe, carried: Carried) -> int:
    """Tokens that a note may have, its frame included: the new window begins below low water, so
    that there is room to work in.
    """
    used = fixed_tokens(recipe.system, recipe.tools)
    if (task := _task(recipe, carried)) is not None:
        used += message_tokens(note_row(task))
    if carried.plan is not None:
        used += message_tokens(plan_row(carried.plan, recipe))
    return max(recipe.window.low_water - used, LEAST_NOTE)


def batch(
    handover: Handover, carried: Carried, recipe: Recipe, *, ctx: int, parent: int
) -> tuple[Event, ...]:
    """What opens the context `ctx` within `parent`, to be appended as one: the context, the note,
    the request that goes on, the plan. A note of the person's own stands as they left it; another
    one is cut to its room, with the item that holds it whole.
    """
    text = _framed(handover, handover.text)
    room = room_for_note(recipe, carried)
    if handover.by != "person" and message_tokens(note_row(_note(text))) > room:
        frame = message_tokens(note_row(_note(_framed(handover, ""))))
        whole = cuts.Source(seq=handover.source, what="note")
        text = _framed(handover, cuts.cut(handover.text, max(room - frame, 1), whole))
    rows: list[Event] = [_note(text)]
    if (task := _task(recipe, carried)) is not None:
        rows.append(task)
    if carried.plan is not None:
        rows.append(GatePlan(text=carried.plan.text, items=carried.plan.items))
    opened = ContextOpen(id=ctx, parent=parent, kind=KIND, lasting=True)
    return (opened, *(replace(row, ctx=ctx) for row in rows))


def _framed(handover: Handover, note: str) -> str:
    return BEHIND.format(frame=FRAMES[handover.by], note=note)


def _note(text: str) -> Note:
    return Note(text=text, audience="model", why=HANDOVER)


def _task(recipe: Recipe, carried: Carried) -> Note | None:
    """The unanswered request and what was added to it, quoted: nothing of it is lost, though what
    is long is cut by name. They share half of the room below low water.
    """
    text = quoted(QUOTED, carried.asked, recipe)
    return Note(text=text, audience="model", why=TASK) if text else None
