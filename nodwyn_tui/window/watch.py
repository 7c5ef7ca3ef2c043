"""What changed the requests that were sent, as the log tells it event by event (ENG-28)."""

from collections.abc import Collection
from dataclasses import dataclass

from nodwyn_tui.domain.events import (
    AttachImage,
    Event,
    LlmRequest,
    LlmResponse,
    ResultFold,
    SessionRecipe,
    SessionResume,
    SessionStart,
    SummaryAdd,
    SummaryRevoke,
    ToolResult,
    WindowEdit,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window import blocks
from nodwyn_tui.window.blocks import Withheld
from nodwyn_tui.window.contexts import Place, StartTracker

TRIM = "trim"
IMAGE = "withheld_image"
REASONING = "reasoning"
FRESH = "fresh_rows"

Change = tuple[str, int]
"""The word for what changed, and the seq up to which requests had sent nothing of it."""


@dataclass(slots=True)
class _Watched:
    """A request: the images it did not carry, and the word for what first changed what it sent."""

    withheld: Withheld
    word: str | None = None
    fresh: bool = False
    """Rows of its own, which no other request has."""


class Watch:
    """Reads a log, and knows of each request the first event behind it that changed what it had
    sent: a clear followed by a resume is a clear, and a resume under the same recipe changed
    nothing. An event costs the same however long the log is; `keep` bounds what is watched.
    """

    def __init__(self) -> None:
        self._tracker = StartTracker()
        self._recipe: Recipe | None = None
        self._opaque: list[int] = []
        """Replies with opaque reasoning: the first in this context, and the last."""
        self._images: dict[str, int] = {}
        self._requests: dict[int, _Watched] = {}

    def feed(self, event: Event) -> None:
        """Takes the next event of the log, or of the part of it that later windows need."""
        place = self._tracker.place
        self._tracker.feed(event)
        if self._tracker.place != place:
            self._opaque.clear()
        if (change := self._change(event, place)) is not None:
            word, first = change
            for seq, watched in self._requests.items():
                watched.word = watched.word or (word if seq > first else None)
        match event:
            case LlmRequest():
                if event.ctx == place.ctx:
                    self._compare(blocks.recorded(event))
                self._requests[event.seq] = _Watched(
                    blocks.recorded(event), fresh=bool(event.fresh)
                )
            case AttachImage():
                self._images.setdefault(event.sha256, event.seq)
            case ToolResult():
                for image in event.images:
                    self._images.setdefault(image.sha256, event.seq)
            case _:
                pass

    def keep(self, seqs: Collection[int]) -> None:
        """Forgets all requests but these."""
        self._requests = {seq: held for seq, held in self._requests.items() if seq in seqs}

    def ended(self, seq: int, withheld: Withheld) -> str | None:
        """The word for what first changed what the request at `seq` had sent, where the next one
        does not carry the images `withheld`; `None` where nothing did.
        """
        watched = self._requests[seq]
        changed = watched.word or self._other_images(seq, watched, withheld)
        return changed or (FRESH if watched.fresh else None)

    def _compare(self, withheld: Withheld) -> None:
        for seq, watched in self._requests.items():
            watched.word = watched.word or self._other_images(seq, watched, withheld)

    def _other_images(self, seq: int, watched: _Watched, withheld: Withheld) -> str | None:
        """The word for other images withheld than at `seq`, of those that there were."""
        changed = (sha256 for sha256, _ in withheld ^ watched.withheld)
        return IMAGE if any(self._images.get(sha256, seq) < seq for sha256 in changed) else None

    def _change(self, event: Event, place: Place) -> Change | None:
        """What an event changes; the conversation was at `place` before it."""
        change: Change | None = None
        match event:
            case SessionStart() | SessionResume() | SessionRecipe():
                change = self._by_recipe(event)
            case LlmResponse() if event.ctx == place.ctx:
                change = self._replaced(event)
            case LlmRequest():
                if event.elided and event.ctx == place.ctx:
                    change = TRIM, min(event.elided)
            case WindowReset():
                change = ("clear" if event.kind == "manual" else "rollover"), 0
            case WindowRewind():
                change = "rewind", event.to - 1
            case _ if self._tracker.place != place:
                change = "compaction", 0
            case ResultFold() | WindowEdit():
                change = ("fold" if isinstance(event, ResultFold) else "edit"), event.target
            case SummaryAdd() | SummaryRevoke():
                change = "summary", 0
            case _:
                pass
        return change

    def _by_recipe(self, event: SessionStart | SessionResume | SessionRecipe) -> Change | None:
        before, self._recipe = self._recipe, event.recipe
        if before is None or before == event.recipe:
            return None
        if blocks.shape(before) != blocks.shape(event.recipe):
            return ("resume" if isinstance(event, SessionResume) else "model_switch"), 0
        if before.keep_reasoning != event.recipe.keep_reasoning and self._opaque:
            return "parameter_switch", self._opaque[0]
        return None

    def _replaced(self, reply: LlmResponse) -> Change | None:
        """What a new reply takes out where only the latest one's opaque reasoning goes back."""
        before = self._opaque[-1:]
        if blocks.has_asked_for(reply):
            self._opaque = [*self._opaque[:1], reply.seq]
        is_latest_only = self._recipe is not None and self._recipe.keep_reasoning == "latest"
        return (REASONING, before[0]) if before and is_latest_only else None
