"""`nodwyn sessions summarize` and `revoke`: a reviewed summary in place of an older span (ENG-22).

Works on a session that nobody has open; no model is called: the person writes the text.
"""

from collections.abc import Sequence

from nodwyn_tui.cli import output
from nodwyn_tui.cli.stored import open_log
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import UsageError
from nodwyn_tui.window.summaries import KEPT_TURNS, source_digest


def summarize(reference: str, first: int, last: int, text: str) -> None:
    """Appends a summary of the events `first` to `last`, whole user turns."""
    if not text.strip():
        raise UsageError(
            "the summary is empty; give it with --text, or --text - and standard input"
        )
    with open_log(reference) as log:
        events = tuple(log.archive.events())
        _check(events, first, last)
        summary, *_ = log.append(
            ev.SummaryAdd(
                first=first, last=last, text=text, source_digest=source_digest(events, first, last)
            )
        )
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
    """A span is of whole user turns, and never of the latest ones."""
    turns = [e.seq for e in events if isinstance(e, ev.UserMessage) and e.starts_run]
    old = turns[:-KEPT_TURNS]
    ends = [after - 1 for after in turns[1:]][: len(old)]
    if first in old and last in ends and first <= last:
        return
    raise UsageError(
        f"{first} to {last} are no whole user turns before the latest {KEPT_TURNS};"
        f" a span may begin at {_listed(old)} and end at {_listed(ends)}"
    )


def _listed(seqs: Sequence[int]) -> str:
    return ", ".join(map(str, seqs)) if seqs else "none: the session has too few turns"
