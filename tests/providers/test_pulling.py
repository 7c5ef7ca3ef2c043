"""Fetching a model with Ollama: every way its stream can go."""

from contextlib import aclosing

import pytest

from nodwyn_tui.errors import ProviderError
from nodwyn_tui.providers.base import Endpoint
from nodwyn_tui.providers.client import Client
from nodwyn_tui.providers.pulling import Pulled, pull
from nodwyn_tui.system.clock import SystemClock
from tests.fakes.ollama_library import FULL, OFFLINE, Library
from tests.fakes.ollama_server import OllamaServer

SIZES = (3_000_000, 500_000)


def library(**more: object) -> Library:
    return Library({"small:1b": SIZES, "plain:latest": (10,)}, **more)  # type: ignore[arg-type]


async def fetched(server: OllamaServer, model: str = "small:1b") -> list[Pulled]:
    """Every step; raises what the fetching ends with."""
    client = Client(
        Endpoint(server="ollama", provider="ollama", base_url=server.base_url), clock=SystemClock()
    )
    try:
        async with aclosing(pull(client, model)) as steps:
            return [step async for step in steps]
    finally:
        await client.aclose()


async def test_bytes_are_those_of_all_layers() -> None:
    """TUI-6: progress never goes back, and ends with all that there is."""
    with OllamaServer(installed=(), library=library()) as server:
        steps = await fetched(server)
        assert server.installed == ["small:1b"]
    assert (steps[-1].done, steps[-1].status) == (True, "success")
    assert steps[-1].done_bytes == steps[-1].all_bytes == sum(SIZES)
    done = [step.done_bytes for step in steps]
    assert done == sorted(done)
    assert [step.done for step in steps].count(True) == 1


async def test_a_name_without_a_tag_is_the_latest() -> None:
    with OllamaServer(installed=(), library=library()) as server:
        assert (await fetched(server, "plain"))[-1].done
        assert server.installed == ["plain:latest"]


@pytest.mark.parametrize(
    ("asked", "more", "kind", "word"),
    [
        ("nothing:1b", {}, "not_found", "library"),
        ("two words", {}, "invalid_request", "without blanks"),
        ("small:1b", {"breaks_after": 3, "error": FULL}, "server_error", "Make room"),
        ("small:1b", {"breaks_after": 0, "error": FULL}, "server_error", "Make room"),
        ("small:1b", {"breaks_after": 1, "error": OFFLINE}, "transport", "network"),
        ("small:1b", {"breaks_after": 3}, "incomplete_stream", "goes on from"),
        ("small:1b", {"breaks_after": 3, "ending": "reset"}, "transport", "goes on from"),
    ],
)
async def test_every_failure_is_typed_and_says_what_to_do(
    asked: str, more: dict[str, object], kind: str, word: str
) -> None:
    """PRV-9: the server's words, and the person's next step."""
    with OllamaServer(installed=(), library=library(**more)) as server:
        with pytest.raises(ProviderError) as caught:
            await fetched(server, asked)
        assert server.installed == []
    assert caught.value.kind == kind
    assert word in str(caught.value)
    assert str(caught.value).startswith("ollama: ")


async def test_it_goes_on_from_what_is_there() -> None:
    """TUI-6: the second time begins where the first one broke off."""
    with OllamaServer(installed=(), library=library(breaks_after=4)) as server:
        with pytest.raises(ProviderError, match="broke off"):
            await fetched(server)
        server.library.breaks_after = None
        steps = await fetched(server)
    begun = next(step for step in steps if step.all_bytes)
    assert begun.done_bytes == 2_000_000
    assert steps[-1].done_bytes == sum(SIZES)


async def test_a_stream_without_a_line_is_no_success() -> None:
    """PRV-8: nothing that came is taken for the end."""
    with OllamaServer(installed=(), library=library(breaks_after=0)) as server:
        with pytest.raises(ProviderError, match="broke off"):
            await fetched(server)
        assert server.installed == []
