"""`nodwyn sessions summarize` and `revoke`: a reviewed summary in place of an older span (ENG-22).

Works on a session that nobody has open; no model is called: the person writes the text.
"""

from collections.abc import Sequence
from dataclasses import replace

from nodwyn_tui.cli import output
from nodwyn_tui.cli.stored import open_log
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import CURRENT_VERSION
from nodwyn_tui.errors import UsageError
from nodwyn_tui.window.build import UNTRIMMED, build
from nodwyn_tui.window.contexts import narrow, place
from nodwyn_tui.window.summaries import KEPT_TURNS, SOURCE, source_digest


def summarize(reference: str, first: int, last: int, text: str) -> None:
    """Appends a summary of the events `first` to `last`, whole user turns."""
    if not text.strip():
        raise UsageError(
            "the summary is empty; give it with --text, or --text - and standard input"
        )
    with open_log(reference) as log:
        events = tuple(log.archive.events())
        _check(events, first, last)
        digest = source_digest(events, first, last)
        draft = ev.SummaryAdd(first=first, last=last, text=text, source_digest=digest)
        if not _shows(events, replace(draft, seq=log.next_seq)):
            raise UsageError(
                f"a part of {first} to {last} was taken back, so that no summary can stand for it"
            )
        summary, *_ = log.append(draft)
    output.show(f"summary {summary.seq} stands for {first} to {last} from the next request on")


def revoke(reference: str, target: int) -> None:
    """Takes a summary back: later windows show what it stood for."""
    with open_log(reference) as log:
        added = {event.seq for event in log.archive.events() if isinstance(event, ev.SummaryAdd)}
        if target not in added:
            known = ", ".join(map(str, sorted(added))) or "none"
            raise UsageError(f"seq {target} is no summary; summaries here: {known}")
        log.append(ev.SummaryRevoke(target=target))
    output.show(f"summary {target} is revoked")


def _check(events: Sequence[ev.Event], first: int, last: int) -> None:
    """A span is of whole user turns of the window, and never of the latest ones."""
    at = place(events)
    shown = narrow(events, at)
    turns = [e.seq for e in shown if isinstance(e, ev.UserMessage) and e.starts_run]
    old = turns[:-KEPT_TURNS]
    said = [e.seq for e in shown if isinstance(e, SOURCE)]
    gone = {e.seq for e in events if isinstance(e, SOURCE) and e.ctx == at.ctx}.difference(said)
    # Behind a turn may stand what was taken back, which is no part of it.
    ends = [
        min((seq for seq in gone if before < seq < after), default=after) - 1
        for after in turns[1 : len(old) + 1]
        for before in [max(seq for seq in said if seq < after)]
    ]
    if first in old and last in ends and first <= last:
        return
    if not old:
        raise UsageError(
            f"there is nothing to sum up: the window has no more turns"
            f" than the latest {KEPT_TURNS}, which stay as they are"
        )
    raise UsageError(
        f"{first} to {last} are no whole user turns of the window before the latest {KEPT_TURNS};"
        f" a span may begin at {_listed(old)} and end at {_listed(ends)}"
    )


def _shows(events: Sequence[ev.Event], summary: ev.SummaryAdd) -> bool:
    """Whether the next window shows it."""
    bearer = next((e for e in reversed(events) if isinstance(e, ev.RecipeEvent)), None)
    if bearer is None:
        return True  # damage took the recipe: a resume records another one
    recipe = replace(bearer.recipe, version=CURRENT_VERSION)
    window = build([*events, summary], recipe, UNTRIMMED)
    return any(entry.seq == summary.seq for entry in window.entries)


def _listed(seqs: Sequence[int]) -> str:
    return ", ".join(map(str, seqs))
