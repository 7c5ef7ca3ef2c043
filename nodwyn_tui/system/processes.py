"""Processes started and ended as a group: the only place that starts any (POSIX).

A process leads a session of its own, so that it and whatever it starts can be ended together, and
so that none of them can ask a question on the terminal. Its standard input is closed; its output
and its errors come in one stream, in the order they were written.
"""

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nodwyn_tui.errors import NodwynError

GRACE_S = 1.5
"""Seconds between the polite end and the forced one."""

MARK = "NODWYN_PROCESS"
"""The environment variable by which `leftovers` knows what a process started, whatever session that
put itself into."""

_CHUNK = 256 * 1024
_POLL_S = 0.05
_KILL_S = 1.0
"""Seconds in which a killed process is gone; one that waits for a broken disk may not be."""

_PROC = Path("/proc")

_ERRORS = {"merged": asyncio.subprocess.STDOUT, "dropped": asyncio.subprocess.DEVNULL}


class CannotStart(NodwynError):
    """A program could not be started: it, or the folder, is missing or not permitted, or the
    command is too long for the system.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A process that outlived the one that started it; `apart` says that it is in a session of its
    own, where ending the group does not reach it.
    """

    pid: int
    command: str
    apart: bool


class Process:
    """A running program, the leader of its session: `pid` is the group's id too. `mark` is its
    value of `MARK`.
    """

    def __init__(self, inner: asyncio.subprocess.Process, output: int, mark: str) -> None:
        self.pid = inner.pid
        self.mark = mark
        self._inner = inner
        self._output: int | None = output

    @property
    def open(self) -> bool:
        """Whether more output may come; a child in the background can hold it open."""
        return self._output is not None

    async def read(self) -> bytes:
        """The next piece of output, as it comes; b"" once nobody holds the stream any more."""
        while self._output is not None:
            piece = self.take()
            if piece:
                return piece
            if self._output is not None:
                await _readable(self._output)
        return b""

    def take(self) -> bytes:
        """What output is there now, without waiting; b"" if there is none yet, or none any more."""
        if self._output is None:
            return b""
        try:
            piece = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return b""
        if not piece:
            self.close()
        return piece

    def close(self) -> None:
        """Reads no more: who still writes to the stream gets an error there."""
        if self._output is not None:
            os.close(self._output)
            self._output = None

    async def wait(self) -> int:
        """The exit code of the program itself, minus the signal's number if one ended it. Does not
        wait for its children, nor for the end of the output.
        """
        return await self._inner.wait()

    async def end(self, grace_s: float = GRACE_S) -> None:
        """Ends the whole group: politely, and after `grace_s` seconds by force. Once begun it is
        carried through, also if the caller is cancelled.
        """
        await asyncio.shield(asyncio.ensure_future(self._end(grace_s)))

    async def _end(self, grace_s: float) -> None:
        await end_group(self.pid, grace_s)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._inner.wait(), _KILL_S)


async def start(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    mark: str = "",
    keep: Sequence[int] = (),
    errors: Literal["merged", "dropped"] = "merged",
) -> Process:
    """Starts a program in a session of its own. `environment` is all it gets, with `mark` as
    `MARK`; the descriptors in `keep` stay open in it; its `errors` stand in its output, or nowhere.
    Raises `CannotStart`.
    """
    reader, writer = os.pipe()
    try:
        inner = await asyncio.create_subprocess_exec(
            *command,
            cwd=folder,
            env={**environment, MARK: mark},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=writer,
            stderr=_ERRORS[errors],
            start_new_session=True,
            pass_fds=tuple(keep),
        )
    except (OSError, ValueError) as error:
        os.close(reader)
        raise CannotStart(_why(command, folder, error)) from error
    except asyncio.CancelledError:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    os.set_blocking(reader, False)
    return Process(inner, reader, mark)


async def end_group(group: int, grace_s: float = GRACE_S) -> None:
    """Ends every process of a group: politely, and after `grace_s` seconds by force."""
    _signal(group, signal.SIGTERM)
    _signal(group, signal.SIGCONT)  # a stopped process takes no other signal
    await _gone(group, grace_s)
    if alive(group):
        _signal(group, signal.SIGKILL)
        await _gone(group, _KILL_S)


async def _gone(group: int, seconds: float) -> None:
    """Waits until no process of a group runs, but no longer than `seconds`."""
    deadline = asyncio.get_running_loop().time() + seconds
    while (  # noqa: ASYNC110 - the system tells nobody when a group is empty
        alive(group) and asyncio.get_running_loop().time() < deadline
    ):
        await asyncio.sleep(_POLL_S)


def alive(group: int) -> bool:
    """Whether any process of a group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    members = [found for found in _processes() if found.group == group]
    return not members or any(found.runs for found in members)


def leftovers(process: Process) -> tuple[Leftover, ...]:
    """What still runs of all that `process` started: its session, and whoever bears its mark. Where
    the system has no `/proc`, the group alone is known, without its command. Looks at every
    process; call it in a thread.
    """
    if not _PROC.is_dir():
        group = Leftover(pid=process.pid, command="", apart=False)
        return (group,) if alive(process.pid) else ()
    wanted = f"{MARK}={process.mark}".encode() if process.mark else None
    found = []
    for one in _processes():
        apart = one.session != process.pid
        if not one.runs or one.pid == process.pid or (apart and not _bears(one.pid, wanted)):
            continue
        found.append(Leftover(pid=one.pid, command=_command(one.pid), apart=apart))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Found:
    pid: int
    runs: bool
    group: int
    session: int


def _processes() -> list[_Found]:
    found = []
    with contextlib.suppress(OSError):
        for path in _PROC.iterdir():
            if path.name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    found.append(_status(int(path.name)))
    return found


def _status(pid: int) -> _Found:
    # The name in brackets may itself hold blanks and brackets: the fields follow the last one.
    text = (_PROC / str(pid) / "stat").read_bytes()
    fields = text[text.rindex(b")") + 2 :].split()
    return _Found(pid, fields[0] not in (b"Z", b"X"), int(fields[2]), int(fields[3]))


def _bears(pid: int, wanted: bytes | None) -> bool:
    if wanted is None:
        return False
    try:
        return wanted in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    except OSError:
        return ""
    return b" ".join(words).decode("utf-8", "replace")


def _signal(group: int, number: int) -> None:
    # A group that is gone has nothing to end; one of another user can't be.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


async def _readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(descriptor, _settle(ready))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def _settle(ready: "asyncio.Future[None]") -> Callable[[], None]:
    def settle() -> None:
        if not ready.done():
            ready.set_result(None)

    return settle


def _why(command: Sequence[str], folder: Path, error: OSError | ValueError) -> str:
    program = command[0]
    if not folder.is_dir():
        return f"the folder {folder} is not there. Put it back, or work in another."
    match error:
        case FileNotFoundError():
            return f"{program} is not installed, or not in PATH. Install it, then try again."
        case PermissionError():
            return f"{program} may not be run. Check its permissions."
        case OSError():
            return f"{program} could not be started: {error.strerror or error}."
        case _:
            return f"{program} could not be started: {error}."
