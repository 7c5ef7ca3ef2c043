"""`shell`: a command in bash, its folder and exported variables kept for the next one."""

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import Field

from nodwyn_tui.errors import StoreError, ToolError
from nodwyn_tui.system import processes
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Artifacts, Ask, Context, Effect, Interrupted, Outcome
from nodwyn_tui.tools.capture import Capture
from nodwyn_tui.tools.names import quoted
from nodwyn_tui.tools.output import visible
from nodwyn_tui.tools.shell_paths import guarded_paths
from nodwyn_tui.tools.shell_state import calm, command_line, read_state

TIME_LIMIT_S = 120
LONGEST_TIME_S = 600
LINGER_S = 0.2
"""Seconds that output is waited for once the shell ended, while a child holds the stream open."""

_PROGRESS_S = 0.1
_MOST_TAKEN = 1024 * 1024
_MOST_NAMED = 5
_INTERRUPTED = "[interrupted]"

Result = TypeVar("Result")


class ShellArguments(Model):
    """`timeout_s` in seconds."""

    command: str = Field(min_length=1, max_length=100_000)
    timeout_s: int = Field(TIME_LIMIT_S, ge=1, le=LONGEST_TIME_S)


class Shell:
    """One shell a session, one command at a time. `text` is the output, then `[exit code N]` and
    what else is to be known, each in a line of its own.
    """

    effect: Effect = "shell"
    arguments = ShellArguments

    def __init__(self, environment: Mapping[str, str], home: Path | None) -> None:
        """`environment` is what commands get; nothing else of this program's reaches them."""
        self._home = home
        self._environment = calm(environment)
        self._folder: Path | None = None
        self._turn = asyncio.Lock()
        self._left: dict[processes.Process, asyncio.Task[None]] = {}
        self.spec = spec_of(
            "shell",
            "Run a bash command in the workspace; cd and export last for later calls. No terminal,"
            " no input. Ends after timeout_s seconds (default 120). For files prefer the fs tools.",
            ShellArguments,
        )

    async def describe(self, arguments: ShellArguments, context: Context) -> Ask:
        folder = self._folder or context.files.root
        places = await asyncio.to_thread(
            guarded_paths, arguments.command, context.files, self._home, folder
        )
        title = "Run a command"
        if folder != context.files.root:
            title += f" in {quoted(str(folder))}"
        if places:
            title += ", which names " + ", ".join(place.shown for place in places[:_MOST_NAMED])
        return Ask(
            title=title,
            subject=arguments.command,
            command=arguments.command,
            secret=any(place.secret for place in places),
            outside=any(place.outside for place in places),
        )

    async def run(self, arguments: ShellArguments, context: Context) -> Outcome:
        async with self._turn:
            return await self._run(arguments, context)

    async def close(self) -> None:
        """Ends what commands left running in the background, and reads no more from it."""
        left, self._left = self._left, {}
        for process, reader in left.items():
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            process.close()
            rest = await asyncio.to_thread(processes.leftovers, process)
            if any(not one.apart for one in rest):
                await processes.end_group(process.pid)

    async def _run(self, arguments: ShellArguments, context: Context) -> Outcome:
        if "\0" in arguments.command:
            raise ToolError("command: it holds a NUL character; nothing was run.")
        folder, moved = self._here(context.files.root)
        capture = Capture()
        with tempfile.TemporaryFile() as state:
            process = await self._start(arguments.command, folder, state.fileno())
            reading = asyncio.create_task(_read(process, capture, context))
            code, note = await _waited(process, arguments.timeout_s)
            rest = await carried_through(
                self._finish(process, reading, capture, context.artifacts, end=code is None)
            )
            notes = [note]
            if code is not None:
                notes += self._keep(read_state(state.fileno()), folder)
        outcome = _outcome(capture, [*notes, *moved, *_named(rest)], is_error=code != 0)
        if note == _INTERRUPTED:
            raise Interrupted(outcome)
        return outcome

    def _here(self, root: Path) -> tuple[Path, list[str]]:
        """The folder to run in, and what to say if the last one is gone."""
        if self._folder is None or self._folder.is_dir():
            return self._folder or root, []
        gone, self._folder = self._folder, None
        return root, [f"[{quoted(str(gone))} is gone; this ran in the workspace]"]

    async def _start(self, command: str, folder: Path, state: int) -> processes.Process:
        bash = shutil.which("bash", path=self._environment.get("PATH")) or "/bin/bash"
        try:
            return await processes.start(
                command_line(bash, command, state),
                folder=folder,
                environment=self._environment,
                mark=secrets.token_hex(8),
                keep=(state,),
            )
        except processes.CannotStart as error:
            raise ToolError(f"the command was not run: {error}") from error

    def _keep(self, state: tuple[Path, dict[str, str]] | None, before: Path) -> list[str]:
        """Remembers where the command left the shell; says so if it is another folder."""
        if state is None:
            return []
        folder, self._environment = state
        self._folder = folder
        return [f"[now in {quoted(str(folder))}]"] if folder != before else []

    async def _finish(
        self,
        process: processes.Process,
        reading: "asyncio.Task[None]",
        capture: Capture,
        artifacts: Artifacts,
        *,
        end: bool,
    ) -> tuple[processes.Leftover, ...]:
        """Ends the group if `end`, and takes the rest of the output; a child that holds it open is
        read on, and not waited for. Returns what still runs.
        """
        if end:
            await process.end()
        await asyncio.wait({reading}, timeout=LINGER_S)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        # All that the shell itself wrote is in the stream by now, however busy the machine is.
        taken = 0
        while taken < _MOST_TAKEN and (piece := process.take()):
            taken += len(piece)
            await _feed(capture, piece, artifacts)
        await asyncio.to_thread(capture.finish)
        if capture.artifact is not None:
            await asyncio.to_thread(artifacts.finish, capture.artifact)
        rest = await asyncio.to_thread(processes.leftovers, process)
        if rest or process.open:
            self._left[process] = asyncio.create_task(self._discard(process))
        for old, reader in list(self._left.items()):
            if reader.done() and not processes.alive(old.pid):
                del self._left[old]
        return rest

    async def _discard(self, process: processes.Process) -> None:
        """Reads on, so that what runs in the background can go on writing."""
        while await process.read():  # noqa: ASYNC110 - a flood must leave the others a turn
            await asyncio.sleep(0)


async def _waited(process: processes.Process, limit_s: int) -> tuple[int | None, str]:
    """The exit code, `None` if the command is to be ended, and a note about it."""
    try:
        async with asyncio.timeout(limit_s):
            code = await process.wait()
    except TimeoutError:
        return None, f"[ended after {limit_s} s, the time limit]"
    except asyncio.CancelledError:
        return None, _INTERRUPTED
    return code, f"[exit code {code}]"


async def _read(process: processes.Process, capture: Capture, context: Context) -> None:
    loop = asyncio.get_running_loop()
    told, shown = 0.0, ""
    while piece := await process.read():
        await _feed(capture, piece, context.artifacts)
        if loop.time() - told >= _PROGRESS_S and capture.last_line != shown:
            told, shown = loop.time(), capture.last_line
            context.progress(visible(shown[:200]))


async def _feed(capture: Capture, piece: bytes, artifacts: Artifacts) -> None:
    """Cleans in a thread; once begun, a piece is taken whole."""
    await carried_through(_feed_whole(capture, piece, artifacts))


async def _feed_whole(capture: Capture, piece: bytes, artifacts: Artifacts) -> None:
    await asyncio.to_thread(capture.feed, piece)
    if not capture.overflows:
        return
    try:
        name, path = artifacts.open("shell.txt")
    except StoreError as error:
        capture.trouble = str(error)
        await asyncio.to_thread(capture.shrink)
    else:
        await asyncio.to_thread(capture.spill, name, path)


async def carried_through(work: Coroutine[Any, Any, Result]) -> Result:
    """Awaits `work` to its end also if the caller is cancelled meanwhile, who then learns of it."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await task
        raise


def _named(rest: tuple[processes.Leftover, ...]) -> list[str]:
    """What still runs, in words."""
    lines = []
    for one in rest[:_MOST_NAMED]:
        where = ", in a session of its own" if one.apart else ""
        what = f"{one.pid} {visible(one.command[:200])}".rstrip()
        lines.append(f"[still running{where}: {what}]")
    if len(rest) > _MOST_NAMED:
        lines.append(f"[and {len(rest) - _MOST_NAMED} more processes]")
    return lines


def _outcome(capture: Capture, notes: list[str], *, is_error: bool) -> Outcome:
    text = "\n".join([capture.text(), *notes])
    return Outcome(
        text=text, is_error=is_error, lines=capture.lines + len(notes), artifact=capture.artifact
    )
