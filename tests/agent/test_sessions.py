"""Opening, leaving and going on: nothing of a session is lost, nothing of another one shows."""

import shutil
import socket
import threading
import time
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import PATIENCE_S, Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, ScriptedCall, call, say


def overwrite(log: Path, seq: int) -> None:
    """Damages one line of a log: NULs in its place, as a lost power leaves them."""
    lines = log.read_bytes().split(b"\n")
    at = next(n for n, line in enumerate(lines) if line.startswith(b'{"seq":%d,' % seq))
    lines[at] = b"\0" * len(lines[at])
    log.write_bytes(b"\n".join(lines))


async def test_damaged_session_is_never_removed(rig: Rig) -> None:
    """ENG-5: also where the only message of the person is among what is lost."""
    with ChatServer([say("ok")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("hello")
        await rig.close()
        overwrite(Path(opened.log_path), 2)
        (Path(opened.log_path).parent / "no-replay").touch()
        await rig.open(resume=opened.session)
        await rig.close()
    assert (Path(opened.log_path).parent / "log.damaged").exists()


async def test_session_whose_start_is_lost_goes_on_with_todays_prompt(rig: Rig) -> None:
    """ENG-5: and says so."""
    with ChatServer([say("ok"), say("on")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("hello")
        await rig.close()
        overwrite(Path(opened.log_path), 1)
        (Path(opened.log_path).parent / "no-replay").touch()
        await rig.open(resume=opened.session)
        assert (await rig.ask("and now?")).text == "on"
        rig.tell(commands.SwitchModel(model="m"))
        await rig.until(up.ModelChanged)
    assert "hello" in messages(server)[1]["content"]
    assert any("system prompt" in note.text for note in rig.of(ev.Note))


async def test_deeply_nested_arguments_open_and_close_like_any_other(rig: Rig) -> None:
    deep = '{"path":' + "[" * 2_000 + "]" * 2_000 + "}"
    with ChatServer([Say(calls=(ScriptedCall("fs-read", deep),)), say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        assert (await rig.ask()).why == "done"
        await rig.close()
        await rig.open(resume="last")
    assert rig.of(ev.ToolResult)[0].is_error


async def test_line_ends_inside_strings_run_and_stop_nothing(rig: Rig) -> None:
    """Models write them raw; only a call that lacks its end counts as cut (C32)."""
    raw = Say(calls=(ScriptedCall("fs-write", '{"path":"a.txt","text":"x\ny"}'),))
    wrong = Say(calls=(ScriptedCall("fs-list", '{"path": "a",}'),))
    with ChatServer([raw, raw, raw, wrong, wrong, say("ok")]) as server:
        rig.configure(server)
        await rig.open(mode="edits")
        assert (await rig.ask()).why == "done"
    assert (rig.workspace / "a.txt").read_text() == "x\ny"
    told = rig.of(ev.ToolResult)[-1].text
    assert "no valid JSON" in told
    assert "cut" not in told


async def test_what_a_tool_did_not_foresee_is_the_calls_failure(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No room for a temporary file ends a call, not the program."""
    monkeypatch.setattr("tempfile.TemporaryFile", _no_room)
    odd = call("session_history", {"action": "read_item", "item": "i:" + "9" * 5_000})
    with ChatServer([call("shell", {"command": "ls"}), odd, say("ok")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        assert (await rig.ask()).why == "done"
    assert all(result.is_error for result in rig.of(ev.ToolResult))


def _no_room(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


async def test_new_session_ends_the_run_of_the_old_one(rig: Rig) -> None:
    """/new in mid-run: nothing of the old run reaches the new picture."""
    with ChatServer([call("shell", {"command": "sleep 30"}), say("never")]) as server:
        rig.configure(server)
        first = await rig.open(allow=("*",))
        rig.tell(commands.Send(text="go"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        rig.tell(commands.NewSession())
        second = await rig.until(up.Opened)
        at = rig.events.index(second)
        assert any(isinstance(event, up.RunEnded) for event in rig.events[:at])
        rig.opened = first
        assert rig.of(ev.RunEnd)[-1].why == "interrupted"
        assert rig.log()[-1].type == "session.end"
        assert len(server.bodies) == 1


async def test_listing_models_holds_up_nothing(rig: Rig) -> None:
    """A server that does not answer must not delay Esc."""
    with socket.create_server(("127.0.0.1", 0)) as silent, ChatServer([say("hi")]) as server:
        rig.configure(server)
        config = rig.home / "config.toml"
        port = silent.getsockname()[1]
        config.write_text(
            config.read_text()
            + f'[servers.silent]\nprovider = "openai"\nbase_url = "http://127.0.0.1:{port}/v1"\n'
        )
        await rig.open()
        rig.tell(commands.ListModels())
        began = time.monotonic()
        assert (await rig.ask()).text == "hi"
        assert time.monotonic() - began < PATIENCE_S / 4


async def test_meter_is_empty_after_a_clear(rig: Rig) -> None:
    with ChatServer([say("a long answer " * 600)]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        full = rig.told(up.MeterChanged)[-1]
        rig.tell(commands.ClearWindow())
        cleared = await rig.until(up.MeterChanged, lambda meter: meter.used < full.used // 2)
    assert cleared.source == "estimated"


async def test_meter_follows_a_run_reply_by_reply(rig: Rig) -> None:
    """TUI-3: it shows what the last reply reported, also while another one is asked for."""
    (rig.workspace / "a.txt").write_text("some words\n" * 40)
    read, shell = call("fs-read", {"path": "a.txt"}), call("shell", {"command": "echo one"})
    with ChatServer([read, shell, say("fine")], cache="blocks") as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="start"))
        asked = await rig.until(up.ApprovalAsked)
        meters = [told for told in rig.told(up.MeterChanged) if told.cached_session is not None]
        rig.tell(commands.Answer(call_id=asked.call_id, allow=True))
        await rig.until(up.RunEnded)
    replies = rig.of(ev.LlmResponse)
    assert [meter.source for meter in meters] == ["reported"] * 3
    first, waiting, second = meters
    assert first.cached_reply == waiting.cached_reply == 0.0
    assert first.used == replies[0].usage.prompt_tokens
    assert waiting.used > first.used, "with what came since"
    assert second.cached_reply
    assert second.used == replies[1].usage.prompt_tokens


async def test_resume_while_the_listing_is_down_keeps_the_windows_sizes(rig: Rig) -> None:
    """ENG-11: an assumed context would trim what fits."""
    with ChatServer([say("ok")], context=200_000) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        await rig.close()
    await rig.open(resume="last")
    start, resume = rig.of(ev.SessionStart)[0].recipe, rig.of(ev.SessionResume)[0].recipe
    assert (resume.num_ctx, resume.window) == (start.num_ctx, start.window)
    assert start.num_ctx == 200_000


async def test_rejected_message_reports_itself_alone(rig: Rig) -> None:
    with ChatServer([say("old answer")], context=16_000) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        ended = await rig.ask("x" * 60_000)
    assert (ended.why, ended.text, ended.requests) == ("blocked", "", 0)
    assert len(rig.of(ev.RunEnd)) == 1


async def test_cost_by_the_table_is_kept_over_a_resume(rig: Rig) -> None:
    """PRV-10: and said to be the table's."""
    with ChatServer([say("one")]) as server:
        rig.configure(server, price={"input": 1_000.0, "output": 1_000.0})
        await rig.open()
        await rig.ask()
        await rig.until(up.MeterChanged)
        cost = rig.told(up.MeterChanged)[-1].cost_usd
        await rig.close()
        await rig.open(resume="last")
        again = await rig.until(up.MeterChanged)
    assert cost
    assert again.cost_usd == cost
    assert rig.of(ev.LlmResponse)[0].usage.cost_from == "table"


async def test_draft_taken_over_from_a_queue_comes_back_once(rig: Rig) -> None:
    with ChatServer([call("shell", {"command": "sleep 30"})]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        rig.tell(commands.Send(text="go"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        rig.tell(commands.Send(text="go"))
        await rig.until(up.Queued)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.close()
        drafts = []
        for _ in range(3):
            drafts.append((await rig.open(resume="last")).draft)
            await rig.close()
    assert drafts == ["go", "", ""]


async def test_steer_that_was_not_told_goes_before_the_next_message(rig: Rig) -> None:
    with ChatServer([call("shell", {"command": "sleep 30"}), say("ok")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        rig.tell(commands.Send(text="go"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        rig.tell(commands.Send(text="hurry", steer=True))
        await rig.until(up.Queued)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.ask("now")
    assert messages(server)[-1]["content"].endswith("hurry\n\nnow")


async def test_two_tours_at_once_leave_each_other_alone(rig: Rig, tmp_path: Path) -> None:
    """REL-5: a tour that starts removes earlier ones, but none that still goes on."""
    (tmp_path / "second").mkdir()
    second = Rig(tmp_path / "second")
    await rig.open(tour=True, headless=True)
    opened = await second.open(tour=True, headless=True)
    assert (await rig.ask()).why == "done"
    await rig.close()
    await second.close()
    third = await rig.open(tour=True, headless=True)
    assert not Path(opened.workspace).exists()
    assert Path(third.workspace).is_dir()


async def test_tour_is_left_before_a_model_is_chosen(rig: Rig) -> None:
    with ChatServer([say("hi")]) as server:
        rig.configure(server)
        await rig.open(tour=True)
        rig.tell(commands.ListModels())
        assert [m.name for m in (await rig.until(up.ModelsListed)).models] == ["tour"]
        rig.tell(commands.SwitchModel(model="m"))
        assert "leave" in (await rig.until(up.Notice)).text


async def test_time_limit_ends_a_command_that_outlasts_it(rig: Rig) -> None:
    """AGT-5: the call has its answer, its processes are gone."""
    with ChatServer([call("shell", {"command": "sleep 100"})]) as server:
        rig.configure(server)
        await rig.open(allow=("*",), max_seconds=0.8)
        ended = await rig.ask()
    assert (ended.why, ended.message) == ("limit", "the run reached its limit of 0.8 s")
    assert "interrupted" in rig.of(ev.ToolResult)[0].text


async def test_refusal_by_nobody_is_not_told_as_the_persons(rig: Rig) -> None:
    with ChatServer([call("shell", {"command": "ls"}), say("ok")]) as server:
        rig.configure(server)
        await rig.open(headless=True)
        await rig.ask()
    assert "nobody is there to ask" in rig.of(ev.ToolResult)[0].text
    assert "by the person" not in rig.of(ev.ToolResult)[0].text


async def test_request_over_the_ceiling_is_never_sent(rig: Rig) -> None:
    """PRV-7: by the estimate set right by the server's own counts; blocked with the figures."""
    heavy = {"prompt_tokens": 4_000, "completion_tokens": 5}
    with ChatServer([say("ok", usage=heavy)], repeat=True, context=24_000) as server:
        rig.configure(server, context=24_000)
        await rig.open()
        await rig.ask("short")
        ended = await rig.ask("a message of some length " * 700)
    assert (ended.why, ended.exit_code) == ("blocked", 5)
    assert len(server.bodies) == 1
    blocked = rig.of(ev.BudgetBlocked)[0]
    assert blocked.figures["ceiling"] == rig.of(ev.SessionStart)[0].recipe.window.ceiling


async def test_copy_of_a_project_is_worked_on_in_the_copy(rig: Rig) -> None:
    """Its session came along with it, and names the original."""
    with ChatServer([say("a"), call("fs-write", {"path": "n.txt", "text": "x"}), say("b")]) as s:
        rig.configure(s)
        opened = await rig.open()
        await rig.ask()
        await rig.close()
        copy = rig.workspace.with_name("copy")
        shutil.copytree(rig.workspace, copy)
        rig.workspace, original = copy, rig.workspace
        assert (await rig.open(resume=opened.session, mode="edits")).workspace == str(copy)
        await rig.ask()
    assert (copy / "n.txt").exists()
    assert not (original / "n.txt").exists()


async def test_log_that_a_repository_brought_opens_no_other_folder(rig: Rig) -> None:
    """SEC-4, AGT-9: its workspace is the repository, whatever it says."""
    read = call("fs-list", {"path": "."})
    with ChatServer([say("a"), read, say("b")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask()
        await rig.close()
        log = Path(opened.log_path)
        log.write_text(log.read_text().replace(f'"workspace":"{rig.workspace}"', '"workspace":"/"'))
        assert (await rig.open(resume=opened.session)).workspace == str(rig.workspace)
        await rig.ask()
    assert "usr/" not in rig.of(ev.ToolResult)[0].text


async def test_model_that_is_gone_is_named_and_no_other_one_asked(rig: Rig) -> None:
    """What a session holds goes to no other server unasked."""
    with ChatServer([say("a")]) as first, ChatServer([say("b")]) as second:
        rig.configure(first, second)
        opened = await rig.open()
        await rig.ask()
        await rig.close()
        config = rig.home / "config.toml"
        text = config.read_text().replace("[models.m]", "[models.n]").replace('"m"', '"m2"', 1)
        config.write_text(text)
        with pytest.raises(AssertionError, match=r"last asked the model 'm'.*--model"):
            await rig.open(resume=opened.session)
        await rig.open(resume=opened.session, model="m2")
        assert (await rig.ask()).text == "b"


@pytest.mark.parametrize("version", [3, 21])
async def test_session_of_an_unknown_recipe_is_read_and_not_gone_on_with(
    rig: Rig, version: int
) -> None:
    """ENG-9: refused by name; the log stays as it is."""
    with ChatServer([say("a")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask()
        await rig.close()
        log = Path(opened.log_path)
        (log.parent / "no-replay").touch()
        log.write_text(log.read_text().replace('"version":20', f'"version":{version}'))
        before = log.read_bytes()
        with pytest.raises(AssertionError, match=f"recipe version {version}"):
            await rig.open(resume=opened.session)
    assert log.read_bytes() == before


async def test_run_without_a_prompt_leaves_what_waits_for_the_prompt(rig: Rig) -> None:
    """A script in the same folder takes neither the draft nor a queued message away."""
    gate = threading.Event()
    with ChatServer([say("slow", gate=gate), say("a")], repeat=True) as server:
        rig.configure(server)
        opened = await rig.open()
        rig.tell(commands.SaveDraft(text="half a thought"))
        rig.tell(commands.Send(text="one"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="queued"))
        await rig.until(up.Queued)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        gate.set()
        rig.tell(commands.SaveDraft(text="half a thought"))
        await rig.close()
        await rig.open(resume=opened.session, headless=True)
        await rig.ask("by a script")
        await rig.close()
        again = await rig.open(resume=opened.session)
    assert again.draft == "queued\n\nhalf a thought"
    assert "by a script" not in again.history
