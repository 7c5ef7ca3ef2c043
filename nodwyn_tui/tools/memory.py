"""`memory`: reads and adds to what lasts beyond the session (ORD-10). Where it lies, and that no
key gets into it, is the port's.
"""

import asyncio
from typing import Literal

from nodwyn_tui.domain.words import MemoryFile
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome
from nodwyn_tui.tools.diff import unified

NOTES: MemoryFile = "context-notes"


class MemoryArguments(Model):
    """`text` is an item to add, or the whole new notes."""

    action: Literal["read", "add", "write"]
    file: MemoryFile
    text: str | None = None


class MemoryTool:
    """Facts and corrections grow by items, each shown before it is kept: a later session goes by
    them. Notes are the model's own, free wherever anything may be written.
    """

    effect: Effect = "write"
    arguments = MemoryArguments

    def __init__(self) -> None:
        self.spec = spec_of(
            "memory",
            "Outlasts the session: read a file, add an item of one line, or write context-notes"
            " anew.",
            MemoryArguments,
        )

    async def describe(self, arguments: MemoryArguments, context: Context) -> Ask:
        _check(arguments)
        file, text = arguments.file, arguments.text or ""
        if arguments.action == "read":
            return Ask(title=f"Read {file}", subject=file, effect="read")
        if arguments.action == "write":
            return Ask(title=f"Write {file}", subject=file, effect="note")
        line = await asyncio.to_thread(context.memory.addition, file, text)
        if not line:
            return Ask(title=f"Add to {file}", subject=file, effect="read")
        return Ask(
            title=f"Add to {file}",
            subject=file,
            diff=unified("", line + "\n", _path(file)),
            touches=(_path(file),),
            effect="note" if file == NOTES else "write",
        )

    async def run(self, arguments: MemoryArguments, context: Context) -> Outcome:
        _check(arguments)
        file, text, memory = arguments.file, arguments.text or "", context.memory
        match arguments.action:
            case "read":
                found = await asyncio.to_thread(memory.read, file)
                told = found or f"nothing is remembered in {file} yet"
                return Outcome(text=told, lines=told.count("\n") + 1)
            case "write":
                await asyncio.to_thread(memory.write, file, text)
                return Outcome(text=f"wrote {file}", lines=1)
            case "add":
                # Only what was shown as an addition is one, whatever the file became meanwhile.
                new = context.granted is not None and bool(context.granted.diff)
                added = new and await asyncio.to_thread(memory.add, file, text)
                told = f"added to {file}" if added else f"{file} holds exactly that already"
                return Outcome(text=told, lines=1)


def _check(arguments: MemoryArguments) -> None:
    """Raises `ToolError` for what does not go together."""
    action, file = arguments.action, arguments.file
    if action == "read" and arguments.text is not None:
        raise ToolError("memory: read takes no `text`; add keeps an item")
    if action != "read" and arguments.text is None:
        raise ToolError(f"memory: {action} needs `text`")
    if action == "write" and file != NOTES:
        raise ToolError(
            f"memory: only {NOTES} is written anew; {file} is added to, an item at a time. The"
            f" person edits it in {_path(file)}"
        )


def _path(file: MemoryFile) -> str:
    return f".nodwyn/memory/{file}.md"
