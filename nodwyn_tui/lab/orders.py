"""Fresh context under another placement than the one it was recorded with (ORD-9).

What its kinds said at a request is taken from what was recorded for it; which rows that makes, and
where they stand, is the policy's. One placement is here alone, to compare with: `before_run`, the
rows of each request in front of the run's own message, where each change rewrites all that the run
did since.
"""

from collections.abc import Sequence

from nodwyn_tui.domain.events import (
    Event,
    FreshContext,
    LlmRequest,
    SessionRecipe,
    SessionResume,
    SessionStart,
    UserMessage,
    WindowReset,
)
from nodwyn_tui.window import rows, tape
from nodwyn_tui.window.build import Window, with_fresh
from nodwyn_tui.window.order import (
    KINDS,
    PLACEMENTS,
    Due,
    Freshness,
    FreshRow,
    Placement,
    entries_of,
    placed,
    placement_for,
)
from nodwyn_tui.window.sequence import EACH_REQUEST

AUTO = "auto"
BEFORE_RUN = "before_run"
ORDERS = (*PLACEMENTS, AUTO, BEFORE_RUN)


class Orders:
    """One session's fresh context, as a policy places it, or as recorded where it has no order."""

    def __init__(self, order: str | None) -> None:
        self._order = order
        self._own: Placement = "off"
        """What the recipe has."""
        self._recorded: dict[int, FreshContext] = {}
        self._stay: dict[str, FreshContext] = {}
        self._made = Freshness()
        self._rows: dict[int, FreshContext] = {}
        self._starts = True
        self._run_from = 0

    def take(self, event: Event) -> bool:
        """The next event as recorded; whether the policy's log holds it too."""
        match event:
            case FreshContext():
                self._recorded[event.seq] = event
                if event.placement != EACH_REQUEST:
                    self._stay[event.kind] = event
                return False
            case UserMessage() if event.starts_run:
                self._starts, self._run_from = True, event.seq
            case SessionStart() | SessionResume() | SessionRecipe():
                self._own = placed(event.recipe.fresh)
            case _:
                pass
        return True

    def feed(self, event: Event) -> None:
        """The next event of the policy's own log."""
        self._made.feed(event)
        match event:
            case FreshContext():
                self._rows[event.seq] = event
            case WindowReset():
                self._starts = True
            case _:
                pass

    def due(self, request: LlmRequest) -> Due:
        """The rows that a request needs now."""
        due = self._due(request)
        self._starts = False
        return due

    def tokens(self, request: LlmRequest) -> int:
        """What a request shows of it that does not stand in the window yet, in tokens."""
        due = self._due(request)
        again = [self._made.known[seq] for seq in due.again.values()]
        return sum(rows.fresh(event).tokens for event in (*due.record, *again))

    def _due(self, request: LlmRequest) -> Due:
        now = [_row(event) for event in self._now(request)]
        return self._made.due(now, self._placement(request), run_starts=self._starts)

    def placed(self, window: Window, own: Sequence[int]) -> Window:
        """The window with its rows where the policy has them."""
        if self._order != BEFORE_RUN or window.bare is None:
            return window
        bare = window.bare
        at = next((n for n, e in enumerate(bare.entries) if e.seq == self._run_from), 0)
        request = bare.request
        past = tape.start(request.system, request.tools, request.max_output)
        past = past.extended([entry.data for entry in bare.entries[:at]])
        return with_fresh(bare, past, entries_of(own, self._rows))

    def _placement(self, request: LlmRequest) -> Placement:
        match self._order:
            case None:
                return self._own
            case "auto":
                parameters = request.parameters
                return placement_for(
                    request.model.provider,
                    breakpoints=(parameters.cache_control or "off") != "off",
                    keeps_reasoning=bool(parameters.keep_reasoning),
                    dialect=parameters.dialect,
                ).placement
            case "before_run":
                return "each_request"
            case order:
                return placed(order)

    def _now(self, request: LlmRequest) -> list[FreshContext]:
        """What the kinds said when a request went out."""
        named = [self._recorded[seq] for seq in request.fresh if seq in self._recorded]
        now = {**self._stay, **{event.kind: event for event in named}}
        return [now[kind] for kind in KINDS if kind in now]


def _row(event: FreshContext) -> FreshRow:
    kind = next(kind for kind in KINDS if kind == event.kind)
    return FreshRow(kind=kind, trust=event.trust, text=event.text)
