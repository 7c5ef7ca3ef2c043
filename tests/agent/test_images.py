"""Images from a message to every provider, and what happens where one does not get them (IMG-4 to
IMG-7).
"""

import hashlib
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import ConfirmImages, ImagesWithheld
from nodwyn_tui.providers import image_limits
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.replay import replay
from tests.agent.rig import Rig
from tests.agent.shots import ask_with, attach, shot
from tests.fakes.anthropic_server import AnthropicServer
from tests.fakes.chat_server import ChatServer
from tests.fakes.images import images_in
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.responses_server import ResponsesServer
from tests.fakes.script import call, error, say
from tests.fakes.server import FakeServer

SEES = ("completion", "tools", "vision")


def ollama(*script: Any, **more: Any) -> FakeServer:
    return OllamaServer(list(script), capabilities=SEES, **more)


def chat(*script: Any, **more: Any) -> FakeServer:
    return ChatServer(list(script), **more)


def responses(*script: Any) -> FakeServer:
    return ResponsesServer(list(script))


def claude(*script: Any) -> FakeServer:
    return AnthropicServer(list(script))


PROTOCOLS = [ollama, chat, responses, claude]


def carried(server: FakeServer, number: int = -1) -> list[str]:
    """The digests of the images in a request that a fake got."""
    return [hashlib.sha256(data).hexdigest() for data in images_in(server.bodies[number].body)]


def why(request: ev.LlmRequest) -> dict[str, str]:
    return {image.sha256: image.reason for image in request.withheld_images}


@pytest.mark.parametrize("make", PROTOCOLS)
async def test_an_image_goes_with_its_message(
    rig: Rig, tmp_path: Path, make: Callable[..., FakeServer]
) -> None:
    """IMG-4, IMG-5: to each protocol in its own form, in every request from then on; the log holds
    its digest and figures, and never a pixel.
    """
    with make(say("A shot."), say("Still there.")) as server:
        rig.configure(server)
        await rig.open()
        images = await attach(rig, shot(tmp_path, "a.png"), shot(tmp_path, "bb.png", (20, 10)))
        assert (await ask_with(rig, "What is it?", *images)).why == "done"
        assert (await rig.ask("And now?")).why == "done"
    assert server.violations == []
    wanted = [image.sha256 for image in images]
    assert sorted(carried(server, 0)) == sorted(carried(server, 1)) == sorted(wanted)
    events = rig.log()
    message = next(e for e in events if isinstance(e, ev.UserMessage))
    attached = [event for event in events if isinstance(event, ev.AttachImage)]
    assert [event.seq for event in attached] == [message.seq + 1, message.seq + 2]
    first = attached[0]
    assert (first.sha256, first.name, first.mime) == (wanted[0], "a.png", "image/png")
    assert (first.width, first.height, first.tokens, first.host) == (1280, 720, 1105, "127.0.0.1")
    assert "data" in first.line
    assert "a.png" in first.line
    assert rig.opened is not None
    assert Path(rig.opened.log_path).stat().st_size < 60_000


async def test_a_session_replays_where_its_images_are_gone(rig: Rig, tmp_path: Path) -> None:
    """IMG-5: on a copy without the store, each request rebuilds to its digest."""
    with chat(say("one"), say("two")) as server:
        rig.configure(server)
        await rig.open()
        await ask_with(rig, "x", *await attach(rig, shot(tmp_path, "a.png")))
        await rig.ask("y")
        await rig.close()
    assert rig.opened is not None
    copy = tmp_path / "copy"
    shutil.copytree(Path(rig.opened.log_path).parent, copy)
    shutil.rmtree(rig.workspace / ".nodwyn" / "attachments")
    events = Log.read(copy / "log.jsonl").events
    requests = [event for event in events if isinstance(event, ev.LlmRequest)]
    assert len(requests) == 2
    for request in requests:
        assert replay(events, request.seq).digest == request.digest


@pytest.mark.parametrize("reason", ["missing", "changed"])
async def test_a_file_that_is_not_what_it_was(rig: Rig, tmp_path: Path, reason: str) -> None:
    """IMG-5: a line that says why stands in its place; the run goes on, and the person is told."""
    with chat(say("one"), say("two"), say("three")) as server:
        rig.configure(server)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        await ask_with(rig, "x", image)
        path, data = Path(image.path), Path(image.path).read_bytes()
        if reason == "missing":
            path.unlink()
        else:
            path.write_bytes(data[:-1] + b"x")
        await rig.ask("y")
        path.write_bytes(data)
        await rig.ask("z")
    assert server.violations == []
    assert [len(carried(server, n)) for n in range(3)] == [1, 0, 1]
    assert f"[image not sent: {reason}]" in server.bodies[1].content.decode()
    assert [why(request) for request in rig.of(ev.LlmRequest)] == [{}, {image.sha256: reason}, {}]
    told = rig.told(ImagesWithheld)
    assert [[each.why for each in event.images] for event in told] == [[reason], []]


async def test_a_model_without_sight_gets_a_note(rig: Rig, tmp_path: Path) -> None:
    """C45: warned when attaching; after a switch the picture goes out as a line of text, and back
    with the first model it is there again.
    """
    with chat(say("seen"), say("seen again")) as sees, OllamaServer([say("hello")]) as blind:
        rig.configure(sees, blind)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        await ask_with(rig, "x", image)
        for name in ("m2", "m"):
            rig.tell(commands.SwitchModel(model=name))
            await rig.until(up.ModelChanged)
            assert (await rig.ask("hello")).why == "done"
            if name == "m2":
                await attach(rig, shot(tmp_path, "c.png"))
    assert sees.violations == blind.violations == []
    assert "[image not sent: no-vision]" in blind.bodies[0].content.decode()
    assert carried(sees) == [image.sha256]
    warned = [event.text for event in rig.told(up.Notice) if "does not take images" in event.text]
    assert len(warned) == 1


@pytest.mark.parametrize("status", [400, 413, 500])
async def test_a_refused_image_is_left_out_from_then_on(
    rig: Rig, tmp_path: Path, status: int
) -> None:
    """C36, C45: asked once more without it, in the same run; later messages simply work."""
    words = "this request cannot be processed"
    with chat(error(status, {"error": {"message": words}}), say("Without."), say("hello")) as s:
        rig.configure(s)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        assert (await ask_with(rig, "x", image)).why == "done"
        assert (await rig.ask("hello")).why == "done"
    assert [len(carried(s, n)) for n in range(3)] == [1, 0, 0]
    assert "[image not sent: refused]" in s.bodies[2].content.decode()
    notes = [event for event in rig.of(ev.Note) if event.why == "image refused"]
    assert len(notes) == 1
    assert "a.png" in notes[0].text
    assert "/model" in notes[0].text


async def test_only_what_a_model_never_took_is_doubted(rig: Rig, tmp_path: Path) -> None:
    """C36: the image that it took before still goes along."""
    refusal = error(400, {"error": {"message": "Could not process image"}})
    with chat(say("one"), refusal, say("two"), say("three")) as server:
        rig.configure(server)
        await rig.open()
        first, second = await attach(rig, shot(tmp_path, "a.png"), shot(tmp_path, "bb.png"))
        await ask_with(rig, "x", first)
        await ask_with(rig, "y", second)
        await ask_with(rig, "z")
        assert carried(server, 2) == carried(server, 3) == [first.sha256]


async def test_what_is_no_images_fault_is_no_refusal(rig: Rig, tmp_path: Path) -> None:
    """C45: where the request fails without the image too, the image is not blamed."""
    refusal = error(400, {"error": {"message": "unknown field"}})
    with chat(refusal, refusal, say("fine")) as server:
        rig.configure(server)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        assert (await ask_with(rig, "x", image)).why == "error"
        assert (await rig.ask("again")).why == "done"
        assert carried(server) == [image.sha256]


async def test_an_image_goes_to_another_host_only_after_a_word(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMG-6: confirmed for the host it was attached for; one command confirms it for another, in
    the log too, so that a resume knows.
    """
    monkeypatch.setattr("nodwyn_tui.agent.sight.is_loopback", lambda host: host == "127.0.0.1")
    with (
        chat(say("here")) as here,
        chat(say("there"), say("confirmed"), say("resumed"), host="127.0.0.2") as there,
    ):
        rig.configure(here, there)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        await ask_with(rig, "x", image)
        rig.tell(commands.SwitchModel(model="m2"))
        told = await rig.until(ImagesWithheld)
        assert (told.host, [each.why for each in told.images]) == ("127.0.0.2", ["other-host"])
        assert [each.name for each in told.images] == ["a.png"]
        await rig.ask("y")
        rig.tell(ConfirmImages())
        assert (await rig.until(ImagesWithheld)).images == ()
        await rig.ask("z")
        await rig.close()
        await rig.open(resume="last")
        await rig.ask("again")
    assert [len(carried(there, n)) for n in range(3)] == [0, 1, 1]
    confirmed = rig.of(ev.AttachConfirm)
    assert [(event.sha256, event.host) for event in confirmed] == [(image.sha256, "127.0.0.2")]
    assert there.violations == []


async def test_the_window_reckons_by_one_rule(rig: Rig, tmp_path: Path) -> None:
    """IMG-7: the estimate has what was recorded; the chip what the provider charges."""
    with ollama(say("one")) as server:
        rig.configure(server)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        assert image.tokens == 768
        await ask_with(rig, "x", image)
        (request,) = rig.of(ev.LlmRequest)
        assert rig.of(ev.AttachImage)[0].tokens == 1105
        meter = rig.told(up.MeterChanged)[-1]
        segments = {segment.kind: segment.tokens for segment in meter.segments}
        assert segments["images"] >= 1105
        assert request.estimate > 1105


async def test_a_picture_stays_until_its_turn_is_answered(rig: Rig, tmp_path: Path) -> None:
    """C44: older content goes in its place; hidden later, its name and size stay."""
    with chat(*[say("long " * 300)] * 30, repeat=True) as server:
        rig.configure(server, context=8_000, max_output=1_000)
        await rig.open()
        for n in range(6):
            await rig.ask(f"{n} " + "words " * 100)
        (image,) = await attach(rig, shot(tmp_path, "big.png", (1568, 1568)))
        await ask_with(rig, "What is it?", image)
        assert carried(server) == [image.sha256]
        for n in range(20):
            await rig.ask(f"later {n} " + "words " * 100)
    assert carried(server) == []
    assert "image big.png, 1568x1568" in server.bodies[-1].content.decode()
    assert server.violations == []


async def test_queued_messages_keep_their_images(rig: Rig, tmp_path: Path) -> None:
    """IMG-2, AGT-4: a message that waits is sent with its images, or gives them back."""
    gate = threading.Event()
    with chat(say("one", gate=gate), say("two")) as server:
        rig.configure(server)
        await rig.open()
        first, second = await attach(rig, shot(tmp_path, "a.png"), shot(tmp_path, "bb.png"))
        rig.tell(commands.Send(text="x"))
        rig.tell(commands.Send(text="y", images=(first.sha256,)))
        rig.tell(commands.Send(text="z", images=(second.sha256,)))
        rig.tell(commands.TakeBack())
        back = await rig.until(up.Returned)
        assert (back.text, [each.sha256 for each in back.images]) == ("z", [second.sha256])
        gate.set()
        await rig.until(up.RunEnded)
        await rig.until(up.RunEnded)
        assert carried(server) == [first.sha256]


async def test_a_rewound_message_gives_its_images_back(rig: Rig, tmp_path: Path) -> None:
    """TUI-14: and the window is without them."""
    with chat(say("one"), say("two")) as server:
        rig.configure(server)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        await ask_with(rig, "x", image)
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        back = await rig.until(up.Returned)
        assert [each.name for each in back.images] == ["a.png"]
        await rig.ask("y")
        assert carried(server) == []


async def test_a_draft_keeps_its_images(rig: Rig, tmp_path: Path) -> None:
    """IMG-2: over a crash of the worker, and until it is sent."""
    with chat(say("one")) as server:
        rig.configure(server)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        rig.tell(commands.SaveDraft(text="look", images=(image.sha256,)))
        await rig.close()
        opened = await rig.open()
        assert (opened.draft, [each.name for each in opened.draft_images]) == ("look", ["a.png"])
        await ask_with(rig, "look", *opened.draft_images)
        assert carried(server) == [image.sha256]
        await rig.close()
        assert (await rig.open()).draft_images == ()


async def test_images_of_a_message_that_is_too_long_come_back(rig: Rig, tmp_path: Path) -> None:
    """IMG-2: rejected input keeps its images."""
    with chat() as server:
        rig.configure(server, context=6_000, max_output=1_000)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        await ask_with(rig, "words " * 20_000, image)
        (back,) = rig.told(up.Returned)
        assert (back.why, [each.sha256 for each in back.images]) == ("rejected", [image.sha256])
        assert rig.of(ev.AttachImage) == []


async def test_images_of_a_steer_that_is_too_long_come_back(rig: Rig, tmp_path: Path) -> None:
    """IMG-2, ROL-8: of what is sent into a run too, which goes on."""
    gate = threading.Event()
    with chat(call("fs-list", {}, gate=gate), say("done")) as server:
        rig.configure(server, context=6_000, max_output=1_000)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        rig.tell(commands.Send(text="go"))
        await rig.until(up.RequestSent)
        rig.tell(commands.Send(text="words " * 20_000, steer=True, images=(image.sha256,)))
        await rig.until(up.Queued)
        gate.set()
        assert (await rig.until(up.RunEnded)).text == "done"
        (back,) = rig.told(up.Returned)
        assert (back.why, [each.sha256 for each in back.images]) == ("rejected", [image.sha256])
        assert rig.of(ev.AttachImage) == []


async def test_what_would_pass_a_providers_limit_is_left_out(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C36: the oldest images of a request that would be too large, before it is sent."""
    fitting = 2
    with claude(say("some")) as server:
        rig.configure(server)
        await rig.open()
        images = await attach(rig, *(shot(tmp_path, f"{'p' * n}.png") for n in range(1, 5)))
        most = fitting * (max(image.size for image in images) * 4 // 3 + 4)
        limits = {"anthropic": image_limits.Limits(100, most)}
        monkeypatch.setattr(image_limits, "_LIMITS", limits)
        assert (await ask_with(rig, "x", *images)).why == "done"
    assert server.violations == []
    left = [image.sha256 for image in images[-fitting:]]
    assert sorted(carried(server)) == sorted(left)
    assert set(why(rig.of(ev.LlmRequest)[0]).values()) == {"refused"}
    assert [each.why for each in rig.told(ImagesWithheld)[0].images] == ["refused"] * (4 - fitting)


async def test_many_pictures_are_within_the_smaller_limit(rig: Rig, tmp_path: Path) -> None:
    """C37: 25 pictures of 2,400x1,000, where more than 20 may have 2,000 pixels at most."""
    paths = [shot(tmp_path, f"{'p' * n}.png", (2_400, 1_000)) for n in range(1, 26)]
    with claude(say("many")) as server:
        rig.configure(server)
        await rig.open()
        images = await attach(rig, *paths)
        assert {(image.width, image.height) for image in images} == {(2_000, 833)}
        assert (await ask_with(rig, "x", *images)).why == "done"
        assert len(carried(server)) == 25
    assert server.violations == []


async def test_an_unanswered_requests_images_go_along_with_a_compaction(
    rig: Rig, tmp_path: Path
) -> None:
    """C44, AGT-16: the window begins anew in mid-turn, and the model still sees what it was asked
    about; an answered one's images stay behind.
    """

    def script(body: Any) -> Any:
        last = str(body["messages"][-1].get("content"))
        if "handover" in last.lower():
            return say("The note.")
        if len(server.bodies) <= 1:
            return say("seen the old one")
        total = len(rig.of(ev.ToolResult))
        return call("fs-read", {"path": "long.txt"}) if total < 6 else say("done")

    with chat(script, repeat=True) as server:
        rig.configure(server, context=10_000, max_output=1_000, strategy="compact")
        (rig.workspace / "long.txt").write_text("filler words\n" * 400)
        await rig.open()
        old, new = await attach(rig, shot(tmp_path, "a.png"), shot(tmp_path, "bb.png"))
        await ask_with(rig, "old", old)
        assert (await ask_with(rig, "read, then look", new)).why == "done"
        assert rig.of(ev.ContextOpen), "it compacted"
        assert carried(server) == [new.sha256]
    assert server.violations == []


async def test_an_image_in_two_messages_waits_for_a_word_in_both(
    rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """IMG-6: also where the later message was rewound."""
    monkeypatch.setattr("nodwyn_tui.agent.sight.is_loopback", lambda host: host == "127.0.0.1")
    with (
        chat(say("one"), say("two")) as here,
        chat(say("three"), host="127.0.0.2") as there,
    ):
        rig.configure(here, there)
        await rig.open()
        (image,) = await attach(rig, shot(tmp_path, "a.png"))
        await ask_with(rig, "x", image)
        await ask_with(rig, "y", image)
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        await rig.until(up.Returned)
        rig.tell(commands.SwitchModel(model="m2"))
        await rig.until(up.ModelChanged)
        await rig.ask("z")
        assert carried(there) == []
        assert "[image not sent: other-host]" in there.bodies[0].content.decode()
