"""`/skills` on the screen: over a scripted worker, and over a real one (ORD-10, TUI-8)."""

import asyncio
import json
from pathlib import Path

import pytest
import tomli_w

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.system.clock import SystemClock
from nodwyn_tui.ui.app import NodwynApp
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.screens.conversation import Conversation
from nodwyn_tui.ui.screens.skills import Skills
from nodwyn_tui.wiring import work
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import say
from tests.store.test_skills import put
from tests.ui.backend import OPENED, Stage, press, settled
from tests.ui.scenes import SKILLS


def stage(listed: up.SkillsListed = SKILLS) -> Stage:
    on = Stage(OPENED)
    on.backend.answers[commands.ListSkills] = lambda _: [listed]
    return on


async def test_the_picker_shows_whose_each_is_and_what_is_in_use() -> None:
    """TUI-8: Enter takes the marked one up, or puts it away; the worker knows which."""
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/skills", "enter")
        await settled(pilot)
        seen = on.text().splitlines()
        (used,) = [row for row in seen if "pdf-forms" in row]
        assert used.rstrip("│ ").endswith("in use")
        assert any("commit-style" in row and "yours · " in row for row in seen)
        assert any("release-notes" in row and "here · " in row for row in seen)
        assert ".agents/skills/deploy/SKILL.md:3" in on.text()
        assert "and 2 more" in on.text()
        assert "\x1b" not in on.text()
        await press(pilot, "down", "enter")
        await settled(pilot)
        assert not isinstance(on.app.screen, Skills)
        assert on.backend.of(commands.PickSkill) == [commands.PickSkill(name="release-notes")]


async def test_typing_narrows_and_escape_takes_none() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/skills", "enter")
        await settled(pilot)
        await press(pilot, *"commit")
        assert "commit-style" in on.text()
        assert "pdf-forms" not in on.text()
        await press(pilot, "escape")
        assert on.backend.of(commands.PickSkill) == []


async def test_a_name_picks_without_the_list() -> None:
    on = stage()
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/skills release-notes", "enter")
        await settled(pilot)
        assert on.backend.of(commands.ListSkills) == []
        assert on.backend.of(commands.PickSkill) == [commands.PickSkill(name="release-notes")]


async def test_without_skills_it_says_where_to_put_one() -> None:
    on = stage(up.SkillsListed(skills=(), places=("/home/p/skills", ".agents/skills")))
    async with on.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *"/skills", "enter")
        await settled(pilot)
        text = " ".join(on.text().replace("│", " ").split())
        assert "a skill is a folder with a SKILL.md" in text
        assert "/home/p/skills or .agents/skills" in text


@pytest.mark.parametrize("size", [(40, 10), (44, 12), (80, 24), (200, 50)])
async def test_many_skills_stay_within_the_screen(size: tuple[int, int]) -> None:
    """TUI-11: the marked one is seen at every size."""
    many = tuple(
        up.SkillFacts(name=f"skill-{n}", description="long " * 200, keeper="person")
        for n in range(400)
    )
    on = stage(up.SkillsListed(skills=many, problems=("wrong " * 40,) * 20))
    async with on.app.run_test(size=size) as pilot:
        await settled(pilot)
        await press(pilot, *"/skills", "enter")
        await settled(pilot)
        await press(pilot, *["pagedown"] * 30)
        assert "▸ skill-300" in on.text()


async def test_the_person_picks_one_and_the_next_request_has_it(home: Path, tmp_path: Path) -> None:
    """ORD-10: from the keys to the wire, and back again."""
    workspace = tmp_path / "ws"
    put(workspace / ".agents" / "skills", "release", "Tag it first.\n", about="Makes a release")
    with ChatServer([say("one"), say("two")]) as server:
        value = {
            "model": "m",
            "servers": {"s": {"provider": "openai", "base_url": server.base_url}},
            "models": {
                "m": {
                    "server": "s",
                    "model": server.model,
                    "context": 60_000,
                    "fresh": "each_request",
                }
            },
        }
        (home / "config.toml").write_bytes(tomli_w.dumps(value).encode())
        link, clock = LocalLink(), SystemClock()
        worker = asyncio.create_task(work(link))
        opening = commands.Open(workspace=str(workspace))
        link.send(opening)
        app = NodwynApp(Bridge(link, opening, clock, None), clock)
        async with app.run_test(size=(80, 24)) as pilot, asyncio.timeout(30):
            while not isinstance(app.screen, Conversation) or app.screen.header.opened is None:
                await settled(pilot)
            for number in (1, 2):
                await press(pilot, *"/skills", "enter")
                while not isinstance(app.screen, Skills):
                    await settled(pilot)
                await press(pilot, "enter")
                await settled(pilot)
                await press(pilot, *"go", "enter")
                while len(server.bodies) < number or app.screen.activity.busy:
                    await settled(pilot)
        link.end()
        worker.cancel()
        await asyncio.wait([worker])
        sent = [json.dumps(body.body) for body in server.bodies]
    assert ["Tag it first." in body for body in sent] == [True, False]
