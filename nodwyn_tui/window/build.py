"""(events, recipe) → request: the one door of the engine (ENG-12)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from nodwyn_tui.domain.events import ContextOpen, Event, ResultFold, WindowEdit
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import Request, ToolSpec
from nodwyn_tui.window import (
    blocks,
    contexts,
    elision,
    order,
    rows,
    sequence,
    summaries,
    tape,
    tasks,
)
from nodwyn_tui.window.contexts import Place
from nodwyn_tui.window.entries import Entry, fixed_tokens
from nodwyn_tui.window.policy import Policy, policy_for
from nodwyn_tui.window.tape import Tape, Trail


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a request departs in from the session's rule; recorded by `llm.req`.

    `high_water` is a trim line of its own (headroom, or a forced trim), in tokens; `withheld` names
    images by digest and why they are not sent; `fresh` are the rows of fresh context that stand in
    this request alone, by seq, in their order.
    """

    no_tools: bool = False
    offered_tools: tuple[str, ...] | None = None
    high_water: int | None = None
    withheld: Mapping[str, str] = field(default_factory=dict)
    fresh: tuple[int, ...] = ()


ORDINARY = Shape()
ENDLESS = 2**62
"""A trim line that no window crosses."""
UNTRIMMED = Shape(high_water=ENDLESS)
"""The window as it stands: a trim that is due only happens once a request records it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A request and how it came about. `fixed` and `estimate` are tokens by the engine's rule;
    `estimate` is the whole request's. `elided` is everything elided, also the results that left
    with their reply, `dropped` likewise what the person took out; `newly` is what this request adds
    to `elided`. Where rows of fresh context stand in this request alone, `history` counts the
    entries before them, and `bare` is the window without them, from which the next one grows.
    """

    request: Request
    entries: tuple[Entry, ...]
    fixed: int
    estimate: int
    elided: frozenset[int]
    dropped: frozenset[int]
    newly: tuple[int, ...]
    tape: Tape = field(repr=False, compare=False)
    history: int | None = None
    bare: "Window | None" = field(default=None, repr=False, compare=False)

    @property
    def former(self) -> int | None:
        """What `history` was of the request before, which the last reply answered; `None` where no
        rows stand in this one alone.
        """
        return None if self.history is None else order.answered(self.entries[: self.history])

    @property
    def digest(self) -> str:
        """The SHA-256 of the request's canonical JSON, hex."""
        return self.tape.digest

    @property
    def trail(self) -> Trail:
        """Names every prefix of the prompt (ENG-28)."""
        return self.tape.trail


def build(
    events: Sequence[Event], recipe: Recipe, shape: Shape = ORDINARY, at: Place | None = None
) -> Window:
    """The window after `events`: of the conversation, or of the context that `at` names.

    Pure: the same arguments, the same bytes. `ReplayError` for a recipe this build cannot execute.
    """
    policy = policy_for(recipe.version)
    at = at or contexts.place(events, resets=policy.resets)
    opened = contexts.opening(events, at.ctx)
    shown = contexts.narrow(events, at)
    placed = (
        summaries.apply(shown, events, at)
        if policy.summaries and opened is None
        else summaries.Replaced(shown, {})
    )
    rules = rows.Rules(
        recipe=recipe,
        policy=policy,
        folds=_folds(shown, policy),
        withheld=shape.withheld,
        latest=blocks.latest_reply(shown),
    )
    found = _valid(list(sequence.entries(placed, rules)), shown, rules)
    system = _system(recipe, policy, shown, opened)
    fixed = fixed_tokens(system, recipe.tools)
    marks = elision.marks(shown, found, policy)
    fresh = order.entries_of(shape.fresh, order.recorded(shown)) if policy.fresh else []
    trimmed = elision.trim(
        found,
        fixed + sum(entry.tokens for entry in fresh),
        recipe.window,
        trim_line(recipe, policy, shape),
        marks,
        policy,
    )
    final = (
        _valid(trimmed.entries, shown, rules, trimmed.newly) if trimmed.newly else trimmed.entries
    )
    tools = _offered(recipe.tools, shape, policy, opened)
    cap = recipe.max_output if policy.reply_cap else 0
    before = order.tail(final) if fresh else len(final)
    past = tape.start(system, tools, cap).extended([entry.data for entry in final[:before]])
    bare = Window(
        request=Request(system, tools, cap, tuple(entry.message for entry in final)),
        entries=tuple(final),
        fixed=fixed,
        estimate=fixed + sum(entry.tokens for entry in final),
        elided=trimmed.elided,
        dropped=trimmed.dropped,
        newly=trimmed.newly,
        tape=past.extended([entry.data for entry in final[before:]]),
    )
    return with_fresh(bare, past, fresh) if fresh else bare


def with_fresh(bare: Window, past: Tape, fresh: Sequence[Entry]) -> Window:
    """The window with rows of fresh context behind its history, whose tape is `past`."""
    before = len(past.trail) - len(past.head)
    messages = bare.request.messages
    shown = (*messages[:before], *(entry.message for entry in fresh), *messages[before:])
    entries = (*bare.entries[:before], *fresh, *bare.entries[before:])
    return replace(
        bare,
        request=replace(bare.request, messages=shown),
        entries=entries,
        estimate=bare.estimate + sum(entry.tokens for entry in fresh),
        tape=past.extended([entry.data for entry in entries[before:]]),
        history=before,
        bare=bare,
    )


def trim_line(recipe: Recipe, policy: Policy, shape: Shape) -> int:
    """Above how many tokens a request is trimmed."""
    if shape.high_water is not None and policy.headroom:
        return shape.high_water
    return recipe.window.high_water


def _valid(
    entries: Sequence[Entry], shown: Sequence[Event], rules: rows.Rules, newly: Sequence[int] = ()
) -> Sequence[Entry]:
    """The entries without the blocks that what `shown` holds, or `newly` elides, made stale."""
    if not any(entry.has_blocks for entry in entries):
        return entries
    changed = blocks.changes(shown, rules.recipe, rules.withheld, newly)
    return [
        rows.without_blocks(entry) if entry.has_blocks and changed.stale(entry.seq) else entry
        for entry in entries
    ]


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


def _folds(events: Sequence[Event], policy: Policy) -> dict[int, str]:
    """The latest fold of each result, by its seq, that the person has not ended since."""
    folds: dict[int, str] = {}
    for event in events if policy.folds else ():
        match event:
            case ResultFold():
                folds[event.target] = event.text
            case WindowEdit(action="restore") if policy.restored_folds:
                folds.pop(event.target, None)
            case _:
                pass
    return folds
