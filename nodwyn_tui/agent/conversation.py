"""The open log and what is folded from it. Every event of a session is appended here, and shown
from here: nothing reaches a front that is not in the log, or held for it.
"""

from collections.abc import Callable, Iterable, Sequence

from nodwyn_tui.agent import spend
from nodwyn_tui.agent.meter import Spent, measure
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.config.schema import PriceSettings
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.link import events as up
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.window import prefix
from nodwyn_tui.window.build import ORDINARY, Shape, Window, build
from nodwyn_tui.window.prefix import Prediction, Sent
from nodwyn_tui.window.replay import replay

Emit = Callable[[up.UpEvent], None]


class Conversation:
    """One session's events, the recipe that holds, and what the screen is told of them."""

    def __init__(self, log: Log, events: Sequence[ev.Event], emit: Emit, *, want_log: bool) -> None:
        self.log = log
        self.events: list[ev.Event] = []
        self.recipe: Recipe | None = None
        self.transcript = Transcript()
        self.changed_files: set[str] = set()
        self._emit, self._want_log = emit, want_log
        self._unsaved = 0
        self._costs: dict[int, float | None] = {}
        self._sent: list[Sent] = []
        self._pending: tuple[ev.LlmRequest, tuple[prefix.Piece, ...]] | None = None
        self._price: PriceSettings | None = None
        for event in events:
            self._fold(event)
            for _ in self.transcript.feed(event):
                pass  # nobody listens yet: the front is told of the session as a whole

    def append(self, *drafts: ev.Event, must: bool = False) -> tuple[ev.Event, ...]:
        """Records events in one write, and tells the front.

        With `must`, a disk that refuses raises `StoreError` and nothing was recorded; without it
        the events are held in memory until the disk takes them, which is shown (ENG-3).
        """
        recorded = self.log.append(*drafts, must=must)
        for event in recorded:
            self._fold(event)
            if self._want_log:
                self._emit(up.LogLine(line=encode(event).decode().rstrip("\n")))
            for told in self.transcript.feed(event):
                self._emit(told)
        self.tell_unsaved()
        return recorded

    def tell_unsaved(self) -> None:
        """Tells the front how much the disk has not taken yet, if that changed."""
        if self.log.unsaved != self._unsaved:
            self._unsaved = self.log.unsaved
            self._emit(up.Unsaved(count=self._unsaved, why=self.log.why if self._unsaved else ""))

    @property
    def ruling(self) -> Recipe:
        """The recipe that holds."""
        assert self.recipe is not None, "a log begins with its recipe"
        return self.recipe

    def priced(self, price: PriceSettings | None) -> None:
        """The price table of the model asked from now on."""
        self._price = price

    def window(self, shape: Shape = ORDINARY, *extra: ev.Event) -> Window:
        """The next request's window; `extra` are drafts it would hold as well."""
        return build([*self.events, *extra], self.ruling, shape)

    def predict(self, window: Window, target: Target) -> Prediction:
        """What the provider's cache should hold of a request (ENG-28)."""
        if not self._sent:
            self._recall()
        return prefix.predict(
            self._sent,
            prefix.pieces(window.request),
            (target.ref.origin, target.parameters),
            self.events,
            one_slot=target.one_slot,
            trimmed=bool(window.newly),
        )

    def sent(self, event: ev.LlmRequest, window: Window) -> None:
        """A request went out; its reply will say what the prompt was."""
        self._pending = (event, prefix.pieces(window.request))

    def meter(self, target: Target, window: Window | None = None) -> up.MeterChanged:
        """The context meter as it stands."""
        window = window or self.window()
        starts = [event.seq for event in self.events if _starts_run(event)]
        return measure(
            window, self.ruling, target.context_from, self._spent(), starts[-1] if starts else 0
        )

    def usages(self, since: int = 0) -> list[Usage]:
        """The usage of each reply after the event `since`."""
        return [reply.usage for reply in self._replies(since)]

    def cost(self, since: int = 0) -> float | None:
        """US dollars of the replies after the event `since`, as far as known."""
        return spend.total(self._costs.get(reply.seq) for reply in self._replies(since))

    def open_calls(self) -> list[ev.ToolCall]:
        """Calls that have no result yet, in order."""
        answered = {event.call_id for event in self.events if isinstance(event, ev.ToolResult)}
        return [
            event
            for event in self.events
            if isinstance(event, ev.ToolCall) and event.call_id not in answered
        ]

    def call_ids(self) -> frozenset[str]:
        """Every call id of the session."""
        return frozenset(event.call_id for event in self.events if isinstance(event, ev.ToolCall))

    def _fold(self, event: ev.Event) -> None:
        self.events.append(event)
        match event:
            case ev.SessionStart() | ev.SessionResume() | ev.SessionRecipe():
                self.recipe = event.recipe
            case ev.LlmResponse():
                self._costs[event.seq] = spend.cost(event.usage, self._price)
                self._remember(event.usage.prompt_tokens)
            case ev.LlmError():
                self._pending = None
            case _:
                pass

    def _remember(self, reported: int | None) -> None:
        if self._pending is not None:
            request, pieces = self._pending
            self._sent.append(prefix.sent(request, pieces, reported))
            self._pending = None

    def _recall(self) -> None:
        """What an earlier process sent last, rebuilt from the log: a resume predicts too."""
        replies = {event.req: event for event in self.events if isinstance(event, ev.LlmResponse)}
        latest = {
            event.model.origin: event
            for event in self.events
            if isinstance(event, ev.LlmRequest) and event.seq in replies
        }
        for request in sorted(latest.values(), key=lambda event: event.seq):
            try:
                window = replay(self.events, request.seq)
            except ReplayError:
                continue
            reported = replies[request.seq].usage.prompt_tokens
            self._sent.append(prefix.sent(request, prefix.pieces(window.request), reported))

    def _replies(self, since: int = 0) -> Iterable[ev.LlmResponse]:
        return (
            event
            for event in self.events
            if isinstance(event, ev.LlmResponse) and event.seq > since
        )

    def _spent(self) -> Spent:
        replies = list(self._replies())
        requests = {event.seq: event for event in self.events if isinstance(event, ev.LlmRequest)}
        last = requests.get(replies[-1].req) if replies else None
        return Spent(
            usages=[reply.usage for reply in replies],
            cost_usd=self.cost(),
            elapsed_ms=replies[-1].ms if replies else None,
            last_estimate=last.estimate if last else None,
        )


def _starts_run(event: ev.Event) -> bool:
    return (
        isinstance(event, ev.UserMessage)
        and event.via in ("prompt", "continue")
        and not event.rejected
    )
