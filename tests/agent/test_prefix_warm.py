"""PRV-7: Ollama reports no cached tokens; the time that it read a prompt for tells of the cache."""

import pytest

from nodwyn_tui.cli.cache import run as show_cache
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, say


async def test_a_warm_step_is_shown_in_the_meter_and_the_table(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first request is cold; the second one goes on from it, and is read in half a second."""
    with OllamaServer([call("fs-list", {}), say("done")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask()
    warm = [meter.warm for meter in rig.told(up.MeterChanged) if meter.elapsed_ms is not None]
    assert (warm[0], warm[-1]) == (False, True)
    assert show_cache([opened.log_path]) == 0
    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert " warm " not in first
    assert " warm " in second


async def test_a_slow_read_is_not_warm(rig: Rig) -> None:
    """The model was loaded anew meanwhile: nothing foretold that, and the time shows it."""
    slow = {"prompt_eval_count": 1_300, "prompt_eval_duration": 9_000_000_000, "eval_count": 1}
    with OllamaServer([call("fs-list", {}), say("done", usage=slow)]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    assert not any(meter.warm for meter in rig.told(up.MeterChanged))


async def test_a_server_that_reports_its_cache_needs_no_guess(rig: Rig) -> None:
    with ChatServer([call("fs-list", {}), say("done")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
    last = rig.told(up.MeterChanged)[-1]
    assert last.cached_reply
    assert not last.warm
