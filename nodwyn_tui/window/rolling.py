"""The next window at the cost of what is new (ENG-27).

Between declared changes a window only grows: what the last request showed is kept as it was sent,
and what came since is added to it. Whatever else happens, the window is built from scratch; the
bytes are the same either way.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import (
    ContextOpen,
    Event,
    LlmRequest,
    LlmResponse,
    SessionRecipe,
    SessionResume,
    SessionStart,
    ToolResult,
    WindowRewind,
)
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window import order, rows, sequence
from nodwyn_tui.window.build import ORDINARY, Shape, Window, build, trim_line, with_fresh
from nodwyn_tui.window.contexts import DECLARED, RECIPES, Place, StartTracker
from nodwyn_tui.window.order import Freshness
from nodwyn_tui.window.policy import policy_for
from nodwyn_tui.window.summaries import Replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A window, what it was made with, and how many events had been taken."""

    window: Window
    recipe: Recipe
    shape: Shape
    count: int


class Rolling:
    """Follows a session event by event, and gives the next window of its conversation, or of the
    sub-context `ctx`. It holds the events from the window's start on.

    For sessions of recipe 20, and older ones that are resumed: a reset starts the window.
    """

    def __init__(self, ctx: int | None = None) -> None:
        self.rebuilt = 0
        """How many windows were built from scratch."""
        self._ctx = ctx
        self._tracker = StartTracker()
        self._recorded: Recipe | None = None
        self._events: list[Event] = []
        self._fed = 0
        self._last: _Made | None = None
        self._base: _Made | None = None
        self._since: list[Event] = []
        self.freshness = Freshness()
        """Which rows of fresh context the window of the conversation holds."""

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        place, keep = self.place, self._tracker.keep
        self._tracker.feed(event)
        self.freshness.feed(event)
        if self.place != place:
            self._base = None
        if self._tracker.keep > keep and self._ctx is None:
            self._events = [e for e in self._events if self._tracker.needs(e.seq)]
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                self._recorded = event.recipe
            case LlmRequest() if event.ctx == self.place.ctx:
                self._settle(event)
            case _ if self._base is None:
                pass
            case _ if not _only_adds(event, self._since):
                self._base = None
            case _ if event.ctx == self.place.ctx:
                self._since.append(event)
            case _:
                pass
        if self._counts(event):
            self._events.append(event)
            self._fed += 1

    def window(self, recipe: Recipe, shape: Shape = ORDINARY, *drafts: Event) -> Window:
        """The next request's window, as `build` makes it; with `drafts`, as if they were recorded.

        `ReplayError` for a recipe this build cannot execute.
        """
        if drafts:
            numbered, at = self._numbered(drafts)
            grown = None if at != self.place else self._grown(recipe, shape, numbered)
            return grown or self._rebuild(recipe, shape, numbered, at)
        last, count = self._last, self._fed
        if last and (last.count, last.recipe, last.shape) == (count, recipe, shape):
            return last.window
        window = self._grown(recipe, shape, ()) or self._rebuild(recipe, shape, (), self.place)
        self._last = _Made(window=window, recipe=recipe, shape=shape, count=count)
        return window

    @property
    def place(self) -> Place:
        """The context that the window is of, and where it starts."""
        return self._tracker.place if self._ctx is None else Place(self._ctx, 0)

    def _settle(self, request: LlmRequest) -> None:
        """From a recorded request on its window is the base, if it is the one made last."""
        last, self._base, self._since = self._last, None, []
        if last is None or last.count != self._fed:
            return
        withheld = {image.sha256: image.reason for image in request.withheld_images}
        recorded = request.digest, request.elided, withheld
        if recorded == (last.window.digest, last.window.newly, last.shape.withheld):
            self._base = last

    def _grown(self, recipe: Recipe, shape: Shape, drafts: Sequence[Event]) -> Window | None:
        """The base and what came since; `None` where that is not the whole truth."""
        base, policy = self._base, policy_for(recipe.version)
        if base is None or not (policy.pairs and recipe == base.recipe == self._recorded):
            return None
        if not all(_only_adds(draft, [*self._since, *drafts]) for draft in drafts):
            return None
        if _offer(shape) != _offer(base.shape) or _replaces(recipe, [*self._since, *drafts]):
            return None
        rules = rows.Rules(recipe=recipe, policy=policy, folds={}, withheld=shape.withheld)
        new = list(sequence.entries(Replaced([*self._since, *drafts], {}), rules))
        was = base.window.bare or base.window
        messages = (*was.request.messages, *(entry.message for entry in new))
        entries = (*was.entries, *new)
        known = self.freshness.known
        if drafts:
            known = known | order.recorded(drafts)
        fresh = order.entries_of(shape.fresh, known) if policy.fresh else []
        before = order.tail(entries) if fresh else len(entries)
        estimate = was.estimate + sum(entry.tokens for entry in new)
        excess = estimate + sum(entry.tokens for entry in fresh) - trim_line(recipe, policy, shape)
        if excess > 0 or before < len(was.entries):
            return None
        split = before - len(was.entries)
        past = was.tape.extended([entry.data for entry in new[:split]])
        bare = Window(
            request=replace(was.request, messages=messages),
            entries=entries,
            fixed=was.fixed,
            estimate=estimate,
            elided=was.elided,
            dropped=was.dropped,
            newly=(),
            tape=past.extended([entry.data for entry in new[split:]]),
        )
        return with_fresh(bare, past, fresh) if fresh else bare

    def _rebuild(self, recipe: Recipe, shape: Shape, drafts: Sequence[Event], at: Place) -> Window:
        self.rebuilt += 1
        return build([*self._events, *drafts], recipe, shape, at)

    def _numbered(self, drafts: Sequence[Event]) -> tuple[list[Event], Place]:
        """Drafts with the seqs and contexts that the log would give them, and the place behind."""
        tracker, first = self._tracker.copy(), self._events[-1].seq + 1 if self._events else 1
        numbered: list[Event] = []
        for seq, draft in enumerate(drafts, first):
            here = tracker.place.ctx if self._ctx is None else self._ctx
            numbered.append(replace(draft, seq=seq, ctx=draft.ctx or here))
            tracker.feed(numbered[-1])
        return numbered, tracker.place if self._ctx is None else self.place

    def _counts(self, event: Event) -> bool:
        """Whether a window may need an event: in a sub-context, few of them."""
        own = event.ctx == self._ctx or (isinstance(event, ContextOpen) and event.id == self._ctx)
        return self._ctx is None or own or isinstance(event, (*DECLARED, *RECIPES))


def _only_adds(event: Event, since: Sequence[Event]) -> bool:
    """Whether an event adds to the end of a window, or nothing: no line about earlier ones, and no
    result but for a call in `since`.
    """
    if isinstance(event, ToolResult):
        replies = (other for other in since if isinstance(other, LlmResponse))
        parts = (part for reply in replies for part in reply.parts)
        return any(isinstance(part, Call) and part.id == event.call_id for part in parts)
    return not isinstance(event, (*DECLARED, WindowRewind))


def _replaces(recipe: Recipe, since: Sequence[Event]) -> bool:
    """Whether the opaque reasoning of an earlier reply leaves the window with a new one (ORD-7)."""
    return recipe.keep_reasoning == "latest" and any(isinstance(e, LlmResponse) for e in since)


def _offer(shape: Shape) -> tuple[object, ...]:
    """What of a request's shape shows in all of its entries and in its catalogue."""
    return shape.no_tools, shape.offered_tools, dict(shape.withheld)
