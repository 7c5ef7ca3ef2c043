"""One open session: its log, its model, its runs. Everything a front asks of it, save opening."""

import contextlib
from pathlib import Path

from nodwyn_tui.agent.adopting import Adopting
from nodwyn_tui.agent.asking import Asker
from nodwyn_tui.agent.calls import LOST
from nodwyn_tui.agent.compact_command import CompactCommand
from nodwyn_tui.agent.compaction import Compaction
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.editing import BUSY, Editing
from nodwyn_tui.agent.pages import Pages
from nodwyn_tui.agent.parts import Parts
from nodwyn_tui.agent.remembered import shown
from nodwyn_tui.agent.runs import Runs
from nodwyn_tui.agent.sight import host_of
from nodwyn_tui.agent.skills import SessionSkills
from nodwyn_tui.agent.switching import Cold, cold, recorded
from nodwyn_tui.agent.target import Target
from nodwyn_tui.agent.words import Words, joined
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.recipe import Strategy
from nodwyn_tui.errors import NodwynError, UsageError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store import places

Settling = commands.AcceptCompaction | commands.DropCompaction | commands.UndoCompaction
Edit = commands.PriceEdit | commands.EditWindow | commands.ListMessages | commands.TakeBack

AUTO_REFUSED = (
    "mode auto runs everything unasked, so it needs a sandbox, and this build has none yet."
    " `nodwyn run --yes --no-sandbox` accepts the risk for one run."
)


class Session:
    """A session as its worker sees it; its runs are `runs`'s."""

    def __init__(self, parts: Parts, emit: Emit) -> None:
        self._parts, self._emit = parts, emit
        self._conversation = parts.conversation
        self._compaction = Compaction(parts.conversation)
        self._compact = CompactCommand(parts.conversation, self._compaction, emit)
        self.adopting = Adopting(parts, emit, self.switch_model, lambda: self.running)
        self._runs = Runs(
            parts,
            self._compaction,
            emit,
            before=self._compact.let_go,
            switch=self.switch_model,
            after=self.adopting.settle,
        )
        self._editing = Editing(
            parts.conversation, emit, parts.clock, self._runs.attachments.returned
        )
        talk = parts.conversation
        self._pages = Pages(talk.transcript, talk.log.archive, talk.standing)

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
    def has_tools(self) -> bool:
        """Whether the session's catalogue holds any."""
        return bool(self._conversation.recipe.tools)

    @property
    def strategy(self) -> Strategy:
        """What happens when the window fills."""
        return self._conversation.recipe.strategy

    @property
    def mode(self) -> ev.Mode:
        """The approval mode."""
        return self._parts.gate.mode

    @property
    def pages(self) -> Pages:
        """The transcript's earlier entries."""
        return self._pages

    @property
    def skills(self) -> SessionSkills:
        """The skills that it has, and has in use."""
        return self._parts.skills

    @property
    def instructions(self) -> tuple[str, ...]:
        """What the system prompt has of files of instructions, a line each."""
        return self._conversation.instructed.at_start()

    @property
    def runs(self) -> Runs:
        """Its runs."""
        return self._runs

    @property
    def running(self) -> bool:
        """Whether a run goes on."""
        return self._runs.running

    def repair(self) -> None:
        """After a crash: calls without a result get one, an open run its end, and a handover note
        that was asked for is asked for no more. Nothing is run.
        """
        open_calls = list(self._conversation.open_calls.values())
        for call in open_calls:
            self._conversation.append(
                ev.ToolResult(call_id=call.call_id, name=call.name, text=LOST, is_error=True)
            )
        if open_calls or self._conversation.ledger.facts.run_open:
            self._conversation.append(ev.RunEnd(why="interrupted"))
        self._compaction.take_back()

    def take_undelivered(self) -> Words:
        """What was queued when an earlier process ended, for the prompt: it is the person's again,
        and comes back no second time.
        """
        facts = self._conversation.ledger.facts
        images = facts.waiting_images
        waited = joined(Words(text, tuple(images.get(text, ()))) for text in list(facts.waiting))
        for text in list(facts.waiting):
            self._conversation.append(ev.UserQueued(text=text, dropped=True))
        return waited

    def compact(self, wish: str) -> None:
        """Asks for a handover note, for the person to look at."""
        if self.running:
            raise UsageError("/compact works once this run has ended (Esc stops it)")
        self._runs.begin(self._compacting(wish))

    def settle_compaction(self, command: Settling) -> None:
        """What the person makes of the note on offer, or of the latest compaction."""
        if self.running:
            raise UsageError("a compaction is settled between runs")
        match command:
            case commands.AcceptCompaction():
                self._compact.accept(clean(command.note))
            case commands.DropCompaction():
                self._compact.drop()
            case commands.UndoCompaction():
                self._compact.undo()
        self.tell_meter()
        if not self._compact.offers:
            self._runs.send_waiting()

    async def interrupt(self) -> None:
        """Stops the run, and waits until everything it had started has ended (AGT-3)."""
        await self._runs.stop()
        self._compact.let_go()

    async def answer(self, command: commands.Answer) -> None:
        """The person's answer to a call that waits."""
        try:
            await self._parts.gate.answer(command)
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

    async def switch_model(self, target: Target) -> None:
        """Asks another model from now on; the recipe is recorded anew with its sizes (ENG-8)."""
        self._compact.let_go()
        recipe = recorded(self._conversation, target)
        before, self._parts.target = self._parts.target, target
        self._emit(
            up.ModelChanged(
                model=target.ref.name,
                server=target.ref.server,
                provider=target.ref.provider,
                strategy=recipe.strategy,
            )
        )
        self._settle_images()
        self.tell_meter()
        # Last: Esc may come here, and the one that is asked from now on is open then.
        await before.provider.aclose()

    def confirm_images(self) -> None:
        """Images that wait for it may go to the host that is asked now (IMG-6)."""
        host = host_of(self.target)
        waiting = self._conversation.sight.unconfirmed()
        confirmed = (ev.AttachConfirm(sha256=sha, host=host) for sha in waiting)
        if waiting:
            self._conversation.append(*confirmed, must=True)
        self._settle_images()
        self.tell_meter()

    def _settle_images(self) -> None:
        """Which images the model that is asked now does not get, told where that changed."""
        sight = self._conversation.sight
        sight.settle(self.target)
        if news := sight.news(self.target):
            self._emit(news)

    def cold(self, target: Target) -> Cold:
        """What going over to a model costs."""
        return cold(self._conversation, target, self._parts.clock.now())

    @property
    def prompt_tokens(self) -> int:
        """What the next request has, by the estimate; 0 where nothing was said yet."""
        return self._conversation.window().estimate if self.spoken else 0

    def clear(self) -> None:
        """A new window; what stood before stays in the log and is sent no more."""
        usage, used = self._conversation.window().estimate, [*self.skills.in_use]
        self._conversation.append(
            ev.WindowReset(kind="manual", reason="clear", context_tokens=usage), must=True
        )
        if used:
            self._emit(up.Notice(level="info", text=f"put away: {', '.join(used)} (/skills)"))
        self.tell_meter()

    def edit(self, command: Edit) -> None:
        """Says what can be done in the window, or does it: between runs only."""
        match command:
            case commands.TakeBack():
                self._runs.waiting.take_back()
            case commands.EditWindow(entry_id=entry_id, action="rewrite"):
                self._editing.rewrite(entry_id)
            case commands.PriceEdit(entry_id=entry_id) if self.running:
                self._emit(up.EditPriced(entry_id=entry_id, options=(), why_not=BUSY))
            case _ if self.running:
                raise UsageError(BUSY)
            case commands.PriceEdit(entry_id=entry_id):
                self._emit(self._priced(entry_id))
            case commands.ListMessages():
                self._emit(self._editing.messages())
            case commands.EditWindow(entry_id=entry_id, action=action):
                self._compact.drop()  # a note on offer is of another window
                self._editing.do(entry_id, action)
                self.tell_meter()

    def _priced(self, entry_id: str) -> up.EditPriced:
        """What can be done with an entry, or why nothing can: who asked is answered in any case."""
        try:
            return self._editing.price(entry_id, self.target)
        except UsageError as error:
            return up.EditPriced(entry_id=entry_id, options=(), why_not=str(error))

    def show_memory(self, command: commands.ShowMemory) -> None:
        """Tells what is remembered between sessions."""
        talk, memory = self._conversation, self._parts.memory
        off = talk.recipe.fresh == "off"
        self._emit(shown(memory, command.files, talk.freshness.recall, off=off))

    def tell_meter(self) -> None:
        """Sends the context meter as it stands."""
        self._emit(self._conversation.meter(self._parts.target))

    @property
    def spoken(self) -> bool:
        """Whether the person has said anything in this session."""
        return bool(self._conversation.ledger.facts.spoken)

    async def close(self) -> None:
        """Ends the run and the session in order; what the disk refused is tried once more. A
        session of this process in which nothing was said leaves nothing behind.
        """
        async with contextlib.AsyncExitStack() as closing:
            closing.push_async_callback(self._parts.target.provider.aclose)
            closing.push_async_callback(self.adopting.close)
            if self._parts.created and not self.spoken:
                closing.callback(places.discard, self.log_path.parent, self._parts.state)
            closing.callback(self._conversation.close)
            closing.push_async_callback(self._parts.toolbox.close)
            closing.push_async_callback(self._parts.changes.close)
            await self._runs.attachments.close()
            await self.interrupt()
            if self.spoken or not self._parts.created:
                self._conversation.append(ev.SessionEnd(why="closed"))

    async def _compacting(self, wish: str) -> None:
        """A handover note on its way; what was typed meanwhile waits until it is settled."""
        try:
            await self._compact.offer(Asker(self._parts, self._emit), wish)
        except UsageError as error:
            self._emit(up.Notice(level="warning", text=str(error)))
        self.tell_meter()
        if not self._compact.offers:
            self._runs.send_waiting()
