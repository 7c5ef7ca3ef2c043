"""(events, recipe) → request: the one door of the engine (ENG-12)."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.canonical import request_bytes, sha256
from nodwyn_tui.domain.events import (
    Event,
    GatePlan,
    LlmRequest,
    LlmResponse,
    Note,
    ToolResult,
    UserMessage,
)
from nodwyn_tui.domain.parts import Block, Call, Text, Thinking
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import AssistantRow, Request, ToolRow, ToolSpec, UserRow
from nodwyn_tui.window import contexts, cuts, elision, pairs, tasks
from nodwyn_tui.window.entries import Entry, EntryKind, EntryState, fixed_tokens, message_tokens
from nodwyn_tui.window.policy import Policy, policy_for

READ_TOOL = "fs-read"
NO_OUTPUT = "(no output)"
NO_ANSWER = "(no answer)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a request departs in from the session's rule; recorded by `llm.req`.

    `high_water` is a trim line of its own (headroom, or a forced trim), in tokens.
    """

    no_tools: bool = False
    offered_tools: tuple[str, ...] | None = None
    high_water: int | None = None


ORDINARY = Shape()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A request and how it came about. `fixed` and `estimate` are tokens by the engine's rule;
    `estimate` is the whole request's. `elided` is everything elided, `newly` what this one adds.
    """

    request: Request
    entries: tuple[Entry, ...]
    fixed: int
    estimate: int
    elided: frozenset[int]
    newly: tuple[int, ...]
    hidden: frozenset[int]
    """Results that left the request with their elided reply."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the request's canonical JSON, hex."""
        return sha256(request_bytes(self.request))


def build(events: Sequence[Event], recipe: Recipe, shape: Shape = ORDINARY) -> Window:
    """The window of the conversation after `events`. Pure: the same arguments, the same bytes."""
    policy = policy_for(recipe.version)
    events = contexts.narrow(events)
    entries = list(_entries(events, recipe, policy))
    fixed = fixed_tokens(recipe.system, recipe.tools)
    line = recipe.window.high_water
    if shape.high_water is not None and policy.headroom:
        line = shape.high_water
    earlier = elision.sticky(events)
    trimmed = elision.trim(entries, fixed, recipe.window, line, earlier)
    shown = {entry.seq for entry in trimmed.entries}
    return Window(
        request=Request(
            system=recipe.system,
            tools=_offered(recipe.tools, shape),
            max_output=recipe.max_output,
            messages=tuple(entry.message for entry in trimmed.entries),
        ),
        entries=trimmed.entries,
        fixed=fixed,
        estimate=fixed + trimmed.tokens,
        elided=earlier | frozenset(trimmed.newly),
        newly=trimmed.newly,
        hidden=frozenset(entry.seq for entry in entries if entry.seq not in shown),
    )


def _offered(tools: tuple[ToolSpec, ...], shape: Shape) -> tuple[ToolSpec, ...]:
    if shape.no_tools:
        return ()
    if shape.offered_tools is None:
        return tools
    return tuple(tool for tool in tools if tool.name in shape.offered_tools)


def _entries(events: Sequence[Event], recipe: Recipe, policy: Policy) -> Iterator[Entry]:
    """Every message of the conversation, in order, nothing trimmed yet.

    A plan or a note that was recorded while calls are being answered waits until the next message
    that is not a result, so that nothing ever stands between calls and results.
    """
    results = pairs.link(events)
    waiting: dict[str, Entry] = {}
    for event in events:
        match event:
            case GatePlan():
                waiting["plan"] = _entry(event.seq, "plan", tasks.plan_row(event, recipe))
            case Note(audience="model" | "both"):
                waiting[f"note {event.seq}"] = _entry(event.seq, "note", tasks.note_row(event))
            case LlmRequest():
                # A window showed what waited, at its end: there it stays.
                yield from waiting.values()
                waiting.clear()
            case UserMessage(rejected=False):
                yield from waiting.values()
                waiting.clear()
                yield _entry(event.seq, "user", tasks.task_row(event, recipe))
            case LlmResponse() if parts := _reply_parts(event, policy):
                yield from waiting.values()
                waiting.clear()
                yield from _exchange(event, AssistantRow(parts), results[event.seq], recipe)
            case _:
                pass
    yield from waiting.values()


def _entry(seq: int, kind: EntryKind, row: UserRow) -> Entry:
    return Entry(seq, kind, row, message_tokens(row))


def _reply_parts(reply: LlmResponse, policy: Policy) -> tuple[Thinking | Block | Text | Call, ...]:
    """What goes back of a reply: no blank text, no half-made calls; nothing if nothing is left."""
    cut_short = reply.finish == "interrupted"

    def goes_back(part: Thinking | Block | Text | Call) -> bool:
        match part:
            case Text():
                return bool(part.text.strip())
            case Thinking():
                return policy.thinking and bool(part.text.strip())
            case Block():
                return policy.blocks and not cut_short
            case Call():
                return not cut_short

    parts = tuple(part for part in reply.parts if goes_back(part))
    if parts and not any(isinstance(part, Text | Call) for part in parts):
        return (*parts, Text(NO_ANSWER))
    return parts


def _exchange(
    reply: LlmResponse, row: AssistantRow, results: dict[str, ToolResult], recipe: Recipe
) -> Iterator[Entry]:
    """A reply and the results of its calls, in the order of the calls (C03)."""
    calls = pairs.kept_calls(reply)
    whole = all(call.id in results for call in calls)
    yield Entry(reply.seq, "assistant", row, message_tokens(row), whole=whole)
    for call in calls:
        result = results.get(call.id)
        if result is None:
            missing = ToolRow(call.id, call.name, True, (Text(pairs.UNANSWERED),))
            yield Entry(
                -reply.seq, "result", missing, message_tokens(missing), batch=reply.seq, whole=False
            )
        else:
            yield _result(result, call, reply.seq, whole, recipe)


def _result(result: ToolResult, call: Call, batch: int, whole: bool, recipe: Recipe) -> Entry:
    policy = policy_for(recipe.version)
    is_read = result.name == READ_TOOL and not result.is_error
    cap = recipe.window.max_result_tokens
    if is_read and policy.wide_reads:
        cap *= 2
    source = cuts.Source(seq=result.seq, read_path=_path_of(call) if is_read else None)
    text = result.text if result.text.strip() else NO_OUTPUT
    shown = cuts.cut(text, cap, source)
    row = ToolRow(call.id, call.name, result.is_error, (Text(text if shown is None else shown),))
    state: EntryState = "in" if shown is None else "cut"
    return Entry(result.seq, "result", row, message_tokens(row), state, batch, whole)


def _path_of(call: Call) -> str | None:
    """The path a read was asked for; `None` where the arguments do not tell."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return None
    path = arguments.get("path") if isinstance(arguments, dict) else None
    return path if isinstance(path, str) else None
