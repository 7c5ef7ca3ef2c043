"""What of a conversation fits a request: as a tokenizer counts it, or by the estimate, set right by
what the server counted for earlier prompts (PRV-7, ROL-6), and smaller once where the server
refuses it all the same (ENG-14).
"""

from dataclasses import dataclass

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.counting import Counting, Scale
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import BlockedError
from nodwyn_tui.window.build import ORDINARY, UNTRIMMED, Shape, Window

REMEDIES = (
    "/compact goes on in a new window, from a note of what was done",
    "/clear starts a new window in this session",
    "/model picks a model with a larger context",
    "a larger context can be set in the model's entry of config.toml",
)


@dataclass(frozen=True, slots=True)
class Fitting:
    """The requests to a model that its context holds."""

    conversation: Conversation
    target: Target
    counting: Counting

    @property
    def scale(self) -> Scale:
        """What measures a request to the model."""
        share = self.conversation.ledger.facts.calibration(self.target.ref.origin)
        return self.counting.scale(self.target, share)

    @property
    def ceiling(self) -> int:
        """The most tokens that a request may have."""
        return self.conversation.recipe.window.ceiling

    @property
    def room(self) -> int:
        """The most tokens, by our estimate, that a request with headroom may have."""
        return min(self.ceiling, self.scale.line(self.conversation.window(), self.ceiling))

    async def prepare(self) -> None:
        """Has a tokenizer that is needed loaded, and a long window counted, in a thread."""
        await self.scale.prepare(self.conversation.window(UNTRIMMED), self.ceiling)

    def over(self, window: Window, besides: int = 0) -> int:
        """What a window comes to, with so many tokens `besides`, where that is over the ceiling, 0
        where it fits.
        """
        counted = self.scale.over(window, self.ceiling - besides)
        return counted.tokens + besides if counted else 0

    def request(self, purpose: ev.Purpose) -> tuple[Shape, Window]:
        """The window of a request that fits: with a trim line of its own where the estimate is over
        the ceiling. A request for a handover note may pass high water, up to the ceiling (recipe
        10). Raises `BlockedError` where nothing fits.
        """
        if purpose == "turn" and self.conversation.recipe.strategy == "rollover":
            return self._whole()
        window = self.conversation.window()
        if purpose == "turn" and not self.over(window):
            return self.conversation.shaped(ORDINARY), window
        line = self.scale.line(window, self.ceiling) if purpose == "turn" else self.room
        shape = self.conversation.shaped(Shape(high_water=line))
        trimmed = self.conversation.window(shape)
        if tokens := self.over(trimmed):
            raise self.blocked(trimmed, self._needed(tokens), purpose)
        return shape, trimmed

    def _whole(self) -> tuple[Shape, Window]:
        """All of the window: a session that rolls over trims nothing (ROL-6)."""
        window = self.conversation.window(UNTRIMMED)
        if tokens := self.over(window):
            raise self.blocked(window, self._needed(tokens), "turn")
        if window.estimate > self.conversation.recipe.window.high_water:
            return self.conversation.shaped(UNTRIMMED), window
        return self.conversation.shaped(ORDINARY), self.conversation.window()

    def _needed(self, tokens: int) -> str:
        return f"about {tokens:,} tokens, where {self.ceiling:,} may be sent"

    def smaller(self, before: Window) -> tuple[Shape, Window] | None:
        """A window trimmed by force; `None` where nothing is left to trim."""
        shape = self.conversation.shaped(Shape(high_water=before.estimate * 3 // 4))
        trimmed = self.conversation.window(shape)
        return (shape, trimmed) if trimmed.estimate < before.estimate else None

    def blocked(self, window: Window, reason: str, purpose: ev.Purpose) -> BlockedError:
        """The error, which is recorded unless the conversation can go on without the answer."""
        blocked = BlockedError(f"the request does not fit and nothing is left to trim: {reason}")
        if purpose == "handover":
            return blocked
        recipe = self.conversation.recipe
        figures = {
            "estimate": window.estimate,
            "fixed": window.fixed,
            "ceiling": recipe.window.ceiling,
            "context": recipe.num_ctx,
        }
        self.conversation.append(
            ev.BudgetBlocked(reason=reason, figures=figures, remedies=REMEDIES)
        )
        return blocked
