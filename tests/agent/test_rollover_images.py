"""C44: the images of what is quoted, rollover after rollover."""

import json
from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.lab.policies import LabPolicy
from nodwyn_tui.lab.replays import refold
from tests.agent.rig import Rig, messages
from tests.agent.shots import ask_with, attach, shot
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say

BIG, STEPS = call("fs-read", {"path": "big.txt"}), 13


async def test_they_go_along_as_often_as_the_words_do(rig: Rig, tmp_path: Path) -> None:
    """ROL-1, C44, ENG-30: a run that fills several windows has the image in each; folded again, it
    makes the same requests.
    """
    (rig.workspace / "big.txt").write_text(("y" * 59 + "\n") * 500)
    with ChatServer([*[BIG] * STEPS, say("done")], context=16_384) as server:
        rig.configure(server, strategy="rollover", images=True)
        await rig.open()
        images = await attach(rig, shot(tmp_path, "a.png", (40, 30)))
        assert (await ask_with(rig, "look at it", *images)).text == "done"
        shown = ["image_url" in json.dumps(messages(server, n)) for n in range(STEPS + 1)]
    assert len(rig.of(ev.WindowReset)) > 2
    assert all(shown)
    asked = [event.asked or "" for event in rig.of(ev.WindowLeadIn)]
    assert all("look at it" in text for text in asked)
    again = refold(rig.log(), LabPolicy(strategy="rollover"))
    recorded = [request.digest for request in rig.of(ev.LlmRequest)]
    assert [step.window.digest for step in again] == recorded
