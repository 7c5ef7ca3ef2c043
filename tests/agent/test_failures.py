"""What goes wrong outside: servers, keys, disks. The person is told what to do, nothing is lost."""

import os
import random
import shutil
import time
from email.utils import formatdate
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.chat_server import ChatServer
from tests.fakes.credentials import samples
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, cut, error, say


async def test_no_model_reachable_says_how_to_get_one(rig: Rig) -> None:
    """TUI-6: nothing configured, no Ollama: the key, the file and the tour are named."""
    opened = await rig.open()
    assert opened.session == ""
    for word in ("ollama serve", "OPENROUTER_API_KEY", "config.toml", "tour"):
        assert word in opened.setup
    assert not (rig.workspace / ".nodwyn").exists()


async def test_a_key_that_is_there_is_named_with_its_server(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-6: a key in the environment is found; only the model is left to be named."""
    monkeypatch.setenv("GROQ_API_KEY", "not-a-key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-a-key")
    setup = (await rig.open()).setup
    assert "GROQ_API_KEY is set; /model groq/MODEL" in setup
    assert "ANTHROPIC_API_KEY is set; /model anthropic/MODEL" in setup
    for word in ("OPENROUTER_API_KEY", "not-a-key"):
        assert word not in setup


async def test_ollama_is_found_where_nothing_is_configured(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The embedded default: without a screen to pick one on, `OLLAMA_HOST`'s first model."""
    with OllamaServer([say("hello")]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.base_url)
        opened = await rig.open(headless=True)
        assert opened.model == f"ollama/{server.model}"
        assert (await rig.ask()).text == "hello"
    assert server.bodies[0].body["options"]["num_ctx"] == rig.of(ev.SessionStart)[0].recipe.num_ctx
    assert (server.bodies[0].body["truncate"], server.bodies[0].body["shift"]) == (False, False)


async def test_server_that_is_down_is_named_with_what_to_do(rig: Rig) -> None:
    with ChatServer() as server:
        rig.configure(server)
    await rig.open()
    ended = await rig.ask()
    assert (ended.why, ended.kind, ended.exit_code) == ("error", "transport", 4)
    assert "fake1" in ended.message
    assert ended.remedy
    assert rig.of(ev.UserMessage)[0].text == "go"
    *retried, last = [told.entry for told in rig.told(up.EntryAdded) if told.entry.kind == "error"]
    assert ended.told
    assert last.body is not None
    assert last.body.text.endswith(f"\n{ended.remedy}"), "the row says what to do"
    assert all(made.body and ended.remedy not in made.body.text for made in retried)


async def test_wrong_key_and_unknown_model_are_not_retried(rig: Rig) -> None:
    """C33: 401, 403 and 404 are told at once."""
    with ChatServer(key="sesame") as server:
        rig.configure(server)
        await rig.open()
        ended = await rig.ask()
        assert ended.kind == "authentication"
        assert len(server.bodies) == 1
        await rig.close()
    with ChatServer() as server:
        server_model, server.model = server.model, "another"
        rig.configure(server)
        server.model = server_model
        await rig.open()
        ended = await rig.ask()
    assert ended.kind == "not_found"
    assert "another" in ended.message
    assert ended.remedy


@pytest.mark.parametrize("header", ["2", None], ids=["seconds", "date"])
async def test_rate_limit_waits_as_asked_and_shows_it(rig: Rig, header: str | None) -> None:
    """C33: Retry-After in seconds or as a date is a lower bound."""
    asked = header or formatdate(time.time() + 3, usegmt=True)
    limited = error(429, {"error": {"message": "slow down"}}, headers={"Retry-After": asked})
    with ChatServer([limited, say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        began = time.monotonic()
        ended = await rig.ask()
        took = time.monotonic() - began
    assert ended.text == "ok"
    assert took >= 1.5
    assert rig.told(up.RetryWaiting)[0].seconds >= 1.5
    assert rig.of(ev.LlmError)[0].kind == "rate_limit"


async def test_long_wait_is_ended_by_esc(rig: Rig) -> None:
    """C33."""
    limited = error(429, {"error": {"message": "slow down"}}, headers={"Retry-After": "3600"})
    with ChatServer([limited, say("ok")]) as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="go"))
        assert (await rig.until(up.RetryWaiting)).seconds >= 3600
        rig.tell(commands.Interrupt())
        assert (await rig.until(up.RunEnded)).why == "interrupted"
        assert len(server.bodies) == 1


async def test_second_opener_gets_the_session_read_only(rig: Rig) -> None:
    """ENG-4: and is told which process holds it."""
    with ChatServer([say("one")]) as server:
        rig.configure(server)
        first = await rig.open()
        await rig.ask("hello")
        second = Rig.__new__(Rig)
        second.__dict__.update(rig.__dict__)
        second.events, second._tasks = [], []
        opened = await second.open(resume=first.session)
        assert (opened.read_only, opened.holder_pid) == (True, os.getpid())
        entries = (await second.until(up.EntriesLoaded)).entries
        assert [entry.kind for entry in entries] == ["user", "assistant"]
        second.tell(commands.Send(text="me too"))
        assert "read-only" in (await second.until(up.Notice)).text
        await second.close()


async def test_unknown_session_is_a_usage_error(rig: Rig) -> None:
    with ChatServer() as server:
        rig.configure(server)
        with pytest.raises(AssertionError, match=r"no session '20990101'.*exit_code=2"):
            await rig.open(resume="20990101")


async def test_context_too_small_is_refused_with_the_figures(rig: Rig) -> None:
    """ENG-18: before anything is sent."""
    with ChatServer(context=1_000) as server:
        rig.configure(server)
        with pytest.raises(AssertionError, match=r"context of 1,000 tokens cannot hold"):
            await rig.open()
    assert server.bodies == []


async def test_session_without_a_word_leaves_no_folder(rig: Rig) -> None:
    """C68: no offer to resume what is not there."""
    with ChatServer() as server:
        rig.configure(server)
        await rig.open()
        await rig.close()
    assert list((rig.workspace / ".nodwyn" / "sessions").iterdir()) == []
    assert rig.told(up.Closed)[-1].session == ""


async def test_own_key_is_redacted_and_no_child_sees_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C77, SEC-1: the key stands in no log line and in no child's environment."""
    key = "k" + "3f9a" * 8
    monkeypatch.setenv("MY_KEY", key)
    with ChatServer(
        [call("shell", {"command": "env; echo $MY_KEY"}), say("done")], key=key
    ) as server:
        rig.configure(server)
        config = rig.home / "config.toml"
        named = '[servers.fake1]\ncredential = "env:MY_KEY"'
        config.write_text(config.read_text().replace("[servers.fake1]", named))
        await rig.open(allow=("*",))
        ended = await rig.ask(f"my key is {key}")
        assert ended.why == "done"
    assert server.requests[-1].headers["authorization"] == f"Bearer {key}"
    assert rig.opened is not None
    text = Path(rig.opened.log_path).read_text()
    assert key not in text
    assert "my key is [redacted:key]" in text
    assert "MY_KEY=" not in text


async def test_tour_runs_the_whole_program_without_a_model(rig: Rig) -> None:
    """The embedded default: on the real worker, tools and log, in a workspace of its own."""
    opened = await rig.open(tour=True, headless=True, allow=("*",))
    assert opened.tour
    assert opened.workspace.startswith(str(rig.home / "cache" / "tour"))
    for _ in range(8):
        ended = await rig.ask("next")
        assert ended.why == "done"
    assert {call.name for call in rig.of(ev.ToolCall)} >= {"fs-list", "fs-read", "fs-edit", "shell"}
    shells = [result for result in rig.of(ev.ToolResult) if result.name == "shell"]
    assert [result.is_error for result in shells] == [True, False], "the bug is found, then mended"


async def test_session_that_a_repository_brought_along_is_never_gone_on_with(rig: Rig) -> None:
    """SEC-4: a planted log could bring a system prompt; only naming it opens it."""
    with ChatServer([say("one"), say("two")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        await rig.close()
        shutil.rmtree(rig.home / "state" / "created")
        opened = await rig.open(resume="last")
        assert (await rig.until(up.EntriesLoaded)).entries == ()
        assert opened.history == ("go",)


async def test_secret_in_over_long_output_is_not_kept_in_clear(rig: Rig) -> None:
    """SEC-1: the artifact that holds a result whole is redacted, too."""
    secret, _ = samples(random.Random())["github-token"]
    (rig.workspace / "leak.txt").write_text(secret + "\n" + "x" * 120 + "\n")
    command = "cat leak.txt; seq 1 300000"
    with ChatServer([call("shell", {"command": command}), say("ok")]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        await rig.ask()
    (result,) = rig.of(ev.ToolResult)
    assert result.artifact
    (kept,) = rig.workspace.rglob(f"artifacts/{result.artifact}")
    assert secret not in kept.read_text()
    assert kept.read_text().endswith("300000\n")


async def test_prompt_that_the_server_cut_raises_an_alarm(rig: Rig) -> None:
    """PRV-7: an appended prompt never counts fewer tokens than the one before; told once."""
    counts = [{"prompt_tokens": n, "completion_tokens": 1} for n in (1_500, 1_600, 900, 700)]
    with ChatServer([say("ok", usage=usage) for usage in counts]) as server:
        rig.configure(server)
        await rig.open()
        for _ in counts:
            await rig.ask()
    (note,) = rig.of(ev.Note)
    assert "counted 900 tokens of a prompt that has at least 1,600" in note.text


async def test_a_stream_that_broke_is_asked_again_at_once(rig: Rig) -> None:
    """PRV-8: and the transcript says so in those words."""
    with ChatServer([cut(say("half")), say("whole")]) as server:
        rig.configure(server)
        await rig.open()
        assert (await rig.ask()).text == "whole"
    (entry,) = [told.entry for told in rig.told(up.EntryAdded) if told.entry.kind == "error"]
    assert entry.body is not None
    assert entry.body.text.startswith("incomplete stream: ")
    assert "asked again at once" in entry.body.text


async def test_page_in_place_of_a_reply_is_one_line_and_kept_in_the_log(rig: Rig) -> None:
    """C34: what is shown is short; the log holds the beginning of what came."""
    page = "<html><head><title>Bad gateway</title></head>" + "<p>inner words</p>" * 3_000
    with ChatServer([error(502, page), error(400, {"error": "plain string"})]) as server:
        rig.configure(server)
        await rig.open()
        assert "inner words" not in (await rig.ask()).message
        await rig.ask()
    first, second = rig.of(ev.LlmError)
    assert "Bad gateway" in first.message
    assert "\n" not in first.message
    assert first.detail is not None
    assert "inner words" in first.detail
    assert len(first.detail) <= 4_096
    assert "plain string" in second.message
