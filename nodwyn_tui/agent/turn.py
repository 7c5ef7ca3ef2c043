"""The turn loop: ask, run the calls, ask again, until the model is done or something ends it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from nodwyn_tui.agent.asking import Answer, Asker
from nodwyn_tui.agent.calls import CallRunner
from nodwyn_tui.agent.compaction import Compaction
from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.ending import Ending
from nodwyn_tui.agent.limits import Limits
from nodwyn_tui.agent.loaded import LoadedContext
from nodwyn_tui.agent.rollover import Rollover
from nodwyn_tui.agent.toolbox import Toolbox
from nodwyn_tui.agent.waiting import Waiting
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.errors import ProviderError, StoreError
from nodwyn_tui.window.budget import Reason

SAME_FAILURES = 3
"""How often the same failing call is answered before the model is told; twice that ends the run."""

CUT_REPLIES = 2
"""How many replies in a row may be cut in the middle of a call (C32)."""


class Turn:
    """One run of the session. What is typed meanwhile comes from `waiting`; `instruct` tells of
    files of instructions.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - each is a part of its own
        self,
        conversation: Conversation,
        asker: Asker,
        compaction: Compaction,
        rollover: Rollover,
        runner: CallRunner,
        toolbox: Toolbox,
        waiting: Waiting,
        loaded: LoadedContext,
        limits: Limits,
        take_over: Callable[[Asker, ProviderError], Awaitable[bool]],
        instruct: Callable[[], None],
    ) -> None:
        self._conversation, self._asker, self._runner = conversation, asker, runner
        self._compaction, self._rollover = compaction, rollover
        self._toolbox, self._waiting, self._limits = toolbox, waiting, limits
        self._loaded, self._take_over = loaded, take_over
        self._instruct = instruct
        self._failures: dict[tuple[str, str], int] = {}
        self._cuts = 0

    async def run(self) -> Ending:
        """Until the model has nothing more to do. Errors of the provider, the disk and the budget
        are the caller's; each call has its one result by then.
        """
        try:
            async with asyncio.timeout(self._limits.max_seconds) as patience:
                return await self._loop()
        except TimeoutError:
            if not patience.expired():
                raise
            return self._limits.out_of_time()

    async def _loop(self) -> Ending:
        steps, settled = 0, False
        while True:
            if ending := self._over_limit(steps):
                return ending
            if settled:
                self._rollover.after_step(self._asker.fit)
            if asked := await self._compaction.when_due(self._asker):
                steps += asked
                if ending := self._over_limit(steps):
                    return ending
            self._instruct()  # a window that a compaction began holds none of it
            answer = await self._answer()
            steps += 1
            if steps == 1:
                await self._look_at_load()
            if answer.calls:
                self._toolbox.originals.update(answer.originals)
                await self._runner.run(answer.calls, self._cut_at(answer))
                if ending := self._stuck(answer):
                    return ending
                self._instruct()
            told = self._tell_steers("mid-run" if answer.calls else "on-send")
            if not answer.calls and not told:
                return _ending_of(answer)
            settled = not told  # else it was decided with what was told

    async def _answer(self) -> Answer:
        """The model's, else that of the one which takes over from it."""
        try:
            return await self._asker.ask()
        except ProviderError as error:
            if not await self._take_over(self._asker, error):
                raise
        self._rollover.taken_over(self._asker.fit)
        return await self._asker.ask()

    async def _look_at_load(self) -> None:
        if remark := await self._loaded.remark(self._asker.target):
            note = ev.Note(text=remark, audience="person", why="loaded")
            self._conversation.append(note)

    def _tell_steers(self, reason: Reason) -> bool:
        """Tells the model what was typed meanwhile; what the disk refuses goes on waiting, and what
        fits no window is marked as not sent. `reason` is that of a rollover which it carries.
        """
        steers, told = self._waiting.take_steers(), False
        for at, words in enumerate(steers):
            message, images = ev.UserMessage(text=words.text, via="steer"), words.attached()
            try:
                fit = self._asker.fit
                drafts = self._rollover.admitted(reason, fit, message, images)
                if isinstance(drafts, ev.BudgetBlocked):
                    self._conversation.append(replace(message, rejected=True), drafts, must=True)
                    self._waiting.reject(words)
                else:
                    self._conversation.append(*drafts, must=True)
                    told = True
            except StoreError:
                self._waiting.put_back(steers[at:])
                raise
        return told

    def _cut_at(self, answer: Answer) -> int | None:
        cut = answer.response.finish == "length" or _cut_calls(answer)
        return self._conversation.recipe.max_output if cut else None

    def _over_limit(self, steps: int) -> Ending | None:
        return self._limits.reached(steps, self._conversation.run.totals)

    def _stuck(self, answer: Answer) -> Ending | None:
        """The same failing call, or replies cut in a call's middle, again and again (AGT-5)."""
        self._cuts = self._cuts + 1 if _cut_calls(answer) else 0
        if self._cuts >= CUT_REPLIES:
            return Ending(
                "limit",
                f"the model's replies were cut in the middle of a call {self._cuts} times in a row:"
                " ask for smaller steps, or raise max_output",
            )
        for call in answer.calls:
            key = (call.name, call.arguments)
            if call.call_id not in self._conversation.run.failed:
                self._failures.pop(key, None)
                continue
            count = self._failures[key] = self._failures.get(key, 0) + 1
            if count == SAME_FAILURES:
                self._conversation.append(ev.Note(text=_warned(call.name), audience="both"))
            elif count >= 2 * SAME_FAILURES:
                return Ending("limit", f"{call.name} failed {count} times with the same arguments")
        return None


def _cut_calls(answer: Answer) -> bool:
    """Whether a call's arguments only lack their end."""
    found = (read_arguments(text) for text in answer.originals.values())
    return any(isinstance(each, Malformed) and each.cut for each in found)


def _warned(tool: str) -> str:
    return (
        f"{tool} failed {SAME_FAILURES} times with the same arguments. Do something else, or tell"
        " the person what is in the way."
    )


def _ending_of(answer: Answer) -> Ending:
    response = answer.response
    if response.finish == "length":
        return Ending("limit", "the reply was cut at its length limit")
    if response.finish == "filtered":
        return Ending("error", "the provider withheld the reply")
    return Ending("done")
