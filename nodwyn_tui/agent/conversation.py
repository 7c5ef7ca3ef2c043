"""The open log and what is folded from it. Every event of a session is appended here, and shown
from here: nothing reaches a front that is not in the log, or held for it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from nodwyn_tui.agent import spend
from nodwyn_tui.agent.forecast import Forecast
from nodwyn_tui.agent.meter import Spent, measure
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.link import events as up
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.redact import has_marker
from nodwyn_tui.window.build import ORDINARY, Shape, Window
from nodwyn_tui.window.carrying import Carrying
from nodwyn_tui.window.rolling import Rolling
from nodwyn_tui.window.stale import Stale

Emit = Callable[[up.UpEvent], None]
SAVE_AGAIN_S = 2.0
"""How long after a refusal the disk is tried again."""


class Conversation:
    """One session's events, the recipe that holds, and what the screen is told of them.

    Public fields are folds: `events` in order, `calls` by id, `open_calls` those without a result,
    `failed` the ids of calls whose result is an error, `replies` in order, `markers` whether the
    model was shown a redaction marker: in a result, a message, or its own earlier call;
    `changed_files` are this run's; `carrying` is what a compaction would take along; `stale` knows
    which results went out of date.
    """

    def __init__(self, log: Log, events: Sequence[ev.Event], emit: Emit, *, want_log: bool) -> None:
        self.log = log
        self.events: list[ev.Event] = []
        self.calls: dict[str, ev.ToolCall] = {}
        self.open_calls: dict[str, ev.ToolCall] = {}
        self.failed: set[str] = set()
        self.replies: list[ev.LlmResponse] = []
        self.markers = False
        self.transcript = Transcript()
        self.forecast = Forecast()
        self.carrying = Carrying()
        self.stale = Stale()
        self.changed_files: set[str] = set()
        self._recipe: ev.RecipeEvent | None = None
        self._rolling = Rolling()
        self._emit, self._want_log = emit, want_log
        self._unsaved = 0
        self._again: asyncio.TimerHandle | None = None
        self._asked: ev.LlmRequest | None = None
        self._run_start = 0
        for event in events:
            self._fold(event)
            for _ in self.transcript.feed(event):
                pass  # nobody listens yet: the front is told of the session as a whole
        self.forecast.recall(self.events)
        # Whether the model wrote such a marker itself, an earlier process knew: better refuse one.
        self.markers |= any(has_marker(call.arguments) for call in self.calls.values())

    def append(self, *drafts: ev.Event, must: bool = False) -> tuple[ev.Event, ...]:
        """Records events in one write, and tells the front.

        With `must`, a disk that refuses raises `StoreError` and nothing was recorded; without it
        the events are held in memory until the disk takes them, which is shown (ENG-3). Notes may
        come back behind the drafts (a block that was left out).
        """
        recorded = self.log.append(*self._placed(drafts), must=must)
        for event in recorded:
            self._fold(event)
            if self._want_log:
                self._emit(up.LogLine(line=encode(event).decode().rstrip("\n")))
            for told in self.transcript.feed(event):
                self._emit(told)
        self._see_to_unsaved()
        return recorded

    def _placed(self, drafts: Sequence[ev.Event]) -> Sequence[ev.Event]:
        """In the context in which the conversation goes on, where they name none themselves."""
        here = self.place
        return [replace(draft, ctx=draft.ctx or here) for draft in drafts] if here else drafts

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

    def window(self, shape: Shape = ORDINARY, *drafts: ev.Event) -> Window:
        """The next request's window; with `drafts`, as if they were recorded."""
        return self._rolling.window(self.recipe, shape, *drafts)

    def meter(self, target: Target, window: Window | None = None) -> up.MeterChanged:
        """The context meter as it stands."""
        window = window or self.window()
        spent = Spent(
            usages=[reply.usage for reply in self.replies],
            cost_usd=spend.total(reply.usage.cost_usd for reply in self.replies),
            last=self._last(target),
        )
        return measure(window, self.recipe, target.context_from, spent, self._run_start)

    def cost(self, since: int) -> float | None:
        """US dollars of the replies after the event `since`, as far as known."""
        return spend.total(r.usage.cost_usd for r in self.replies if r.seq > since)

    def cost_is_known(self, since: int) -> bool:
        """Whether the cost of each of these replies is known."""
        return all(r.usage.cost_usd is not None for r in self.replies if r.seq > since)

    def _last(self, target: Target) -> tuple[ev.LlmRequest, ev.LlmResponse] | None:
        """The last request and its reply, if this window and model are still theirs."""
        if self._asked is None or not self.replies or self.replies[-1].req != self._asked.seq:
            return None
        same = self._asked.model.origin == target.ref.origin
        return (self._asked, self.replies[-1]) if same else None

    def _fold(self, event: ev.Event) -> None:
        self.events.append(event)
        self._rolling.feed(event)
        self.carrying.feed(event)
        self.forecast.feed(event)
        self.stale.feed(event)
        match event:
            case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
                self._recipe = event
                self.markers |= has_marker(event.recipe.system)
            case ev.UserMessage():
                self._run_start = event.seq if event.starts_run else self._run_start
                self.markers |= has_marker(event.text)
            case ev.LlmRequest():
                self._asked = event
            case ev.WindowReset():
                self._asked = None
            case ev.LlmResponse():
                self.replies.append(event)
            case ev.ToolCall():
                self.calls[event.call_id] = self.open_calls[event.call_id] = event
            case ev.ToolResult():
                self._fold_result(event)
            case _:
                pass

    def _fold_result(self, event: ev.ToolResult) -> None:
        self.open_calls.pop(event.call_id, None)
        if event.is_error:
            self.failed.add(event.call_id)
        self.markers |= has_marker(event.text)
