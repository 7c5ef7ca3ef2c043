"""What a session says of the cache against what the fakes' own caches hold (ENG-28)."""

import pytest

from nodwyn_tui.domain import events as ev
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Say, call, say
from tests.fakes.server import FakeServer

HMM = "Let me think about it from all sides. " * 40


def thoughtful(runs: int) -> list[Say]:
    """Runs of two calls and an answer, with thinking each."""
    steps = [
        call("fs-list", {}, thinking=HMM),
        call("fs-glob", {"pattern": "*"}, thinking=HMM),
        say("done", thinking=HMM),
    ]
    return steps * runs


def words(rig: Rig) -> list[str | None]:
    return [request.prefix_ended_by for request in rig.of(ev.LlmRequest)]


def notes(rig: Rig) -> list[str]:
    return [note.why for note in rig.of(ev.Note)]


async def ask_runs(rig: Rig, count: int) -> None:
    for number in range(count):
        await rig.ask(f"do the thing number {number}")


@pytest.mark.parametrize("kind", [ChatServer, OllamaServer])
async def test_template_is_learned_from_a_prompt_that_got_shorter(
    rig: Rig, kind: type[ChatServer] | type[OllamaServer]
) -> None:
    """ENG-28: the first such request is a miss that nobody foresaw; the person is told why, once,
    and from then on such a request is foreseen, in the next process too.
    """
    with kind(thoughtful(4), forgetful=True, context=32_768) as server:
        rig.configure(server)
        await rig.open()
        await ask_runs(rig, 3)
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("and once more")
    assert words(rig) == [
        *("first", None, None), *(None, None, None),
        *("template", None, None), *("template", None, None),
    ]  # fmt: skip
    assert notes(rig) == ["template"]
    assert [note.audience for note in rig.of(ev.Note)] == ["person"]
    foreseen = rig.of(ev.LlmRequest)[6:]
    counted = [reply.usage for reply in rig.of(ev.LlmResponse)]
    assert foreseen[0].predicted_cached == counted[3].prompt_tokens
    assert foreseen[3].predicted_cached == counted[6].prompt_tokens
    if kind is ChatServer:
        for request, usage in zip(foreseen, counted[6:], strict=True):
            assert abs((usage.cached_tokens or 0) - (request.predicted_cached or 0)) <= 8


@pytest.mark.parametrize("kind", [ChatServer, OllamaServer])
async def test_template_that_keeps_all_thinking_is_not_suspected(
    rig: Rig, kind: type[ChatServer] | type[OllamaServer]
) -> None:
    with kind(thoughtful(3), context=32_768) as server:
        rig.configure(server)
        await rig.open()
        await ask_runs(rig, 3)
    assert words(rig) == ["first", *[None] * 8]
    assert notes(rig) == []


async def test_prompt_that_lost_more_than_its_thinking_was_cut(rig: Rig) -> None:
    """PRV-7: no template did that."""
    script = [*thoughtful(1), say("bye", usage={"prompt_eval_count": 300, "eval_count": 1})]
    with OllamaServer(script) as server:
        rig.configure(server)
        await rig.open()
        await ask_runs(rig, 2)
    assert notes(rig) == ["cut"]


async def test_prompt_with_rows_that_go_is_known_to_be_cut_too(rig: Rig) -> None:
    """PRV-7: what stands before them is still there; a row that is short is none."""
    script = [*thoughtful(1), say("bye"), say("cut", usage={"prompt_tokens": 300})]
    with ChatServer(script, context=32_768) as server:
        rig.configure(server, fresh="each_request")
        await rig.open()
        await ask_runs(rig, 2)
        assert notes(rig) == []
        await ask_runs(rig, 1)
    assert notes(rig) == ["cut"]


async def test_expiry_is_likely_once_the_model_is_no_longer_kept(rig: Rig) -> None:
    """ENG-28: Ollama lets go of the prompt with the model, after its `keep_alive`."""
    with OllamaServer([say("one"), say("two")]) as server:
        rig.configure(server, keep_alive="1ms")
        await rig.open()
        await ask_runs(rig, 2)
    assert words(rig) == ["first", "likely_expiry"]
    assert rig.of(ev.LlmRequest)[1].predicted_cached == 0


async def test_one_slot_is_warm_while_the_model_is_kept(rig: Rig) -> None:
    with OllamaServer([say("one"), say("two")]) as server:
        rig.configure(server, keep_alive="-1")
        await rig.open()
        await ask_runs(rig, 2)
    assert words(rig) == ["first", None]


async def test_other_thinking_level_is_a_switch_of_parameters(rig: Rig) -> None:
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("first")
        await rig.close()
        rig.configure(server, effort="low")
        await rig.open(resume="last")
        await rig.ask("second")
    assert words(rig) == ["first", "parameter_switch"]
    assert rig.of(ev.LlmRequest)[1].predicted_cached == 0


async def test_trim_is_foretold_as_the_cache_has_it(rig: Rig) -> None:
    """The first message that differs is one that this request elides."""
    with ChatServer([call("fs-read", {"path": f"{n}.txt"}) for n in range(14)]) as server:
        for number in range(14):
            (rig.workspace / f"{number}.txt").write_text(f"line {number}\n" * 300)
        rig.configure(server, high_water=9_000, low_water=5_000)
        await rig.open()
        await rig.ask()
    trims = [request for request in rig.of(ev.LlmRequest) if request.elided]
    assert trims
    assert {trim.prefix_ended_by for trim in trims} == {"trim"}
    usages = {reply.req: reply.usage for reply in rig.of(ev.LlmResponse)}
    for trim in trims:
        held = usages[trim.seq].cached_tokens or 0
        assert abs(held - (trim.predicted_cached or 0)) <= 0.12 * held


def test_fake_counts_the_cache_by_what_its_template_leaves() -> None:
    """The fake itself: earlier thinking is no part of what it counts."""
    body = {
        "messages": [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b", "thinking": HMM},
            {"role": "user", "content": "c"},
        ]
    }
    servers: list[FakeServer] = [OllamaServer(forgetful=True), OllamaServer()]
    lean, full = (server.cache.count(body).prompt for server in servers)  # type: ignore[attr-defined]
    assert full - lean > len(HMM) // 4
    for server in servers:
        server._httpd.server_close()
