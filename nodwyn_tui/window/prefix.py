"""What two requests share, and what ended it (ENG-28): the cache arithmetic."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import (
    ContextOpen,
    Event,
    LlmRequest,
    Parameters,
    ResultFold,
    SessionRecipe,
    SessionResume,
    SummaryAdd,
    SummaryRevoke,
    WindowEdit,
    WindowReset,
    WindowRewind,
)
from nodwyn_tui.window.entries import BYTES_PER_TOKEN, Piece

FIRST = "first"
TRIM = "trim"

ENDERS: Mapping[type[Event], str] = {
    WindowRewind: "rewind",
    WindowEdit: "edit",
    SummaryAdd: "summary",
    SummaryRevoke: "summary",
    ContextOpen: "compaction",
    ResultFold: "fold",
    SessionResume: "resume",
    SessionRecipe: "model_switch",
}
"""What may end a prefix, in the log's own words for `prefix_ended_by`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A request that went out. `tokens` is what its reply reported for the prompt, else the
    estimate.
    """

    seq: int
    origin: str
    parameters: Parameters
    pieces: tuple[Piece, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Prediction:
    """Tokens that the cache should hold (`None` on a session's first request), and the event that
    ended the identical part (`None`: the earlier request is a whole prefix of this one).
    """

    cached: int | None
    ended_by: str | None


def predict(
    earlier: Sequence[Sent],
    new: tuple[Piece, ...],
    model: tuple[str, Parameters],
    events: Sequence[Event],
    *,
    one_slot: bool,
    trimmed: bool,
) -> Prediction:
    """What the cache should hold of `new`.

    `earlier` is in order of sending; `model` the origin and parameters of the new request; `events`
    the log so far. A one-slot server holds only the last request to it; `trimmed` says that this
    request newly elided something.
    """
    if not earlier:
        return Prediction(None, FIRST)
    origin, parameters = model
    same = [sent for sent in earlier if sent.origin == origin]
    if not same:
        return Prediction(0, "model_switch")
    best = same[-1] if one_slot else max(reversed(same), key=lambda sent: _shared(sent.pieces, new))
    shared, whole = _shared(best.pieces, new), sum(piece.length for piece in best.pieces)
    cached = best.tokens * shared // whole if whole else 0
    if _wire(best.parameters) != _wire(parameters):
        return Prediction(0, "parameter_switch")
    if shared == whole:
        return Prediction(cached, None)
    return Prediction(cached, TRIM if trimmed else _ender(events, best.seq))


def _shared(old: tuple[Piece, ...], new: tuple[Piece, ...]) -> int:
    """Bytes of the leading pieces that are identical."""
    total = 0
    for was, now in zip(old, new, strict=False):
        if was is not now and was != now:  # those of one process are mostly the same objects
            break
        total += was.length
    return total


def _wire(parameters: Parameters) -> tuple[object, ...]:
    """The parameters that change what a server evaluates."""
    return (parameters.num_ctx, parameters.think, parameters.effort, parameters.dialect)


def _ender(events: Sequence[Event], since: int) -> str:
    """The event after the request `since` that changed what it had sent. A new recipe only may have
    (another cap); anything else that stands there did, be it a trim of a request without a reply.
    """
    perhaps = ""
    for event in reversed(events):
        if event.seq <= since:
            break
        match event:
            case WindowReset():
                return "clear" if event.kind == "manual" else "rollover"
            case LlmRequest() if event.elided:
                return TRIM
            case ContextOpen(lasting=False):
                pass
            case SessionResume() | SessionRecipe():
                perhaps = perhaps or ENDERS[type(event)]
            case _ if type(event) in ENDERS:
                return ENDERS[type(event)]
    return perhaps or TRIM


def sent(event: LlmRequest, made: tuple[Piece, ...], reported: int | None) -> Sent:
    """What is remembered of a request once its reply said what the prompt was."""
    return Sent(
        seq=event.seq,
        origin=event.model.origin,
        parameters=event.parameters,
        pieces=made,
        tokens=reported or sum(piece.length for piece in made) // BYTES_PER_TOKEN,
    )
