"""What the cache should hold of a request, and what ended that part (ENG-28): the arithmetic."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import Parameters
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.window.blocks import Withheld
from nodwyn_tui.window.prompts import HEAD, Prompt, Sent, shared
from nodwyn_tui.window.watch import FRESH, TRIM, Watch

FIRST = "first"
TEMPLATE = "template"

COUNTED_OFF = 1.5
"""By how much a count of tokens may be off that is taken from bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """The request that is to be sent: `trimmed` counts the pieces before what it newly elides,
    `withheld` names the images that it does not carry, and why; `unmarked` are the counts of pieces
    behind which the cache can hold no end, where rows go again.
    """

    prompt: Prompt
    origin: str
    parameters: Parameters
    trimmed: int | None = None
    withheld: Withheld = frozenset()
    unmarked: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """What is known of the server's cache: whether it holds only the last prompt, was asked for
    where the protocol wants that, has likely let go of all; and whether the chat template is known
    to leave the thinking before the last message of a user out (`rewrites`).
    """

    one_slot: bool = False
    asked: bool = True
    expired: bool = False
    rewrites: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """What a template that leaves earlier thinking out makes of a prediction: the pieces and the
    tokens that the cache still holds, and how many tokens of thinking leave the earlier prompt.
    """

    pieces: int
    cached: int
    gone: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """Tokens that the cache should hold (`None` on a session's first request), the event that
    ended the identical part (`None`: the earlier request is a whole prefix of this one), and how
    many pieces the cache should hold. `rewritten` is there where such a template, which is not
    known of yet, would change that. `counted` says that the tokens are a share of what the server
    itself counted: only then does a lower count of its own mean anything.
    """

    cached: int | None
    ended_by: str | None
    pieces: int = 0
    rewritten: Rewritten | None = None
    counted: bool = False

    @property
    def least(self) -> int:
        """What the server must count of the prompt at least, 0 where nothing tells: all of the one
        before; where rows of it went again, what stands before them, which is taken from bytes.
        """
        if not self.counted or self.cached is None or self.ended_by not in (None, FRESH):
            return 0
        return self.cached if self.ended_by is None else int(self.cached / COUNTED_OFF)


def predict(earlier: Sequence[Sent], new: New, watch: Watch, cache: Cache) -> Prediction:
    """What the cache should hold of `new`. `earlier` is in order of sending; `watch` has read the
    log so far, and knows them.
    """
    if not earlier:
        return Prediction(None, FIRST)
    same = [sent for sent in earlier if sent.origin == new.origin]
    if not same or (cache.one_slot and _last_to(same[-1].server, earlier).origin != new.origin):
        return Prediction(0, "model_switch")
    alike = [sent for sent in same if _wire(sent.parameters) == _wire(new.parameters)]
    if not alike or (cache.one_slot and alike[-1] is not same[-1]):
        return Prediction(0, "parameter_switch")
    if cache.expired:
        return Prediction(0, "likely_expiry")
    best = alike[-1] if cache.one_slot else _best(alike, new.prompt)
    made = _compared(best, new, watch, alike)
    if cache.rewrites and made.rewritten:
        made = Prediction(made.rewritten.cached, TEMPLATE, made.rewritten.pieces)
    return made if cache.asked else Prediction(0, made.ended_by)


def leaves_thinking_out(prediction: Prediction, usage: Usage) -> bool:
    """Whether a reply's count shows that the server's template leaves earlier thinking out: a
    prompt that was only added to got shorter, by no more than there was of it.
    """
    was, now, rewritten = prediction.cached, usage.prompt_tokens, prediction.rewritten
    if not (was and now and rewritten and prediction.counted) or prediction.ended_by is not None:
        return False
    return 0 < was - now <= rewritten.gone * COUNTED_OFF


def _compared(best: Sent, new: New, watch: Watch, alike: Sequence[Sent]) -> Prediction:
    held = shared(best.prompt.trail, new.prompt.trail)
    ended_by = None
    if held < best.prompt.pieces:
        ended_by = TRIM if held == new.trimmed else watch.ended(best.seq, new.withheld)
        ended_by = ended_by or ("parameter_switch" if held < HEAD else TRIM)
    while ended_by == FRESH and held in new.unmarked:
        held -= 1
    rewritten = _rewritten(best, new, held, alike)
    return Prediction(best.tokens_of(held), ended_by, held, rewritten, counted=best.counted)


def _rewritten(best: Sent, new: New, held: int, alike: Sequence[Sent]) -> Rewritten | None:
    """The identical part up to thinking that stands before the last message of a user now, and did
    not when `best` was sent.
    """
    first, whole = best.prompt.thought, best.prompt.trail
    if not first < min(held, new.prompt.asked):
        return None
    counted = (
        sent.tokens
        for sent in alike
        if (sent.prompt.pieces, sent.prompt.trail[-1]) == (first, whole[first - 1])
    )
    return Rewritten(
        pieces=first,
        cached=next(counted, best.tokens_of(first)),
        gone=best.tokens * best.prompt.thinking // whole[-1].end,
    )


def _best(alike: Sequence[Sent], new: Prompt) -> Sent:
    """The latest of those that share most with `new`; what asked for a note is no cause before
    others.
    """
    return max(
        reversed(alike), key=lambda sent: (shared(sent.prompt.trail, new.trail), not sent.aside)
    )


def _last_to(server: str, earlier: Sequence[Sent]) -> Sent:
    return next(sent for sent in reversed(earlier) if sent.server == server)


def _wire(parameters: Parameters) -> tuple[object, ...]:
    """The parameters that change what a server evaluates."""
    return (parameters.num_ctx, parameters.think, parameters.effort, parameters.dialect)
