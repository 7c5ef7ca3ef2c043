"""The whole tour through the real worker: its tools, approvals, log and sample project."""

import asyncio
from pathlib import Path

import pytest

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import LocalLink
from nodwyn_tui.tour import server
from nodwyn_tui.tour.chapters import CHAPTERS, FAREWELL
from nodwyn_tui.wiring import work


async def take_the_tour(allow: bool) -> tuple[list[up.UpEvent], list[str]]:
    """Every event of a tour to its farewell, and the text of each run's last reply. Each question
    is answered with `allow`.
    """
    link = LocalLink()
    task = asyncio.create_task(work(link))
    link.send(commands.Open(workspace="/", tour=True))
    told: list[up.UpEvent] = []
    texts: list[str] = []
    async for event in link.events():
        told.append(event)
        match event:
            case up.ApprovalAsked():
                link.send(commands.Answer(call_id=event.call_id, allow=allow, reason="rather not"))
            case up.Opened():
                link.send(commands.Send(text="on"))
            case up.RunEnded():
                assert event.why == "done", event
                texts.append(event.text)
                link.send(
                    commands.Send(text="on") if len(texts) <= len(CHAPTERS) else commands.Close()
                )
            case up.Failed():
                raise AssertionError(event.message)
            case up.Closed():
                break
    await link.close()
    await task
    return told, texts


@pytest.fixture(autouse=True)
def at_once_and_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODWYN_HOME", str(tmp_path))
    monkeypatch.setattr(server, "PACE", 0)


async def test_allowed_everything_the_project_is_mended(tmp_path: Path) -> None:
    """TUI-6: from the first message to the farewell, on a throw-away copy."""
    told, texts = await asyncio.wait_for(take_the_tour(allow=True), 60)
    opened = next(event for event in told if isinstance(event, up.Opened))
    asked = [event.tool for event in told if isinstance(event, up.ApprovalAsked)]
    ended = [event for event in told if isinstance(event, up.RunEnded)]
    assert opened.tour
    assert Path(opened.workspace).parent == tmp_path / "cache" / "tour"
    assert Path(opened.log_path).is_relative_to(opened.workspace)
    assert asked == ["shell", "fs-edit", "shell"]
    changed = [event.changed_files for event in ended if event.changed_files]
    assert changed == [("portions.py",)], "told once, by the run that did it"
    assert "/ written_for" in (Path(opened.workspace) / "portions.py").read_text()
    assert [text.startswith("**Tour") for text in texts].count(True) == 3
    assert texts[-1] == FAREWELL
    assert any(isinstance(event, up.ReplyPiece) and event.kind == "thinking" for event in told)


async def test_refused_everything_the_tour_still_ends_well() -> None:
    told, texts = await asyncio.wait_for(take_the_tour(allow=False), 60)
    ended = [event for event in told if isinstance(event, up.RunEnded)]
    assert "The command did not run" in texts[2]
    assert ended[-1].changed_files == ()
    assert texts[-1] == FAREWELL
