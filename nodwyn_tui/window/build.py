"""(events, recipe) → request: the one door of the engine (ENG-12)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nodwyn_tui.domain.canonical import request_bytes, sha256
from nodwyn_tui.domain.events import (
    AttachImage,
    ContextOpen,
    Event,
    GatePlan,
    LlmRequest,
    LlmResponse,
    Note,
    ResultFold,
    SummaryAdd,
    ToolResult,
    UserMessage,
)
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import Request, ToolSpec
from nodwyn_tui.window import blocks, contexts, elision, pairs, rows, summaries, tasks
from nodwyn_tui.window.contexts import Place
from nodwyn_tui.window.entries import Entry, fixed_tokens
from nodwyn_tui.window.policy import Policy, policy_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a request departs in from the session's rule; recorded by `llm.req`.

    `high_water` is a trim line of its own (headroom, or a forced trim), in tokens; `withheld` names
    images by digest and why they are not sent.
    """

    no_tools: bool = False
    offered_tools: tuple[str, ...] | None = None
    high_water: int | None = None
    withheld: Mapping[str, str] = field(default_factory=dict)


ORDINARY = Shape()


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A request and how it came about. `fixed` and `estimate` are tokens by the engine's rule;
    `estimate` is the whole request's. `elided` is everything elided, `newly` what this one adds;
    `hidden` are results that left the request with their elided reply.
    """

    request: Request
    entries: tuple[Entry, ...]
    fixed: int
    estimate: int
    elided: frozenset[int]
    newly: tuple[int, ...]
    hidden: frozenset[int]

    @property
    def digest(self) -> str:
        """The SHA-256 of the request's canonical JSON, hex."""
        return sha256(request_bytes(self.request))


def build(
    events: Sequence[Event], recipe: Recipe, shape: Shape = ORDINARY, at: Place | None = None
) -> Window:
    """The window after `events`: of the conversation, or of the context that `at` names.

    Pure: the same arguments, the same bytes. `ReplayError` for a recipe this build cannot execute.
    """
    policy = policy_for(recipe.version)
    opened = _opening(events, at)
    shown = contexts.narrow(events, at or contexts.place(events))
    placed = summaries.apply(shown) if policy.summaries else summaries.Replaced(list(shown), {})
    rules = rows.Rules(
        recipe=recipe,
        policy=policy,
        folds=_folds(shown) if policy.folds else {},
        withheld=shape.withheld,
    )
    entries = list(_entries(placed, rules))
    system = _system(recipe, policy, shown, opened)
    fixed = fixed_tokens(system, recipe.tools)
    trimmed = elision.trim(
        entries, fixed, recipe.window, _line(recipe, policy, shape), elision.marks(shown), policy
    )
    changed = blocks.changes(shown, recipe, trimmed.newly) if policy.blocks else []
    final = tuple(
        rows.without_blocks(entry) if blocks.stale(entry.seq, changed) else entry
        for entry in trimmed.entries
    )
    kept = {entry.seq for entry in final}
    return Window(
        request=Request(
            system=system,
            tools=_offered(recipe.tools, shape, policy, opened),
            max_output=recipe.max_output if policy.reply_cap else 0,
            messages=tuple(entry.message for entry in final),
        ),
        entries=final,
        fixed=fixed,
        estimate=fixed + sum(entry.tokens for entry in final),
        elided=trimmed.elided,
        newly=trimmed.newly,
        hidden=frozenset(entry.seq for entry in entries if entry.seq not in kept),
    )


def _opening(events: Sequence[Event], at: Place | None) -> ContextOpen | None:
    """How a sub-context was opened; `None` for the conversation."""
    if at is None:
        return None
    return next(
        (e for e in events if isinstance(e, ContextOpen) and e.id == at.ctx and not e.lasting), None
    )


def _line(recipe: Recipe, policy: Policy, shape: Shape) -> int:
    """The trim line, in tokens."""
    if shape.high_water is not None and policy.headroom:
        return shape.high_water
    return recipe.window.high_water


def _system(
    recipe: Recipe, policy: Policy, events: Sequence[Event], opened: ContextOpen | None
) -> str:
    """A sub-context's own prompt, else the session's; before recipe 15 the task and the plan stand
    in it.
    """
    if opened is not None and opened.system is not None:
        return opened.system
    if policy.in_conversation:
        return recipe.system
    return tasks.system_with_task(recipe, policy, events)


def _offered(
    tools: tuple[ToolSpec, ...], shape: Shape, policy: Policy, opened: ContextOpen | None
) -> tuple[ToolSpec, ...]:
    if not policy.offered_tools:
        return tools
    if shape.no_tools:
        return ()
    names = shape.offered_tools
    if names is None and opened is not None:
        names = opened.offered_tools
    return tools if names is None else tuple(tool for tool in tools if tool.name in names)


def _folds(events: Sequence[Event]) -> dict[int, str]:
    """The latest fold of each result."""
    return {event.target: event.text for event in events if isinstance(event, ResultFold)}


def _entries(placed: summaries.Replaced, rules: rows.Rules) -> Iterator[Entry]:
    """Every message of the conversation, in order, nothing trimmed yet.

    A plan or a note that was recorded while calls are being answered waits until the next message
    that is not a result, so that nothing ever stands between calls and results.
    """
    results = pairs.link(placed.events)
    waiting: dict[str, Entry] = {}
    for event in placed.events:
        if (kept := _waits(event, placed, rules)) is not None:
            key, entry = kept
            waiting[key] = entry
            continue
        made = list(_made(event, placed.summaries, results, rules))
        if made or isinstance(event, LlmRequest):
            # A request's window showed what waited at its end: there it stays.
            yield from waiting.values()
            waiting.clear()
        yield from made
    yield from waiting.values()


def _waits(event: Event, placed: summaries.Replaced, rules: rows.Rules) -> tuple[str, Entry] | None:
    """An entry that must not stand between calls and results, and what a later one replaces."""
    if event.seq in placed.summaries:
        return None
    match event:
        case GatePlan() if rules.policy.in_conversation:
            return "plan", rows.plan(event, rules)
        case Note(audience="model" | "both"):
            return f"note {event.seq}", rows.note(event)
        case _:
            return None


def _made(
    event: Event,
    placed: Mapping[int, SummaryAdd],
    results: Mapping[int, Mapping[str, ToolResult]],
    rules: rows.Rules,
) -> Iterator[Entry]:
    """The entries that stand where an event does."""
    if (summary := placed.get(event.seq)) is not None:
        yield rows.summary(summary)
        return
    match event:
        case UserMessage(rejected=False):
            yield rows.user(event, rules)
        case AttachImage():
            yield rows.attachment(event, rules)
        case LlmResponse():
            yield from _exchange(event, results[event.seq], rules)
        case _:
            pass


def _exchange(
    reply: LlmResponse, results: Mapping[str, ToolResult], rules: rows.Rules
) -> Iterator[Entry]:
    """A reply and the results of its calls, in the order of the calls (C03)."""
    calls = pairs.kept_calls(reply)
    whole = all(call.id in results for call in calls)
    entry = rows.reply(reply, rules, whole=whole)
    if entry is None:
        return
    yield entry
    for call in calls:
        result = results.get(call.id)
        if result is None:
            yield rows.unanswered(call, reply.seq, pairs.UNANSWERED)
        else:
            yield rows.result(result, call, reply.seq, rules, whole=whole)
