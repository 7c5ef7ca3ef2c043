"""Folds that a session makes by itself (ENG-21), against fakes with prefix caches of their own."""

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import Say, call, say

CODE = "\n".join(f"value_{number} = compute({number})  # a line" for number in range(60)) + "\n"
NO_CACHE_PRICE = {"input": 1.0, "cached": 1.0, "output": 1.0}
LOW_RATIO = {"input": 1.1, "cached": 1.0, "output": 1.0}


def read(path: str = "a.py") -> Say:
    return call("fs-read", {"path": path})


def edit(number: int, path: str = "a.py") -> Say:
    old, new = f"compute({number})", f"made({number})"
    return call("fs-edit", {"path": path, "old": old, "new": new})


def fails(number: int) -> Say:
    return call("shell", {"command": f"echo broken {number}; seq 1 200; exit 3"})


def looks(count: int) -> list[Say]:
    """Steps that make nothing stale."""
    return [call("fs-glob", {"pattern": f"*.{number}"}) for number in range(count)]


def stale_work(rounds: int = 1) -> list[Say]:
    """Reads of a file that is edited each time, a command that fails and is made again, and enough
    behind them that none of it is among the latest entries.
    """
    work = [(read(), edit(number), fails(number), fails(number)) for number in range(rounds)]
    return [*itertools.chain.from_iterable(work), *looks(3)]


async def opened(rig: Rig, server: ChatServer | OllamaServer, **model: Any) -> None:
    (rig.workspace / "a.py").write_text(CODE)
    rig.configure(server, **model)
    await rig.open(mode="edits", allow=("shell: *",))


def requests(rig: Rig) -> Sequence[ev.LlmRequest]:
    return rig.of(ev.LlmRequest)


def folds(rig: Rig) -> list[str]:
    return [fold.why for fold in rig.of(ev.ResultFold)]


def check_forecast(rig: Rig, since: int = 0) -> None:
    """Each prediction from the event `since` on against what the fake's cache held: to the token
    where a whole prompt is, else by shares of bytes, which are spelt longer on the wire.
    """
    usages = {reply.req: reply.usage for reply in rig.of(ev.LlmResponse)}
    for request in requests(rig):
        if request.seq > since and request.predicted_cached is not None:
            held = usages[request.seq].cached_tokens or 0
            slack = 0.12 * held if request.prefix_ended_by else 8
            assert abs(held - request.predicted_cached) <= slack, request.seq


async def test_nothing_is_folded_while_a_local_cache_is_warm(rig: Rig) -> None:
    """There a cached token costs nothing: folds wait for a moment that costs the prefix anyway."""
    with ChatServer([*stale_work(), say("done"), say("more")]) as server:
        await opened(rig, server)
        await rig.ask()
        await rig.ask("and now?")
    assert folds(rig) == []
    assert {request.prefix_ended_by for request in requests(rig)} == {"first", None}


async def test_trim_folds_first_and_goes_down_to_low_water_all_the_same(rig: Rig) -> None:
    """What is folded need not be elided; the line is recorded, so that the request replays."""
    script = [*stale_work(6), *(read(f"{n}.py") for n in range(9)), say("done")]
    for number in range(9):
        (rig.workspace / f"{number}.py").write_text(CODE)
    with ChatServer(script) as server:
        await opened(rig, server, high_water=12_000, low_water=7_500, context=32_768)
        await rig.ask()
    made = rig.of(ev.ResultFold)
    assert {fold.why for fold in made} == {"stale read", "superseded failure"}
    [trimmed, *_] = [r for r in requests(rig) if r.high_water is not None]
    assert trimmed.high_water == 7_500
    assert trimmed.estimate <= 7_500
    assert [made[0].batch, made[0].seq + len(made)] == [len(made), trimmed.seq], "in one append"
    assert not {fold.target for fold in made} & set(trimmed.elided)
    sent = messages(server, requests(rig).index(trimmed))
    assert any("an earlier read: the file was changed" in str(m.get("content")) for m in sent)
    check_forecast(rig)


async def test_fold_that_pays_is_made_over_a_warm_cache(rig: Rig) -> None:
    """And the request behind it reads from the cache what stands before the fold."""
    with ChatServer([*stale_work(), say("done")]) as server:
        await opened(rig, server, price=LOW_RATIO)
        await rig.ask()
    assert set(folds(rig)) == {"stale read", "superseded failure"}
    assert "fold" in {request.prefix_ended_by for request in requests(rig)}
    assert all(request.elided == () for request in requests(rig))
    check_forecast(rig)


async def test_server_that_charges_cached_tokens_in_full_is_folded_for_at_once(rig: Rig) -> None:
    with ChatServer([*stale_work(), say("done")]) as server:
        await opened(rig, server, price=NO_CACHE_PRICE)
        await rig.ask()
    protected = 4
    seen = 0
    for event in rig.log():
        if isinstance(event, ev.ResultFold):
            break
        seen += isinstance(event, ev.ToolResult)
    assert folds(rig)[0] == "stale read"
    assert seen == 1 + protected // 2, "as soon as it is not among the latest entries"


async def test_new_run_over_a_cold_cache_folds(rig: Rig) -> None:
    """The model was unloaded: all is read anew anyway, and less of it."""
    with OllamaServer([*stale_work(), say("done"), say("more")]) as server:
        await opened(rig, server, keep_alive="400ms")
        await rig.ask()
        await asyncio.sleep(0.5)
        await rig.ask("and now?")
    assert requests(rig)[-1].prefix_ended_by == "likely_expiry"
    assert set(folds(rig)) == {"stale read", "superseded failure"}
    told = (*rig.told(up.EntryAdded), *rig.told(up.EntryChanged))
    titles = [each.entry.title for each in told if each.entry.kind == "divider"]
    assert f"{len(folds(rig))} entries folded, out of date" in titles


async def test_resume_that_changed_the_prefix_folds(rig: Rig) -> None:
    with ChatServer([*stale_work(), say("done"), say("more")]) as server:
        await opened(rig, server)
        await rig.ask()
        await rig.close()
        assert folds(rig) == []
        rig.configure(server, max_result_tokens=300)
        await rig.open(resume="last")
        await rig.ask("and now?")
    assert set(folds(rig)) == {"stale read", "superseded failure"}
    assert requests(rig)[-1].prefix_ended_by == "resume"


async def test_resume_that_changed_nothing_folds_nothing(rig: Rig) -> None:
    with ChatServer([*stale_work(), say("done"), say("more")]) as server:
        await opened(rig, server)
        await rig.ask()
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("and now?")
    assert folds(rig) == []
    assert requests(rig)[-1].prefix_ended_by is None


async def test_template_that_rewrites_makes_room_for_folds(rig: Rig) -> None:
    """What stands behind the former run's thinking is read anew anyway."""
    hmm = "Let me think about it from all sides. " * 30
    thoughtful = [call("fs-list", {}, thinking=hmm), say("done", thinking=hmm)]
    script = [*thoughtful, *thoughtful, *stale_work(), say("done"), *thoughtful]
    script[4] = call("fs-read", {"path": "a.py"}, thinking=hmm)
    with ChatServer(script, forgetful=True) as server:
        await opened(rig, server)
        for number in range(4):
            await rig.ask(f"step {number}")
    assert [note.why for note in rig.of(ev.Note)] == ["template"]
    began = next(r for r in requests(rig) if r.run == 4)
    assert began.prefix_ended_by == "template"
    assert set(folds(rig)) == {"stale read", "superseded failure"}
    assert all(fold.seq < began.seq and fold.run == 4 for fold in rig.of(ev.ResultFold))
    check_forecast(rig, since=began.seq - 1)


@pytest.mark.parametrize("where", ["window", "model"])
async def test_off_means_off(rig: Rig, where: str) -> None:
    """ENG-21: for all models, or for one."""
    with ChatServer([*stale_work(), say("done")]) as server:
        (rig.workspace / "a.py").write_text(CODE)
        off = {"folds": False} if where == "model" else {}
        rig.configure(server, price=NO_CACHE_PRICE, **off)
        if where == "window":
            with (rig.home / "config.toml").open("a") as file:
                file.write("\n[window]\nfolds = false\n")
        await rig.open(mode="edits", allow=("shell: *",))
        await rig.ask()
    assert folds(rig) == []


async def test_what_the_model_reads_of_a_fold_is_how_to_get_it_back(rig: Rig) -> None:
    with ChatServer([*stale_work(), say("done")]) as server:
        await opened(rig, server, price=NO_CACHE_PRICE)
        await rig.ask()
    results = [m["content"] for m in messages(server) if m["role"] == "tool"]
    assert 'fs-read {"path": "a.py"} shows it]' in results[0]
    assert "made again at seq" in results[2]
    assert '"action": "read_item"' in results[2]
    assert "broken" in results[3], "the later attempt stays"
