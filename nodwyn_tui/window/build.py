"""(events, recipe) → request: the one door of the engine (ENG-12)."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.canonical import canonical, sha256
from nodwyn_tui.domain.events import Event
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import Request, ToolSpec
from nodwyn_tui.window import elision
from nodwyn_tui.window.entries import Entry, Piece, fixed_parts, piece_of, size
from nodwyn_tui.window.policy import policy_for
from nodwyn_tui.window.rows import Rows


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

    def canonical(self) -> bytes:
        """What `request_bytes` gives of the request, joined from what the entries hold."""
        system, tools = fixed_parts(self.request.system, self.request.tools)
        messages = b",".join(entry.data for entry in self.entries)
        cap = canonical(self.request.max_output)
        return b'{"max_output":%b,"messages":[%b],"system":%b,"tools":%b}' % (
            *(cap, messages, system, tools),
        )

    @property
    def digest(self) -> str:
        """The SHA-256 of the request's canonical JSON, hex."""
        return sha256(self.canonical())

    def pieces(self) -> tuple[Piece, ...]:
        """The prompt in reading order. The reply cap is no part of it."""
        fixed = fixed_parts(self.request.system, self.request.tools)
        return (*map(piece_of, fixed), *(entry.piece for entry in self.entries))


def build(events: Sequence[Event], recipe: Recipe, shape: Shape = ORDINARY) -> Window:
    """The window of the conversation after `events`. Pure: the same arguments, the same bytes."""
    following = Following(recipe)
    for event in events:
        following.feed(event)
    return following.window(shape)


class Following:
    """`build`, event by event: at every point the same window, at the cost of what is new in it
    (ENG-27). Ends with its recipe.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe, self._headroom = recipe, policy_for(recipe.version).headroom
        self._rows = Rows(recipe)
        self._fixed = sum(map(size, fixed_parts(recipe.system, recipe.tools)))

    def feed(self, event: Event) -> None:
        """The next event of the log."""
        self._rows.feed(event)

    def window(self, shape: Shape = ORDINARY) -> Window:
        """The window as it stands."""
        recipe, rows = self._recipe, self._rows
        line = recipe.window.high_water
        if shape.high_water is not None and self._headroom:
            line = shape.high_water
        trimmed = elision.trim(rows.entries(), self._fixed, recipe.window, line)
        return Window(
            request=Request(
                system=recipe.system,
                tools=_offered(recipe.tools, shape),
                max_output=recipe.max_output,
                messages=tuple(entry.message for entry in trimmed.entries),
            ),
            entries=trimmed.entries,
            fixed=self._fixed,
            estimate=self._fixed + trimmed.tokens,
            elided=rows.elided.union(trimmed.newly),
            newly=trimmed.newly,
        )


def _offered(tools: tuple[ToolSpec, ...], shape: Shape) -> tuple[ToolSpec, ...]:
    if shape.no_tools:
        return ()
    if shape.offered_tools is None:
        return tools
    return tuple(tool for tool in tools if tool.name in shape.offered_tools)
