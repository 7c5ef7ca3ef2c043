"""When a session may compact by itself again: folded from its log, so a resume knows (AGT-16)."""

from nodwyn_tui.domain.events import (
    ContextClose,
    ContextOpen,
    Event,
    LlmRequest,
    Note,
    WindowReset,
)
from nodwyn_tui.domain.recipe import WindowLimits
from nodwyn_tui.window import handover
from nodwyn_tui.window.build import ENDLESS

FAILED = "compaction"
"""Why a note is there that tells the person of a compaction that came to nothing."""


class Growth:
    """Follows the conversation: once a compaction came to something, came to nothing or was undone,
    the window must grow from what the next request has.
    """

    def __init__(self) -> None:
        self._settled = False
        self._from: int | None = None

    def feed(self, event: Event) -> None:
        """Takes the next event of the log."""
        match event:
            case ContextOpen(kind=handover.KIND) | ContextClose(report=handover.UNDONE):
                self._settled = True
            case Note(why=why) if why == FAILED:
                self._settled = True
            case LlmRequest(purpose="turn") if self._settled:
                self._settled, self._from = False, event.estimate
            case WindowReset():
                self._settled, self._from = False, None
            case _:
                pass

    def enough(self, marks: WindowLimits) -> int:
        """The tokens that a window must have for the next try: half of what lies between the marks
        more than it had, and none is enough before anything was asked in it.
        """
        if self._settled:
            return ENDLESS
        if self._from is None:
            return 0
        return self._from + (marks.high_water - marks.low_water) // 2
