"""Why facts were recalled, or were not: what the ranking that a request was made from says of
itself, as the log keeps it and the person is shown it (ORD-10). What is sent, `fresh.py` decides.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import events as up
from nodwyn_tui.store.memory import Match

SHOWN = 100
"""Characters of a fact that are kept beside its reasons; the row has it whole."""
LEFT = 10
"""Facts without room that are named, the best first."""


def reasons(
    matches: Sequence[Match],
    sent: Sequence[int],
    known: int,
    cap: int,
    clean: Callable[[str], str],
) -> ev.Recall:
    """The record of a ranking, of which those at the places `sent`, ascending, had room under `cap`
    (tokens), among `known` facts. `clean` takes keys out.
    """
    taken = frozenset(sent)
    left = [at for at in range(len(matches)) if at not in taken]
    facts = (
        ev.RecalledFact(
            text=_beginning(clean(match.item.text)),
            date=match.item.date,
            keeper=match.item.keeper,
            words=match.words,
            later=match.later,
            sent=at in taken,
        )
        for at, match in ((at, matches[at]) for at in (*sent, *left[:LEFT]))
    )
    return ev.Recall(facts=tuple(facts), matched=len(matches), known=known, cap=cap)


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def is_news(now: ev.Recall, before: ev.Recall | None) -> bool:
    """Whether a record says something else than the one before it. Without any fact, there is
    nothing to say first.
    """
    if before is None:
        return now.known > 0
    return now != replace(before, seq=0, at="", ctx=0, run=0, batch=None)


def told(recall: ev.Recall | None) -> up.Recalled | None:
    """What the person is shown of a record."""
    if recall is None:
        return None
    facts = (
        up.RecalledFact(
            text=fact.text,
            date=fact.date,
            keeper=fact.keeper,
            words=fact.words,
            later=fact.later,
            sent=fact.sent,
        )
        for fact in recall.facts
    )
    return up.Recalled(
        facts=tuple(facts), matched=recall.matched, known=recall.known, cap=recall.cap
    )
