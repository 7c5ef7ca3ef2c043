"""Changing the window by hand: what can be done with an entry, for how much, and the doing of it
(TUI-15, ENG-15, AGT-4). Nothing is changed but by lines of the log.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeGuard

from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.waiting import Give
from nodwyn_tui.agent.words import images_behind
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.domain.price import MILLION, Price
from nodwyn_tui.domain.words import WindowAction
from nodwyn_tui.errors import UsageError
from nodwyn_tui.link import events as up
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.window import folds
from nodwyn_tui.window.build import UNTRIMMED, Window
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, Entry

BUSY = "the window can be changed once this run has ended (Esc stops it)"
NEVER = "this never stands in the window"
BEHIND = "the window began anew after it; the log keeps it, and nothing before that is sent again"
OUTSIDE = "it is not in the window: it was rewound, or never sent; the log keeps it"
NO_MESSAGE = "there is no message of yours in the window that could be taken back"
WRITE_ANEW = "; an earlier one can be written anew: its menu in the conversation offers it"

NEVER_KINDS = ("error", "divider")
GONE = ("dropped", "elided")
TEXT = 200
"""Characters of a message that a list shows."""


@dataclass(frozen=True, slots=True)
class _Thing:
    """An entry of the transcript in the window: its line there (a call's is its result), the reply
    that a call or a thought belongs to (else the line itself), and the window.
    """

    entry: up.Entry
    seq: int
    step: int
    state: up.EntryState
    window: Window

    @property
    def exchange(self) -> list[Entry]:
        """The rows from a message of the person up to their next, without what goes with another
        row.
        """
        rows = self.window.entries
        start = next((n for n, row in enumerate(rows) if row.seq == self.seq), len(rows))
        ends = (n for n, row in enumerate(rows) if n > start and row.kind == "user")
        return [row for row in rows[start : next(ends, len(rows))] if row.batch is None]

    @property
    def has_results(self) -> bool:
        """Whether results stand with its reply."""
        return any(row.batch == self.step for row in self.window.entries)


class Editing:
    """Prices changes, and makes them. Between runs only: the caller sees to that."""

    def __init__(self, conversation: Conversation, emit: Emit, clock: Clock, give: Give) -> None:
        self._conversation, self._emit, self._clock = conversation, emit, clock
        self._give = give

    def price(self, entry_id: str, target: Target) -> up.EditPriced:
        """What can be done with an entry now."""
        thing = self._thing(entry_id)
        actions = list(self._actions(thing))
        return up.EditPriced(
            entry_id=entry_id,
            options=tuple(
                option
                for action in actions
                if (option := self._option(thing, action, target)).freed > 0 or action != "fold"
            ),
            why_not="" if set(actions) - {"rewrite"} else _why_not(thing),
        )

    def do(self, entry_id: str, action: WindowAction) -> None:
        """Records a change. `UsageError` for one that cannot be made, `StoreError` where the disk
        refuses; then nothing was changed.
        """
        if action == "rewind":
            self._rewind(entry_id)
            return
        thing = self._thing(entry_id)
        if action not in self._actions(thing):
            raise UsageError(f"that cannot be done with it now ({thing.state})")
        drafts = self._drafts(thing, action)
        freed = thing.window.estimate - self._conversation.window(UNTRIMMED, *drafts).estimate
        if action == "fold" and freed <= 0:
            raise UsageError("a line in its place would be no shorter")
        self._conversation.append(*drafts, must=True)
        self._emit(up.Notice(level="info", text=_told(action, freed)))

    def rewrite(self, entry_id: str) -> None:
        """Gives the text of a message that is not in the window back, to be sent anew (ROL-8)."""
        thing = self._thing(entry_id)
        message = self._conversation.event(thing.entry.seq)
        if "rewrite" not in self._actions(thing) or not isinstance(message, ev.UserMessage):
            raise UsageError(
                "only a message of yours that is not in the window can be written anew"
            )
        images = self._give(images_behind(self._conversation.event, message.seq))
        self._emit(up.Returned(text=message.text, why="again", images=images))

    def _rewind(self, entry_id: str) -> None:
        """To a message of the person, '' for the latest."""
        found = (m for _, m in self._messages() if entry_id in ("", f"{m.seq:08}"))
        message = next(found, None)
        if message is None:
            if entry_id:
                raise UsageError(OUTSIDE)
            left = self._conversation.budget.window != "w:0"
            raise UsageError(NO_MESSAGE + WRITE_ANEW * left)
        self._conversation.append(ev.WindowRewind(to=message.seq, why="edit"), must=True)
        images = self._give(images_behind(self._conversation.event, message.seq))
        self._emit(up.Returned(text=message.text, why="rewound", images=images))

    def messages(self) -> up.MessagesListed:
        """What can be rewound to."""
        rows = self._conversation.window(UNTRIMMED).entries
        return up.MessagesListed(
            messages=tuple(
                up.Earlier(
                    entry_id=f"{message.seq:08}",
                    text=message.text[:TEXT],
                    tokens=sum(row.tokens for row in rows[at:]),
                )
                for at, message in self._messages()
            )
        )

    def _messages(self) -> Iterator[tuple[int, ev.UserMessage]]:
        """The messages in the person's own words, and where they stand, the latest first."""
        rows = self._conversation.window(UNTRIMMED).entries
        for at in range(len(rows) - 1, -1, -1):
            if rows[at].kind == "user":
                message = self._conversation.event(rows[at].seq)
                if _is_own(message):
                    yield at, message

    def _thing(self, entry_id: str) -> _Thing:
        conversation = self._conversation
        entry = conversation.transcript.entries.get(entry_id)
        standing = conversation.standing()
        if entry is None or standing is None:
            raise UsageError("there is no such entry any more")
        seq = conversation.transcript.anchor(entry_id)
        made = conversation.event(entry.seq)
        step = made.resp if isinstance(made, ev.ToolCall) else entry.seq
        state = "outside" if entry.kind in NEVER_KINDS else standing.of(seq)
        return _Thing(entry, seq, step, state, conversation.window(UNTRIMMED))

    def _actions(self, thing: _Thing) -> Iterator[WindowAction]:
        """What can be done with a thing, the least first."""
        if thing.state in ("behind", "outside"):
            if thing.entry.kind == "user":
                yield "rewrite"
            return
        kind, gone = thing.entry.kind, thing.state in GONE
        if gone or thing.state == "folded":
            yield "restore"
        if kind == "call" and not gone and thing.seq != thing.step:
            if thing.state != "folded":
                yield "fold"
            yield "drop"
        with_others = kind == "thinking" or thing.has_results
        if kind in ("call", "assistant", "thinking") and not gone and with_others:
            yield "drop_step"
        elif kind != "call" and not gone:
            yield "drop"
        if kind == "user":
            yield from self._actions_of_message(thing)

    def _actions_of_message(self, thing: _Thing) -> Iterator[WindowAction]:
        rows, dropped = thing.exchange, thing.window.dropped
        if thing.state == "in" and len(rows) > 1:
            yield "drop_exchange"
        if thing.state == "dropped" and sum(row.seq in dropped for row in rows) > 1:
            yield "restore_exchange"
        if _is_own(self._conversation.event(thing.seq)):
            yield "rewind"

    def _drafts(self, thing: _Thing, action: WindowAction) -> tuple[ev.Event, ...]:
        """The lines that make a change."""
        if action == "fold":
            return (self._fold(thing),)
        if action == "rewind":
            return (ev.WindowRewind(to=thing.seq, why="edit"),)
        if action == "restore":
            return self._restores(thing)
        word: Literal["drop", "restore"] = "restore" if action == "restore_exchange" else "drop"
        return tuple(ev.WindowEdit(target=seq, action=word) for seq in _targets(thing, action))

    def _restores(self, thing: _Thing) -> tuple[ev.Event, ...]:
        """What brings a thing back: with a result the reply that asked for it, if that was dropped,
        and then the result alone if it had gone for itself.
        """
        own = ev.WindowEdit(target=thing.seq, action="restore")
        if thing.step == thing.seq or thing.step not in thing.window.dropped:
            return (own,)
        step = ev.WindowEdit(target=thing.step, action="restore")
        rows = self._conversation.window(UNTRIMMED, step).entries
        whole = any(row.seq == thing.seq and row.state in ("in", "cut") for row in rows)
        return (step,) if whole else (step, own)

    def _fold(self, thing: _Thing) -> ev.ResultFold:
        result = self._conversation.event(thing.seq)
        call = self._conversation.event(thing.entry.seq)
        if not (isinstance(result, ev.ToolResult) and isinstance(call, ev.ToolCall)):
            raise UsageError("the call or its result was lost to damage of the log")
        fold = folds.by_hand(Call(call.call_id, call.name, call.arguments), result)
        return ev.ResultFold(target=fold.target, text=fold.text, why=fold.why)

    def _option(self, thing: _Thing, action: WindowAction, target: Target) -> up.EditOption:
        if action == "rewrite":
            return up.EditOption(action=action, freed=0)
        before = thing.window
        after = self._conversation.window(UNTRIMMED, *self._drafts(thing, action))
        again = max(self._unread(after, target) - self._unread(before, target), 0)
        back = max(after.trail[-1].end - before.trail[-1].end, 0)
        behind = max(again - back, 0) // BYTES_PER_TOKEN
        share = self._conversation.ledger.facts.calibration(target.ref.origin)
        return up.EditOption(
            action=action,
            freed=before.estimate - after.estimate,
            again=behind,
            cost_usd=_lost(behind * share, target.price),
        )

    def _unread(self, window: Window, target: Target) -> int:
        """The bytes of a prompt that the provider's cache does not hold."""
        now = self._clock.now()
        prediction, _ = self._conversation.forecast.predict(window, target, UNTRIMMED, now)
        held = window.trail[prediction.pieces - 1].end if prediction.pieces else 0
        return window.trail[-1].end - held


def _why_not(thing: _Thing) -> str:
    """Why nothing can be done with it."""
    if thing.entry.kind in NEVER_KINDS:
        return NEVER
    return BEHIND if thing.state == "behind" else OUTSIDE


def _is_own(event: ev.Event | None) -> TypeGuard[ev.UserMessage]:
    """Whether it is a message in the person's own words."""
    return isinstance(event, ev.UserMessage) and event.via in ("prompt", "steer")


def _targets(thing: _Thing, action: WindowAction) -> list[int]:
    """The lines that an action drops, or brings back as an exchange."""
    match action:
        case "drop_step":
            return [thing.step]
        case "drop_exchange":
            return [row.seq for row in thing.exchange if row.state != "elided"]
        case "restore_exchange":
            return [row.seq for row in thing.exchange if row.seq in thing.window.dropped]
        case _:
            return [thing.seq]


def _lost(tokens: float, price: Price | None) -> float | None:
    """US dollars for reading tokens anew instead of from the cache; `None` for an unknown price."""
    if price is None or price.rates.cached is None or (anew := price.rates.full.write) is None:
        return None
    return max(anew - price.rates.cached, 0.0) * tokens / MILLION


def _told(action: WindowAction, freed: int) -> str:
    """What was done."""
    if "restore" in action:
        return f"back in the window: ~{max(-freed, 0):,} tokens more in each request"
    done = "folded" if action == "fold" else "dropped"
    return f"{done}: ~{max(freed, 0):,} tokens less in each request; /restore brings it back"
