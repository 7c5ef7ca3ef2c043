"""What of a conversation fits a request: by the estimate, set right by what the server counted for
earlier prompts (PRV-7), and smaller once where the server refuses it all the same (ENG-14).
"""

from dataclasses import dataclass

from nodwyn_tui.agent.conversation import Conversation
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

    @property
    def share(self) -> float:
        """The server's own count of a prompt over our estimate of it, at most so far."""
        return self.conversation.ledger.facts.calibration(self.target.ref.origin)

    @property
    def room(self) -> int:
        """The most tokens, by our estimate, that a request with headroom may have."""
        return int(self.conversation.recipe.window.ceiling / max(self.share, 1.0))

    def tokens(self, window: Window) -> int:
        """What a window comes to, in tokens."""
        return round(window.estimate * self.share)

    def request(self, purpose: ev.Purpose) -> tuple[Shape, Window]:
        """The window of a request that fits: with a trim line of its own where the estimate is over
        the ceiling. A request for a handover note may pass high water, up to the ceiling (recipe
        10). Raises `BlockedError` where nothing fits.
        """
        if purpose == "turn" and self.conversation.recipe.strategy == "rollover":
            return self._whole()
        ceiling, share = self.conversation.recipe.window.ceiling, self.share
        window = self.conversation.window()
        if purpose == "turn" and window.estimate * share <= ceiling:
            return self.conversation.shaped(ORDINARY), window
        line = int(ceiling / share) if purpose == "turn" else self.room
        shape = self.conversation.shaped(Shape(high_water=line))
        trimmed = self.conversation.window(shape)
        if trimmed.estimate * share > ceiling:
            needed = f"about {trimmed.estimate * share:,.0f} tokens, where {ceiling:,} may be sent"
            raise self.blocked(trimmed, needed, purpose)
        return shape, trimmed

    def _whole(self) -> tuple[Shape, Window]:
        """All of the window: a session that rolls over trims nothing (ROL-6)."""
        recipe = self.conversation.recipe
        window, ceiling = self.conversation.window(UNTRIMMED), recipe.window.ceiling
        if (tokens := self.tokens(window)) > ceiling:
            needed = f"about {tokens:,} tokens, where {ceiling:,} may be sent"
            raise self.blocked(window, needed, "turn")
        if window.estimate > recipe.window.high_water:
            return self.conversation.shaped(UNTRIMMED), window
        return self.conversation.shaped(ORDINARY), self.conversation.window()

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
