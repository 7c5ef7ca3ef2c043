"""`/compact`: a handover note is offered to the person, who accepts it, edits it or drops it, and
may undo it until they speak (AGT-16, TUI-15).
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nodwyn_tui.agent import spend
from nodwyn_tui.agent.asking import Asker
from nodwyn_tui.agent.compaction import NO_NOTE, Compaction, NoNote, Tried
from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import BlockedError, ProviderError, StoreError, UsageError
from nodwyn_tui.link import events as up
from nodwyn_tui.window.build import UNTRIMMED, Window
from nodwyn_tui.window.entries import Entry, EntryKind
from nodwyn_tui.window.handover import Handover

Level = Literal["info", "warning", "error"]

NOTHING = "there is nothing to compact yet"
NOT_OFFERED = "no handover note is on offer: /compact asks for one"
EMPTY = "an empty note would leave the model nothing to go on from"
DROPPED = "not compacted: nothing has changed"
TAKEN = "compacted; /compact undo brings the old window back until your next message"
UNDONE = "the window is the one before the compaction again"
NOT_UNDONE = "there is no compaction to undo: something was said or asked since, or there was none"

Labels = Mapping[EntryKind, tuple[str, str]]
"""What entries of a kind are called: one, and several."""

LABELS: Labels = {
    "user": ("message of yours", "messages of yours"),
    "attachment": ("image", "images"),
    "assistant": ("reply", "replies"),
    "result": ("result", "results"),
    "plan": ("plan", "plans"),
    "note": ("note", "notes"),
    "warning": ("warning that it fills", "warnings that it fills"),
    "handover": ("handover note", "handover notes"),
    "summary": ("summary", "summaries"),
}
NEW_LABELS: Labels = {
    "handover": ("the handover note", ""),
    "note": ("your unanswered request", ""),
    "plan": ("the plan", ""),
}
PREFIX = "system prompt and tools"


@dataclass(frozen=True, slots=True)
class _Offer:
    """A note on offer, the window that it would take the place of, and what asking for it cost."""

    made: Handover
    old: Window
    usage: Usage | None


class CompactCommand:
    """One session's `/compact`. Between runs only: the caller sees to that."""

    def __init__(self, conversation: Conversation, compaction: Compaction, emit: Emit) -> None:
        self._conversation, self._compaction, self._emit = conversation, compaction, emit
        self._offer: _Offer | None = None

    @property
    def offers(self) -> bool:
        """Whether a note waits for the person."""
        return self._offer is not None

    async def offer(self, asker: Asker, wish: str) -> None:
        """Asks for a note, and offers it; where none comes, that is told, and nothing changes.

        Raises `UsageError` where there is nothing to compact.
        """
        self.let_go()
        old = self._conversation.window(UNTRIMMED)
        if not any(entry.kind == "assistant" for entry in old.entries):
            raise UsageError(NOTHING)
        self._emit(up.CompactionStarted())
        tried = Tried()
        try:
            made = await self._compaction.note(asker, tried, wish)
        except (NoNote, ProviderError, StoreError) as error:
            self._end(NO_NOTE.format(why=error), "error")
            return
        except asyncio.CancelledError:
            self._end(DROPPED)
            raise
        self._offer = _Offer(made, old, spend.summed(tried.usages) if tried.usages else None)
        self._tell(self._offer)

    def accept(self, text: str) -> None:
        """Goes on from the note as the person left it. One that is empty or too long, or that the
        disk refuses, is offered again.
        """
        offer = self._offer
        if offer is None:
            raise UsageError(NOT_OFFERED)
        text = text.strip()
        made = offer.made if text == offer.made.text else Handover(text, by="person")
        if not text:
            self._offer_again(offer, EMPTY)
            return
        try:
            self._compaction.open(made, offer.old.estimate)
        except (BlockedError, StoreError) as error:
            self._offer_again(replace(offer, made=made), str(error))
            return
        self._offer = None
        self._end(TAKEN, taken=True)

    def drop(self) -> None:
        """The note is not wanted: nothing has changed."""
        if self._offer is not None:
            self.let_go()
            self._end(DROPPED)

    def let_go(self) -> None:
        """Without a word: something else goes on."""
        self._offer = None
        self._compaction.take_back()

    def undo(self) -> None:
        """Brings the window before the latest compaction back."""
        if self._compaction.undo():
            self._end(UNDONE, taken=True)
        else:
            self._end(NOT_UNDONE, "warning")

    def _offer_again(self, offer: _Offer, why: str) -> None:
        self._emit(up.Notice(level="error", text=why))
        self._offer = offer
        self._tell(offer)

    def _tell(self, offer: _Offer) -> None:
        new = self._compaction.preview(offer.made)
        self._emit(
            up.CompactionOffered(
                note=offer.made.text,
                before=offer.old.estimate,
                after=new.estimate,
                goes=tuple(_portions(offer.old.entries, LABELS)),
                stays=(
                    up.Portion(label=PREFIX, tokens=new.fixed),
                    *_portions(new.entries, NEW_LABELS),
                ),
                own=offer.made.by == "program",
                usage=offer.usage,
            )
        )

    def _end(self, text: str, level: Level = "info", *, taken: bool = False) -> None:
        self._emit(up.CompactionEnded(text=text, level=level, taken=taken))


def _portions(entries: Sequence[Entry], labels: Labels) -> Iterator[up.Portion]:
    """What entries make up, by kind."""
    for kind, (one, several) in labels.items():
        tokens = [entry.tokens for entry in entries if entry.kind == kind]
        if tokens:
            label = one if len(tokens) == 1 else several
            yield up.Portion(label=label, tokens=sum(tokens), count=len(tokens))
