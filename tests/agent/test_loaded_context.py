"""PRV-7: the context that Ollama is asked for, the same each time, and what it really holds."""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.script import call, say


def notes(rig: Rig) -> list[str]:
    return [note.text for note in rig.of(ev.Note) if note.why == "loaded"]


async def test_a_smaller_context_is_told_once(rig: Rig) -> None:
    """After the first reply, before the next request; to the person and not to the model."""
    script = [call("fs-list", {}), say("done"), say("again")]
    with OllamaServer(script, context=8192) as server:
        rig.configure(server, num_ctx=16_384)
        await rig.open()
        await rig.ask()
        await rig.ask("and again")
    (text,) = notes(rig)
    assert "context of 8,192 tokens, where this session counts on 16,384" in text
    assert "num_ctx = 8192" in text
    told = [e for e in rig.told(up.EntryAdded) if e.entry.kind == "note"]
    assert [text in (e.entry.body.text if e.entry.body else "") for e in told] == [True]
    kinds = [type(event) for event in rig.log()]
    assert kinds.index(ev.Note) < [n for n, kind in enumerate(kinds) if kind is ev.LlmRequest][1]
    assert not any(b"8,192" in body.content for body in server.bodies)


async def test_a_context_as_it_was_asked_for_is_no_news(rig: Rig) -> None:
    with OllamaServer([say("done")]) as server:
        rig.configure(server, num_ctx=16_384)
        await rig.open()
        await rig.ask()
    assert notes(rig) == []
    assert "/api/ps" in {request.path for request in server.requests}


async def test_a_server_that_does_not_tell_is_left_alone(rig: Rig) -> None:
    """An older one has no such figure, or no such address."""
    with OllamaServer([say("done")]) as server:
        server.listing = lambda request, old=server.listing: (  # type: ignore[method-assign]
            (404, {"error": "not found"}) if request.path == "/api/ps" else old(request)
        )
        rig.configure(server, num_ctx=16_384)
        await rig.open()
        assert (await rig.ask()).why == "done"
    assert notes(rig) == []


async def test_every_request_asks_for_the_same_context(rig: Rig) -> None:
    """A step, a handover note, a resume: another `num_ctx` or `shift` would load the model anew."""
    script = [call("fs-list", {}), say("done"), say("so far: looked"), say("on"), say("and on")]
    with OllamaServer(script) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask()
        rig.tell(commands.Compact())
        offered = await rig.until(up.CompactionOffered)
        rig.tell(commands.AcceptCompaction(note=offered.note))
        await rig.ask("go on")
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("and on")
    assert "handover" in {request.purpose for request in rig.of(ev.LlmRequest)}
    sent = [body.body for body in server.bodies]
    assert {body["options"]["num_ctx"] for body in sent} == {32_768}
    assert {(body["truncate"], body["shift"]) for body in sent} == {(False, False)}
    assert (server.reloads, server.violations, server.script) == (0, [], [])
