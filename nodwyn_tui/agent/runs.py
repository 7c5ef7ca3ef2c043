"""The runs of one session: one at a time, and what is typed meanwhile waits."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import replace

from nodwyn_tui.agent.asking import Asker
from nodwyn_tui.agent.attachments import Attachments
from nodwyn_tui.agent.calls import CallRunner
from nodwyn_tui.agent.compaction import Compaction
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.ending import Ending, report
from nodwyn_tui.agent.fitting import Fitting
from nodwyn_tui.agent.loaded import LoadedContext
from nodwyn_tui.agent.parts import Parts
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.turn import Turn
from nodwyn_tui.agent.waiting import Waiting
from nodwyn_tui.agent.words import NOTHING, Words, joined
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import BlockedError, NodwynError, ProviderError, StoreError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up


class Runs:
    """Begins them, ends them, tells of them. `before` is called before one begins, `after` once one
    has ended; `switch` goes over to a fallback.
    """

    def __init__(
        self,
        parts: Parts,
        compaction: Compaction,
        emit: Emit,
        before: Callable[[], None],
        switch: Callable[[Target], Awaitable[None]],
        after: Callable[[], Awaitable[None]],
    ) -> None:
        self._parts, self._compaction, self._emit = parts, compaction, emit
        self._conversation = parts.conversation
        self._before, self._switch, self._after = before, switch, after
        self._run: asyncio.Task[None] | None = None
        self._loaded = LoadedContext()
        self.attachments = Attachments(parts.studio, lambda: parts.target, emit)
        parts.toolbox.attachments = self.attachments
        self.waiting = Waiting(parts.conversation, emit, self.attachments.returned)
        self.crashed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def running(self) -> bool:
        """Whether a run goes on, or anything else that was begun here."""
        return self._run is not None and not self._run.done()

    def send(self, command: commands.Send) -> None:
        """A message: starts a run, or waits for the one that goes on."""
        words = Words(clean(command.text), self.attachments.chosen(command.images))
        if self.running:
            self.waiting.add(words, steer=command.steer)
        else:
            self._say([*self.waiting.take_all(), words])

    def go_on(self) -> None:
        """Continue after a limit, an error or an interruption."""
        if not self.running:
            self._start(ev.UserMessage(text="Continue.", via="continue"))

    def _say(self, said: Sequence[Words]) -> None:
        """Begins a run with several messages as one. Those that had waited and are given back wait
        no more, else they would come back once more when the session is opened again.
        """
        words = joined(said)
        if not self._start(words.message(), words):
            self.waiting.given_back(said)

    def begin(self, work: Coroutine[None, None, None]) -> None:
        """Something that goes on until it ends or is stopped, as a run does."""
        self._run = asyncio.create_task(work)
        self._run.add_done_callback(self.watch)

    def send_waiting(self) -> None:
        """Begins a run with what waits, if anything does."""
        if waiting := self.waiting.take_all():
            self._say(waiting)

    async def stop(self) -> None:
        """Stops what goes on, and waits until everything it had started has ended (AGT-3)."""
        if self._run is not None and not self._run.done():
            self._run.cancel()
            await asyncio.wait([self._run])

    def _start(self, message: ev.UserMessage, words: Words = NOTHING) -> bool:
        """Records the person's message and begins a run; whether it is recorded. A disk that
        refuses the message gives it back to the prompt; one that fits no window is kept, and marked
        as not sent, and its images go back.
        """
        conversation, images = self._conversation, words.attached()
        self._before()
        conversation.begin_run()
        try:
            self._parts.instructing.tell()
            fit = Fitting(conversation, self._parts.target, self._parts.counting)
            drafts = self._parts.rollover.admitted("on-send", fit, message, images)
            if isinstance(drafts, ev.BudgetBlocked):
                conversation.append(replace(message, rejected=True), drafts, must=True)
                self.waiting.reject(words)
                self._tell_end(Ending.of(BlockedError(drafts.reason)))
                return True
            *_, last = conversation.append(*drafts, must=True)
        except StoreError as error:
            back = self.attachments.returned(words.images)
            self._emit(up.NotSent(text=message.text, reason=str(error), images=back))
            self._tell_end(Ending.of(error))
            return False
        self._forget_draft(message.text)
        self._emit(up.RunStarted(run=last.run))
        self.begin(self._running())
        return True

    def _forget_draft(self, text: str) -> None:
        if self._parts.draft is None:
            return
        try:
            self._parts.draft.sent(text)
        except StoreError as error:
            self._emit(
                up.Notice(level="warning", text=f"the prompt's history is not kept: {error}")
            )

    def watch(self, task: "asyncio.Task[None]") -> None:
        """A bug in a run ends the worker visibly, in place of a run that never ends."""
        if not task.cancelled() and (error := task.exception()) and not self.crashed.done():
            self.crashed.set_exception(error)

    async def _running(self) -> None:
        """One run, from its message to its end; then what was queued meanwhile."""
        parts, conversation = self._parts, self._conversation
        asker = Asker(parts, self._emit)
        runner = CallRunner(conversation, parts.toolbox, parts.gate, self._emit, parts.clock)
        turn = Turn(
            conversation,
            asker,
            self._compaction,
            parts.rollover,
            runner,
            parts.toolbox,
            self.waiting,
            self._loaded,
            parts.limits,
            self._take_over,
            parts.instructing.tell,
        )
        try:
            ending = await turn.run()
        except asyncio.CancelledError:
            ending = Ending("interrupted", "interrupted")
        except NodwynError as error:
            ending = Ending.of(error)
        conversation.append(ev.RunEnd(why=ending.why))
        conversation.log.archive.keep_up()
        self._tell_end(ending)
        await self._after()
        if ending.why == "done":
            self.send_waiting()

    async def _take_over(self, asker: Asker, error: ProviderError) -> bool:
        """The fallback goes on where the model failed for good; whether it does (PRV-14)."""
        parts = self._parts
        target = await parts.fallback.take_over(
            self._conversation, parts.target, error, parts.clock.now(), self._switch
        )
        asker.target = target or asker.target
        return target is not None

    def _tell_end(self, ending: Ending) -> None:
        self._emit(report(self._conversation.run, ending))
        self._emit(self._conversation.meter(self._parts.target))
