"""What a session's requests read from the server's cache, beside what a perfect client of it reads:
all of the prompt before, as far as that cache gives it (PERF-5).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.fakes.server import FakeServer

Readable = Callable[[int], int]
"""How many tokens of a prompt that is sent again, with more behind it, come from the cache."""


@dataclass(frozen=True)
class Share:
    """Sums over a session; `foretold` counts the requests of which just what was predicted was
    read.
    """

    requests: int
    prompt: int
    cached: int
    perfect: int
    foretold: int

    @property
    def part(self) -> str:
        """Of what a perfect client reads."""
        return f"{self.cached / self.perfect:.1%}"

    def row(self, name: str) -> str:
        """A line of the table in docs/benchmarks.md."""
        figures = f"{self.requests} | {self.prompt:,} | {self.cached:,} | {self.part}"
        return f"| {name} | {figures} | {self.foretold} of {self.requests - 1} |"


def share_of(rig: Rig, server: FakeServer, readable: Readable) -> Share:
    """The session's share. A prediction names the whole prompt before: the cache's own steps, which
    a client cannot know, are taken off it.
    """
    predicted = [request.predicted_cached for request in rig.of(ev.LlmRequest)]
    return Share(
        requests=len(server.reads),
        prompt=sum(prompt for prompt, _ in server.reads),
        cached=sum(cached for _, cached in server.reads),
        perfect=sum(readable(before) for (before, _), _ in pairwise(server.reads)),
        foretold=sum(
            said is not None and readable(said) == read
            for said, (_, read) in zip(predicted, server.reads, strict=True)
        ),
    )
