"""PRV-2, PRV-17: whole sessions against a strict server of every dialect's kind."""

from typing import get_args

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.providers.chat_completions import DIALECTS
from tests.agent.rig import Rig, messages
from tests.fakes.chat_rules import Flavour
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import Say, call, calls, say

KINDS: tuple[Flavour, ...] = get_args(Flavour)


def test_every_dialect_has_its_strict_server() -> None:
    assert set(KINDS) == set(DIALECTS)


def script() -> list[Say]:
    """Thinking with and without calls, an answer that was cut, a call that is stopped."""
    return [
        calls(("fs-list", {}), ("fs-read", {"path": "a.txt"}), thinking="look", text="Two."),
        call("fs-list", {}),
        say("It says alpha.", thinking="so it is"),
        say("cut off", finish="length"),
        say("whole"),
        call("shell", {"command": "sleep 60"}, thinking="run it"),
        say("stopped, then"),
        say("gone on", thinking="again"),
    ]


async def whole_session(rig: Rig) -> None:
    await rig.open()
    await rig.ask("What is in a.txt?")
    await rig.ask("And now?")
    rig.tell(commands.Continue())
    await rig.until(up.RunEnded)
    rig.tell(commands.Send(text="Run it."))
    await rig.until(up.ApprovalAsked)
    rig.tell(commands.Interrupt())
    await rig.until(up.RunEnded)
    await rig.ask("What was that?")
    await rig.close()
    await rig.open(resume="last")
    await rig.ask("Go on.")


@pytest.mark.parametrize("effort", [None, "off"])
@pytest.mark.parametrize("name", KINDS)
async def test_a_session_passes_the_strict_server(
    rig: Rig, name: Flavour, effort: str | None
) -> None:
    """C11, C16: an interruption, a cut answer and a resume among it; nothing is refused."""
    (rig.workspace / "a.txt").write_text("alpha\n")
    with ChatServer(script(), flavour=name) as server:
        rig.configure(server, dialect=name, **({"effort": effort} if effort else {}))
        await whole_session(rig)
    assert server.violations == []
    assert not rig.of(ev.LlmError)
    assert not server.script, "all of it was asked for"
    sent = messages(server)
    field = DIALECTS[name].thinking
    thought = [message for message in sent if message.get(field)]
    assert [message[field] for message in thought] == (["look", "so it is", "run it"] * bool(field))


@pytest.mark.parametrize(
    ("name", "flavour"),
    [
        ("compatible", "cerebras"),
        ("compatible", "openai"),
        ("compatible", "deepseek"),
        ("compatible", "vllm"),
        ("vllm", "llamacpp"),
        ("cerebras", "openai"),
    ],
)
async def test_another_dialect_is_refused_and_the_setting_named(
    rig: Rig, name: Flavour, flavour: Flavour
) -> None:
    """PRV-2, PRV-17: the strict servers do refuse; the error says which setting mends it."""
    (rig.workspace / "a.txt").write_text("alpha\n")
    with ChatServer(script(), flavour=flavour) as server:
        rig.configure(server, dialect=name)
        await rig.open()
        ended = await rig.ask("What is in a.txt?")
    assert ended.why == "error"
    assert server.violations
    assert "dialect = " in ended.message


async def test_a_template_that_wants_turns_names_its_dialect(rig: Rig) -> None:
    """C11: a stopped run leaves no answer between two of the person's messages."""
    script = [call("shell", {"command": "sleep 60"}), say("never")]
    with ChatServer(script, flavour="alternating") as server:
        rig.configure(server)
        await rig.open()
        rig.tell(commands.Send(text="Run it."))
        await rig.until(up.ApprovalAsked)
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        ended = await rig.ask("What was that?")
    assert 'Set dialect = "alternating"' in ended.message
