"""Windows as caches see them: a path of pieces, each named by all that comes before it and itself.

Two prompts share exactly as many pieces as their paths do, whatever the size of a session.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nodwyn_tui.domain.canonical import system_bytes, tools_bytes
from nodwyn_tui.domain.events import LlmRequest, Parameters
from nodwyn_tui.domain.request import AssistantRow, ToolSpec
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.entries import size
from nodwyn_tui.window.sequence import SAID

FIXED = 2
"""Pieces of Region A: the tool catalogue and the system prompt, in the order that servers document.
Nothing else may stand before the conversation.
"""


class Piece(NamedTuple):
    """A piece of a prompt: `data` is its canonical JSON, `tokens` the engine's estimate of it,
    `blocks` how many content blocks it has on the wire; `seq` is its log line's, 0 for none;
    `replied` says that the model wrote it.
    """

    seq: int
    data: bytes
    tokens: int
    blocks: int
    replied: bool = False

    def shared_with(self, other: "Piece") -> float:
        """The share of this piece's bytes, 0 to 1, with which the other begins too."""
        return _shared_bytes(self.data, other.data) / len(self.data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request in reading order.

    `path[k]` names the first `k` pieces, `ends[k]` counts their tokens, `blocks[k]` their content
    blocks; `history` is how many pieces stand before the history marker (ORD-6), 0 where a request
    has none; `origin` is the server and model, `ctx` the context; `goes` says that nothing
    behind the marker is worth an entry: rows of this request alone, and what is not answered yet.
    """

    origin: str
    ctx: int
    pieces: tuple[Piece, ...]
    path: tuple[int, ...]
    ends: tuple[int, ...]
    blocks: tuple[int, ...]
    history: int
    goes: bool = False

    @property
    def total(self) -> int:
        """Tokens of the whole prompt."""
        return self.ends[-1]

    def reading(self, whole: int, rivals: Sequence[Piece]) -> int:
        """Tokens that are identical where the first `whole` pieces are, and the next one begins as
        the best of `rivals` does. At least one token of a prompt is always read anew.
        """
        cached = self.ends[whole]
        if whole < len(self.pieces) and rivals:
            share = max(self.pieces[whole].shared_with(rival) for rival in rivals)
            cached += int((self.ends[whole + 1] - cached) * share)
        return min(cached, self.total - 1)


class Prompts:
    """Names the prompts of one session. `scales` turns the engine's estimate into a server's
    tokens, by origin.
    """

    def __init__(self, scales: dict[str, float]) -> None:
        self._scales = scales
        self._names: dict[tuple[int, Hashable], int] = {}
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = (), tools_bytes(())

    def prompt(self, event: LlmRequest, window: Window) -> Prompt:
        """The prompt of a request that was recorded as `event`, as `window` has it."""
        origin = event.model.origin
        pieces = self._pieces(window)
        path = [self._name(0, (origin, _wire(event.parameters)))]
        tokens, blocks = [0], [0]
        for piece in pieces:
            path.append(self._name(path[-1], piece.data))
            tokens.append(tokens[-1] + piece.tokens)
            blocks.append(blocks[-1] + piece.blocks)
        scale = self._scales.get(origin, 1.0)
        return Prompt(
            origin=origin,
            ctx=event.ctx,
            pieces=pieces,
            path=tuple(path),
            ends=tuple(round(count * scale) for count in tokens),
            blocks=tuple(blocks),
            history=_history(window),
            goes=_goes(window),
        )

    def _name(self, parent: int, content: Hashable) -> int:
        return self._names.setdefault((parent, content), len(self._names) + 1)

    def _pieces(self, window: Window) -> tuple[Piece, ...]:
        system = system_bytes(window.request.system)
        tools = self._catalogue(window.request.tools)
        return (
            Piece(0, tools, size(tools), 1),
            Piece(0, system, size(system), 1),
            *(
                Piece(
                    entry.seq,
                    entry.data,
                    entry.tokens,
                    len(entry.message.parts),
                    isinstance(entry.message, AssistantRow),
                )
                for entry in window.entries
            ),
        )

    def _catalogue(self, tools: tuple[ToolSpec, ...]) -> bytes:
        """The catalogue's canonical JSON; mostly the very one of the request before."""
        if tools is not self._tools[0]:
            self._tools = tools, tools_bytes(tools)
        return self._tools[1]


def _wire(parameters: Parameters) -> tuple[Hashable, ...]:
    """The parameters that change what a server evaluates: with others nothing is shared."""
    return (parameters.num_ctx, parameters.think, parameters.effort, parameters.dialect)


def _history(window: Window) -> int:
    """Pieces up to the history marker: all but the unanswered input at the end, and the fresh rows
    before it that are gone with the request (ORD-1, ORD-6).
    """
    count = window.history
    if count is None:
        count = len(window.entries)
        while count and window.entries[count - 1].kind in SAID:
            count -= 1
    return count + FIXED if count else 0


def _goes(window: Window) -> bool:
    """Whether rows that go with the request stand behind all that stays; in the old order they do
    not, and the cache is asked for the whole of it.
    """
    behind = () if window.history is None else window.entries[window.history :]
    return bool(behind) and all(entry.kind in {*SAID, "note", "fresh"} for entry in behind)


def _shared_bytes(one: bytes, other: bytes) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
