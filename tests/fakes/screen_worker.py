"""A worker for tests of the screen: opens a session, writes every command it gets to the file that
its first argument names, and does what the text of a message says (`die`, `hang`, `full`).
"""

import asyncio
import os
import sys
from pathlib import Path

from nodwyn_tui.link import codec, commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.pipe import PipeBack, serve

SESSION = "20250102-030405-ab12"


async def work(back: PipeBack) -> None:
    heard = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    while (command := await back.receive()) is not None:
        os.write(heard, codec.encode(command))
        match command:
            case commands.Open(workspace=workspace, resume=resume):
                opened = up.Opened(
                    session=resume or SESSION, workspace=workspace, model="fake", sandboxed=True
                )
                back.emit(opened)
                back.emit(up.EntriesLoaded(entries=(), done=True))
            case commands.Send(text="die"):
                sys.stderr.write("last words\n")
                os._exit(3)
            case commands.Send(text="hang"):
                await asyncio.sleep(3600)
            case commands.Send(text=text):
                entry = up.Entry(
                    id="00000004", seq=4, kind="user", body=up.Body(text=text), size=len(text)
                )
                back.emit(up.EntryAdded(entry=entry))
            case commands.ShowMemory():
                path = Path(sys.argv[1]).parent / "memory" / "facts.md"
                text = path.read_text() if path.exists() else ""
                file = up.MemoryText(
                    file="facts",
                    keeper="workspace",
                    path=str(path),
                    text=text,
                    items=text.count("- "),
                )
                back.emit(up.MemoryShown(texts=(file,)))
            case commands.Close():
                break
    back.emit(up.Closed(session=SESSION))


if __name__ == "__main__":
    serve(work)
