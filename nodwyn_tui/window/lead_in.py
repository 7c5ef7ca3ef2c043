"""A rollover in words and log lines: the batch that opens the new window (ROL-1), and the warning
before it (ROL-3). Pure; `budget.py` decides on either, and the agent appends them.
"""

from collections.abc import Iterable, Sequence

from nodwyn_tui.domain.events import (
    BudgetWarning,
    Event,
    UserMessage,
    WindowLeadIn,
    WindowReset,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window import cuts, quoting
from nodwyn_tui.window.budget import RollOver, Warn
from nodwyn_tui.window.carrying import Carried
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, fixed_tokens

CONTINUE = UserMessage(text="Continue.", via="continue")
"""What carries a rollover where the person has said nothing new."""

MOST_OF_NOTES, NOTES_TOKENS, NOTES_SHARE = 8 << 10, 2_000, 4
"""Bytes and tokens of the notes that a window shows, and the part of what it holds besides its
fixed prefix that they never pass (ROL-12).
"""
REST_OF_NOTES = (
    '\n[{left:,} more characters; memory {{"action": "read", "file": "context-notes"}} shows them]'
)

BEHIND = (
    "A new window begins here. The one before it, {window}, was full; nothing of it is shown any"
    ' more, and all of it can be read back: session_history {{"action": "search", "query": "…",'
    ' "window": "{window}"}} finds items of it, {{"action": "read_item", "item": "i:N"}} shows one'
    ' whole, {{"action": "list_windows"}} names the windows. Look up there what you need of earlier'
    " work before you ask or guess."
)
INTERRUPTED = (
    "Your turn was interrupted by this rollover and goes on: do not begin it anew. What was called"
    " has been done, and its results are in {window}."
)
UNFINISHED = "An earlier request was not answered to its end; what the person says now goes first."
SKILLS = "Skills in use were put away with it: {names}. Call `skill` again for one you need."
NOTES = "Your notes, as they stand; those of an earlier session may be among them:\n\n{notes}"
QUOTED = "What the person asked, word for word. It is not answered to its end."

WARNING = "context ~{percent} % used ({tokens:,} of {ceiling:,} tokens); "
TO_NOTES = (
    "write what is worth keeping to the notes now, essential state first, at most 8 KiB, then go on"
    " without comment."
)
TO_HISTORY = (
    "the next window begins without what stands here, and no notes can be written: session_history"
    " will bring items of it back. Go on without comment."
)


def batch(
    over: RollOver,
    carried: Carried,
    recipe: Recipe,
    trigger: Sequence[Event] = (CONTINUE,),
    notes: str = "",
    skills: Iterable[str] = (),
) -> tuple[Event, ...]:
    """What leaves a window for a new one, to be appended as one: the reset, the lead-in, and the
    input that carries them, with its images behind it, and those of what is quoted. `carried` is
    what the left window had not come to the end of; `notes` are those that nothing else shows,
    `skills` the names of those that were in use.
    """
    said = {draft.text for draft in trigger if isinstance(draft, UserMessage)}
    left = [e for e in carried.asked if not (isinstance(e, UserMessage) and e.text in said)]
    goes_on = any(isinstance(e, UserMessage) and e.via == "continue" for e in trigger)
    words = [BEHIND.format(window=over.window)]
    if over.reason == "mid-run" or (left and goes_on):
        words.append(INTERRUPTED.format(window=over.window))
    elif left:
        words.append(UNFINISHED)
    if names := ", ".join(skills):
        words.append(SKILLS.format(names=names))
    if notes:
        words.append(NOTES.format(notes=shown_notes(notes, recipe)))
    reset = WindowReset(
        kind="rollover",
        rollover_id=over.rollover_id,
        reason=over.reason,
        previous_window=over.window,
        flush_opportunity=over.flushed,
        context_tokens=over.tokens,
        max_tokens=over.ceiling,
        too_small=over.too_small or None,
    )
    lead = WindowLeadIn(
        rollover_id=over.rollover_id,
        text="\n\n".join(words),
        asked=quoting.quoted(QUOTED, left, recipe) or None,
        plan=_plan(carried, recipe) if carried.asked else None,
    )
    return (reset, lead, *trigger)


def has_notes(lead: WindowLeadIn) -> bool:
    """Whether a lead-in shows the notes."""
    return NOTES.partition("{")[0] in lead.text


def shown_notes(notes: str, recipe: Recipe) -> str:
    """As much of the notes as a window shows; what is cut is named."""
    room = recipe.window.ceiling - fixed_tokens(recipe.system, recipe.tools)
    tokens = min(NOTES_TOKENS, max(room, 0) // NOTES_SHARE)
    kept = cuts.prefix_within(notes, min(MOST_OF_NOTES, tokens * BYTES_PER_TOKEN))
    left = len(notes) - len(kept)
    return kept + REST_OF_NOTES.format(left=left) if left else notes


def warning(warn: Warn, *, notes: bool) -> BudgetWarning:
    """The warning; `notes` says whether the model can write any."""
    percent = 100 * warn.tokens // warn.ceiling
    head = WARNING.format(percent=percent, tokens=warn.tokens, ceiling=warn.ceiling)
    return BudgetWarning(
        text=head + (TO_NOTES if notes else TO_HISTORY),
        figures={"tokens": warn.tokens, "ceiling": warn.ceiling, "percent": percent},
    )


def _plan(carried: Carried, recipe: Recipe) -> str | None:
    """The plan as it was written last, within what a result may have."""
    plan, cap = carried.plan, recipe.window.max_result_tokens
    if plan is None or cuts.fits(plan.text, cap):
        return plan.text if plan else None
    return cuts.cut(plan.text, cap, cuts.Source(seq=plan.seq, what="plan"))
