"""Rollover: where the window fills, the conversation goes on in a new one, and the old one stays in
the log (ROL-1 to ROL-8). When is `window/budget.py`'s to say, what the new window begins with
`window/lead_in.py`'s; nothing is appended before the request that follows is known to fit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from nodwyn_tui.agent.admission import does_not_fit, too_long
from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.fitting import Fitting
from nodwyn_tui.agent.fresh import Fresh
from nodwyn_tui.agent.instructing import Instructing
from nodwyn_tui.agent.quoted_images import with_images
from nodwyn_tui.agent.words import attached, images_behind
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.words import Mode
from nodwyn_tui.errors import BlockedError, StoreError
from nodwyn_tui.store.memory import Memory
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import Blocked, Reason, RollOver, Warn
from nodwyn_tui.window.build import UNTRIMMED, Window
from nodwyn_tui.window.rows import HISTORY_TOOL

MEMORY = "memory"

Drafts = tuple[ev.Event, ...]


@dataclass(frozen=True, slots=True)
class Rollover:
    """One session's. `mode` tells the approval mode."""

    conversation: Conversation
    fresh: Fresh
    memory: Memory
    instructing: Instructing
    mode: Callable[[], Mode]

    @property
    def active(self) -> bool:
        """Whether the session's strategy is this one."""
        return self.conversation.recipe.strategy == "rollover"

    def admitted(
        self,
        reason: Reason,
        fit: Fitting,
        message: ev.UserMessage,
        images: Sequence[ev.AttachImage] = (),
    ) -> Drafts | ev.BudgetBlocked:
        """What is to be appended, as one, for a message of the person: itself, behind a warning or
        what opens a new window where either is due; or why it can't be sent.
        """
        if self.active:
            return self._decided(reason, fit, (message, *images))
        blocked = too_long(message, self.conversation, fit.scale, images)
        return blocked or (message, *images)

    def after_step(self, fit: Fitting) -> None:
        """After a settled step to which the person said nothing: warns, or goes on in a new window,
        where either is due. Raises `BlockedError` where the window may be neither used nor left,
        `StoreError` where the disk refuses.
        """
        if not self.active:
            return
        drafts = self._decided("mid-run", fit, ())
        if isinstance(drafts, ev.BudgetBlocked):
            self.stop(drafts)
        elif drafts:
            self.conversation.append(*drafts, must=True)

    def taken_over(self, fit: Fitting) -> None:
        """Once another model goes on, which may hold less: what `after_step` does, and where no
        reply came yet, with the run's message again. Raises what `after_step` does.
        """
        if self.conversation.run.usages or not self.active:
            self.after_step(fit)
            return
        if fit.over(self._without_fresh(()), self.fresh.tokens(anew=False)):
            drafts = self.refused(fit)
            if isinstance(drafts, ev.BudgetBlocked):
                self.stop(drafts)
            self.conversation.append(*drafts, must=True)

    def refused(self, fit: Fitting) -> Drafts | ev.BudgetBlocked:
        """What opens a new window where the provider found the request too long (ROL-7): what was
        asked is asked again in it. Nothing where the window holds nothing else.
        """
        return self._decided("context-exceeded", fit, self._asked_again())

    def stop(self, blocked: ev.BudgetBlocked) -> NoReturn:
        """Records why no request can be made, and raises it as `BlockedError`."""
        self.conversation.append(blocked)
        raise BlockedError(blocked.reason)

    def _decided(self, reason: Reason, fit: Fitting, said: Drafts) -> Drafts | ev.BudgetBlocked:
        """What is to be appended before the next request, with what is `said` in it."""
        talk = self.conversation
        again = reason == "context-exceeded"  # it stands in the window already
        window = self._without_fresh(() if again else said)
        counted = fit.over(window, self.fresh.tokens(anew=False))
        decision = talk.budget.decide(
            reason, window, talk.recipe, history=self._offers(HISTORY_TOOL), counted=counted
        )
        match decision:
            case Blocked():
                return decision.event()
            case RollOver():
                return self._fitting(fit, self._batch(decision, said), anew=True)
            case Warn():
                warning = lead_in.warning(decision, notes=self._takes_notes())
                warned = self._fitting(fit, (warning, *said), anew=False)
                # What is said fits, else there were no warning: it is the warning that is too much.
                return warned if isinstance(warned, tuple) else said
            case None if again:
                return ()
            case None:
                return self._too_long(said, counted, anew=False) if counted else said

    def _fitting(self, fit: Fitting, drafts: Drafts, *, anew: bool) -> Drafts | ev.BudgetBlocked:
        """The drafts, where the request that they make fits, fresh context and all (ROL-6)."""
        window = self._without_fresh(drafts)
        tokens = fit.over(window, self.fresh.tokens(anew=anew))
        return self._too_long(drafts, tokens, anew=anew) if tokens else drafts

    def _too_long(self, drafts: Drafts, tokens: int, *, anew: bool) -> ev.BudgetBlocked:
        words = any(isinstance(each, ev.UserMessage) and each.via != "continue" for each in drafts)
        return does_not_fit(self.conversation.recipe, tokens, fresh_window=anew, said=words)

    def _without_fresh(self, drafts: Drafts) -> Window:
        """The whole window as if the drafts were recorded, without the fresh rows that the last
        request alone had: what the next one has of them is counted for itself.
        """
        window = self.conversation.window(UNTRIMMED, *drafts)
        return window.bare or window

    def _batch(self, over: RollOver, said: Drafts) -> Drafts:
        """What opens the new window: behind its input the images of what it quotes (C44), and what
        changed of the instructions that the system prompt has (ORD-11).
        """
        talk = self.conversation
        carried, skills = talk.carrying.now, talk.ledger.facts.skills
        rows = lead_in.batch(
            over, carried, talk.recipe, said or (lead_in.CONTINUE,), self._notes(), skills
        )
        quotes = any(isinstance(row, ev.WindowLeadIn) and row.asked for row in rows)
        if quotes:
            rows = with_images(talk, rows, carried.asked, at=len(rows))
        return (*rows, *self.instructing.anew())

    def _notes(self) -> str:
        """The notes, where no row of fresh context shows them."""
        if not self.fresh.leaves_notes:
            return ""
        try:
            return self.memory.text("context-notes").strip()
        except StoreError:
            return ""  # the lead-in goes without: they are the person's to mend

    def _asked_again(self) -> Drafts:
        """The run's message and its images, once more; in the middle of a run, to go on."""
        talk = self.conversation
        began = talk.event(talk.ledger.facts.run_start)
        if talk.run.usages or not isinstance(began, ev.UserMessage) or began.via == "continue":
            return (lead_in.CONTINUE,)
        images = images_behind(talk.event, began.seq)
        return (ev.UserMessage(text=began.text, via=began.via), *map(attached, images))

    def _takes_notes(self) -> bool:
        """Whether the model can write notes."""
        try:
            self.memory.check("context-notes")
        except StoreError:
            return False
        return self._offers(MEMORY) and self.mode() != "plan"

    def _offers(self, tool: str) -> bool:
        return any(spec.name == tool for spec in self.conversation.recipe.tools)
