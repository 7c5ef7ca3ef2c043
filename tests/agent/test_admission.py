"""What fits no window is refused before it is sent, and leaves a session that goes on."""

import shutil
import threading
from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, call, say


async def test_message_that_fits_no_more_beside_the_earlier_ones_is_not_kept(rig: Rig) -> None:
    """C05, ENG-14: the person's words never leave by themselves, so the one that is too much is
    given back, and a shorter one still goes.
    """
    with ChatServer([say("a"), say("b"), say("c")], context=8_000) as server:
        rig.configure(server)
        await rig.open()
        assert (await rig.ask("x" * 9_000)).why == "done"
        ended = await rig.ask("y" * 18_000)
        assert (ended.why, ended.exit_code, len(server.bodies)) == ("blocked", 5, 1)
        assert "earlier" in ended.message
        assert [message.rejected for message in rig.of(ev.UserMessage)] == [False, True]
        assert any("/clear" in remedy for remedy in rig.of(ev.BudgetBlocked)[0].remedies)
        assert (await rig.ask("short")).text == "b"
        rig.tell(commands.ClearWindow())
        assert (await rig.ask("y" * 9_000)).text == "c"


async def test_rejected_message_is_written_anew(rig: Rig) -> None:
    """ROL-8: it stands where it was said, comes back into the prompt, and is in no later window."""
    gate = threading.Event()
    with ChatServer([say("a"), say("b", gate=gate), say("c")], context=8_000) as server:
        rig.configure(server)
        await rig.open()
        assert (await rig.ask("short")).why == "done"
        assert (await rig.ask("y" * 60_000)).why == "blocked"
        [rejected] = [e.entry for e in rig.told(up.EntryAdded) if e.entry.title == "not sent"]
        rig.tell(commands.PriceEdit(entry_id=rejected.id))
        priced = await rig.until(up.EditPriced)
        assert [option.action for option in priced.options] == ["rewrite"]
        rig.tell(commands.Send(text="less"))
        await rig.until(up.RequestSent)
        rig.tell(commands.EditWindow(entry_id=rejected.id, action="rewrite"))
        returned = await rig.until(up.Returned)  # also during a run
        assert (returned.text, returned.why) == ("y" * 60_000, "again")
        gate.set()
        await rig.until(up.RunEnded)
        rig.tell(commands.ClearWindow())
        await rig.until(up.StatesChanged)
        assert rig.told(up.StatesChanged)[-1].state == "behind"
        changed = [told for told in rig.told(up.StatesChanged) if rejected.id in told.ids]
        assert changed == [], "it stays outside, whatever becomes of the window"
        sent = [e.entry for e in rig.told(up.EntryAdded) if e.entry.preview == "short"]
        rig.tell(commands.EditWindow(entry_id=sent[0].id, action="rewrite"))
        assert (await rig.until(up.Returned)).text == "short"
        assert (await rig.ask("anew")).text == "c"
        assert "yyy" not in str(server.bodies)
        in_window = [e.entry for e in rig.told(up.EntryAdded) if e.entry.preview == "anew"]
        rig.tell(commands.EditWindow(entry_id=in_window[0].id, action="rewrite"))
        assert "not in the window" in (await rig.until(up.Notice)).text


async def test_message_is_measured_as_the_request_will_be(rig: Rig) -> None:
    """PRV-7: by the server's own counts of earlier prompts, where it counts less than we do."""
    with ChatServer([say("a"), say("b")], context=8_000) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("x" * 8_700)
        assert (await rig.ask("y" * 8_700)).text == "b"
    assert server.violations == []
    ceiling = rig.of(ev.SessionStart)[0].recipe.window.ceiling
    assert rig.of(ev.LlmRequest)[-1].estimate > ceiling


async def test_steer_that_fits_no_window_stops_nothing(rig: Rig) -> None:
    """AGT-4: it is marked as not sent, and the run goes on without it."""
    gate = threading.Event()
    slow = Say("", calls=call("fs-list", {}).calls, gate=gate)
    with ChatServer([slow, say("done"), say("later")], context=8_000) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="go"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="z" * 40_000, steer=True))
        await rig.until(up.Queued)
        gate.set()
        assert (await rig.until(up.RunEnded)).text == "done"
        assert [(m.via, m.rejected) for m in rig.of(ev.UserMessage)] == [
            ("prompt", False), ("steer", True),
        ]  # fmt: skip
        assert (await rig.ask("and?")).text == "later"
    assert "zzz" not in str(messages(server))


async def test_senseless_count_of_a_prompt_blocks_nothing(rig: Rig) -> None:
    """PRV-7: no tokenizer has more tokens than bytes; a server that says so is not believed."""
    wild = {"prompt_tokens": 9_000_000, "completion_tokens": 1}
    with ChatServer([say("a", usage=wild), say("b", usage=wild), say("c")]) as server:
        rig.configure(server)
        await rig.open()
        for text in "abc":
            assert (await rig.ask()).text == text
    assert server.violations == []


async def test_what_is_saved_at_last_is_said_to_be(rig: Rig) -> None:
    """ENG-3, C68: the count of unsaved events is right when the session is closed."""
    with ChatServer([say("a")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask()
        shutil.rmtree(rig.workspace)
        rig.tell(commands.SetMode(mode="plan"))
        assert (await rig.until(up.Unsaved)).count == 1
        rig.workspace.mkdir()
        await rig.close()
    assert rig.told(up.Unsaved)[-1].count == 0
    assert rig.of(ev.ModeChange)
    assert Path(opened.log_path).is_file()


async def test_what_is_held_is_saved_though_nothing_more_happens(rig: Rig) -> None:
    """C68: the disk is tried again by itself, and the person is told once it has taken all."""
    with ChatServer([say("a")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        shutil.rmtree(rig.workspace)
        rig.tell(commands.SetMode(mode="plan"))
        assert (await rig.until(up.Unsaved)).count == 1
        rig.workspace.mkdir()
        assert (await rig.until(up.Unsaved)).count == 0
        assert rig.of(ev.ModeChange)
