"""A model tried out: a tiny task of two steps, sent as a real one would be, then a picture, and
what came of it (PRV-12). Nothing of it is kept.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from nodwyn_tui.domain.arguments import Malformed, read_arguments
from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.deltas import Reply
from nodwyn_tui.domain.events import ModelRef, Parameters
from nodwyn_tui.domain.parts import Block, Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.request import AssistantRow, Message, Request, ToolRow, ToolSpec, UserRow
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.exchange import Exchange
from nodwyn_tui.providers.picture import COLOUR, MOST_OUTPUT, Picture
from nodwyn_tui.providers.provider import Provider

Outcome = Literal["yes", "no", "unknown"]

ASK = "Call the tool {tool} once, for the workspace itself. Then answer with the one word it gave."
RESULT = "marigold"
AGAIN = "Answer with the one word: marigold."

BYTES_A_TOKEN = 5
"""Of the padding: no tokenizer makes fewer tokens of plain English."""

_WARM = 4
"""By how much faster a prompt is read that is in the cache already, where that is all there is to
tell it by."""
_REFUSALS = frozenset({"invalid_request", "not_found", "permission", "context_exceeded"})
"""Kinds of errors with which a server refuses a picture, where the request was fine without it."""
_UNASKED = frozenset({"reasoning_details"})
"""Kinds of blocks that go back whatever `keep_reasoning` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is sent: the system prompt and the tools of a real session, the tool that is to be
    called, and the reply cap in tokens.

    `least` is the shortest prompt that the model's cache keeps, in tokens; `sees` whether the model
    takes pictures as far as `sees_from` tells. `None` is unknown.
    """

    system: str
    tools: tuple[ToolSpec, ...]
    tool: str
    max_output: int
    least: int | None = None
    sees: bool | None = None
    sees_from: str = ""

    @property
    def first(self) -> Request:
        """The first of the two requests."""
        ask = UserRow((Text(ASK.format(tool=self.tool)),))
        return Request(self.system, self.tools, self.max_output, (ask,))

    def second(self, reply: Reply, parameters: Parameters) -> Request:
        """The one that goes on from a reply, with its reasoning as a session would give it back."""
        parts = tuple(_kept(_named(reply.parts), parameters))
        calls = [part for part in parts if isinstance(part, Call)]
        after: list[Message] = [
            ToolRow(call.id, call.name, False, (Text(RESULT),)) for call in calls
        ]
        rows = (*self.first.messages, AssistantRow(parts or (Text("…"),)))
        return replace(self.first, messages=(*rows, *(after or [UserRow((Text(AGAIN),))])))


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was tried; `detail` says more."""

    what: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcomes:
    """The task's replies that came, at most two, and the refusal that ended it, if one did; `seen`
    is what came of the picture, `None` where none was sent.
    """

    trial: Trial
    replies: tuple[Reply, ...]
    refusal: ProviderError | None = None
    seen: Reply | ProviderError | None = None

    @property
    def paid(self) -> tuple[Reply, ...]:
        """Every reply that came."""
        return (*self.replies, *([self.seen] if isinstance(self.seen, Reply) else []))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is known now, in the order in which it shows."""
        return tuple(_findings(self))


def padding(tokens: int, nonce: str) -> str:
    """Text of at least so many tokens, which no cache holds yet: it begins with `nonce`."""
    lines = [
        f"\n\nPadding {nonce}: what follows is there to be long, and nothing is asked about it."
    ]
    size, number = len(lines[0]), 0
    while size < tokens * BYTES_A_TOKEN:
        number += 1
        lines.append(f"\nLine {number} of the padding says nothing, and stands here to be counted.")
        size += len(lines[-1])
    return "".join(lines) if tokens else ""


async def probe(
    provider: Provider,
    model: ModelRef,
    parameters: Parameters,
    trial: Trial,
    watch: Callable[[Outcomes], None] = lambda _: None,
) -> Outcomes:
    """Sends both requests, and then the picture by itself, so that its refusal spoils nothing.
    Nothing is asked twice; a refusal is an outcome. `watch` is told what is known in between.
    """
    replies: list[Reply] = []
    request = trial.first
    try:
        replies.append(await _reply(provider.stream(request, model, parameters)))
        watch(Outcomes(trial=trial, replies=tuple(replies)))
        request = trial.second(replies[0], parameters)
        replies.append(await _reply(provider.stream(request, model, parameters)))
        watch(Outcomes(trial=trial, replies=tuple(replies)))
    except ProviderError as error:
        return Outcomes(trial=trial, replies=tuple(replies), refusal=error)
    seen = None if trial.sees is False else await _seen(provider, model, parameters, trial)
    return Outcomes(trial=trial, replies=tuple(replies), seen=seen)


async def _seen(
    provider: Provider, model: ModelRef, parameters: Parameters, trial: Trial
) -> Reply | ProviderError:
    drawn = Picture.drawn()
    asked = drawn.question(min(trial.max_output, MOST_OUTPUT))
    try:
        return await _reply(provider.stream(asked, model, parameters, drawn.pixels))
    except ProviderError as error:
        return error


async def _reply(exchange: Exchange) -> Reply:
    async with exchange:
        async for _ in exchange:
            pass
    return exchange.reply


def _named(parts: Sequence[ReplyPart]) -> Iterator[ReplyPart]:
    """Every call with an id of its own."""
    taken: set[str] = set()
    for number, part in enumerate(parts):
        if isinstance(part, Call) and (not part.id or part.id in taken):
            part = replace(part, id=f"call_{number}")  # noqa: PLW2901 - the same call, named
        taken.add(part.id if isinstance(part, Call) else "")
        yield part


def _kept(parts: Iterator[ReplyPart], parameters: Parameters) -> Iterator[ReplyPart]:
    for part in parts:
        wanted = not isinstance(part, Block) or parameters.keep_reasoning or part.block in _UNASKED
        # A session's log keeps no block that it would have to alter.
        if wanted and not (isinstance(part, Block) and clean(part.data) != part.data):
            yield part


_UNHEARD = frozenset({"transport", "timeout"})
"""What a failure is where no word came from the server: a stream that broke was an answer."""


def _findings(found: Outcomes) -> Iterator[Finding]:
    yield from _of_the_task(found)
    yield _images(found)


def _of_the_task(found: Outcomes) -> Iterator[Finding]:
    refusal, replies = found.refusal, found.replies
    unheard = refusal is not None and refusal.status is None and refusal.kind in _UNHEARD
    answered = bool(replies) or (refusal is not None and not unheard)
    yield Finding("reachable", "yes" if answered else "no")
    if not answered:
        return
    key = refusal is not None and refusal.kind in {"authentication", "permission"}
    yield Finding("authorised", "no" if key else "yes")
    if not replies:
        return
    yield _tools(replies[0])
    yield _thinking(replies)
    if len(replies) > 1:
        yield Finding("goes on after a call", "yes", "its reasoning went back as it is set")
        first, second = replies
        yield _written(first, second, found.trial.least)
        yield _read(first, second, found.trial.least)
    elif refusal is not None:
        yield Finding("goes on after a call", "no")


def _tools(reply: Reply) -> Finding:
    calls = [part for part in reply.parts if isinstance(part, Call)]
    if not calls:
        cut = reply.finish == "length"
        why = "its reply was cut before it called one" if cut else "it answered without a call"
        return Finding("tools", "no", why)
    if any(isinstance(read_arguments(call.arguments), Malformed) for call in calls):
        return Finding("tools", "no", "its call's arguments are no JSON object")
    return Finding("tools", "yes")


def _thinking(replies: Sequence[Reply]) -> Finding:
    parts = [part for reply in replies for part in reply.parts]
    tokens = sum(reply.usage.reasoning_tokens or 0 for reply in replies)
    if any(isinstance(part, Thinking) for part in parts):
        return Finding("thinking", "yes", "readable")
    if any(isinstance(part, Block) for part in parts) or tokens:
        return Finding("thinking", "yes", "opaque")
    return Finding("thinking", "no")


def _written(first: Reply, second: Reply, least: int | None) -> Finding:
    written = first.usage.cache_write_tokens
    if written is None:
        return Finding("cache written", "unknown", "not reported")
    if written:
        return Finding("cache written", "yes", f"{written:,} tokens")
    if (second.usage.cached_tokens or 0) > (first.usage.cached_tokens or 0):
        return Finding("cache written", "yes", "nothing is counted as written, and so not billed")
    return Finding("cache written", *(_too_short(first, least) or ("no", "0 tokens")))


def _read(first: Reply, second: Reply, least: int | None) -> Finding:
    cached, prompt = second.usage.cached_tokens, second.usage.prompt_tokens
    if not cached and (short := _too_short(first, least)):
        return Finding("cache read", *short)
    if cached is not None:
        detail = f"{cached:,} tokens" + (f" of {prompt:,}" if prompt else "")
        return Finding("cache read", "yes" if cached else "no", detail)
    before, after = first.usage.prompt_eval_ms, second.usage.prompt_eval_ms
    if before is None or after is None:
        return Finding("cache read", "unknown", "not reported")
    detail = f"the prompt was read in {after:,} ms, after {before:,} ms"
    return Finding("cache read", "yes" if after * _WARM <= before else "no", detail)


def _too_short(first: Reply, least: int | None) -> tuple[Outcome, str] | None:
    """What is said of a prompt that no cache of the model's would keep."""
    prompt = first.usage.prompt_tokens
    if least is None or prompt is None or prompt >= least:
        return None
    return "unknown", f"{prompt:,} tokens are below the cache's minimum of {least:,}"


def _images(found: Outcomes) -> Finding:
    """Whether a picture was taken; where none was sent, what is said of the model."""
    seen, trial = found.seen, found.trial
    if isinstance(seen, Reply):
        texts = (part.text for part in seen.parts if isinstance(part, Text))
        if COLOUR in " ".join(texts).lower():
            return Finding("images", "yes", "it told the colour of one")
        return Finding("images", "unknown", "one was taken, but its colour was not told")
    if isinstance(seen, ProviderError):
        refused = seen.kind in _REFUSALS or "image" in seen.message.lower()
        return Finding("images", "no" if refused else "unknown", seen.message)
    if trial.sees is None:
        return Finding("images", "unknown", "not tried, and nobody says")
    return Finding("images", "yes" if trial.sees else "no", f"not tried; by {trial.sees_from}")
