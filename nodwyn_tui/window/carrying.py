"""What a compaction or a rollover may not lose, followed event by event: the person's request that
is not answered to its end, what they added to it, and the plan (AGT-16, ROL-1). Pure; `handover.py`
and `lead_in.py` have the words.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import (
    ContextClose,
    ContextOpen,
    Event,
    GatePlan,
    LlmRequest,
    LlmResponse,
    Note,
    RunEnd,
    UserMessage,
    WindowLeadIn,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.parts import Call

ASK = "handover ask"
"""Why a note is there that asks the model for its handover note."""
TASK = "handover task"
"""Why a note is there that quotes what the person asked, in a compacted context."""

Asked = UserMessage | Note


@dataclass(frozen=True, slots=True)
class Carried:
    """`asked` is the unanswered request: a message of the person or the note that quoted it, then
    the messages of that run that no reply has seen yet. `plans` holds the plans of the context, the
    latest last; `asking` is the seq of the note that asked for a handover note, 0 once that came to
    something or was taken back.
    """

    asked: tuple[Asked, ...] = ()
    plans: tuple[GatePlan, ...] = ()
    asking: int = 0

    @property
    def plan(self) -> GatePlan | None:
        """The plan as it stands."""
        return self.plans[-1] if self.plans else None

    def before(self, seq: int) -> "Carried":
        """Without what a rewind to `seq` takes out."""
        return Carried(
            tuple(event for event in self.asked if event.seq < seq),
            tuple(event for event in self.plans if event.seq < seq),
            self.asking if self.asking < seq else 0,
        )


class Carrying:
    """Follows the conversation. `now` is what a compaction would take along; `undoable` the latest
    one while nothing was said or asked in its context.
    """

    def __init__(self) -> None:
        self.now = Carried()
        self.undoable: ContextOpen | None = None
        self._behind: list[tuple[ContextOpen, Carried]] = []
        self._handovers: set[int] = set()
        self._inner: set[int] = set()
        self._unanswered: list[tuple[int, Carried]] = []
        """What was carried where something took its place, by that one's seq."""

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        if event.ctx in self._inner:
            return
        match event:
            case ContextOpen(lasting=False):
                self._inner.add(event.id)
            case ContextOpen():
                self._behind.append((event, self.now))
                self.now, self.undoable = Carried(), event
            case ContextClose():
                self._leave(lambda opened: opened.id == event.id)
            case WindowRewind():
                self._leave(lambda opened: opened.seq >= event.to)
                self.now = self._before(event.to)
            case WindowReset():
                self.now, self.undoable = Carried(), None
                self._behind.clear()
                self._unanswered.clear()
            case LlmRequest() if event.purpose == "handover":
                self._handovers.add(event.seq)
            case LlmRequest():
                self.undoable = None
            case UserMessage(rejected=False):
                # Spoken in, a context is the conversation's start for good.
                self.undoable = None
                self._behind.clear()
                self._keep(event)
                self.now = _said(self.now, event)
            case _:
                self.now = self._after(event)

    @property
    def asked_for(self) -> int:
        """The seq of the note that asked for the undoable compaction, 0 where none did."""
        return self._behind[-1][1].asking if self.undoable else 0

    def _after(self, event: Event) -> Carried:
        now = self.now
        match event:
            case LlmResponse() if event.req not in self._handovers:
                return self._answered(event)
            case RunEnd(why="done"):
                self._keep(event)
                return replace(now, asked=())
            case GatePlan():
                return replace(now, plans=(*now.plans, event))
            case Note():
                return _noted(now, event)
            case WindowLeadIn():
                return _led_in(event)
            case _:
                return now

    def _answered(self, reply: LlmResponse) -> Carried:
        """A reply that came to its end has seen what was typed while it worked, and without a call
        it is the answer.
        """
        if reply.finish == "interrupted":
            return self.now
        calls = any(isinstance(part, Call) for part in reply.parts)
        if reply.finish != "stop" or calls:
            return replace(self.now, asked=self.now.asked[:1])
        self._keep(reply)
        return replace(self.now, asked=())

    def _keep(self, event: Event) -> None:
        """What is carried so far is again, if a rewind takes the event out."""
        if self.now.asked:
            self._unanswered.append((event.seq, self.now))

    def _before(self, to: int) -> Carried:
        """What was carried before what a rewind to `to` takes out."""
        kept = [(seq, carried) for seq, carried in self._unanswered if seq < to]
        first = self._unanswered[len(kept) :][:1]
        self._unanswered = kept
        return (first[0][1] if first else self.now).before(to)

    def _leave(self, gone: Callable[[ContextOpen], bool]) -> None:
        """Back to where the first context that is `gone` was opened."""
        at = next((n for n, (opened, _) in enumerate(self._behind) if gone(opened)), None)
        if at is not None:
            self.now, self.undoable = self._behind[at][1], None
            del self._behind[at:]


def _noted(now: Carried, note: Note) -> Carried:
    """A handover note was asked for, or begins with what it quotes."""
    if note.why == ASK:
        return replace(now, asking=note.seq)
    return replace(now, asked=(*now.asked, note)) if note.why == TASK else now


def _led_in(lead: WindowLeadIn) -> Carried:
    """What a rollover took along: it is quoted already."""
    told = Note(seq=lead.seq, ctx=lead.ctx, text=lead.asked or "", audience="model", why=TASK)
    plan = GatePlan(seq=lead.seq, ctx=lead.ctx, text=lead.plan or "")
    return Carried((told,) if lead.asked else (), (plan,) if lead.plan else ())


def _said(now: Carried, message: UserMessage) -> Carried:
    """A request takes the place of the one before; what is typed meanwhile joins it, and a word to
    go on changes nothing.
    """
    match message.via:
        case "prompt":
            return replace(now, asked=(message,))
        case "steer":
            return replace(now, asked=(*now.asked, message))
        case _:
            return now
