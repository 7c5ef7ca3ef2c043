"""The open log and what is folded from it. Every event of a session is appended here, and shown
from here: nothing reaches a front that is not in the log, or held for it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from nodwyn_tui.agent.forecast import Forecast
from nodwyn_tui.agent.growth import Growth
from nodwyn_tui.agent.instructed import Instructed
from nodwyn_tui.agent.ledger import Ledger
from nodwyn_tui.agent.meter import Spent, measure
from nodwyn_tui.agent.running import Run
from nodwyn_tui.agent.sight import Sight
from nodwyn_tui.agent.standing import Standing
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.link import events as up
from nodwyn_tui.store.images import ImageFiles
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import has_marker
from nodwyn_tui.window.budget import Budget
from nodwyn_tui.window.build import ORDINARY, UNTRIMMED, Shape, Window
from nodwyn_tui.window.carrying import Carrying
from nodwyn_tui.window.contexts import DECLARED
from nodwyn_tui.window.order import Freshness
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.stale import Stale

Emit = Callable[[up.UpEvent], None]
SAVE_AGAIN_S = 2.0
"""How long after a refusal the disk is tried again."""

MOVING = (
    *DECLARED,
    ev.RecipeEvent,
    ev.WindowReset,
    ev.WindowRewind,
    ev.ContextOpen,
    ev.ContextClose,
)
"""Events after which earlier entries may stand elsewhere in the window."""


class Conversation:
    """One session's log, the recipe that holds, and what the screen is told of them.

    Public fields are folds: `ledger` of all events; `run` of the latest run's; `open_calls` are the
    calls without a result, by id; `reset_at` is the latest reset's seq; `markers` says whether the
    model was shown a redaction marker: in a result, a message, a row, or its own earlier call. Of
    the events themselves only those that the window needs are held; any other is read again
    (`event`). `carrying` is what a compaction would take along, `growth` says when the next may
    come, `budget` when the window is left for another; `stale` knows which results went out of
    date; `sight` which images go along, `instructed` which files of instructions it has; `told` are
    remarks that this process made once and need not make again.
    """

    def __init__(
        self, log: Log, events: Sequence[ev.Event], ledger: Ledger, emit: Emit, *, want_log: bool
    ) -> None:
        """`events` are those that the window needs, `ledger` has taken all."""
        self.log, self.ledger = log, ledger
        self.run = Run()
        self.open_calls: dict[str, ev.ToolCall] = {}
        # Whether the model wrote such a marker itself, an earlier process knew: better refuse one.
        self.markers = ledger.facts.markers
        self.transcript = Transcript(log.event, ImageFiles(log.path.parent).path)
        self.told: set[str] = set()
        self.forecast = Forecast(ledger.facts.rewriting)
        self.carrying = Carrying()
        self.growth = Growth()
        self.budget = Budget()
        self.stale = Stale()
        self.instructed = Instructed()
        self.fresh: tuple[int, ...] = ()
        self.sight = Sight(ImageFiles(log.path.parent))
        self._recipe: ev.RecipeEvent | None = None
        self._rolling = Rolling()
        self._emit, self._want_log = emit, want_log
        self._unsaved = 0
        self._again: asyncio.TimerHandle | None = None
        self._new_calls: set[str] = set()
        self._sent: ev.LlmRequest | None = None
        self._last: tuple[ev.LlmRequest, ev.LlmResponse] | None = None
        self._edited = 0
        self.reset_at = 0
        self.forecast.recall(self._last_exchange_behind(events))
        for event in events:
            self._fold(event)
        self.forecast.recall(events)

    def _last_exchange_behind(self, events: Sequence[ev.Event]) -> Sequence[ev.Event]:
        """What rebuilds the last request to this model, if it lies behind the window's start, and
        all from there to that start: what changed first is named (ENG-28).
        """
        facts = self.ledger.facts
        last = facts.latest.get(facts.last_origin)
        if last is None or not events or last.req >= self.ledger.start[0]:
            return ()
        archive, start = self.log.archive, self.ledger.start[0]
        return (*archive.needed(last.req), *archive.events(last.req + 1, start - 1))

    def append(self, *drafts: ev.Event, must: bool = False) -> tuple[ev.Event, ...]:
        """Records events in one write, and tells the front.

        With `must`, a disk that refuses raises `StoreError` and nothing was recorded; without it
        the events are held in memory until the disk takes them, which is shown (ENG-3). Notes may
        come back behind the drafts (a block that was left out).
        """
        assert not (fault := self.budget.fault(drafts)), fault
        recorded = self.log.append(*self._placed(drafts), must=must)
        for event in recorded:
            self.ledger.feed(event)
            self._fold(event)
            if self._want_log:
                self._emit(up.LogLine(line=encode(event).decode().rstrip("\n")))
            for told in self.transcript.feed(event):
                self._emit(told)
        self._settle(recorded)
        self._see_to_unsaved()
        return recorded

    def _placed(self, drafts: Sequence[ev.Event]) -> Sequence[ev.Event]:
        """In the context in which the conversation goes on, where they name none themselves."""
        here = self.place
        return [replace(draft, ctx=draft.ctx or here) for draft in drafts] if here else drafts

    def begin_run(self) -> None:
        """From here on events belong to a new run."""
        self.run = Run()

    def event(self, seq: int) -> ev.Event | None:
        """Any line of the log; `None` for one that is not there."""
        return self.log.event(seq)

    def knows_call(self, call_id: str) -> bool:
        """Whether a call of this session has the id."""
        return call_id in self._new_calls or self.log.archive.knows_call(call_id)

    def standing(self) -> Standing | None:
        """Where the log's lines stand in the window; `None` before there is a recipe."""
        if self._recipe is None:
            return None
        return Standing(self.window(UNTRIMMED), self._rolling.place.since)

    def close(self) -> None:
        """Gives the log up, after a last try to save what is held."""
        if self._again is not None:
            self._again.cancel()
        self.log.close()
        self._tell_unsaved()

    def _see_to_unsaved(self) -> None:
        """Has the disk tried again while it refuses, though nothing more may come (C68)."""
        self._tell_unsaved()
        if self._unsaved:
            loop = asyncio.get_running_loop()
            self._again = self._again or loop.call_later(SAVE_AGAIN_S, self._save_again)

    def _save_again(self) -> None:
        self._again = None
        self.log.flush_held()
        self._see_to_unsaved()

    def _tell_unsaved(self) -> None:
        """Tells the front how much the disk has not taken yet, if that changed."""
        if self.log.unsaved != self._unsaved:
            self._unsaved = self.log.unsaved
            self._emit(up.Unsaved(count=self._unsaved, why=self.log.why if self._unsaved else ""))

    @property
    def began(self) -> ev.RecipeEvent | None:
        """The latest event that bears a recipe; `None` where damage took them all."""
        return self._recipe

    @property
    def recipe(self) -> Recipe:
        """The recipe that holds."""
        assert self._recipe is not None, "a session that is asked has a recipe"
        return self._recipe.recipe

    @property
    def place(self) -> int:
        """The context in which the conversation goes on: 0, or the latest compaction's."""
        return self._rolling.place.ctx

    @property
    def window_begins(self) -> bool:
        """Whether no request was made yet in the window."""
        return self._sent is None or self._sent.seq < self._rolling.place.since

    @property
    def freshness(self) -> Freshness:
        """Which rows of fresh context the window holds."""
        return self._rolling.freshness

    def window(self, shape: Shape = ORDINARY, *drafts: ev.Event) -> Window:
        """The next request's window; with `drafts`, as if they were recorded."""
        return self._rolling.window(self.recipe, self.shaped(shape), *drafts)

    def shaped(self, shape: Shape) -> Shape:
        """A request's shape with the images that it goes without, and the fresh rows of its own."""
        return replace(shape, withheld=self.sight.withheld, fresh=self.fresh)

    def meter(self, target: Target, window: Window | None = None) -> up.MeterChanged:
        """The context meter as it stands."""
        window, totals = window or self.window(), self.ledger.facts.totals
        last = self._last_exchange(target)
        spent = Spent(
            cache_rate=totals.cache_rate,
            cost_usd=totals.cost_usd,
            unpriced=totals.unpriced,
            last=last,
            grew=last is not None and last[0].seq >= self._edited,
        )
        new_from = self.ledger.facts.run_start
        return measure(window, self.recipe, target.context_from, spent, new_from, self.budget)

    def _last_exchange(self, target: Target) -> tuple[ev.LlmRequest, ev.LlmResponse] | None:
        """The last request that was answered, if this window and model are still its own."""
        last = self._last
        return last if last and last[0].model.origin == target.ref.origin else None

    def _settle(self, recorded: Sequence[ev.Event]) -> None:
        """Tells where entries stand in the window now."""
        anew = any(isinstance(e, MOVING) or (_is_trim(e)) for e in recorded)
        if not anew and not any(isinstance(event, ev.LlmRequest) for event in recorded):
            return
        if (standing := self.standing()) is not None:
            for told in self.transcript.settle(standing, anew=anew):
                self._emit(told)

    def _fold(self, event: ev.Event) -> None:
        self._rolling.feed(event)
        self.carrying.feed(event)
        self.growth.feed(event)
        self.budget.feed(event)
        self.forecast.feed(event)
        self.stale.feed(event)
        self.instructed.feed(event)
        self.sight.feed(event)
        self.run.feed(event)
        match event:
            case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
                self._recipe = event
                self.markers |= has_marker(event.recipe.system)
            case ev.UserMessage() | ev.FreshContext() | ev.Note():
                self.markers |= has_marker(event.text)
            case ev.LlmRequest(elided=elided):
                self._sent = event
                self._edited = event.seq if elided else self._edited
            case ev.WindowReset():
                self._last, self.reset_at = None, event.seq
            case ev.WindowRewind() | ev.WindowEdit() | ev.ResultFold():
                self._edited = event.seq
            case ev.LlmResponse():
                if self._sent is not None and self._sent.seq == event.req:
                    self._last = self._sent, event
            case ev.ToolCall():
                self.open_calls[event.call_id] = event
                self._new_calls.add(event.call_id)
            case ev.ToolResult():
                self.open_calls.pop(event.call_id, None)
                self.markers |= has_marker(event.text)
            case _:
                pass


def _is_trim(event: ev.Event) -> bool:
    return isinstance(event, ev.LlmRequest) and bool(event.elided)
