"""Compaction: the model is asked for a handover note, and the conversation goes on in a context
that begins with it (AGT-16). A failed one changes nothing: what was asked is taken back, and the
next request is what it would have been.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nodwyn_tui.agent.asking import Asker
from nodwyn_tui.agent.bodies import text_of
from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.growth import FAILED
from nodwyn_tui.agent.quoted_images import with_images
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import BlockedError, ProviderError, StoreError
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import ORDINARY, UNTRIMMED, Shape, Window
from nodwyn_tui.window.carrying import TASK
from nodwyn_tui.window.handover import Handover
from nodwyn_tui.window.own_note import own_handover

TRIES = 2
"""How often a note is asked for where calls come in its place."""

NO_NOTE = "not compacted: {why}"
TRIMS = "; the window is trimmed instead"


class NoNote(Exception):
    """The model gave no note; says why."""


@dataclass(slots=True)
class Tried:
    """What a try took: the requests it made, and what their replies cost."""

    requests: int = 0
    usages: list[Usage] = field(default_factory=list)


class Compaction:
    """Compacts one session's conversation, by itself where the session's strategy says so."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    async def when_due(self, asker: Asker) -> int:
        """Compacts where the next request would trim, under the strategy `compact`; how many
        requests that took. One that comes to nothing is told of, and is not tried again until the
        window has grown (`Growth`).

        Raises `StoreError` where the disk refuses.
        """
        if self._conversation.recipe.strategy != "compact":
            return 0
        await asker.fit.prepare()
        whole = self._over_the_mark(asker)
        if not whole:
            return 0
        tried = Tried()
        try:
            self.open(await self.note(asker, tried), whole)
        except (NoNote, BlockedError, ProviderError) as error:
            self.take_back(NO_NOTE.format(why=error) + TRIMS)
        except StoreError:
            self.take_back()
            raise
        return tried.requests

    async def note(self, asker: Asker, tried: Tried, wish: str = "") -> Handover:
        """Asks for a note; the program makes one itself where no request for it fits (C05). What
        was asked stands in the conversation then, until `open` or `take_back`.

        Raises `NoNote` and `ProviderError`; then, and if it is cancelled, nothing has changed.
        """
        came = False
        try:
            made = await self._asked(asker, tried, wish)
            came = True
        except BlockedError:
            made = None
        finally:
            if not came:
                self.take_back()
        talk = self._conversation
        return made or own_handover(talk.window(), talk.recipe, talk.carrying.now)

    def preview(self, made: Handover) -> Window:
        """The window that the conversation would go on from."""
        return self._conversation.window(ORDINARY, *self._batch(made))

    def open(self, made: Handover, whole: int) -> None:
        """The conversation goes on from a note: one append. `whole` is what the window had, in
        tokens.

        Raises `BlockedError` where the new window does not fit, `StoreError` where the disk
        refuses; the conversation is as it was then.
        """
        conversation = self._conversation
        opened, *rows = self._batch(made)
        after = conversation.window(ORDINARY, opened, *rows).estimate
        ceiling = conversation.recipe.window.ceiling
        if after > ceiling:
            raise BlockedError(
                f"with this note a request has about {after:,} tokens, where it may hold"
                f" {ceiling:,}: shorten the note"
            )
        assert isinstance(opened, ev.ContextOpen), "it opens with its context"
        opened = replace(opened, context_tokens=whole, start_tokens=after)
        conversation.append(opened, *rows, must=True)

    def take_back(self, why: str = "") -> None:
        """What was asked for a note leaves the conversation, and nothing has changed; `why` is told
        to the person.
        """
        drafts: list[ev.Event] = []
        if asking := self._conversation.carrying.now.asking:
            drafts.append(ev.WindowRewind(to=asking, why="undo"))
        if why:
            drafts.append(ev.Note(text=why, audience="person", why=FAILED))
        self._conversation.append(*drafts)

    def undo(self) -> bool:
        """Brings the old window back, if nothing was said or asked in the new one; whether it did
        (ENG-23). `StoreError` where the disk refuses.
        """
        carrying = self._conversation.carrying
        if carrying.undoable is None:
            return False
        drafts: list[ev.Event] = [ev.ContextClose(id=carrying.undoable.id, report=handover.UNDONE)]
        if asked := carrying.asked_for:
            drafts.append(ev.WindowRewind(to=asked, why="undo"))
        self._conversation.append(*drafts, must=True)
        return True

    def _over_the_mark(self, asker: Asker) -> int:
        """The tokens of a window that the next request would trim, 0 where it is not due."""
        conversation = self._conversation
        window, most = conversation.window(), asker.fit.room
        # Where the server counts more than we do, high water lies lower by as much: the request for
        # the note is to have its headroom.
        marks = conversation.recipe.window
        line = marks.high_water * most // marks.ceiling
        if not window.newly and window.estimate <= line:
            return 0
        if not any(entry.kind == "assistant" for entry in window.entries):
            return 0  # nothing was done yet: only the person's own words would be shortened
        whole = conversation.window(UNTRIMMED).estimate
        # At the ceiling it is tried once more, whatever failed before: else the run is blocked.
        return whole if whole >= min(conversation.growth.enough(marks), most) else 0

    async def _asked(self, asker: Asker, tried: Tried, wish: str) -> Handover:
        """The model's own note."""
        conversation = self._conversation
        asked = handover.request(conversation.recipe, conversation.carrying.now, wish)
        if conversation.window(Shape(high_water=asker.fit.room), asked).estimate > asker.fit.room:
            raise BlockedError("no request for a note fits")
        conversation.append(asked, must=True)
        while tried.requests < TRIES:
            tried.requests += 1
            answer = await asker.ask("handover")
            tried.usages.append(answer.response.usage)
            if not answer.calls:
                return _note_of(answer.response)
            self._refuse(answer.calls)
        raise NoNote(f"the model made calls in place of its note, {TRIES} times")

    def _refuse(self, calls: Sequence[ev.ToolCall]) -> None:
        """Each call of a reply that should have been a note gets its result."""
        for call in calls:
            self._conversation.append(
                ev.Approval(call_id=call.call_id, decision="refused", scope="mode"),
                ev.ToolResult(
                    call_id=call.call_id, name=call.name, text=handover.NO_CALLS, is_error=True
                ),
            )

    def _batch(self, made: Handover) -> tuple[ev.Event, ...]:
        conversation = self._conversation
        ctx = conversation.log.next_seq
        rows = handover.batch(
            made,
            conversation.carrying.now,
            conversation.recipe,
            ctx=ctx,
            parent=conversation.place,
        )
        at = next((n for n, row in enumerate(rows, 1) if getattr(row, "why", "") == TASK), 0)
        asked = conversation.carrying.now.asked
        return with_images(conversation, rows, asked, at=at, ctx=ctx) if at else rows


def _note_of(reply: ev.LlmResponse) -> Handover:
    text = text_of(reply).strip()
    match reply.finish:
        case "length":
            raise NoNote("the note was cut at the reply's length limit")
        case "filtered":
            raise NoNote("the provider withheld the note (content filter)")
        case _ if not text:
            raise NoNote("the model's reply was empty")
    return Handover(text, source=reply.seq)
