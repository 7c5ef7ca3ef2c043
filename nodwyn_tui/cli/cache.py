"""`nodwyn cache`: what each request of a session should have read from the cache, and what it did.

Every figure was recorded when the request went out or its reply came; what is known of a model's
cache besides (PRV-11) only chooses the word for a miss.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from nodwyn_tui.cli import output
from nodwyn_tui.cli.stored import read_events
from nodwyn_tui.config.environment import read_environment
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.domain.events import Event, LlmRequest, LlmResponse, SessionStart
from nodwyn_tui.domain.usage import Usage, read_warm
from nodwyn_tui.domain.usage import totals as usage_totals
from nodwyn_tui.providers.shipped import FILE, Shipped
from nodwyn_tui.window.watch import FRESH

HEADINGS = (
    "seq",
    "purpose",
    "model",
    "prompt",
    "predicted",
    "cached",
    "share",
    "prefix ended by",
    "cost $",
)

SERVERS_MISS = "- server's miss"
"""In place of an event: nothing of ours ended the prefix."""
TOO_SHORT = "- below the minimum"
"""The same where there was nothing to read: no cache keeps a prompt as short as the earlier one."""
BLOCK = 128
"""Tokens by which caches that go by blocks may hold less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One request; unknown is `None`. Tokens, US dollars. `warm`: the time that reading the prompt
    took is all there is to tell by that it came from the cache.
    """

    seq: int
    model: str
    prompt_tokens: int | None
    predicted_cached: int | None
    cached_tokens: int | None
    prefix_ended_by: str | None
    cost_usd: float | None
    purpose: str = "turn"
    warm: bool = False


def run(arguments: Sequence[str]) -> int:
    """Prints the requests and the totals, as a table or as JSON."""
    parser = argparse.ArgumentParser(
        prog="nodwyn cache", description="What a session's requests read from the prompt cache."
    )
    parser.add_argument("id", help="an id, a unique prefix, a session's folder, or a log.jsonl")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    events = read_events(parsed.id)
    rows = list(_rows(events))
    if parsed.json:
        start = next((event for event in events if isinstance(event, SessionStart)), None)
        session = start.session if start else None
        value = {"session": session, "requests": [asdict(r) for r in rows], "totals": totals(rows)}
        output.json_line(value)
    else:
        output.show(_table(rows, minimums(events)))
    return 0


def _rows(events: Sequence[Event]) -> Iterator[Row]:
    replies = {event.req: event.usage for event in events if isinstance(event, LlmResponse)}
    for event in events:
        if isinstance(event, LlmRequest):
            usage = replies.get(event.seq, Usage())
            yield Row(
                seq=event.seq,
                purpose=event.purpose,
                model=event.model.name,
                prompt_tokens=usage.prompt_tokens,
                predicted_cached=event.predicted_cached,
                cached_tokens=usage.cached_tokens,
                prefix_ended_by=event.prefix_ended_by,
                cost_usd=usage.cost_usd,
                warm=read_warm(usage, event.predicted_cached),
            )


def minimums(events: Sequence[Event]) -> Mapping[int, int]:
    """By request the tokens of the shortest prompt that its cache keeps, where they are known for
    the server that has that name now.
    """
    environment = read_environment()
    paths = find_paths(environment, "")
    servers = load_settings(paths.config_file, environment).servers
    shipped = Shipped(paths.state / FILE)
    found: dict[int, int] = {}
    for event in events:
        if isinstance(event, LlmRequest) and (server := servers.get(event.model.server)):
            least = shipped.facts(server.base_url, event.model.id).cache_min
            found |= {} if least is None else {event.seq: least}
    return found


def totals(rows: Sequence[Row]) -> dict[str, int | float | None]:
    """The session's sums; a figure that no reply reported is unknown, never zero (ENG-29)."""
    summed = usage_totals(
        Usage(prompt_tokens=r.prompt_tokens, cached_tokens=r.cached_tokens, cost_usd=r.cost_usd)
        for r in rows
    )
    return {
        "prompt_tokens": summed.prompt_tokens,
        "cached_tokens": summed.cached_tokens,
        "cache_rate": summed.cache_rate,
        "cost_usd": summed.cost_usd,
    }


def _table(rows: Sequence[Row], least: Mapping[int, int]) -> str:
    cells = [HEADINGS, *(_cells(row, least.get(row.seq, 0)) for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEADINGS))]
    lines = ["  ".join(c.rjust(w) for c, w in zip(line, widths, strict=True)) for line in cells]
    cost = totals(rows)["cost_usd"]
    spent = "unknown" if cost is None else f"${cost:.4f}"
    return "\n".join([*lines, "", f"token cache rate {_rate(rows)}", f"cost {spent}"])


def _rate(rows: Sequence[Row]) -> str:
    """The rate, and the sums that it is of: those of the replies that report both (ENG-29)."""
    rate = totals(rows)["cache_rate"]
    if rate is None:
        return "unknown: no reply reported what was cached"
    known = [row for row in rows if row.prompt_tokens and row.cached_tokens is not None]
    cached = sum(row.cached_tokens or 0 for row in known)
    prompt = sum(row.prompt_tokens or 0 for row in known)
    left_out = sum(row.prompt_tokens is not None for row in rows) - len(known)
    others = f"; {left_out} of the replies reported no cached tokens" if left_out else ""
    return f"{rate:.1%} ({cached:,} of {prompt:,} prompt tokens{others})"


def missed(row: Row) -> bool:
    """Whether the server read anew what nothing had changed, rows that go with each request aside:
    a miss of its own (ENG-28).
    """
    if row.prefix_ended_by not in (None, FRESH):
        return False
    if row.predicted_cached is None or row.cached_tokens is None:
        return False
    return row.predicted_cached - row.cached_tokens > BLOCK + row.predicted_cached // 20


def ending(row: Row, least: int) -> str:
    """What ended the identical part, or whose miss it is; the cache keeps prompts of `least` tokens
    and more.
    """
    if not missed(row):
        return row.prefix_ended_by or "-"
    return TOO_SHORT if (row.predicted_cached or 0) < least else SERVERS_MISS


def _cells(row: Row, least: int) -> tuple[str, ...]:
    share = "warm" if row.warm else "?"
    if row.prompt_tokens and row.cached_tokens is not None:
        share = f"{row.cached_tokens / row.prompt_tokens:.1%}"
    inert = "".join(char for char in row.model if char.isprintable())
    cost = "?" if row.cost_usd is None else f"{row.cost_usd:.4f}"
    figures = map(_figure, (row.prompt_tokens, row.predicted_cached, row.cached_tokens))
    return (str(row.seq), row.purpose, inert[:40], *figures, share, ending(row, least), cost)


def _figure(value: float | None) -> str:
    return "?" if value is None else f"{value:,}"
