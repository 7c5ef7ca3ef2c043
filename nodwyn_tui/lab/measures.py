"""A session's figures under a policy: what each cache reads of every request, and its price."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nodwyn_tui.domain.events import Event, LlmResponse, SessionStart
from nodwyn_tui.domain.request import AssistantRow
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import UsageError
from nodwyn_tui.lab.cache_models import CACHE_MODELS, Read
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.prompts import Prompts
from nodwyn_tui.lab.replays import answered, refold, scales
from nodwyn_tui.lab.rows import Row
from nodwyn_tui.lab.sessions import Left, Refolded
from nodwyn_tui.window.entries import message_tokens

MILLION = 1_000_000
FIELDS_OF_A_PRICE = 4


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens."""

    input: float
    cached: float
    write: float
    output: float

    @classmethod
    def of(cls, words: str) -> "Prices":
        """`input,cached,write,output`, as in `2,0.2,2.5,10`; `UsageError` for anything else."""
        try:
            figures = [float(word) for word in words.split(",")]
        except ValueError:
            figures = []
        if len(figures) != FIELDS_OF_A_PRICE or not all(0 <= each < MILLION for each in figures):
            raise UsageError(
                "--price takes four prices per million tokens, input,cached,write,output"
                f" (as in 2,0.2,2.5,10), not {words!r}"
            )
        return cls(*figures)

    def cost(self, prompt: int, read: Read, output: int) -> float:
        """What a request costs, in US dollars."""
        plain = prompt - read.cached - read.written
        priced = plain * self.input + read.cached * self.cached + read.written * self.write
        return (priced + output * self.output) / MILLION


@dataclass(frozen=True, slots=True)
class Source:
    """A session's events, and what its log is called in reports."""

    log: str
    events: Sequence[Event]

    @property
    def session(self) -> str:
        """The session's id, '' where the log does not tell."""
        starts = (event.session for event in self.events if isinstance(event, SessionStart))
        return next(starts, "")


def measure(
    source: Source, policy: LabPolicy, models: Sequence[str], prices: Prices | None
) -> Iterator[Row]:
    """The rows of a session under a policy, request by request, a row for each cache model.

    A request that no reply answered (a refusal, the first try of two) is rebuilt and its elisions
    stand, but it fills no cache, costs nothing and has no row. `ReplayError` as of `refold`.
    """
    replies, ratios = answered(source.events), scales(source.events)
    prompts = Prompts(ratios)
    caches = {model: CACHE_MODELS[model]() for model in models}
    session = source.session
    left: list[Left] = []
    elided: list[int] = []
    for step in refold(source.events, policy):
        left += step.left
        elided += step.window.newly
        reply = replies.get(step.request.seq) if step.assumed is None else None
        if reply is None and step.assumed is None:
            continue
        prompt = prompts.prompt(step.request, step.window)
        output = _output(step, reply, ratios.get(prompt.origin, 1.0))
        usage = reply.usage if reply else Usage()
        kinds = Counter(each.kind for each in left)
        for model, cache in caches.items():
            read = cache.read(prompt)
            yield Row(
                log=source.log,
                session=session,
                policy=policy.name,
                cache_model=model,
                seq=step.request.seq,
                at=step.request.at,
                ctx=step.request.ctx,
                purpose=step.request.purpose,
                model=step.request.model.name,
                estimate=step.window.estimate,
                prompt_tokens=prompt.total,
                cached_tokens=read.cached,
                written_tokens=read.written,
                uncached_tokens=prompt.total - read.cached,
                output_tokens=output,
                cost_usd=prices.cost(prompt.total, read, output) if prices else None,
                elided=tuple(elided),
                left_results=kinds["result"],
                left_replies=kinds["assistant"],
                left_others=len(left) - kinds["result"] - kinds["assistant"],
                left_tokens=sum(each.tokens for each in left),
                reported_prompt_tokens=usage.prompt_tokens,
                reported_cached_tokens=usage.cached_tokens,
            )
        left, elided = [], []


def _output(step: Refolded, reply: LlmResponse | None, scale: float) -> int:
    """Tokens of a reply: reported, else estimated like a prompt's, as is an assumed note."""
    if reply is None:
        return round((step.assumed or 0) * scale)
    if reply.usage.output_tokens is not None:
        return reply.usage.output_tokens
    return round(message_tokens(AssistantRow(reply.parts)) * scale)
