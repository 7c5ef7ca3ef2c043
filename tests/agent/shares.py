"""What a session's requests read from the server's cache, beside what a perfect client of it reads:
all of the prompt before, as far as that cache gives it (PERF-5).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.marked_chat import MarkedChat
from tests.fakes.prefix_cache import PrefixCache
from tests.fakes.server import FakeServer

Readable = Callable[[int], int]
"""How many tokens of a prompt that is sent again, with more behind it, come from the cache."""


@dataclass(frozen=True)
class Share:
    """Sums over a session; `before` are the prompts before each request, `perfect` what a perfect
    client reads of them: all but rows of fresh context that go again, and what stands behind them.
    `foretold` counts the requests of which just what was predicted was read.
    """

    requests: int
    prompt: int
    cached: int
    before: int
    perfect: int
    foretold: int

    @property
    def part(self) -> str:
        """Of what a perfect client reads."""
        return f"{self.cached / self.perfect:.1%}"

    def row(self, name: str) -> str:
        """A line of the table in docs/benchmarks.md."""
        figures = f"{self.requests} | {self.prompt:,} | {self.cached:,} | {self.part}"
        of_all = f"{self.cached / self.before:.1%}"
        return f"| {name} | {figures} | {of_all} | {self.foretold} of {self.requests - 1} |"


def share_of(rig: Rig, server: FakeServer, readable: Readable) -> Share:
    """The session's share. A prediction names the whole prompt before: the cache's own steps, which
    a client cannot know, are taken off it. What is read beyond a perfect client's part, because
    two rows happen to begin alike, does not count.
    """
    requests = rig.of(ev.LlmRequest)
    kept = [stays(server, number, request) for number, request in enumerate(requests)]
    perfect = [0, *map(readable, kept[:-1])]
    read = [min(cached, most) for (_, cached), most in zip(server.reads, perfect, strict=True)]
    return Share(
        requests=len(server.reads),
        prompt=sum(prompt for prompt, _ in server.reads),
        cached=sum(read),
        before=sum(readable(before) for (before, _), _ in pairwise(server.reads)),
        perfect=sum(perfect),
        foretold=sum(
            request.predicted_cached is not None and readable(request.predicted_cached) == cached
            for request, (_, cached) in zip(requests, server.reads, strict=True)
        ),
    )


def stays(server: FakeServer, number: int, request: ev.LlmRequest) -> int:
    """The tokens of a prompt that the next one begins with."""
    history = request.parameters.history
    if history is None:
        return server.reads[number][0]
    assert isinstance(server, ChatServer), "rows that go are measured in this protocol"
    body = server.bodies[number].body
    counts = MarkedChat() if isinstance(server.cache, MarkedChat) else PrefixCache("off")
    return counts.count({**body, "messages": body["messages"][: 1 + history]}).prompt
