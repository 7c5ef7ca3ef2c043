"""Images that tests attach, and what came of them."""

import asyncio
from pathlib import Path

from PIL import Image

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attach, Attached, AttachRefused, ImageAttached
from tests.agent.rig import PATIENCE_S, Rig

Answer = ImageAttached | AttachRefused


def shot(folder: Path, name: str, size: tuple[int, int] = (1280, 720)) -> Path:
    """An image file, another one for each length of name."""
    path = folder / name
    Image.new("RGB", size, (1, len(name), 3)).save(path, "PNG")
    return path


async def answer(rig: Rig, text: str, *, sure: bool = False) -> list[Answer]:
    """What is told of one `Attach`."""
    since = len(rig.events)
    rig.tell(Attach(text=text, sure=sure))
    async with asyncio.timeout(PATIENCE_S):
        while True:
            found = [
                event
                for event in rig.events[since:]
                if isinstance(event, ImageAttached | AttachRefused)
            ]
            if found and (isinstance(found[0], AttachRefused) or len(found) == found[0].count):
                return found
            await asyncio.sleep(0.005)


async def attach(rig: Rig, *paths: Path) -> list[Attached]:
    """Attaches files."""
    told = await answer(rig, "\n".join(map(str, paths)))
    assert all(isinstance(each, ImageAttached) for each in told), told
    return [each.image for each in told if isinstance(each, ImageAttached)]


async def ask_with(rig: Rig, text: str, *images: Attached) -> up.RunEnded:
    """Sends a message with images, and waits for the run's end."""
    rig.tell(commands.Send(text=text, images=tuple(image.sha256 for image in images)))
    return await rig.until(up.RunEnded)
