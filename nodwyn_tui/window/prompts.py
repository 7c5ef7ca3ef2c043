"""Prompts as they went out, as far as later ones are compared with them (ENG-28)."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nodwyn_tui.domain.events import LlmRequest, Parameters
from nodwyn_tui.domain.parts import Thinking
from nodwyn_tui.domain.request import AssistantRow, Message, UserRow
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.tape import Trail

HEAD = 2
"""Pieces before the first message: the system text and the catalogue."""

REMEMBERED = 8
"""Requests an origin that are compared with: a cache that old is gone, or was never there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt in pieces: `asked` counts those up to the last message of a user, `thought` those
    before the first reply behind it that bears thinking (all, where none does); `thinking` is the
    bytes of all thinking behind it.
    """

    trail: Trail
    asked: int
    thought: int
    thinking: int

    @property
    def pieces(self) -> int:
        """How many pieces it has."""
        return len(self.trail)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request that went out. `tokens` is what its reply reported for the prompt, else the
    estimate, and `counted` tells which; `at` is when the reply was recorded; `aside` says that it
    asked for a handover note, in a message that may be taken back.
    """

    seq: int
    server: str
    origin: str
    parameters: Parameters
    prompt: Prompt
    tokens: int
    counted: bool
    at: str = ""
    aside: bool = False

    def tokens_of(self, pieces: int) -> int:
        """Its tokens by the share of the bytes that so many leading pieces have."""
        trail = self.prompt.trail
        return self.tokens * trail[pieces - 1].end // trail[-1].end if pieces else 0


def prompt_of(window: Window) -> Prompt:
    """The prompt of a window's request."""
    messages = window.request.messages
    asked = _last_user(messages)
    thoughts = [
        (at, size) for at in range(asked, len(messages)) if (size := _thought(messages[at]))
    ]
    return Prompt(
        trail=window.trail,
        asked=HEAD + asked,
        thought=HEAD + (thoughts[0][0] if thoughts else len(messages)),
        thinking=sum(size for _, size in thoughts),
    )


def _last_user(messages: Sequence[Message]) -> int:
    """How many messages there are up to the last one of a user."""
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], UserRow):
            return at + 1
    return 0


def _thought(message: Message) -> int:
    """Bytes of a message's thinking."""
    parts = message.parts if isinstance(message, AssistantRow) else ()
    return sum(len(part.text.encode()) for part in parts if isinstance(part, Thinking))


def sent(event: LlmRequest, prompt: Prompt, reported: int | None, at: str = "") -> Sent:
    """What is remembered of a request once its reply said, at `at`, what the prompt was."""
    return Sent(
        seq=event.seq,
        server=event.model.server,
        origin=event.model.origin,
        parameters=replace(event.parameters, history=None, former=None),
        prompt=prompt,
        tokens=reported or event.estimate,
        counted=bool(reported),
        at=at,
        aside=event.purpose == "handover",
    )


def remember(earlier: Sequence[Sent], new: Sent) -> list[Sent]:
    """`earlier` and `new`, as far back as is worth comparing with: what is kept does not grow with
    the session. The prompt that the latest run began with stays.
    """
    same = [sent for sent in (*earlier, new) if sent.origin == new.origin]
    began = [sent.seq for sent in same if sent.prompt.asked == sent.prompt.pieces][-1:]
    old = {sent.seq for sent in same[:-REMEMBERED]}.difference(began)
    return [*(sent for sent in earlier if sent.seq not in old), new]


def shared(old: Trail, new: Trail) -> int:
    """How many leading pieces are identical. A mark names all before it: where two differ, so do
    all behind.
    """
    count = min(len(old), len(new))
    return bisect_left(range(count), 1, key=lambda at: old[at] != new[at])
