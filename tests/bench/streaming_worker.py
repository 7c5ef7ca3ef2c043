"""A worker for the bench: so many entries, all at once or (`paged`) the latest 500 and the others
as they are asked for; then nothing, or a reply of 500 tokens a second.
"""

import asyncio
import sys

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.pipe import PipeBack, serve

TEXT = """\
Some words of **prose** with `code` in them, wrapped by whoever reads them. And a list:

- one thing and another
- a third

```python
def total(values: list[int]) -> int:
    return sum(values)  # all of them
```

"""
KINDS: tuple[up.EntryKind, ...] = ("user", "assistant", "call")


def entries(count: int) -> list[up.Entry]:
    return [
        up.Entry(
            id=f"{n:08}",
            seq=n,
            kind=KINDS[n % 3],
            status="ok" if n % 3 == 2 else "",
            title="shell make" if n % 3 == 2 else "",
            tool="shell",
            preview=TEXT[:240],
            size=len(TEXT) * 4,
            body=up.Body(text=TEXT * 4) if n > count - 64 else None,
        )
        for n in range(1, count + 1)
    ]


async def stream(back: PipeBack) -> None:
    """Five tokens every hundredth of a second."""
    back.emit(up.RunStarted(run=1))
    for seq in range(1_000_000, 2_000_000):
        back.emit(up.RequestSent(seq=seq, model="bench"))
        for at in range(0, 60_000, 20):
            back.emit(up.ReplyPiece(kind="text", text=(TEXT * 2)[at % 300 : at % 300 + 20]))
            await asyncio.sleep(0.01)
        back.emit(up.ReplyEnded(seq=seq))


async def work(back: PipeBack) -> None:
    count, mode = int(sys.argv[1]), sys.argv[2]
    made: list[up.Entry] = []
    streaming = None
    while (command := await back.receive()) is not None:
        if isinstance(command, commands.Open):
            back.emit(up.Opened(session="bench", workspace="/bench", model="bench"))
            made = entries(count)
            first = max(count - 500, 0) if mode == "paged" else 0
            for at in range(first, count, 500):
                piece = tuple(made[at : at + 500])
                back.emit(
                    up.EntriesLoaded(entries=piece, done=at + 500 >= count, earlier=first > 0)
                )
            if mode == "stream":
                streaming = asyncio.create_task(stream(back))
        elif isinstance(command, commands.FetchPage):
            end = command.before - 1 if command.before else command.after + 500
            page = tuple(made[max(end - 500, 0) : end])
            more = len(page) == 500
            back.emit(
                up.PageLoaded(entries=page, before=command.before, after=command.after, more=more)
            )
        elif isinstance(command, commands.Close):
            break
    if streaming is not None:
        streaming.cancel()
    back.emit(up.Closed())


if __name__ == "__main__":
    serve(work)
