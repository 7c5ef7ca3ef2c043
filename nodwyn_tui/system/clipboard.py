"""The image on the system's clipboard, by the programs that the system has for it."""

import asyncio
import contextlib
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodwyn_tui.errors import UsageError
from nodwyn_tui.system.processes import CannotStart, Process, start

MOST_BYTES = 100_000_000
PATIENCE_S = 10.0

_KINDS = ("image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp", "image/tiff")
NO_IMAGE = "there is no image on the clipboard"
_HEX = re.compile(rb"PNGf([0-9A-Fa-f]+)")
_APPLE = ("osascript", "-e", "get the clipboard as «class PNGf»")


async def clipboard_image(environment: Mapping[str, str], platform: str = sys.platform) -> bytes:
    """The image's file, as whoever copied it made it. `UsageError` where there is none, or no
    program to ask for it, which is named. Never waits longer than `PATIENCE_S` seconds.
    """
    if platform == "darwin":
        return await _from_apple(environment)
    if environment.get("WAYLAND_DISPLAY"):
        tool, package = "wl-paste", "wl-clipboard"
        listing: Sequence[str] = ("wl-paste", "--list-types")
        ask: Sequence[str] = ("wl-paste", "--no-newline", "--type")
    elif environment.get("DISPLAY"):
        tool, package = "xclip", "xclip"
        listing = ("xclip", "-selection", "clipboard", "-t", "TARGETS", "-o")
        ask = ("xclip", "-selection", "clipboard", "-o", "-t")
    else:
        raise UsageError(
            "no clipboard can be reached from here (neither WAYLAND_DISPLAY nor DISPLAY is set, as"
            " over SSH): save the image, and name its file with /image"
        )
    if not _has(tool, environment):
        raise UsageError(
            f"the clipboard's image needs the program {tool}, which is missing: install the package"
            f" {package}, or name a file with /image"
        )
    offered = set((await _output(listing, environment)).decode("utf-8", "replace").split())
    kind = next((kind for kind in _KINDS if kind in offered), "")
    data = await _output((*ask, kind), environment) if kind else b""
    if not data:
        raise UsageError(NO_IMAGE)
    return data


async def _from_apple(environment: Mapping[str, str]) -> bytes:
    if _has("pngpaste", environment):
        data = await _output(("pngpaste", "-"), environment)
    elif _has("osascript", environment):
        found = _HEX.search(await _output(_APPLE, environment))
        data = bytes.fromhex(found[1].decode()) if found and len(found[1]) % 2 == 0 else b""
    else:
        raise UsageError(
            "the clipboard's image needs the program pngpaste or osascript, and both are missing:"
            " install pngpaste, or name a file with /image"
        )
    if not data:
        raise UsageError(NO_IMAGE)
    return data


def _has(program: str, environment: Mapping[str, str]) -> bool:
    return shutil.which(program, path=environment.get("PATH")) is not None


async def _output(command: Sequence[str], environment: Mapping[str, str]) -> bytes:
    """What a program writes; b"" where it fails."""
    try:
        process = await start(command, folder=Path("/"), environment=environment, errors="dropped")
    except CannotStart as error:
        raise UsageError(str(error)) from error
    try:
        async with asyncio.timeout(PATIENCE_S):
            data = await _all_of(process)
            return data if await process.wait() == 0 else b""
    except TimeoutError as error:
        raise UsageError(
            f"{command[0]} did not answer within {PATIENCE_S:.0f} seconds: copy the image again, or"
            " name a file with /image"
        ) from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            await process.end(0.2)
        process.close()


async def _all_of(process: Process) -> bytes:
    data = bytearray()
    while piece := await process.read():
        data += piece
        if len(data) > MOST_BYTES:
            raise UsageError("the clipboard's image is too large: make it smaller first")
    return bytes(data)
