"""Running the calls of a reply: judged, run side by side where they only read, each answered."""

import asyncio
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from nodwyn_tui.agent.approvals import Verdict
from nodwyn_tui.agent.conversation import Conversation, Emit
from nodwyn_tui.agent.gate import Gate, NobodyToAsk
from nodwyn_tui.agent.toolbox import Toolbox
from nodwyn_tui.agent.transcript import INTERRUPTED
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.errors import BlockedError, StoreError, ToolError
from nodwyn_tui.link import events as up
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.tools.base import Interrupted, Outcome, Tool
from nodwyn_tui.tools.registry import parse_arguments

STOPPED = f"{INTERRUPTED} by the person; it may have run in part"
NEVER_RAN = f"{INTERRUPTED} by the person before it ran"
UNRECORDED = (
    "not run: the disk takes no more of the session's log, so that nothing would tell of it"
)
LOST = (
    f"{INTERRUPTED}: the program ended before a result was recorded; the call may have run in part."
    " Look before you run it again."
)


class CallRunner:
    """Answers every call of a reply with exactly one result, whatever happens (C09, C10)."""

    def __init__(
        self, conversation: Conversation, toolbox: Toolbox, gate: Gate, emit: Emit, clock: Clock
    ) -> None:
        self._conversation, self._toolbox, self._gate = conversation, toolbox, gate
        self._emit, self._clock = emit, clock
        self._ran: set[str] = set()
        self._waited: dict[str, float] = {}
        """Seconds that a call waited for the person: they are no part of what it took."""

    async def run(self, calls: Sequence[ev.ToolCall], cut_at: int | None) -> None:
        """Runs the calls in order; neighbours that only read run side by side (AGT-2).

        `cut_at` is the reply cap in tokens if the reply was cut there. Raises `BlockedError` where
        a call needs a person and none is there, `StoreError` where the disk does not take the
        calls; each call has its result then, too.
        """
        blocked: list[str] = []
        unrun = UNRECORDED
        try:
            self._see_recorded()
            unrun = NEVER_RAN
            for group in self._groups(calls):
                async with asyncio.TaskGroup() as tasks:
                    for call in group:
                        tasks.create_task(self._answer(call, cut_at, blocked))
        finally:
            self.close_open(unrun)
        if blocked:
            raise BlockedError(self._needed(blocked))

    def _see_recorded(self) -> None:
        """Raises `StoreError` while lines wait for the disk, the calls' perhaps: after a crash
        nobody would know that they ran, and the model would make them again (ENG-3).
        """
        log = self._conversation.log
        if log.unsaved and not log.flush_held():
            raise StoreError(log.why)

    def _needed(self, patterns: Sequence[str]) -> str:
        """What would pass the calls that nobody was there to agree to, without their keys."""
        shown = [self._conversation.log.without_keys(pattern) for pattern in patterns]
        options = " ".join(f"--allow {shlex.quote(pattern)}" for pattern in shown)
        hidden = "" if shown == list(patterns) else " (with the key in place of its marker)"
        return f"a call needs approval and nobody is there to ask; pass {options}{hidden}"

    def close_open(self, text: str) -> None:
        """Gives every call that has no result one that says why."""
        for call in list(self._conversation.open_calls.values()):
            self._record(call, Outcome(text=text, is_error=True), None)

    def _groups(self, calls: Sequence[ev.ToolCall]) -> Iterator[list[ev.ToolCall]]:
        """Neighbouring reads together, everything else alone: a write is a barrier."""
        group: list[ev.ToolCall] = []
        for call in calls:
            tool = self._toolbox.tools.get(call.name)
            if tool is not None and tool.effect == "read":
                group.append(call)
                continue
            if group:
                yield group
            group = []
            yield [call]
        if group:
            yield group

    async def _answer(self, call: ev.ToolCall, cut_at: int | None, blocked: list[str]) -> None:
        began = self._clock.monotonic()
        try:
            outcome = await self._outcome(call, cut_at, blocked)
        except (ToolError, StoreError) as error:
            outcome = Outcome(text=str(error), is_error=True)
        except OSError as error:
            # The machine's own refusal (no room for a temporary file, a folder that may not be
            # looked into) is the call's failure, not the program's.
            outcome = Outcome(text=f"{call.name}: {error}", is_error=True)
        except Interrupted as stopped:
            # What the call had given by then goes back too.
            text = f"{STOPPED}. What it had given:\n{stopped.outcome.text}"
            self._record(call, replace(stopped.outcome, text=text, is_error=True), began)
            # The standard library's own timeouts know the plain error only.
            raise asyncio.CancelledError from stopped
        except asyncio.CancelledError:
            text = STOPPED if call.call_id in self._ran else NEVER_RAN
            self._record(call, Outcome(text=text, is_error=True), began)
            raise
        self._record(call, outcome, began)

    async def _outcome(self, call: ev.ToolCall, cut_at: int | None, blocked: list[str]) -> Outcome:
        tool = self._toolbox.tools.get(call.name)
        if tool is None:
            raise ToolError(
                f"there is no tool {call.name!r}; the tools are {', '.join(self._toolbox.tools)}"
            )
        original = self._toolbox.originals.pop(call.call_id, call.arguments)
        arguments = _arguments(tool, original, cut_at)
        context = self._toolbox.context(lambda line: self._progress(call, line))
        ask = await tool.describe(arguments, context)
        asked = self._clock.monotonic()
        try:
            verdict = await self._gate.settle(call, ask.effect or tool.effect, ask)
        except NobodyToAsk as needed:
            blocked.append(needed.pattern)
            verdict = Verdict("refused", by="nobody")
        finally:
            self._waited[call.call_id] = self._clock.monotonic() - asked
        self._decide(call, verdict)
        if verdict.decision == "refused":
            return Outcome(text=verdict.refusal(), is_error=True)
        self._ran.add(call.call_id)
        return await tool.run(arguments, replace(context, granted=ask))

    def _decide(self, call: ev.ToolCall, verdict: Verdict) -> None:
        self._conversation.append(
            ev.Approval(
                call_id=call.call_id,
                decision="allowed" if verdict.decision == "allowed" else "refused",
                scope=verdict.scope,
                reason=verdict.reason,
            )
        )

    def _record(self, call: ev.ToolCall, outcome: Outcome, began: float | None) -> None:
        took = None
        if began is not None:
            waited = self._waited.pop(call.call_id, 0.0)
            took = round((self._clock.monotonic() - began - waited) * 1000)
        self._conversation.append(
            ev.ToolResult(
                call_id=call.call_id,
                name=call.name,
                text=outcome.text,
                is_error=outcome.is_error,
                ms=took,
                artifact=outcome.artifact,
                lines=outcome.lines,
                images=outcome.images,
                changed=outcome.changed or None,
            ),
            *self._toolbox.confirmed(outcome.images),
        )

    def _progress(self, call: ev.ToolCall, line: str) -> None:
        entry = self._conversation.transcript.entry_of_call(call.call_id)
        if entry is not None:
            self._emit(up.CallOutput(id=entry.id, line=line))


def _arguments(tool: Tool[Any], text: str, cut_at: int | None) -> Any:
    """The call's arguments; `ToolError` for what was cut off, never a repair (C32)."""
    found = read_arguments(text)
    if cut_at is not None and isinstance(found, Malformed) and found.cut:
        raise ToolError(
            f"your reply was cut at its limit of {cut_at:,} tokens in the middle of this call's"
            " arguments; nothing was run. Do it in several smaller calls"
        )
    return parse_arguments(tool, text)
