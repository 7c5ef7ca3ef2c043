"""Which opaque blocks are still valid (ENG-20), and which of them the recipe asks for (ORD-7). Whom
they may go to is the translators' business.

A provider checks that what came before a block is what it was when the block was made. So a reply
made before a change of anything earlier goes back without its blocks; one made after keeps them. A
recipe may come back, with a model that was left for a while: its replies get theirs again (PRV-6).
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from nodwyn_tui.domain.events import (
    AttachImage,
    Event,
    LlmRequest,
    LlmResponse,
    ResultFold,
    SessionRecipe,
    SessionResume,
    SessionStart,
    SummaryAdd,
    SummaryRevoke,
    ToolResult,
    WindowEdit,
)
from nodwyn_tui.domain.parts import Block
from nodwyn_tui.domain.recipe import Recipe

NOW = 2**62
"""The seq of what the request being built changes itself."""

UNASKED = frozenset({"reasoning_details"})
"""Kinds of blocks that go back whatever `keep_reasoning` says: their protocol has no such setting
(PRV-5)."""

Change = tuple[int, int]
"""When something changed, and the first entry it changed: seqs both."""

Withheld = frozenset[tuple[str, str]]
"""Images by digest, with the reason why they are not sent."""


Rule = tuple[object, ...]
"""What of a recipe changes how earlier entries are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What changed entries that had been shown. At `when[n]` or later, `first[n]` was the first
    entry that changed; `asked` gives for a reply's seq the request that it answered. From
    `ruled[n]` on `rules[n]` held, and `rule` holds now.
    """

    when: Sequence[int]
    first: Sequence[int]
    asked: Mapping[int, int]
    ruled: Sequence[int]
    rules: Sequence[Rule]
    rule: Rule

    def stale(self, reply: int) -> bool:
        """Whether anything before the reply at seq `reply` is other than when it was asked for."""
        asked = self.asked.get(reply, reply)
        later = bisect_right(self.when, asked)
        if later < len(self.first) and self.first[later] < reply:
            return True
        then = max(bisect_right(self.ruled, asked) - 1, 0)
        return bool(self.rules) and self.rules[then] != self.rule


def wanted(block: Block, recipe: Recipe, *, latest: bool) -> bool:
    """Whether the recipe wants a block to go back: all, none, or the `latest` reply's (ORD-7)."""
    keep = recipe.keep_reasoning
    return block.block in UNASKED or keep is True or (keep == "latest" and latest)


def has_asked_for(reply: LlmResponse) -> bool:
    """Whether a reply has blocks that `keep_reasoning` is about."""
    return any(isinstance(part, Block) and part.block not in UNASKED for part in reply.parts)


def latest_reply(events: Sequence[Event]) -> int:
    """The seq of the last reply, 0 where there is none."""
    return next((e.seq for e in reversed(events) if isinstance(e, LlmResponse)), 0)


def changes(
    events: Sequence[Event],
    recipe: Recipe,
    withheld: Mapping[str, str],
    newly: Sequence[int] = (),
) -> Changes:
    """What `events` changed, and what the request being built does, whose recipe, withheld images
    (by digest, with the reason) and new elisions these are.
    """
    found = [*_declared(events), *_images(events, withheld)]
    found += [(NOW, seq) for seq in newly]
    found.sort()
    firsts = accumulate((first for _, first in reversed(found)), min)
    recipes = [e for e in events if isinstance(e, SessionStart | SessionResume | SessionRecipe)]
    return Changes(
        when=[at for at, _ in found],
        first=list(firsts)[::-1],
        asked={event.seq: event.req for event in events if isinstance(event, LlmResponse)},
        ruled=[event.seq for event in recipes],
        rules=[shape(event.recipe) for event in recipes],
        rule=shape(recipe),
    )


def _declared(events: Sequence[Event]) -> Iterator[Change]:
    """Elisions, folds, edits and summaries."""
    elided: set[int] = set()
    spans: dict[int, int] = {}
    for event in events:
        match event:
            case LlmRequest() if event.elided:
                elided.update(event.elided)
                yield event.seq, min(event.elided)
            case ResultFold() | WindowEdit():
                yield event.seq, event.target
            case SummaryAdd() | SummaryRevoke():
                # The elided set starts anew: what was elided is back (ENG-15).
                first = _span_of(event, spans)
                yield event.seq, min(elided | {first})
                elided.clear()
            case _:
                pass


def _span_of(event: SummaryAdd | SummaryRevoke, spans: dict[int, int]) -> int:
    """Where the span of a summary begins that is added, or taken back."""
    if isinstance(event, SummaryRevoke):
        return spans.get(event.target, 0)
    spans[event.seq] = event.first
    return event.first


def _images(events: Sequence[Event], withheld: Mapping[str, str]) -> Iterator[Change]:
    """Images that a request sent and the next one does not, the other way round, or for another
    reason.
    """
    bearers: dict[str, int] = {}
    before: Withheld = frozenset()
    for event in events:
        match event:
            case AttachImage():
                bearers.setdefault(event.sha256, event.seq)
            case ToolResult():
                for image in event.images:
                    bearers.setdefault(image.sha256, event.seq)
            case LlmRequest():
                now = recorded(event)
                yield from ((event.seq, seq) for seq in _bearing(now ^ before, bearers))
                before = now
            case _:
                pass
    now = frozenset(withheld.items())
    yield from ((NOW, seq) for seq in _bearing(now ^ before, bearers))


def recorded(request: LlmRequest) -> Withheld:
    """The images that a request did not carry."""
    return frozenset((image.sha256, image.reason) for image in request.withheld_images)


def _bearing(images: Withheld, bearers: Mapping[str, int]) -> Iterator[int]:
    return (bearers[sha256] for sha256, _ in images if sha256 in bearers)


def shape(recipe: Recipe) -> Rule:
    """What of a recipe changes how earlier entries are shown."""
    return (
        recipe.version,
        recipe.system,
        recipe.tools,
        recipe.window.max_result_tokens,
        recipe.task_header,
        recipe.plan_header,
    )
