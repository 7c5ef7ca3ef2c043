"""C68, ROL-13: what was typed and could not be recorded is given back, all of it and once."""

import threading
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import say
from tests.faults import tripping
from tests.faults.tripping import Wire


async def test_what_waited_comes_back_with_what_was_typed_then(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AGT-4: into the prompt, and no second time when the session is opened again."""
    rig, gate = Rig(tmp_path), threading.Event()
    with ChatServer([say("never", gate=gate), say("fine")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="and then this"))
        await rig.until(up.Queued)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        gate.set()
        disk = tripping.full(monkeypatch, Wire(ev.UserMessage.type))
        assert (await rig.ask("and that")).why == "error"
        (back,) = rig.told(up.NotSent)
        assert back.text == "and then this\n\nand that"
        disk.lift()
        rig.tell(commands.SaveDraft(text=back.text))
        await rig.close()
        assert (await rig.open(resume="last")).draft == back.text
        assert (await rig.ask(back.text)).text == "fine"
        await rig.close()
    assert server.violations == []
