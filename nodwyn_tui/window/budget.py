"""When a window is full: whether to warn, to roll over or to stop (ROL-2 to ROL-5, ROL-10), told by
the log alone, so that a restart decides the same. Pure; what a rollover says is in `lead_in.py`,
and doing it is the agent's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nodwyn_tui.domain.events import (
    AttachImage,
    BudgetBlocked,
    BudgetWarning,
    Event,
    LlmRequest,
    LlmResponse,
    SessionRecipe,
    SessionResume,
    SessionStart,
    UserMessage,
    WindowLeadIn,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import Recipe, WindowLimits
from nodwyn_tui.domain.request import Json
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.contexts import DECLARED, Place, StartTracker
from nodwyn_tui.window.entries import Entry, size

Reason = Literal["on-send", "mid-run", "context-exceeded"]

FORCE_ABOVE, WARN_BELOW = 50, 100
"""Thousandths of the ceiling above and below the threshold."""
MOST_WARNING_ROOM, WARNING_SHARE = 3_072, 8
"""Tokens that a warning, the notes written upon it and their result may take: no more than this
part of the ceiling, so that a small window is warned of too. The reply's cap is not in the ceiling.
"""
CHARS_PER_TOKEN = 4
"""Of what no reply has reported yet."""

TOO_SMALL = "the window has filled up after a single reply, twice in a row"
NO_HISTORY = (
    "the window is full, and this model is offered no session_history: after a rollover it could"
    " look at nothing of it"
)
REMEDIES: Mapping[str, tuple[str, ...]] = {
    TOO_SMALL: (
        "choose a model with a larger context, or set `context` (`num_ctx` on Ollama)",
        "set a smaller `max_result_tokens`, or a higher `threshold`",
        "/compact or /clear, and ask for less at once",
    ),
    NO_HISTORY: (
        "a new session with a model that calls tools: it has session_history",
        "set `strategy` to trim or compact: the window is kept then",
        "/compact or /clear",
    ),
}


@dataclass(frozen=True, slots=True)
class Marks:
    """Where a window of `ceiling` tokens is warned of, and where it is left."""

    warn: int
    force: int
    ceiling: int


@dataclass(frozen=True, slots=True)
class Warn:
    """The model is to be told that the window fills: `tokens` of `ceiling`."""

    tokens: int
    ceiling: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RollOver:
    """The window `window` is to be left: it comes to `tokens` of `ceiling`. `flushed` says that the
    model had a turn after the warning; `too_small` that it had no more than one reply in all.
    """

    reason: Reason
    rollover_id: str
    window: str
    tokens: int
    ceiling: int
    flushed: bool
    too_small: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    """The window may be neither used nor left."""

    reason: str
    tokens: int
    ceiling: int
    fixed: int

    def event(self) -> BudgetBlocked:
        """What the log is told: the figures in tokens, and what the person can do."""
        figures: dict[str, Json] = {
            "tokens": self.tokens,
            "ceiling": self.ceiling,
            "prefix": self.fixed,
        }
        return BudgetBlocked(reason=self.reason, figures=figures, remedies=REMEDIES[self.reason])


Decision = Warn | RollOver | Blocked | None
"""`None`: the window is used as it is."""


def marks(limits: WindowLimits) -> Marks | None:
    """The marks; `None` where nothing is to happen by itself: a threshold of 1 or more, or a
    context that nobody knows.
    """
    if limits.threshold >= 1 or limits.ceiling <= 0:
        return None
    share = round(limits.threshold * 1_000)
    return Marks(
        warn=limits.ceiling * max(share - WARN_BELOW, 0) // 1_000,
        force=limits.ceiling * min(share + FORCE_ABOVE, 1_000) // 1_000,
        ceiling=limits.ceiling,
    )


def warning_room(ceiling: int) -> int:
    """Tokens that must be free below the ceiling for a warning to be given (ROL-3)."""
    return min(MOST_WARNING_ROOM, ceiling // WARNING_SHARE)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """The last request that was answered, and its answer; whatever a server reported is of them."""

    request: LlmRequest
    reply: LlmResponse


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What a window has seen, by seq (0: nothing): the first thing that was said in it, the message
    that its latest run began with, its first two replies, the warning, the first reply after it;
    and its lead-in.
    """

    too_small: bool = False
    first: int = 0
    run: int = 0
    replies: tuple[int, ...] = ()
    warned: int = 0
    flushed: int = 0
    last: _Exchange | None = None
    lead: WindowLeadIn | None = None

    def before(self, to: int) -> "_Held":
        """Without what a rewind to `to` takes out."""
        kept = self.last if self.last and self.last.reply.seq < to else None
        return replace(
            self,
            first=self.first if self.first < to else 0,
            run=self.run if self.run < to else 0,
            replies=tuple(seq for seq in self.replies if seq < to),
            warned=self.warned if self.warned < to else 0,
            flushed=self.flushed if self.flushed < to else 0,
            last=kept,
        )


class Budget:
    """Follows the conversation, and decides on its window. It comes to the same with the events
    alone that the window needs.
    """

    def __init__(self) -> None:
        self._tracker = StartTracker()
        self._held: dict[Place, _Held] = {}
        self._asked: LlmRequest | None = None
        self._recipe: Recipe | None = None

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        self._tracker.feed(event)
        place = self._tracker.place
        match event:
            case WindowReset() if place.since == event.seq:
                self._held = {place: _Held(too_small=bool(event.too_small))}
            case WindowLeadIn() if event.ctx == place.ctx:
                self._held[place] = replace(self._now, lead=event)
            case WindowRewind():
                self._held = {at: held.before(event.to) for at, held in self._held.items()}
            case SessionStart() | SessionResume() | SessionRecipe():
                if event.recipe != self._recipe:
                    self._forget_reported()
                self._recipe = event.recipe
            case _ if isinstance(event, DECLARED):
                self._forget_reported()
            case _ if event.ctx == place.ctx:
                self._held[place] = self._after(event)
            case _:
                pass

    @property
    def window(self) -> str:
        """The window's name, as `session_history` knows it."""
        return f"w:{self._tracker.place.since}"

    @property
    def rollover_id(self) -> str:
        """Names the rollover that leaves this window: there is one at most."""
        return f"r:{self._tracker.place.since}"

    @property
    def warned(self) -> bool:
        """Whether a warning stands in the window."""
        return self._now.warned > 0

    @property
    def lead_in(self) -> WindowLeadIn | None:
        """What the window begins with where it is the next one of a window that was left."""
        return self._now.lead

    def is_fresh(self, reason: Reason) -> bool:
        """Whether a rollover would leave nothing behind (ROL-5): only internal rows stand in the
        window, or, of a request that was refused, only what it would ask again.
        """
        now = self._now
        if reason != "context-exceeded":
            return not now.first
        return not now.replies and now.first >= now.run

    def projection(self, window: Window) -> int:
        """What the next request comes to, in tokens (ROL-2, ROL-4): what the last one did, as it
        was reported or estimated, its reply, and what came since as `window` shows it. Without
        a last one, or where something before it was changed since, the window's own estimate.
        """
        last = self._now.last
        if last is None:
            return window.estimate
        usage, reply = last.reply.usage, last.reply.seq
        since = [e for e in window.entries if (e.batch or e.seq) > last.request.seq]
        output = usage.output_tokens
        if output is None or not (output or usage.prompt_tokens):  # no count, or one of nothing
            output = sum(entry.tokens for entry in since if entry.seq == reply)
        asked = max(usage.prompt_tokens or 0, last.request.estimate)
        return asked + output + sum(_shown(entry) for entry in since if entry.seq != reply)

    def decide(
        self,
        reason: Reason,
        window: Window,
        recipe: Recipe,
        *,
        history: bool = True,
        counted: int = 0,
    ) -> Decision:
        """What is to happen before the next request, whose untrimmed `window` it is: on send with
        the new message in it, after a settled step with its results. `history` says whether
        `session_history` is offered, `counted` what a request was counted to have, in tokens.
        """
        lines = marks(recipe.window) if recipe.strategy == "rollover" else None
        if lines is None or self.is_fresh(reason):
            return None
        tokens, replies = max(self.projection(window), counted), len(self._now.replies)
        # What nobody has answered yet is left only where it cannot be sent.
        force = lines.force if replies else lines.ceiling
        if reason != "context-exceeded" and tokens < force:
            # Without tools the model can neither write notes nor look anything up.
            due = tokens >= lines.warn and not self.warned and bool(recipe.tools)
            fits = tokens + warning_room(lines.ceiling) <= lines.ceiling
            return Warn(tokens, lines.ceiling) if due and fits else None
        too_small = replies == 1
        again = too_small and self._now.too_small
        if history and again and reason == "on-send" and tokens <= lines.ceiling:
            return None  # the person has seen to it, and it fits: a second reply ends the row
        if not history or again:
            stopped = TOO_SMALL if history else NO_HISTORY
            return Blocked(reason=stopped, tokens=tokens, ceiling=lines.ceiling, fixed=window.fixed)
        return RollOver(
            reason=reason,
            rollover_id=self.rollover_id,
            window=self.window,
            tokens=tokens,
            ceiling=lines.ceiling,
            flushed=reason != "context-exceeded" and self._now.flushed > 0,
            too_small=too_small,
        )

    def fault(self, drafts: Sequence[Event]) -> str:
        """What is wrong with drafts that are about to be appended as one, '' where nothing is
        (ROL-5): a rollover leaves this window, once, with exactly two internal rows, and input; a
        window has one warning.
        """
        kinds = [type(draft) for draft in drafts]
        resets = [e for e in drafts if isinstance(e, WindowReset) and e.kind == "rollover"]
        leads = [draft for draft in drafts if isinstance(draft, WindowLeadIn)]
        warnings = kinds.count(BudgetWarning)
        if not resets and not leads:
            return "a second warning in the window" if warnings + self.warned > 1 else ""
        if kinds[:2] != [WindowReset, WindowLeadIn] or len(resets) != 1 or len(leads) != 1:
            return "no rollover: it begins with one reset and one lead-in"
        if warnings or UserMessage not in kinds:
            return "behind the lead-in of a rollover stands its input, and no warning"
        (reset,), (lead,) = resets, leads
        if (reset.rollover_id, reset.previous_window) != (self.rollover_id, self.window):
            return f"a rollover of {reset.previous_window}, where {self.window} is to be left"
        if lead.rollover_id != reset.rollover_id:
            return "a lead-in of another rollover"
        refused: Reason = "context-exceeded"
        fresh = self.is_fresh(refused if reset.reason == refused else "on-send")
        return "a rollover of a window that is fresh already" if fresh else ""

    @property
    def _now(self) -> _Held:
        return self._held.get(self._tracker.place) or _Held()

    def _after(self, event: Event) -> _Held:
        now, seq = self._now, event.seq
        match event:
            case UserMessage(rejected=False):
                run = seq if event.starts_run else now.run
                return replace(now, first=now.first or seq, run=run)
            case AttachImage():
                return replace(now, first=now.first or seq)
            case BudgetWarning():
                return replace(now, warned=now.warned or seq)
            case LlmRequest():
                self._asked = event
                return now
            case LlmResponse() if event.parts:
                return self._replied(event)
            case _:
                return now

    def _replied(self, reply: LlmResponse) -> _Held:
        """A reply that says something; one to another question than the person's is none."""
        now, asked = self._now, self._asked
        known = asked if asked is not None and asked.seq == reply.req else None
        if known is not None and known.purpose != "turn":
            return now
        heard = now.warned and reply.finish != "interrupted"
        return replace(
            now,
            first=now.first or reply.seq,
            replies=(*now.replies, reply.seq)[:2],
            flushed=now.flushed or (reply.seq if heard else 0),
            last=_Exchange(known, reply) if known else now.last,
        )

    def _forget_reported(self) -> None:
        """What was reported is not of this window any more."""
        self._held = {at: replace(held, last=None) for at, held in self._held.items()}


def _shown(entry: Entry) -> int:
    """Tokens of a row that no reply has reported: its characters, and its images as recorded."""
    chars = sum(len(part.text) for part in entry.message.parts if isinstance(part, Text))
    return -(-chars // CHARS_PER_TOKEN) + entry.tokens - size(entry.data)
