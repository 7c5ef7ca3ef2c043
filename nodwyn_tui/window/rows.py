"""The messages of a conversation since its start, followed event by event (ENG-27): an event costs
what its own message costs, whatever stands before it. Trimmed is only what requests recorded; what
the next one trims is decided in `build.py`.
"""

import json
from dataclasses import replace

from nodwyn_tui.domain.events import (
    Event,
    GatePlan,
    LlmRequest,
    LlmResponse,
    Note,
    ToolResult,
    UserMessage,
    WindowReset,
)
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import AssistantRow, ToolRow
from nodwyn_tui.window import cuts, elision, tasks
from nodwyn_tui.window.contexts import CONVERSATION
from nodwyn_tui.window.entries import Entry, EntryState, entry
from nodwyn_tui.window.pairs import UNANSWERED, Exchange, kept_calls
from nodwyn_tui.window.policy import policy_for

READ_TOOL = "fs-read"
NO_OUTPUT = "(no output)"
NO_ANSWER = "(no answer)"


class Rows:
    """The entries under one recipe. `elided` is what requests of this window elided so far."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._policy = recipe, policy_for(recipe.version)
        self._begin()

    def _begin(self) -> None:
        self.elided: frozenset[int] = frozenset()
        self._entries: list[Entry] = []
        self._waiting: dict[str, Entry] = {}
        self._open: dict[str, Exchange] = {}

    def entries(self) -> list[Entry]:
        """All of them, in order. A plan or a note that was recorded while calls are being answered
        stands last until the next message that is not a result, so that nothing ever stands between
        calls and results.
        """
        return [*self._entries, *self._waiting.values()]

    def feed(self, event: Event) -> None:
        """The next event of the log."""
        if event.ctx != CONVERSATION:
            return
        match event:
            case ToolResult():
                self._answer(event)
            case LlmResponse():
                self._reply(event)
            case LlmRequest():
                # A window showed what waited, at its end: there it stays.
                self._settle()
                self._elide(event)
            case UserMessage(rejected=False):
                self._settle()
                self._entries.append(entry(event.seq, "user", tasks.task_row(event, self._recipe)))
            case GatePlan():
                row = tasks.plan_row(event, self._recipe)
                self._waiting["plan"] = entry(event.seq, "plan", row)
            case Note(audience="model" | "both"):
                row = tasks.note_row(event)
                self._waiting[f"note {event.seq}"] = entry(event.seq, "note", row)
            case WindowReset():
                self._begin()
            case _:
                pass

    def _settle(self) -> None:
        self._entries += self._waiting.values()
        self._waiting.clear()

    def _reply(self, reply: LlmResponse) -> None:
        parts = self._parts(reply)
        if not parts:
            return
        self._settle()
        exchange = Exchange(reply.seq, len(self._entries), kept_calls(reply))
        self._entries.append(
            entry(reply.seq, "assistant", AssistantRow(parts), whole=exchange.whole)
        )
        for call in exchange.calls:
            missing = ToolRow(call.id, call.name, True, (Text(UNANSWERED),))
            # It has no event of its own, and so no seq that could be elided.
            self._entries.append(entry(-reply.seq, "result", missing, batch=reply.seq, whole=False))
            self._open[call.id] = exchange

    def _parts(self, reply: LlmResponse) -> tuple[Thinking | Block | Text | Call, ...]:
        """What goes back of a reply: no blank text, no half-made calls; nothing if nothing is
        left.
        """
        cut_short = reply.finish == "interrupted"

        def goes_back(part: Thinking | Block | Text | Call) -> bool:
            match part:
                case Text():
                    return bool(part.text.strip())
                case Thinking():
                    return self._policy.thinking and bool(part.text.strip())
                case Block():
                    return self._policy.blocks and not cut_short
                case Call():
                    return not cut_short

        parts = tuple(part for part in reply.parts if goes_back(part))
        if parts and not any(isinstance(part, Text | Call) for part in parts):
            return (*parts, Text(NO_ANSWER))
        return parts

    def _answer(self, result: ToolResult) -> None:
        """A result takes the place of its call's. A reused id means the latest reply that used it;
        a second result, and one whose call is nowhere, belong to nobody (ENG-16).
        """
        exchange = self._open.get(result.call_id)
        if exchange is None or result.call_id in exchange.answered:
            return
        exchange.answered.add(result.call_id)
        for at, call in enumerate(exchange.calls, exchange.at + 1):
            if call.id == result.call_id:
                self._entries[at] = self._result(result, call, exchange.seq)
        if exchange.whole:
            self._close(exchange)

    def _close(self, exchange: Exchange) -> None:
        for at in range(exchange.at, exchange.at + 1 + len(exchange.calls)):
            self._entries[at] = replace(self._entries[at], whole=True)
        self._open = {id_: other for id_, other in self._open.items() if other.seq != exchange.seq}

    def _result(self, result: ToolResult, call: Call, batch: int) -> Entry:
        is_read = result.name == READ_TOOL and not result.is_error
        cap = self._recipe.window.max_result_tokens
        if is_read and self._policy.wide_reads:
            cap *= 2
        source = cuts.Source(seq=result.seq, read_path=_path_of(call) if is_read else None)
        text = result.text if result.text.strip() else NO_OUTPUT
        cut = cuts.cut(text, cap, source)
        state: EntryState = "in" if cut is None else "cut"
        shown = (Text(text if cut is None else cut),)
        row = ToolRow(call.id, call.name, result.is_error, shown)
        return entry(result.seq, "result", row, state=state, batch=batch, whole=False)

    def _elide(self, request: LlmRequest) -> None:
        """What a request elided stays so, in place; what had its place behind moves up."""
        if not request.elided:
            return
        self.elided |= frozenset(request.elided)
        self._entries = elision.apply(self._entries, self.elided)
        places = {kept.seq: at for at, kept in enumerate(self._entries)}
        self._open = {
            id_: replace(exchange, at=places[exchange.seq])
            for id_, exchange in self._open.items()
            if exchange.seq not in self.elided
        }


def _path_of(call: Call) -> str | None:
    """The path a read was asked for; `None` where the arguments do not tell."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        return None
    path = arguments.get("path") if isinstance(arguments, dict) else None
    return path if isinstance(path, str) else None
