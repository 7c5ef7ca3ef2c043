"""Trying a model out as a session would ask it, and what that will cost (PRV-12)."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from nodwyn_tui.agent import spend
from nodwyn_tui.agent.prompt import SYSTEM
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain.request import ToolSpec
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.providers import picture, probe
from nodwyn_tui.providers.probe import Outcomes, Trial

TOOL = "fs-list"
MOST_OUTPUT = 2048
"""Tokens: enough to think a little and to make a call."""

LARGEST_MINIMUM = 4096
"""Tokens from which on any hosted cache holds a prompt, as far as any documents it."""

BYTES_A_TOKEN = 3
"""Of what is sent, for a price that is rather too high."""

LONG = ("1h", "12h")
"""What `cache_control` asks at the price of a long write."""

GOES_ON = 400
"""Tokens that the second request has more."""

PICTURE = 2_000
"""Tokens that a tiny picture costs where it costs most, its question included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a trial sends: how many requests, the tokens of their prompts, rather too many, and US
    dollars at most, `None` for an unknown price.
    """

    trial: Trial
    requests: int
    tokens: int
    cost_usd: float | None


def planned(target: Target, tools: Sequence[ToolSpec], now: datetime) -> Planned:
    """A trial of a model, its prompt padded past what its server's cache takes."""
    most = min(MOST_OUTPUT, target.wanted.max_output or MOST_OUTPUT)
    padding = probe.padding(_least(target), secrets.token_hex(8))
    facts = target.facts
    trial = Trial(
        system=SYSTEM + padding,
        tools=tuple(tools),
        tool=TOOL,
        max_output=most,
        least=facts.cache_min,
        sees=facts.images,
        sees_from=facts.abilities_from,
    )
    wire = target.provider.encode(trial.first, target.ref, target.parameters)
    first = len(wire.content()) // BYTES_A_TOKEN
    long = first if target.parameters.cache_control in LONG else 0
    pictures = 0 if facts.images is False else 1
    usages = (
        Usage(
            prompt_tokens=first,
            cache_write_tokens=first,
            cache_write_long_tokens=long,
            output_tokens=most,
        ),
        Usage(prompt_tokens=first + GOES_ON, cached_tokens=first, output_tokens=most),
        *(
            Usage(prompt_tokens=PICTURE, output_tokens=min(most, picture.MOST_OUTPUT))
            for _ in range(pictures)
        ),
    )
    costs = [target.price.cost(usage, now) if target.price else None for usage in usages]
    known = [cost for cost in costs if cost is not None]
    return Planned(
        trial=trial,
        requests=len(usages),
        tokens=2 * first + GOES_ON + pictures * PICTURE,
        cost_usd=sum(known) if len(known) == len(costs) else None,
    )


async def tried(
    target: Target, plan: Planned, watch: Callable[[Outcomes], None] = lambda _: None
) -> Outcomes:
    """Sends it; `watch` is told what is known after each reply."""
    return await probe.probe(target.provider, target.ref, target.parameters, plan.trial, watch)


def cost(target: Target, outcomes: Outcomes, now: datetime) -> float | None:
    """What it came to; `None` where a reply's cost is unknown."""
    usages = [spend.priced(reply.usage, target.price, now) for reply in outcomes.paid]
    known = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    return sum(known) if usages and len(known) == len(usages) else None


def _least(target: Target) -> int:
    """Tokens that a cache wants before it keeps a prompt. One of this machine or its network keeps
    any, and would take long to read more.
    """
    least = target.facts.cache_min
    if least is None:
        least = 0 if target.is_local else LARGEST_MINIMUM
    return min(least, target.context // 4)
