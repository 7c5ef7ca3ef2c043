"""Events to entries, in the order of the conversation, before anything is trimmed."""

from collections.abc import Iterator, Mapping

from nodwyn_tui.domain.events import (
    AttachImage,
    BudgetWarning,
    Event,
    FreshContext,
    GatePlan,
    LlmRequest,
    LlmResponse,
    Note,
    SummaryAdd,
    ToolResult,
    UserMessage,
    WindowLeadIn,
)
from nodwyn_tui.window import pairs, rows
from nodwyn_tui.window.entries import Entry
from nodwyn_tui.window.summaries import Replaced

SAID = frozenset({"user", "attachment", "warning"})
"""Kinds of entries that are to be answered: what the person gave, and that the window fills."""

EACH_REQUEST = "each_request"
"""The placement of fresh rows that stand in one request alone (ORD-5)."""

Linked = Mapping[int, Mapping[int, ToolResult]]
"""Results by the seq of the reply and the place of the call that they answer."""


def entries(placed: Replaced, rules: rows.Rules) -> Iterator[Entry]:
    """Every message of the conversation.

    A plan or a note that was recorded while calls are being answered waits until the next message
    that is not a result, so that nothing ever stands between calls and results (ENG-19). A row of
    fresh context that stays stands before what the person said since the last request (ORD-1).
    """
    linked = pairs.link(placed.events) if rules.policy.pairs else None
    waiting: dict[str, Entry] = {}
    unanswered: dict[str, Entry] = {}
    for event in placed.events:
        if (kept := _waits(event, placed, rules)) is not None:
            key, entry = kept
            waiting[key] = entry
            continue
        made = list(_made(event, placed.summaries, linked, rules))
        kind = made[0].kind if made else None
        if kind in {*SAID, "fresh"} and not unanswered:
            yield from _taken(waiting)
        if kind in SAID:
            for entry in (*_taken(waiting), *made):
                unanswered[str(entry.seq)] = entry
            continue
        if kind != "fresh" and (made or isinstance(event, LlmRequest)):
            yield from _taken(unanswered)
            if kind != "result":
                # A request's window showed what waited at its end: there it stays.
                yield from _taken(waiting)
        yield from made
    yield from _taken(unanswered)
    yield from _taken(waiting)


def _taken(waiting: dict[str, Entry]) -> list[Entry]:
    """All that waited, which waits no longer."""
    taken = [*waiting.values()]
    waiting.clear()
    return taken


def _waits(event: Event, placed: Replaced, rules: rows.Rules) -> tuple[str, Entry] | None:
    """An entry that must not stand between calls and results, and what a later one replaces."""
    if event.seq in placed.summaries:
        return None
    match event:
        case GatePlan() if rules.policy.in_conversation:
            return "plan", rows.plan(event, rules)
        case Note(audience="model" | "both"):
            return f"note {event.seq} {event.why}", rows.note(event)
        case WindowLeadIn() if rules.policy.guidance:
            return f"note {event.seq} {event.type}", rows.guidance(event)
        case _:
            return None


def _made(
    event: Event, placed: Mapping[int, SummaryAdd], linked: Linked | None, rules: rows.Rules
) -> Iterator[Entry]:
    """The entries that stand where an event does. Without links (before recipe 16), a result stands
    where it was recorded, whatever asked for it.
    """
    if (summary := placed.get(event.seq)) is not None:
        yield rows.summary(summary)
        return
    match event:
        case UserMessage(rejected=False):
            yield rows.user(event, rules)
        case AttachImage():
            yield rows.attachment(event, rules)
        case BudgetWarning() if rules.policy.guidance:
            yield rows.guidance(event)
        case FreshContext() if rules.policy.fresh and event.placement != EACH_REQUEST:
            yield rows.fresh(event)
        case LlmResponse() if linked is not None:
            yield from _exchange(event, linked[event.seq], rules)
        case LlmResponse():
            alone = rows.reply(event, rules, whole=True)
            yield from () if alone is None else (alone,)
        case ToolResult() if linked is None:
            yield rows.result(event, None, None, rules, whole=True)
        case _:
            pass


def _exchange(
    reply: LlmResponse, results: Mapping[int, ToolResult], rules: rows.Rules
) -> Iterator[Entry]:
    """A reply and the results of its calls, in the order of the calls (C03)."""
    calls = pairs.kept_calls(reply)
    whole = len(results) == len(calls)
    entry = rows.reply(reply, rules, whole=whole)
    if entry is None:
        return
    yield entry
    for place, call in enumerate(calls):
        result = results.get(place)
        if result is None:
            yield rows.unanswered(call, reply.seq, pairs.UNANSWERED)
        else:
            yield rows.result(result, call, reply.seq, rules, whole=whole)
