"""One open session: its log, its model, its runs. Everything a front asks of it, save opening."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from nodwyn_tui.agent import spend
from nodwyn_tui.agent.asking import Asker
from nodwyn_tui.agent.bodies import text_of
from nodwyn_tui.agent.calls import LOST, CallRunner
from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.gate import Gate
from nodwyn_tui.agent.recipes import resumed_recipe
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.toolbox import Toolbox
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.agent.turn import Ending, Limits, Turn
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.errors import BlockedError, NodwynError, ProviderError, StoreError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store import places
from nodwyn_tui.store.draft import Draft
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.window.entries import fixed_tokens, message_tokens
from nodwyn_tui.window.tasks import task_row

EXIT_CODES: dict[ev.RunEndWhy, int] = {
    "done": 0,
    "interrupted": 130,
    "limit": 1,
    "error": 1,
    "blocked": 5,
}
AUTO_REFUSED = (
    "mode auto runs everything unasked, so it needs a sandbox, and this build has none yet."
    " `nodwyn run --yes --no-sandbox` accepts the risk for one run."
)


@dataclass(slots=True, kw_only=True)
class Parts:
    """What a session is put together from. `unsandboxed_auto` says that mode `auto` was asked for
    without a sandbox, in so many words.
    """

    conversation: Conversation
    target: Target
    toolbox: Toolbox
    gate: Gate
    draft: Draft
    clock: Clock
    limits: Limits = field(default_factory=Limits)
    unsandboxed_auto: bool = False


class Session:
    """Runs, one at a time; what is typed meanwhile waits."""

    def __init__(self, parts: Parts, emit: Emit) -> None:
        self._parts, self._emit = parts, emit
        self._conversation = parts.conversation
        self._run: asyncio.Task[None] | None = None
        self.crashed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue: list[str] = []
        self._steers: list[str] = []

    @property
    def name(self) -> str:
        """The session's id."""
        return self.log_path.parent.name

    @property
    def log_path(self) -> Path:
        """Where the log lies."""
        return self._conversation.log.path

    @property
    def target(self) -> Target:
        """The model that is asked."""
        return self._parts.target

    @property
    def model(self) -> str:
        """The model's name, as `/model` takes it."""
        return self._parts.target.ref.name

    @property
    def mode(self) -> ev.Mode:
        """The approval mode."""
        return self._parts.gate.mode

    @property
    def transcript(self) -> Transcript:
        """The entries and their bodies."""
        return self._conversation.transcript

    def entries(self) -> tuple[up.Entry, ...]:
        """The transcript so far; only the latest entries bear their bodies."""
        return self._conversation.transcript.shown()

    def undelivered(self) -> list[str]:
        """Messages that were queued when an earlier process ended, and never sent."""
        waiting: list[str] = []
        for event in self._conversation.events:
            if isinstance(event, ev.UserQueued) and not event.dropped:
                waiting.append(event.text)
            elif isinstance(event, ev.UserMessage):
                waiting = [text for text in waiting if text not in event.text]
        return waiting

    @property
    def running(self) -> bool:
        """Whether a run goes on."""
        return self._run is not None and not self._run.done()

    def repair(self) -> None:
        """After a crash: calls without a result get one, an open run its end. Nothing is run."""
        open_calls = self._conversation.open_calls()
        for call in open_calls:
            self._conversation.append(
                ev.ToolResult(call_id=call.call_id, name=call.name, text=LOST, is_error=True)
            )
        if open_calls or _run_is_open(self._conversation.events):
            self._conversation.append(ev.RunEnd(why="interrupted"))

    def send(self, command: commands.Send) -> None:
        """A message: starts a run, or waits for the one that goes on."""
        text = clean(command.text)
        if self.running:
            waiting = self._steers if command.steer else self._queue
            waiting.append(text)
            when: Literal["steer", "queue"] = "steer" if command.steer else "queue"
            self._conversation.append(ev.UserQueued(text=text, when=when))
            self._tell_queue()
            return
        text = "\n\n".join([*self._take(self._queue), text])
        self._start(ev.UserMessage(text=text))

    def go_on(self) -> None:
        """Continue after a limit, an error or an interruption."""
        if not self.running:
            self._start(ev.UserMessage(text="Continue.", via="continue"))

    async def interrupt(self) -> None:
        """Stops the run, and waits until everything it had started has ended (AGT-3)."""
        if self._run is not None and not self._run.done():
            self._run.cancel()
            await asyncio.wait([self._run])

    async def wait(self) -> None:
        """Until no run goes on."""
        while self.running and self._run is not None:
            await asyncio.wait([self._run])

    def answer(self, command: commands.Answer) -> None:
        """The person's answer to a call that waits."""
        try:
            self._parts.gate.answer(command)
        except NodwynError as error:
            self._emit(up.Notice(level="error", text=f"not saved, still waiting: {error}"))

    def set_mode(self, mode: ev.Mode) -> None:
        """Changes the approval mode; `auto` waits for a sandbox."""
        if mode == "auto" and not self._parts.unsandboxed_auto:
            self._emit(up.ModeChanged(mode=self._parts.gate.mode, refused=AUTO_REFUSED))
            return
        if mode != self._parts.gate.mode:
            self._conversation.append(ev.ModeChange(mode=mode))
            self._parts.gate.set_mode(mode)
        self._emit(up.ModeChanged(mode=mode))

    def switch_model(self, target: Target) -> None:
        """Asks another model from now on; the recipe is recorded anew with its sizes (ENG-8)."""
        recipe = resumed_recipe(self._conversation.ruling, target)
        start = next(e for e in self._conversation.events if isinstance(e, ev.SessionStart))
        self._conversation.append(
            ev.SessionRecipe(
                session=start.session, workspace=start.workspace, app=start.app, recipe=recipe
            ),
            must=True,
        )
        self._parts.target = target
        self._conversation.priced(target.price)
        self._emit(
            up.ModelChanged(
                model=target.ref.name, server=target.ref.server, provider=target.ref.provider
            )
        )
        self.tell_meter()

    def clear(self) -> None:
        """A new window; what stood before stays in the log and is sent no more."""
        usage = self._conversation.window().estimate
        self._conversation.append(
            ev.WindowReset(kind="manual", reason="clear", context_tokens=usage), must=True
        )
        self.tell_meter()

    def tell_meter(self) -> None:
        """Sends the context meter as it stands."""
        self._emit(self._conversation.meter(self._parts.target))

    @property
    def empty(self) -> bool:
        """Whether the person has said nothing in this session."""
        return not any(isinstance(event, ev.UserMessage) for event in self._conversation.events)

    async def close(self) -> None:
        """Ends the run and the session in order; what the disk refused is tried once more."""
        await self.interrupt()
        await self._parts.toolbox.close()
        if not self.empty:
            self._conversation.append(ev.SessionEnd(why="closed"))
        self._conversation.log.close()
        if self.empty:
            places.discard(self.log_path.parent)
        await self._parts.target.provider.aclose()

    def _start(self, message: ev.UserMessage) -> None:
        """Records the person's message and begins a run. A disk that refuses the message keeps it
        in the draft; one that can fit no window is kept, and marked as not sent.
        """
        try:
            if not self._fits(message):
                self._reject(message)
                return
            recorded, *_ = self._conversation.append(message, must=True)
        except StoreError as error:
            self._emit(up.NotSent(text=message.text, reason=str(error)))
            self._end(Ending("error", str(error)), 0, error)
            return
        self._forget_draft(message.text)
        self._emit(up.RunStarted(run=recorded.run))
        self._run = asyncio.create_task(self._running(recorded.seq))
        self._run.add_done_callback(self._watch)

    def _forget_draft(self, text: str) -> None:
        try:
            self._parts.draft.sent(text)
        except StoreError as error:
            self._emit(
                up.Notice(level="warning", text=f"the prompt's history is not kept: {error}")
            )

    def _watch(self, task: "asyncio.Task[None]") -> None:
        """A bug in a run ends the worker visibly, in place of a run that never ends."""
        if not task.cancelled() and (error := task.exception()) and not self.crashed.done():
            self.crashed.set_exception(error)

    def _fits(self, message: ev.UserMessage) -> bool:
        """Whether the message, alone with the fixed prefix, stays below the ceiling."""
        recipe = self._conversation.ruling
        own = message_tokens(task_row(message, recipe))
        return fixed_tokens(recipe.system, recipe.tools) + own <= recipe.window.ceiling

    def _reject(self, message: ev.UserMessage) -> None:
        recipe = self._conversation.ruling
        size, ceiling = len(message.text.encode()) // 3, recipe.window.ceiling
        reason = (
            f"the message alone is about {size:,} tokens, where a request may hold {ceiling:,}"
            " with the system prompt and tools"
        )
        remedies = (
            "shorten it, or put it into a file and name the file",
            "/model picks a model with a larger context",
        )
        figures = {"message": size, "ceiling": ceiling, "context": recipe.num_ctx}
        rejected = ev.UserMessage(text=message.text, via=message.via, rejected=True)
        blocked = ev.BudgetBlocked(reason=reason, figures=figures, remedies=remedies)
        self._conversation.append(rejected, blocked, must=True)
        self._end(Ending("blocked", reason), 0, BlockedError(reason))

    async def _running(self, since: int) -> None:
        """One run, from its message to its end; then what was queued meanwhile."""
        parts = self._parts
        asker = Asker(self._conversation, parts.target, self._emit, parts.clock)
        runner = CallRunner(self._conversation, parts.toolbox, parts.gate, self._emit, parts.clock)
        turn = Turn(self._conversation, asker, runner, parts.toolbox, parts.limits, parts.clock)
        failure: NodwynError | None = None
        try:
            ending = await turn.run(lambda: self._take(self._steers))
        except asyncio.CancelledError:
            ending = Ending("interrupted", "interrupted")
        except BlockedError as error:
            ending, failure = Ending("blocked", str(error)), error
        except NodwynError as error:
            ending, failure = Ending("error", str(error)), error
        self._end(ending, since, failure)
        if ending.why == "done" and (
            waiting := [*self._take(self._steers), *self._take(self._queue)]
        ):
            self._start(ev.UserMessage(text="\n\n".join(waiting)))

    def _end(self, ending: Ending, since: int, failure: NodwynError | None) -> None:
        conversation = self._conversation
        conversation.append(ev.RunEnd(why=ending.why))
        later = [event for event in conversation.events if event.seq > since]
        replies = [event for event in later if isinstance(event, ev.LlmResponse)]
        requests = [event for event in later if isinstance(event, ev.LlmRequest)]
        usage = spend.summed(reply.usage for reply in replies)
        self._emit(
            up.RunEnded(
                why=ending.why,
                text=text_of(replies[-1]) if replies else "",
                requests=len(requests),
                usage=replace(usage, cost_usd=conversation.cost(since)),
                message=ending.message,
                kind=failure_kind(failure),
                remedy=failure.remedy if isinstance(failure, ProviderError) else "",
                changed_files=tuple(sorted(conversation.changed_files)),
                exit_code=failure.exit_code if failure else EXIT_CODES[ending.why],
            )
        )
        self.tell_meter()

    def _take(self, waiting: list[str]) -> list[str]:
        taken = list(waiting)
        waiting.clear()
        if taken:
            self._tell_queue()
        return taken

    def _tell_queue(self) -> None:
        self._emit(up.Queued(texts=(*self._steers, *self._queue)))


def failure_kind(failure: NodwynError | None) -> str:
    """A failure's kind for `errors`: a provider's own word, else whose turn it is."""
    if failure is None:
        return ""
    if isinstance(failure, ProviderError):
        return failure.kind
    return type(failure).__name__.removesuffix("Error").lower()


def _run_is_open(events: Sequence[ev.Event]) -> bool:
    """Whether the last run has no end."""
    for event in reversed(events):
        if isinstance(event, ev.RunEnd | ev.SessionStart):
            return False
        if isinstance(event, ev.UserMessage | ev.LlmRequest):
            return True
    return False
