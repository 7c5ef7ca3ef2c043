"""What two requests share, and what ended it (ENG-28): the cache arithmetic."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import LlmRequest, Parameters
from nodwyn_tui.window.tape import Trail
from nodwyn_tui.window.watch import TRIM, Watch

FIRST = "first"

REMEMBERED = 8
"""Requests an origin that are compared with: a cache that old is gone, or was never there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request that went out. `tokens` is what its reply reported for the prompt, else the
    estimate; `aside` says that it asked for a handover note, in a message that may be taken back.
    """

    seq: int
    server: str
    origin: str
    parameters: Parameters
    trail: Trail
    tokens: int
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """Tokens that the cache should hold (`None` on a session's first request), and the event that
    ended the identical part (`None`: the earlier request is a whole prefix of this one).
    """

    cached: int | None
    ended_by: str | None


def predict(  # noqa: PLR0913 - each is a fact of its own about the request or its server
    earlier: Sequence[Sent],
    new: Trail,
    model: tuple[str, Parameters],
    watch: Watch,
    *,
    one_slot: bool,
    trimmed: bool,
    withheld: Mapping[str, str] | None = None,
    asked: bool = True,
    expired: bool = False,
) -> Prediction:
    """What the cache should hold of `new`.

    `earlier` is in order of sending; `model` the origin and parameters of the new request; `watch`
    has read the log and still knows the earlier ones. A one-slot server holds only the last request
    to it; `trimmed` says that this request newly elided something, `withheld` which images it does
    not carry, and why; `asked` whether the cache was asked for where a server wants that, `expired`
    whether it has likely let go of all.
    """
    if not earlier:
        return Prediction(None, FIRST)
    origin, parameters = model
    same = [sent for sent in earlier if sent.origin == origin]
    if not same or (one_slot and _last_to(same[-1].server, earlier).origin != origin):
        return Prediction(0, "model_switch")
    alike = [sent for sent in same if _wire(sent.parameters) == _wire(parameters)]
    if not alike or (one_slot and alike[-1] is not same[-1]):
        return Prediction(0, "parameter_switch")
    if expired:
        return Prediction(0, "likely_expiry")
    best = alike[-1] if one_slot else _best(alike, new)
    held, whole = shared(best.trail, new), best.trail[-1].end
    cached = best.tokens * held // whole if asked else 0
    if held == whole:
        return Prediction(cached, None)
    ended_by = watch.ended(best.seq, frozenset((withheld or {}).items()))
    if best.aside and trimmed and ended_by == "rewind":
        ended_by = TRIM  # what was taken back stood at the end; the trim is felt before it
    if ended_by is None:
        is_other = best.trail[:2] != new[:2] and not trimmed
        ended_by = "parameter_switch" if is_other else TRIM
    return Prediction(cached, ended_by)


def sent(event: LlmRequest, trail: Trail, reported: int | None) -> Sent:
    """What is remembered of a request once its reply said what the prompt was."""
    return Sent(
        seq=event.seq,
        server=event.model.server,
        origin=event.model.origin,
        parameters=event.parameters,
        trail=trail,
        tokens=reported or event.estimate,
        aside=event.purpose == "handover",
    )


def remember(earlier: Sequence[Sent], new: Sent) -> list[Sent]:
    """`earlier` and `new`, as far back as is worth comparing with: what is kept does not grow with
    the session.
    """
    same = [sent for sent in earlier if sent.origin == new.origin]
    dropped = same[: max(len(same) + 1 - REMEMBERED, 0)]
    return [*(sent for sent in earlier if sent not in dropped), new]


def shared(old: Trail, new: Trail) -> int:
    """Bytes of the leading pieces that are identical. A mark names all before it: where two differ,
    so do all behind.
    """
    count = min(len(old), len(new))
    same = bisect_left(range(count), 1, key=lambda at: old[at] != new[at])
    return old[same - 1].end if same else 0


def _best(alike: Sequence[Sent], new: Trail) -> Sent:
    """The latest of those that share most with `new`."""
    return max(reversed(alike), key=lambda sent: (shared(sent.trail, new), not sent.aside))


def _last_to(server: str, earlier: Sequence[Sent]) -> Sent:
    return next(sent for sent in reversed(earlier) if sent.server == server)


def _wire(parameters: Parameters) -> tuple[object, ...]:
    """The parameters that change what a server evaluates."""
    return (parameters.num_ctx, parameters.think, parameters.effort, parameters.dialect)
