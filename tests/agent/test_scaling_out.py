"""PRV-15: a model that a cluster serves: a session stays with the replica that holds its cache."""

from contextlib import ExitStack

import pytest
import tomli_w

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.router import Router
from tests.fakes.script import call, say

HEADER = "X-Cluster-Session"


def configure(rig: Rig, router: Router, **server: object) -> None:
    where = {"provider": "openai", "base_url": router.base_url, **server}
    model = {"server": "cluster", "model": router.model, "dialect": "vllm"}
    value = {"model": "m", "servers": {"cluster": where}, "models": {"m": model}}
    (rig.home / "config.toml").write_bytes(tomli_w.dumps(value).encode())


async def shares(rig: Rig, **server: object) -> tuple[list[int], list[float]]:
    """The replicas' numbers of requests, and the cached share of each reply after the first; the
    session is resumed in the middle.
    """
    with ExitStack() as stack:
        replicas = [
            stack.enter_context(
                ChatServer([call("fs-list", {}), say("fine")] * 4, flavour="vllm", cache="slot")
            )
            for _ in range(2)
        ]
        router = stack.enter_context(Router(replicas, HEADER))
        configure(rig, router, **server)
        await rig.open()
        await rig.ask("one")
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("two")
        assert [each.violations for each in replicas] == [[], []]
        counts = sorted(len(each.bodies) for each in replicas)
    usages = [reply.usage for reply in rig.of(ev.LlmResponse)]
    return counts, [(u.cached_tokens or 0) / (u.prompt_tokens or 1) for u in usages[1:]]


async def test_the_routers_header_keeps_a_session_on_one_replica(rig: Rig) -> None:
    """Each request goes where the one before went, also after a resume, and reads its cache."""
    counts, cached = await shares(rig, cache_key_header=HEADER)
    assert counts == [0, 4]
    assert min(cached) > 0.9


async def test_without_it_the_replicas_take_turns_and_read_everything_anew(rig: Rig) -> None:
    counts, cached = await shares(rig)
    assert counts == [2, 2]
    assert cached[0] == pytest.approx(0.0)
    assert sum(cached) / len(cached) < 0.9


async def test_ollama_is_named_the_session_where_its_router_wants_that(rig: Rig) -> None:
    """PRV-4: a header that was set is sent; without one Ollama is told nothing of the session."""
    with OllamaServer([say("one"), say("two")]) as server:
        where = {"provider": "ollama", "base_url": server.base_url}
        for more in ({}, {"cache_key_header": HEADER}):
            value = {
                "model": "m",
                "servers": {"near": {**where, **more}},
                "models": {"m": {"server": "near", "model": server.model}},
            }
            (rig.home / "config.toml").write_bytes(tomli_w.dumps(value).encode())
            await rig.open()
            await rig.ask()
            await rig.close()
    first, second = (body.headers for body in server.bodies)
    assert len(second[HEADER.lower()]) == 64
    assert {name for name in {*first, *second} if "session" in name} == {HEADER.lower()}
