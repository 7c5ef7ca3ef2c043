"""Where calls wait for the person: one question a call, answered by the front."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from nodwyn_tui.agent.approvals import Rules, Verdict, pattern_for
from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import NodwynError
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.tools.base import Ask, Effect

Save = Callable[[str], None]
"""Writes an "always" pattern to the person's config; raises `ConfigError` or `StoreError`."""


class NobodyToAsk(Exception):
    """A call needs the person and none is there; `pattern` is the `--allow` that would pass it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        super().__init__(pattern)


class Gate:
    """Settles each call: by rule, or by asking. Every verdict is recorded, automatic ones too."""

    def __init__(
        self, conversation: Conversation, rules: Rules, emit: Emit, save: Save, *, headless: bool
    ) -> None:
        self.rules = rules
        self.mode: ev.Mode = "ask"
        self._conversation, self._emit, self._save = conversation, emit, save
        self._headless = headless
        self._waiting: dict[str, _Waiting] = {}

    async def settle(self, call: ev.ToolCall, effect: Effect, ask: Ask) -> Verdict:
        """`allowed` or `refused`; raises `NobodyToAsk` where the person is needed and absent."""
        verdict = self.rules.verdict(self.mode, call.name, effect, ask)
        if verdict.decision == "ask":
            if self._headless:
                raise NobodyToAsk(pattern_for(call.name, ask))
            verdict = await self._asked(call, effect, ask)
        return verdict

    async def _asked(self, call: ev.ToolCall, effect: Effect, ask: Ask) -> Verdict:
        entry = self._conversation.transcript.entry_of_call(call.call_id)
        for told in self._conversation.transcript.waiting(call.call_id):
            self._emit(told)
        question = up.ApprovalAsked(
            call_id=call.call_id,
            entry_id=entry.id if entry else "",
            tool=call.name,
            title=ask.title,
            diff=ask.diff,
            command=ask.command,
            touches=ask.touches,
            pattern=pattern_for(call.name, ask),
            warning=_warning(ask),
        )
        waiting = _Waiting(question, effect, ask, asyncio.get_running_loop().create_future())
        self._waiting[call.call_id] = waiting
        self._emit(question)
        try:
            return await waiting.answer
        finally:
            del self._waiting[call.call_id]
            self._emit(up.ApprovalClosed(call_id=call.call_id))

    async def answer(self, answer: commands.Answer) -> None:
        """The person's answer; one that comes late, for a call that no longer waits, is dropped."""
        waiting = self._waiting.get(answer.call_id)
        if waiting is None or waiting.answer.done():
            return
        if not answer.allow:
            waiting.answer.set_result(Verdict("refused", "once", answer.reason, by="person"))
            return
        pattern = waiting.question.pattern
        if answer.scope == "always":
            try:
                await asyncio.to_thread(self._save, pattern)
            except NodwynError:
                self._emit(waiting.question)  # it waits on
                raise
            if waiting.answer.done():
                return
            self.rules = replace(self.rules, standing=(*self.rules.standing, pattern))
        elif answer.scope == "session":
            self.rules.session.append(pattern)
        waiting.answer.set_result(Verdict("allowed", answer.scope, by="person"))
        self._reconsider()

    def allow(self, patterns: tuple[str, ...]) -> None:
        """The standing patterns are these now: calls that wait and match one go on."""
        self.rules = replace(self.rules, standing=patterns)
        self._reconsider()

    def set_mode(self, mode: ev.Mode) -> None:
        """The mode changed: calls that wait and no longer need the person go on (C10)."""
        self.mode = mode
        self._reconsider()

    def _reconsider(self) -> None:
        for waiting in self._waiting.values():
            if waiting.answer.done():
                continue
            question = waiting.question
            verdict = self.rules.verdict(self.mode, question.tool, waiting.effect, waiting.ask)
            if verdict.decision != "ask":
                waiting.answer.set_result(verdict)


class _Waiting:
    """A call that waits: its question, and the answer to come."""

    def __init__(
        self,
        question: up.ApprovalAsked,
        effect: Effect,
        ask: Ask,
        answer: "asyncio.Future[Verdict]",
    ) -> None:
        self.question, self.effect, self.ask, self.answer = question, effect, ask, answer


def _warning(ask: Ask) -> str:
    if ask.outside:
        return "outside the workspace"
    return "a file that may hold secrets" if ask.secret else ""
